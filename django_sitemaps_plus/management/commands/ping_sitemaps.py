"""``manage.py ping_sitemaps``: notify the search engines of what changed."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError
from django.db import connections
from django.utils.dateparse import parse_date, parse_datetime, parse_duration
from django.utils.timezone import get_default_timezone, is_naive

from django_sitemaps_plus.changes import url_changes as happened
from django_sitemaps_plus.changes.queries import url_changes
from django_sitemaps_plus.changes.recorder import write_remembered
from django_sitemaps_plus.delivery import background, guards, outbox, requests
from django_sitemaps_plus.delivery.dispatcher import (
    DeliveryOptions,
    Report,
)
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.queries import states, submissions
from django_sitemaps_plus.delivery.requests import plan
from django_sitemaps_plus.engines import robots_check
from django_sitemaps_plus.engines.base import CheckResult, Engine
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.management.utils import (
    MISUSED,
    SitemapsCommand,
    counted,
    site_address,
)
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

#: Seconds after which what is due should have been submitted.
_LATE = 900.0
_QUOTA = (
    "Every URL is submitted again. Engines count them against quotas and against the "
    "site; IndexNow asks for URLs that changed, and for all only after a migration."
)


class Command(SitemapsCommand):
    """Submit what is due to the engines, or say how they stand."""

    help = (
        "Rebuild the pages whose rows changed, and notify the search engines in the "
        "settings of the URLs that were added, changed or removed. Ends with 0 when "
        "done, 1 if something could not be submitted or is wrong, 2 if misused."
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
            "--url", action="append", default=[], help="also submit this URL or path"
        )
        asked.add_argument(
            "--all",
            action="store_true",
            help="also submit every URL that is listed; engines have quotas",
        )
        asked.add_argument(
            "--since",
            help="also submit again what happened since a date, a time or a duration "
            "such as '2 00:00:00' (two days); seven days are known",
        )
        what = parser.add_mutually_exclusive_group()
        for name, text in (
            ("--dry-run", "only say what would be submitted to whom; nothing is sent"),
            ("--check", "check the address, robots.txt, keys and credentials"),
            ("--status", "show how the engines stand, and their view of the sitemap"),
            ("--confirm", "submit the removals that are on hold: too many at once"),
        ):
            what.add_argument(name, action="store_true", help=text)
        add(
            "--force",
            action="store_true",
            help="even with DEBUG, from a private address, or where robots.txt "
            "disallows everything",
        )
        add(
            "--format",
            choices=["text", "json"],
            default="text",
            help="what to print: a table, or one JSON object",
        )

    def run(self, **options: Any) -> str:
        """Do what is asked for; problems at the end."""
        self.options = options
        self.as_json = options["format"] == "json"
        sections = utils.sections(options["section"])
        if options["confirm"]:
            return self._confirm(sections)
        if not engines():
            raise CommandError(
                "No engine is configured: set SITEMAPS_PLUS['ENGINES'], for example "
                '{"indexnow": {"BACKEND": '
                '"django_sitemaps_plus.engines.indexnow.IndexNow", '
                '"OPTIONS": {"key": "…"}}}.',
                returncode=MISUSED,
            )
        aliases = _engines(options["engine"])
        if options["check"]:
            return self._check(aliases)
        site = site_address()
        if options["status"]:
            return self._status(aliases, site)
        asked = self._asked(sections, site)
        if options["dry_run"]:
            return self._dry_run(asked, site, aliases, sections)
        return self._deliver(asked, site, aliases, sections)

    # Submitting

    def _asked(
        self, sections: Sequence[str], site: SiteAddress
    ) -> Iterable[tuple[str, str]]:
        """Return what is asked for beside what is due: locations and sections."""
        if self.options["all"]:
            self.stderr.write(_QUOTA, style_func=self.style.WARNING)
            return requests.everything(sections or list(registry.sources()), site)
        if self.options["since"]:
            return requests.since(_moment(self.options["since"]), sections)
        try:
            return requests.given(self.options["url"], site)
        except LocationError as error:
            raise CommandError(f"--url: {error}", returncode=MISUSED) from error

    def _dry_run(
        self,
        asked: Iterable[tuple[str, str]],
        site: SiteAddress,
        aliases: Sequence[str],
        sections: Sequence[str],
    ) -> str:
        plans = [asdict(one) for one in plan(asked, site, aliases, sections)]
        refusal = "" if self.options["force"] else guards.refusal()
        if self.as_json:
            self.print_json(refusal=refusal, plan=plans)
            return refusal
        self._table(plans, empty="Nothing to send.")
        return refusal

    def _deliver(
        self,
        asked: Iterable[tuple[str, str]],
        site: SiteAddress,
        aliases: Sequence[str],
        sections: Sequence[str],
    ) -> str:
        force = self.options["force"]
        refusal = "" if force else guards.refusal()
        if refusal:
            return self._print(Report(refusal=refusal))
        for alias in connections:
            # What this transaction changed so far, as in a TestCase.
            write_remembered(alias)
        asking = self.progress("{:,} URLs asked for so far")
        outbox.request(asked, site, aliases, asking)
        sending = self.progress(
            "{0.engine}, {0.host}: {0.requests:,} requests, "
            "{0.accepted:,} URLs accepted"
        )
        report = background.drain(
            DeliveryOptions(
                engines=aliases,
                sections=sections,
                force=force,
                is_requested=True,
                progress=sending,
            )
        )
        return self._print(report)

    def _print(self, report: Report) -> str:
        lines = [line for line in report.results if line.requests or line.note]
        if self.as_json:
            self.print_json(
                refusal=report.refusal, lines=[asdict(one) for one in lines]
            )
        elif not report.refusal:
            self._table([asdict(one) for one in lines], empty="Nothing is due.")
            waiting = outbox.waiting()
            if waiting:
                self.stdout.write(f"{waiting:,} waiting. See --status.")
        wrong = [
            line.engine
            for line in lines
            if line.rejected or line.failed or line.postponed or not line.requests
        ]
        if wrong:
            return f"Not everything was accepted: {', '.join(dict.fromkeys(wrong))}."
        return report.refusal

    # How they stand

    def _check(self, aliases: Sequence[str]) -> str:
        found = [("site", one) for one in guards.check()]
        site = configured()
        if site:
            force, origin = self.options["force"], str(site.origin)
            found.append(
                ("site", robots_check.look(origin, timeout=5.0, private=force))
            )
            for alias in aliases:
                checked = engines()[alias].check(origin, force=force)
                found += [(alias, one) for one in checked]
        if self.as_json:
            self.print_json(
                findings=[{"of": name, **asdict(one)} for name, one in found]
            )
        else:
            for name, one in found:
                self.stdout.write(_checked(name, one))
        is_ready = all(one.is_good for _, one in found)
        return "" if is_ready else "Not ready: see the lines marked WRONG."

    def _status(self, aliases: Sequence[str], site: SiteAddress) -> str:
        rows = states().filter(engine__in=aliases).order_by("engine", "host")
        known = [_state(row, engines()[row.engine]) for row in rows]
        addresses = index.addresses(site)
        said = [
            {"engine": alias, **asdict(status)}
            for alias in aliases
            for status in engines()[alias].status(addresses)
        ]
        late = outbox.late(_LATE)
        text = f"Due for more than 15 minutes: {counted(late, 'submission')}."
        if self.as_json:
            self.print_json(engines=known, sitemaps=said, late=late)
        else:
            self._table(known, empty="Nothing has been submitted so far.")
            if said:
                self._table(said)
            self.stdout.write(text)
        wrong = [one["engine"] for one in known if one["problem"]]
        if wrong:
            return f"Nothing can be sent: {', '.join(wrong)}."
        return text if late else ""

    def _confirm(self, sections: Sequence[str]) -> str:
        waiting = url_changes().filter(on_hold=True).order_by()
        names = waiting.values_list("section", flat=True).distinct()
        chosen = sorted(name for name in names if not sections or name in sections)
        done = {name: happened.confirm(name, time.time()) for name in chosen}
        if self.as_json:
            self.print_json(confirmed=done)
            return ""
        if not done:
            self.stdout.write("Nothing is on hold.")
        for name, count in done.items():
            urls = counted(count, "URL")
            self.stdout.write(f"Section {name!r}: {urls} will be submitted.")
        return ""

    # Printing

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


def _state(state: Any, engine: Engine) -> dict[str, Any]:
    waiting = submissions().waiting(state.engine, state.host)
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


def _checked(name: str, found: CheckResult) -> str:
    text = f"{'ok' if found.is_good else 'WRONG':5}  {name}: {found.text}"
    return f"{text} {found.fix}" if found.fix else text


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
