"""``manage.py ping_sitemaps``: tell the search engines what changed."""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils.dateparse import parse_date, parse_datetime, parse_duration
from django.utils.module_loading import import_string
from django.utils.timezone import get_default_timezone, is_naive

from django_sitemaps_plus.changes import queries as change_queries
from django_sitemaps_plus.changes import url_changes
from django_sitemaps_plus.delivery import background, guards, outbox, queries, requests
from django_sitemaps_plus.delivery.dispatcher import (
    DeliveryOptions,
    EngineResult,
    Report,
)
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.requests import plan
from django_sitemaps_plus.engines import robots_check
from django_sitemaps_plus.engines.base import CheckResult, Engine
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.management.utils import FAILED, MISUSED, Pace, site_place
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.publishing import index
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import SiteAddress, configured

#: rich's tables, or plain columns where the extra "cli" is not installed.
_rich: Any
try:
    from rich import console as _console
    from rich import table as _rich
except ImportError:
    _rich = None

#: Seconds after which what is due should have been told.
_LATE = 900.0
_MAKE_KEY = "django_sitemaps_plus.engines.indexnow.make_key"
_QUOTA = (
    "Every URL is told again. Engines count them against quotas and against the site; "
    "IndexNow asks for URLs that changed, and for all only after a migration."
)


class Command(BaseCommand):
    """Tell the engines what is due, or say how they stand."""

    help = (
        "Make the pages whose rows changed, and tell the search engines that the "
        "settings name what happened to URLs. Ends with 0 when done, 1 if something "
        "could not be told or is wrong, 2 if misused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        add = parser.add_argument
        add(
            "--engine",
            action="append",
            default=[],
            help="only this engine, by its alias",
        )
        add("--section", action="append", default=[], help="only this section")
        asked = parser.add_mutually_exclusive_group()
        asked.add_argument(
            "--url", action="append", default=[], help="tell of this URL or path, too"
        )
        asked.add_argument(
            "--all",
            action="store_true",
            help="tell of every URL that is listed, too; engines have quotas",
        )
        asked.add_argument(
            "--since",
            help="tell again what happened since a date, a time or a duration such as "
            "'2 00:00:00' (two days); seven days are known",
        )
        what = parser.add_mutually_exclusive_group()
        for name, text in (
            ("--dry-run", "only say what would be told to whom; nothing is written"),
            ("--check", "look at address, robots.txt, keys and credentials"),
            (
                "--status",
                "show how the engines stand, and what they say of the sitemap",
            ),
            ("--confirm", "let what is held be told: too many URLs went at once"),
            ("--new-key", "print a new key for IndexNow, and where to put it"),
        ):
            what.add_argument(name, action="store_true", help=text)
        add(
            "--force",
            action="store_true",
            help="also from DEBUG, from a private address, or past a robots.txt that "
            "keeps crawlers out",
        )
        add(
            "--format",
            choices=["text", "json"],
            default="text",
            help="what to print: a table, or one JSON object",
        )

    def handle(self, **options: Any) -> None:
        """Do what is asked for; problems at the end."""
        self.options = options
        self.as_json = options["format"] == "json"
        with utils.sentences():
            problem = self._run()
        if problem:
            raise CommandError(problem, returncode=FAILED)

    def _run(self) -> str:
        """Return what is wrong in the end; empty if nothing is."""
        if self.options["new_key"]:
            return self._new_key()
        sections = utils.sections(self.options["section"])
        if self.options["confirm"]:
            return self._confirm(sections)
        if not engines():
            raise CommandError(
                "No engine is named: set SITEMAPS_PLUS['ENGINES'], for example "
                '{"indexnow": {"BACKEND": '
                '"django_sitemaps_plus.engines.indexnow.IndexNow", '
                '"OPTIONS": {"key": "…"}}}.',
                returncode=MISUSED,
            )
        aliases = _engines(self.options["engine"])
        if self.options["check"]:
            return self._check(aliases)
        place = site_place()
        if self.options["status"]:
            return self._status(aliases, place)
        asked = self._asked(sections, place)
        if self.options["dry_run"]:
            return self._dry_run(asked, place, aliases, sections)
        return self._deliver(asked, place, aliases, sections)

    # Telling

    def _asked(
        self, sections: Sequence[str], place: SiteAddress
    ) -> Iterable[tuple[str, str]]:
        """Return what is asked for beside what is due: locations and sections."""
        if self.options["all"]:
            self.stderr.write(_QUOTA, style_func=self.style.WARNING)
            return requests.everything(sections or list(registry.sources()), place)
        if self.options["since"]:
            return requests.since(_moment(self.options["since"]), sections)
        try:
            return requests.given(self.options["url"], place)
        except LocationError as error:
            raise CommandError(f"--url: {error}", returncode=MISUSED) from error

    def _dry_run(
        self,
        asked: Iterable[tuple[str, str]],
        place: SiteAddress,
        aliases: Sequence[str],
        sections: Sequence[str],
    ) -> str:
        plans = [asdict(one) for one in plan(asked, place, aliases, sections)]
        refusal = "" if self.options["force"] else guards.refusal()
        if self.as_json:
            self._print_json(refusal=refusal, plan=plans)
            return refusal
        self._table(plans, empty="Nothing would be told.")
        return refusal

    def _deliver(
        self,
        asked: Iterable[tuple[str, str]],
        place: SiteAddress,
        aliases: Sequence[str],
        sections: Sequence[str],
    ) -> str:
        force = self.options["force"]
        refusal = "" if force else guards.refusal()
        if refusal:
            return self._tell(Report(refusal=refusal))
        line = self._line("{} URLs asked for so far")
        outbox.ask(asked, place, aliases, lambda done: line(f"{done:,}"))
        told = self._line("{}")
        report = background.drain(
            DeliveryOptions(
                engines=aliases,
                sections=sections,
                force=force,
                is_asked=True,
                progress=lambda one: told(_sentence(one)),
            )
        )
        return self._tell(report)

    def _tell(self, report: Report) -> str:
        lines = [line for line in report.lines if line.requests or line.note]
        if self.as_json:
            self._print_json(
                refusal=report.refusal, lines=[asdict(one) for one in lines]
            )
        elif not report.refusal:
            self._table([asdict(one) for one in lines], empty="Nothing is due.")
            waiting = outbox.waiting()
            if waiting:
                self.stdout.write(f"To be told later: {waiting:,}. See --status.")
        wrong = [
            line.engine
            for line in lines
            if line.rejected or line.failed or line.postponed or not line.requests
        ]
        if wrong:
            return f"Not all could be told: {', '.join(dict.fromkeys(wrong))}."
        return report.refusal

    # How they stand

    def _check(self, aliases: Sequence[str]) -> str:
        found = [("site", finding) for finding in guards.findings()]
        place = configured()
        if place:
            force, origin = self.options["force"], str(place.origin)
            found.append(
                ("site", robots_check.look(origin, timeout=5.0, private=force))
            )
            for alias in aliases:
                checked = engines()[alias].check(origin, force=force)
                found += [(alias, finding) for finding in checked]
        if self.as_json:
            self._print_json(
                findings=[{"of": name, **asdict(one)} for name, one in found]
            )
        else:
            for name, finding in found:
                self.stdout.write(_checked(name, finding))
        wrong = [name for name, finding in found if not finding.is_good]
        return f"Wrong: {', '.join(dict.fromkeys(wrong))}." if wrong else ""

    def _status(self, aliases: Sequence[str], place: SiteAddress) -> str:
        states = queries.states().filter(engine__in=aliases).order_by("engine", "host")
        known = [_state(state, engines()[state.engine]) for state in states]
        addresses = index.addresses(place)
        said = [
            {"engine": alias, **asdict(status)}
            for alias in aliases
            for status in engines()[alias].status(addresses)
        ]
        late = outbox.late(_LATE)
        if self.as_json:
            self._print_json(engines=known, sitemaps=said, late=late)
        else:
            self._table(known, empty="Nothing was told so far.")
            if said:
                self._table(said)
            self.stdout.write(f"Due for longer than 15 minutes: {late}.")
        wrong = [one["engine"] for one in known if one["problem"]]
        if wrong:
            return f"Nothing can be told: {', '.join(wrong)}."
        return f"{late} submissions are late." if late else ""

    def _confirm(self, sections: Sequence[str]) -> str:
        held = change_queries.url_changes().filter(on_hold=True).order_by()
        names = list(held.values_list("section", flat=True).distinct())
        chosen = [name for name in names if not sections or name in sections]
        told = {name: url_changes.confirm(name, time.time()) for name in sorted(chosen)}
        if self.as_json:
            self._print_json(confirmed=told)
        elif not told:
            self.stdout.write("Nothing is held.")
        for name, count in told.items() if not self.as_json else ():
            self.stdout.write(f"Section {name!r}: {count:,} URLs may be told.")
        return ""

    def _new_key(self) -> str:
        key = import_string(_MAKE_KEY)()
        if self.as_json:
            self._print_json(key=key)
            return ""
        self.stdout.write(
            f"{key}\n\n"
            "Keep it where the settings find it, an environment variable for example:\n"
            '  "OPTIONS": {"key": os.environ["INDEXNOW_KEY"]}\n'
            'Instead of another key: leave that one among "old_keys" for some days.\n'
            "Then deploy, and run: manage.py ping_sitemaps --check"
        )
        return ""

    # Printing

    def _print_json(self, **document: Any) -> None:
        text = json.dumps(document, indent=2, ensure_ascii=False, default=str)
        self.stdout.write(text)

    def _table(self, rows: Sequence[dict[str, Any]], empty: str = "") -> None:
        """Print a table: rich's on a terminal, plain columns elsewhere."""
        if not rows:
            self.stdout.write(empty)
            return
        heads = list(rows[0])
        cells = [[_cell(row[name]) for name in heads] for row in rows]
        if _rich is not None and self.stdout.isatty():
            table = _rich.Table(*heads)
            for line in cells:
                table.add_row(*line)
            _console.Console().print(table)
            return
        widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
        for line in [heads, *cells]:
            padded = (
                text.ljust(width) for text, width in zip(line, widths, strict=True)
            )
            self.stdout.write("  ".join(padded).rstrip())

    def _line(self, text: str) -> Callable[[str], None]:
        """Return what prints a line of progress, at most every other second."""
        pace = Pace()

        def write(shown: str) -> None:
            if pace.allows():
                self.stderr.write(text.format(shown), style_func=str)

        return write


def _engines(names: Sequence[str]) -> list[str]:
    """Return the engines that are named; all if none is."""
    known = list(engines())
    for name in names:
        if name not in known:
            raise CommandError(
                f"There is no engine {name!r}. There are: {', '.join(known)}.",
                returncode=MISUSED,
            )
    return list(names) or known


def _moment(text: str) -> float:
    """Return the time that ``--since`` means."""
    try:
        duration = parse_duration(text)
        moment = parse_datetime(text)
        day = parse_date(text)
    except ValueError:
        duration = moment = day = None
    if moment is None and day is not None:
        moment = parse_datetime(f"{day}T00:00:00")
    if moment is not None:
        zone = get_default_timezone()
        return (moment.replace(tzinfo=zone) if is_naive(moment) else moment).timestamp()
    if duration is not None:
        return time.time() - duration.total_seconds()
    raise CommandError(
        f"--since {text!r}: give a date (2026-01-31), a time (2026-01-31T12:00) or a "
        "duration ('2 00:00:00' is two days).",
        returncode=MISUSED,
    )


def _sentence(line: EngineResult) -> str:
    start = f"{line.engine}, {line.host}: {line.requests:,} requests"
    return f"{start}, {line.accepted:,} URLs accepted"


def _state(state: Any, engine: Engine) -> dict[str, Any]:
    waiting = queries.submissions().waiting(state.engine, state.host)
    return {
        "engine": state.engine,
        "host": state.host,
        "waiting": waiting.count(),
        "verified": _when(state.verified_at),
        "last_success": _when(state.succeeded_at),
        "last_answer": _when(state.answered_at),
        "paused_until": _when(state.paused_until),
        "status": state.status,
        "problem": engine.redact(state.problem),
        "message": engine.redact(state.message),
    }


def _when(seconds: float) -> str:
    if not seconds:
        return ""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def _checked(name: str, finding: CheckResult) -> str:
    text = f"{'ok' if finding.is_good else 'WRONG':5}  {name}: {finding.text}"
    return f"{text} {finding.fix}" if finding.fix else text


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)
