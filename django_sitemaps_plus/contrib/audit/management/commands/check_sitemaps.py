"""``manage.py check_sitemaps``: the state of sections, and what is wrong with them."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from django.core.checks import ERROR, WARNING, CheckMessage, run_checks
from django.core.management import CommandError

from django_sitemaps_plus.contrib.audit import comparison, saved, section_states
from django_sitemaps_plus.contrib.audit.management import auditing
from django_sitemaps_plus.contrib.audit.management.auditing import Result
from django_sitemaps_plus.contrib.audit.management.comparing import (
    Sides,
    sentences,
    site_of_former,
)
from django_sitemaps_plus.contrib.audit.section_states import SectionState
from django_sitemaps_plus.contrib.audit.sides import compared_site
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.management.utils import SitemapsCommand, counted, misused
from django_sitemaps_plus.pagination.queries import ledger
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site


class _Found(NamedTuple):
    """What is printed: of the checks, of the sections, and of the audits."""

    messages: list[CheckMessage]
    states: list[SectionState]
    results: list[Result]


class Command(SitemapsCommand):
    """Say how each section stands, and audit what it lists."""

    help = (
        "Run this app's system checks, and describe all sections, or those named: "
        "how they are paged and read, how many pages they have, what to do next. "
        "Then audit what they list, and store what is found. Exits with 0 when done, 1 "
        "if a check or a page is in error, the audit finds an error or the database "
        "fails, 2 if misused."
    )
    # Only this app's are run, and printed, by run().
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "sections",
            nargs="*",
            metavar="SECTION",
            help="the sections to check; all if none is named",
        )
        parser.add_argument(
            "--compare",
            action="append",
            metavar="FORMER",
            help="compare a former sitemap with what is listed now, URL by URL: the "
            "dotted path of a dict of sitemaps, which contrib's views are given; the "
            "name of a URL whose view is contrib's; the URL of a sitemap or an index; "
            "a saved file, or a folder of them. May be given several times. No checks "
            "are run; exits with 1 if a URL is lost",
        )
        parser.add_argument(
            "--save",
            metavar="FOLDER",
            help="with --compare: write what the former sitemap lists into a new "
            "folder, in place of comparing it; later, compare that folder",
        )
        auditing.add_arguments(parser)
        parser.add_argument(
            "--format",
            choices=["table", "json", "github"],
            default="table",
            help="what to print: sentences and a table, one JSON object, or what "
            "GitHub Actions shows beside a commit",
        )

    def chosen(self, sites: list[Site], options: Mapping[str, Any]) -> list[Site]:
        """Return the site of a former sitemap: its URLs are of one host."""
        if len(sites) == 1 or not options["compare"]:
            return sites
        names = {site_of_former(former) for former in options["compare"]}
        return [site for site in sites if site.name in names]

    def run(self, *, sections: list[str], **options: Any) -> str:
        """Check each section; errors at the end."""
        _refuse(**options)
        compare, save, form = options["compare"], options["save"], options["format"]
        if compare is not None and save is not None:
            return self._save(compare, sections, Path(save))
        if compare is not None:
            return self._compare(compare, sections, as_json=form == "json")
        names = utils.named_sections(sections) or list(registry.sources())
        return self._report(names, form, options)

    # How they stand

    def _report(self, names: list[str], form: str, options: dict[str, Any]) -> str:
        """Print how the sections stand and what is found; returns what is wrong."""
        found = run_checks(tags=["sitemaps_plus"], databases=[ledger()])
        messages = [message for message in found if not message.is_silenced()]
        no_tables = self.missing_tables()
        states = section_states.section_states(names, has_ledger=not no_tables)
        result = crawled = None
        stopped = ""
        if names and not no_tables:
            result = auditing.audit(self, names, options)
            # Also where the site does not answer, or is down for a while: crawlers meet
            # it so.
            goes_on = not (result.audit.was_interrupted or result.audit.was_refused)
            if options["live"] and goes_on and len(names) == len(registry.sources()):
                try:
                    crawled = auditing.crawl(self, options)
                except (KeyboardInterrupt, SystemExit):
                    stopped = "The crawler's view was stopped, and is not stored."
        results = [one for one in (result, crawled) if one is not None]
        if form == "json":
            self.print_json(
                checks=list(map(_check_as_dict, messages)),
                sections=list(map(asdict, states)),
                audit=None if result is None else auditing.as_dict(result),
                crawl=None if crawled is None else auditing.as_dict(crawled),
            )
        elif form == "github":
            self._print_annotations(_Found(messages, states, results))
        else:
            self._print(_Found(messages, states, results))
        failed = [str(message.id) for message in messages if message.level >= ERROR]
        warned = [str(message.id) for message in messages if message.level == WARNING]
        failed += [state.name for state in states if state.errors]
        faults = [auditing.failed(one, options["fail_on"]) for one in results]
        faults += [stopped, no_tables]
        if warned and options["fail_on"] == "warning":
            faults.insert(0, f"Warnings: {', '.join(warned)}.")
        problem = " ".join(filter(None, (_in_error(failed), *faults)))
        if stopped or (result is not None and result.audit.was_interrupted):
            self.is_stopped = True
            raise CommandError(problem)
        return problem

    def _print(self, found: _Found) -> None:
        for message in found.messages:
            self.say(str(message), is_error=message.level >= ERROR)
        for result in found.results:
            text = "\n".join(auditing.audit_table(result)).lstrip()
            self.say(f"{text}\n\n", is_error=bool(result.audit.errors))
        for state in found.states:
            self._print_state(state)
        if not found.states:
            self.say(_NOTHING)

    def _print_annotations(self, found: _Found) -> None:
        for message in found.messages:
            level = "error" if message.level >= ERROR else "warning"
            text = " ".join(filter(None, (message.msg, message.hint)))
            self.stdout.write(auditing.annotation(level, str(message.id), text))
        for state in found.states:
            for error in state.errors:
                self.stdout.write(auditing.annotation("error", state.name, error))
        for result in found.results:
            for line in auditing.annotated(result):
                self.stdout.write(line)

    def _print_state(self, state: SectionState) -> None:
        lines = [f"Section {state.name!r}:"]
        if state.key:
            lines.append(f"  Paged by key ({', '.join(state.key)}).")
        elif state.by_position:
            lines.append(
                f"  Paged by position, and built for each request: {state.by_position}."
            )
        if state.read_as:
            lines.append(f"  {state.read_as}")
        elif state.object_path:
            lines.append(f"  On the object path: {state.object_path}.")
        if state.key:
            lines.append(f"  {_ledger(state)}")
        if state.lost:
            lines.append(
                f"  Stored bytes of {counted(state.lost, 'page')} were missing or "
                "damaged in the last 7 days, and were rebuilt: see the log."
            )
        lines += [f"  In error: {error}" for error in state.errors]
        lines.append(f"  Next: {state.next or 'nothing to do'}")
        self.say("\n".join(lines), is_error=bool(state.errors))

    # Whether it lists what was listed before

    def _compare(self, formers: list[str], names: list[str], *, as_json: bool) -> str:
        """Compare former sitemaps with what is listed now; returns what is wrong."""
        sides = Sides(compared_site(), names, formers)
        sides.refuse_incomplete()
        show = self.progress("{}: {:,} URLs read")
        result = comparison.compare(*sides.both, sides.problems, sides.site, show)
        if as_json:
            self.print_json(
                former=sides.before_name, now=sides.after_name, **asdict(result)
            )
        else:
            self.say("\n".join(sentences(sides, result)), is_error=bool(result.lost))
        if not result.before:
            return _NOTHING_LISTED
        lost = "URL is" if result.lost == 1 else "URLs are"
        return f"{result.lost:,} {lost} lost." if result.lost else ""

    def _save(self, formers: list[str], names: list[str], folder: Path) -> str:
        """Save what former sitemaps list, to be compared later."""
        sides = Sides(compared_site(), names, formers, saves=True)
        before, _ = sides.both
        count = saved.save(before, formers, folder)
        if not count:
            return _NOTHING_LISTED
        self.say(
            f"{counted(count, 'URL')} of {sides.before_name} saved in {folder}. After "
            f"each step: check_sitemaps --compare {folder}"
        )
        return ""


_NOTHING_LISTED = "The former sitemap lists nothing, so nothing was compared."
_NOTHING = (
    "Nothing to check: no sitemap is registered. Add @register to a Sitemap class in "
    "the sitemaps.py of an app in INSTALLED_APPS."
)


def _refuse(**options: Any) -> None:
    """Refuse options that exclude each other, or would do nothing."""
    auditing.refuse_idle(options)
    if options["save"] is not None and not options["compare"]:
        raise misused("--save does nothing without --compare.")
    audits = [name for name in ("fetch", "live") if options[name]]
    audits += ["fail-on"] if options["fail_on"] else []
    audits += ["format github"] if options["format"] == "github" else []
    if options["compare"] and audits:
        problem = f"--{audits[0]} does nothing with --compare"
        raise misused(f"{problem}: leave one of them out.")


def _in_error(names: list[str]) -> str:
    return f"In error: {', '.join(names)}." if names else ""


def _ledger(state: SectionState) -> str:
    if state.filled is None:
        return "The tables are missing."
    pages = counted(state.pages, "page")
    if not state.filled:
        so_far = f": {pages} so far" if state.pages else ""
        return f"The page boundaries are yet to be found{so_far}."
    built = "built" if state.pages == 1 else "all built"
    if state.unbuilt == state.pages:
        built = "not built yet"
    elif state.unbuilt:
        built = f"{state.pages - state.unbuilt:,} of them built"
    entries = counted(state.entries, "entry", "entries")
    return f"{pages}, {built}, with {entries} and {counted(state.bad, 'bad row')}."


def _check_as_dict(message: CheckMessage) -> dict[str, Any]:
    return {
        "id": message.id,
        "level": message.level,
        "message": message.msg,
        "hint": message.hint,
    }
