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
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.queries import states, submissions
from django_sitemaps_plus.delivery.results import DeliveryOptions, Report
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
from django_sitemaps_plus.sitemaps.site import configured

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
        self.sections = utils.sections(options["section"])
        if options["confirm"]:
            return self._confirm()
        if not engines():
            raise CommandError(
                "No engine is configured: set SITEMAPS_PLUS['ENGINES'], for example "
                '{"indexnow": {"BACKEND": '
                '"django_sitemaps_plus.engines.indexnow.IndexNow", '
                '"OPTIONS": {"key": "…"}}}.',
                returncode=MISUSED,
            )
        self.aliases = _engines(options["engine"])
        if options["check"]:
            return self._check()
        self.site = site_address()
        if options["status"]:
            return self._status()
        self.refusal = "" if options["force"] else guards.refusal()
        return self._dry_run() if options["dry_run"] else self._deliver()

    # Submitting

    def _asked(self) -> Iterable[tuple[str, str]]:
        """Return what is asked for beside what is due: locations and sections."""
        if self.options["all"]:
            self.stderr.write(_QUOTA, style_func=self.style.WARNING)
            return requests.everything(self.sections, self.site)
        if self.options["since"]:
            return requests.since(_moment(self.options["since"]), self.sections)
        try:
            return requests.given(self.options["url"], self.site)
        except LocationError as error:
            raise CommandError(f"--url: {error}", returncode=MISUSED) from error

    def _dry_run(self) -> str:
        found = requests.plan(self._asked(), self.site, self.aliases, self.sections)
        plans = list(map(asdict, found))
        if self.as_json:
            self.print_json(refusal=self.refusal, plan=plans)
        else:
            self._table(plans, empty="Nothing to send.")
        return self.refusal

    def _deliver(self) -> str:
        asked = self._asked()
        if self.refusal:
            return self._print(Report(refusal=self.refusal))
        for alias in connections:
            # What this transaction changed so far, as in a TestCase.
            write_remembered(alias)
        asking = self.progress("{:,} URLs asked for so far")
        outbox.request(asked, self.site, self.aliases, asking)
        sending = self.progress(
            "{0.engine}, {0.host}: {0.requests:,} requests, "
            "{0.accepted:,} URLs accepted"
        )
        options = DeliveryOptions(
            engines=self.aliases,
            sections=self.sections,
            force=self.options["force"],
            is_requested=True,
            progress=sending,
        )
        return self._print(background.drain(options, self.site))

    def _print(self, report: Report) -> str:
        """Print what was done; return what is wrong."""
        results = [one for one in report.results if one.requests or one.note]
        lines = list(map(asdict, results))
        if self.as_json:
            self.print_json(refusal=report.refusal, lines=lines)
        elif not report.refusal:
            self._table(lines, empty="Nothing is due.")
            waiting = outbox.waiting()
            if waiting:
                self.stdout.write(f"{waiting:,} waiting. See --status.")
        problems = [report.refusal] if report.refusal else []
        if report.unreported:
            problems.append(
                "What changed in these sections could not be reported: "
                f"{', '.join(report.unreported)}. The log says why."
            )
        wrong = [
            one.engine
            for one in results
            if one.rejected or one.failed or one.postponed or not one.requests
        ]
        if wrong:
            names = ", ".join(dict.fromkeys(wrong))
            problems.append(f"Not everything was accepted: {names}.")
        return " ".join(problems)

    # How they stand

    def _check(self) -> str:
        found = [("site", one) for one in guards.check()]
        site = configured()
        if site:
            force, origin = self.options["force"], str(site.origin)
            found.append(
                ("site", robots_check.check(origin, timeout=5.0, private=force))
            )
            for alias in self.aliases:
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

    def _status(self) -> str:
        rows = states().filter(engine__in=self.aliases).order_by("engine", "host")
        known = [_state(row, engines()[row.engine]) for row in rows]
        addresses = index.addresses(self.site)
        said = [
            {"engine": alias, **asdict(status)}
            for alias in self.aliases
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

    def _confirm(self) -> str:
        waiting = url_changes().filter(on_hold=True).order_by()
        if self.sections:
            waiting = waiting.filter(section__in=self.sections)
        names = waiting.values_list("section", flat=True).distinct()
        done = {name: happened.confirm(name, time.time()) for name in sorted(names)}
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
        """Print columns under their names."""
        if not rows:
            self.stdout.write(empty)
            return
        lines = [list(rows[0]), *(list(map(_cell, row.values())) for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            self.stdout.write("  ".join(map(str.ljust, line, widths)).rstrip())


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
