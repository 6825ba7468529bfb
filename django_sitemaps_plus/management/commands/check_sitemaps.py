"""``manage.py check_sitemaps``: how the sections stand, and what would be better."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from textwrap import indent
from typing import Any

from django.core.checks import ERROR, CheckMessage, run_checks
from django.core.management import CommandError

from django_sitemaps_plus.audit import comparison, suggestions
from django_sitemaps_plus.audit.listed import Listed, listed
from django_sitemaps_plus.audit.sides import compared_site
from django_sitemaps_plus.audit.suggestions import OURS, Progress, Suggestion
from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.management import leaving_out, utils
from django_sitemaps_plus.management.comparing import Sides, sentences
from django_sitemaps_plus.management.utils import MISUSED, SitemapsCommand, counted
from django_sitemaps_plus.pagination.queries import pages
from django_sitemaps_plus.publishing import status
from django_sitemaps_plus.publishing.status import SectionState
from django_sitemaps_plus.rendering.columns import OMITTED
from django_sitemaps_plus.sitemaps import sections as declared_sections
from django_sitemaps_plus.sitemaps.classes import Sitemap
from django_sitemaps_plus.sitemaps.registry import AnySitemap, registry
from django_sitemaps_plus.sitemaps.sections import SectionSource

#: rich's bars, or plain lines where the extra "cli" is not installed.
_rich: Any
try:
    from rich import console as _console
    from rich import progress as _rich
except ImportError:
    _rich = None


class Command(SitemapsCommand):
    """Say how each section stands, or suggest what puts it on the row path."""

    help = (
        "Run this app's system checks, and say of all sections, or of those named, "
        "how they are paged and read, how many pages they have, and what to do next. "
        "Nothing is changed. Ends with 0 when done, 1 if a check or a page is in error "
        "or the database fails, 2 if misused."
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
            "--suggest",
            action="store_true",
            help="look for the Route and the expressions that give what the methods of "
            "a section give, compare them on every row, and print what holds; no "
            "checks are run",
        )
        parser.add_argument(
            "--compare",
            action="append",
            metavar="FORMER",
            help="compare a former sitemap with what is listed now, URL by URL: the "
            "dotted path of a dict of sitemaps, which contrib's views are given; the "
            "name of a URL whose view is contrib's; the URL of a sitemap or an index; "
            "a saved file, or a folder of them. May be given several times. No checks "
            "are run; ends with 1 if a URL is lost",
        )
        leaving_out.add_arguments(parser)
        parser.add_argument(
            "--format",
            choices=["text", "json"],
            default="text",
            help="what to print: sentences, or one JSON object",
        )

    def run(
        self,
        *,
        sections: list[str],
        suggest: bool,
        compare: list[str] | None,
        format: str,  # noqa: A002 (the option's name)
        **options: Any,
    ) -> str:
        """Check each section; errors at the end."""
        if compare is not None:
            if suggest:
                raise CommandError(
                    "--compare and --suggest exclude each other.", returncode=MISUSED
                )
            return self._compare(compare, sections, as_json=format == "json")
        names = utils.sections(sections) or list(registry.sources())
        if options["left_out"]:
            return leaving_out.report(self, names, as_json=format == "json")
        work = self._suggest if suggest else self._report
        failed = work(names, as_json=format == "json")
        return f"In error: {', '.join(failed)}." if failed else ""

    # How they stand

    def _report(self, names: list[str], *, as_json: bool) -> list[str]:
        """Print how the sections stand; returns what is in error."""
        messages = [
            message
            for message in run_checks(tags=["sitemaps_plus"], databases=[pages().db])
            if not message.is_silenced()
        ]
        states = [status.state(name) for name in names]
        urls = Listed()
        if tables_exist(pages().db):
            urls = listed(names, self.progress("{:,} of {:,} pages read"))
        if as_json:
            self.print_json(
                checks=list(map(_check_as_dict, messages)),
                sections=list(map(asdict, states)),
                urls=asdict(urls),
            )
        else:
            for message in messages:
                self.say(str(message), is_error=message.level >= ERROR)
            for state in states:
                self._print_state(state)
            self._print_urls(urls)
            if not names:
                self.say(_NOTHING)
        failed = [str(message.id) for message in messages if message.level >= ERROR]
        return failed + [state.name for state in states if state.errors]

    def _print_state(self, state: SectionState) -> None:
        lines = [f"Section {state.name!r}:"]
        if state.key:
            lines.append(f"  Paged by key ({', '.join(state.key)}).")
        elif state.by_position:
            lines.append(f"  Paged by position: {state.by_position}.")
        if state.object_path:
            lines.append(f"  On the object path: {state.object_path}.")
        elif state.key:
            lines.append("  On the row path: it declares no method.")
        if state.key or state.pages:
            lines.append(f"  {_ledger(state)}")
        for key, why in state.problems:
            is_listed = why.startswith(OMITTED)
            lines.append(f"  Row {key} is {why if is_listed else f'left out: {why}'}")
        lines += [f"  In error: {error}" for error in state.errors]
        lines.append(f"  Next: {state.next or 'nothing to do'}")
        self.say("\n".join(lines), is_error=bool(state.errors))

    def _print_urls(self, urls: Listed) -> None:
        """Print which URLs are listed several times, or in vain."""
        several = counted(urls.repeated.count, "URL is", "URLs are")
        in_vain = counted(urls.disallowed.count, "URL is", "URLs are")
        for found, text, advice in (
            (urls.repeated, f"{several} listed more than once", _LIST_ONCE),
            (urls.disallowed, f"{in_vain} disallowed by ROBOTS", _ALLOW),
        ):
            if not found.count:
                continue
            self.say(f"{text}:")
            for location, names in found.examples:
                first, *others = dict.fromkeys(names)
                where = f"{first} and {others[0]}" if others else first
                twice = ", twice" if len(names) > 1 and not others else ""
                self.say(f"  {location} (on {where}{twice})")
            if found.count > len(found.examples):
                self.say("  …")
            self.say(f"  Next: {advice}")

    # Whether it lists what was listed before

    def _compare(self, formers: list[str], names: list[str], *, as_json: bool) -> str:
        """Compare former sitemaps with what is listed now; returns what is wrong."""
        sides = Sides(compared_site(), names, formers)
        progress = self.progress("{}: {:,} URLs read")
        found = comparison.compare(*sides.both, sides.problems, sides.site, progress)
        if as_json:
            self.print_json(
                former=sides.before_name, now=sides.after_name, **asdict(found)
            )
        else:
            self.say("\n".join(sentences(sides, found)), is_error=bool(found.lost))
        lost = "URL is" if found.lost == 1 else "URLs are"
        return f"{found.lost:,} {lost} lost." if found.lost else ""

    # What would be better

    def _suggest(self, names: list[str], *, as_json: bool) -> list[str]:
        """Suggest what puts classes on the row path; returns sections that failed."""
        documents: list[dict[str, Any]] = []
        failed = []
        for name in names:
            if any(name in document["sections"] for document in documents):
                continue
            try:
                source = declared_sections.source(name)
                with self._progress(name) as progress:
                    found = suggestions.suggest(source, progress)
            except (SitemapsPlusError, TypeError) as error:
                # The other sections are none the worse for it.
                self.complain(f"Section {name!r}: {error}")
                failed.append(name)
                continue
            if found.lines:
                found.notes += _notes(found, source.sitemap)
            documents.append({**asdict(found), "code": _code(found, source)})
            if not as_json:
                self.say(_sentences(found, documents[-1]["code"]))
        if as_json:
            self.print_json(suggestions=documents)
        elif not names:
            self.say(_NOTHING)
        return failed

    @contextmanager
    def _progress(self, name: str) -> Iterator[Progress]:
        """Give what shows how far one is, on stderr: a bar, or lines without rich."""
        if _rich is None or self.is_quiet or not self.stderr.isatty():
            yield self.progress(f"Section {name!r}: {{:,}} of {{:,}} rows compared")
            return
        console = _console.Console(stderr=True)
        with _rich.Progress(console=console, transient=True) as bar:
            task = bar.add_task(f"Section {name!r}", total=None)
            yield lambda rows, total: bar.update(task, completed=rows, total=total)


_LIST_ONCE = (
    "exclude them in items() of all sections but one; on one page, use a column for "
    "the URL that is unique"
)
_ALLOW = (
    "exclude them in items(), or change SITEMAPS_PLUS['ROBOTS']: what is listed should "
    "be allowed"
)
_NOTHING = (
    "Nothing to check: no sitemap is registered. Add @register to a Sitemap class in "
    "an app's sitemaps.py."
)


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


def _sentences(found: Suggestion, code: str) -> str:
    """Return a suggestion as text."""
    names = ", ".join(map(repr, found.sections))
    several = len(found.sections) > 1
    start = f"Sections {names} are" if several else f"Section {names} is"
    if not found.reason:
        return f"{start} on the row path already."
    reason = found.reason.replace("its", "their", 1) if several else found.reason
    start += f" on the object path, because {reason}."
    refused = [f"  {name}: {why.rstrip('.')}." for name, why in found.refused.items()]
    if not found.lines:
        return "\n".join([f"{start} Nothing can be suggested:", *refused])
    promise = "This puts it on the row path:"
    if "i18n" in found.lines:
        promise = "One class with i18n = True lists the same URLs:"
    elif several:
        promise = "This puts them on the row path:"
    elif refused:
        promise = "This saves reverse() for each row:"
    sections = f" of {len(found.sections)} sections" if several else ""
    proved = f"Proved on {counted(found.rows, 'row')}{sections}."
    notes = [f"  {note}" for note in found.notes]
    lines = [f"{start} {promise}", "", indent(code, "    "), proved, *notes]
    if refused:
        lines += ["It stays on the object path:", *refused]
    return "\n".join(lines)


def _code(found: Suggestion, source: SectionSource) -> str:
    """Return the lines as they stand in a class, with their imports."""
    cls, lines = type(source.sitemap), dict(found.lines)
    if not lines:
        return ""
    name, bases = cls.__name__, ", ".join(base.__name__ for base in cls.__bases__)
    text = re.sub(r'"[^"]*"', "", " ".join(lines.values()))
    imports = {(_MODULES.get(one, _FUNCTIONS), one) for one in _NAME.findall(text)}
    if cls in OURS or cls.__bases__[0] in OURS or "i18n" in lines:
        bases = "Sitemap"
        imports.add(("django_sitemaps_plus", "Sitemap"))
    if cls in OURS:
        # An instance of GenericSitemap: its arguments become attributes.
        model, given = source.sitemap.items().model, vars(source.sitemap)
        name = f"{model.__name__}Sitemap"
        imports.add((model.__module__, model.__name__))
        for one in ("changefreq", "priority", "protocol"):
            lines |= {one: repr(given[one])} if given.get(one) else {}
        lines = {"model": model.__name__, **lines}
    head = "".join(
        f"from {module} import {', '.join(one for _, one in names)}\n"
        for module, names in groupby(sorted(imports), key=itemgetter(0))
    )
    body = "".join(f"    {one} = {code}\n" for one, code in lines.items())
    return f"{head}\n\nclass {name}({bases}):\n{body}"


def _notes(found: Suggestion, sitemap: AnySitemap) -> Iterator[str]:
    """Yield what else has to be done where the lines are used."""
    cls = type(sitemap)
    if cls in OURS:
        rows = sitemap.items()
        if str(rows.query) != str(rows.model._default_manager.all().query):
            yield "items() has to return the queryset that GenericSitemap is given."
    elif not isinstance(sitemap, Sitemap):
        yield "The base class is django_sitemaps_plus.Sitemap, not contrib's."
    if "i18n" in found.lines:
        yield (
            f"Register {cls.__name__} once, in place of its {len(found.sections)} "
            "instances, and let it do without arguments."
        )


_NAME = re.compile(r"\b([A-Z]\w*)\b[(.]")
_FUNCTIONS = "django.db.models.functions"
_MODULES = dict.fromkeys(("CharField", "F", "Value"), "django.db.models")
_MODULES |= dict.fromkeys(("Route", "Sitemap"), "django_sitemaps_plus")
