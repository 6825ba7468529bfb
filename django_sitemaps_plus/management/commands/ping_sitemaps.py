"""``manage.py ping_sitemaps``: notify the search engines of what changed."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError
from django.db import connections
from django.utils.dateparse import parse_date, parse_datetime, parse_duration
from django.utils.timezone import get_default_timezone, is_naive, localtime

from django_sitemaps_plus.changes import url_changes as happened
from django_sitemaps_plus.changes.queries import url_changes
from django_sitemaps_plus.changes.recorder import write_late, write_remembered
from django_sitemaps_plus.delivery import (
    background,
    dispatcher,
    guards,
    health,
    outbox,
    requests,
)
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.health import EngineHealth
from django_sitemaps_plus.delivery.models import Submission
from django_sitemaps_plus.delivery.outbox import Backlog
from django_sitemaps_plus.delivery.results import DeliveryOptions, Report
from django_sitemaps_plus.engines.base import CheckResult, Engine
from django_sitemaps_plus.management import status as standing
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.management.utils import (
    MISUSED,
    SitemapsCommand,
    counted,
    site_address,
)
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.publishing import index, status
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sitemaps.registry import registry

#: Seconds after which what is due should have been submitted.
_LATE = 900.0
#: Failures in a row after which so long has passed, by the pauses between them.
_FAILURES = 5
#: By option, those that do nothing beside it.
_IDLE = {
    "check": ("url", "all", "since", "section"),
    "status": ("url", "all", "since", "section", "force"),
    "confirm": ("url", "all", "since", "engine", "force"),
    "url": ("section",),
}
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
            help="only this engine, by its alias; may be given several times",
        )
        add(
            "--section",
            action="append",
            default=[],
            help="only what happened in this section; may be given several times",
        )
        asked = parser.add_mutually_exclusive_group()
        asked.add_argument(
            "--url",
            action="append",
            default=[],
            help="also submit this URL or path; may be given several times; not with "
            "--section",
        )
        asked.add_argument(
            "--all",
            action="store_true",
            help="also submit every URL that is listed; engines have quotas",
        )
        asked.add_argument(
            "--since",
            metavar="WHEN",
            help="also submit again what happened since a date, a time or for a "
            "duration such as '2 00:00:00' (two days); seven days are known",
        )
        what = parser.add_mutually_exclusive_group()
        for name, text in (
            ("--dry-run", "only say what would be submitted to whom; writes nothing"),
            ("--check", "check the address, robots.txt, keys and credentials"),
            ("--status", "show how the engines stand, and their view of the sitemap"),
            ("--confirm", "submit the removals that are on hold: too many at once"),
        ):
            what.add_argument(name, action="store_true", help=text)
        add(
            "--force",
            action="store_true",
            help="submit or check even with DEBUG, from a private address, or where "
            "robots.txt disallows everything",
        )
        add(
            "--format",
            choices=["text", "json"],
            default="text",
            help="what to print: a table or blocks, or one JSON object",
        )

    def run(self, **options: Any) -> str:
        """Do what is asked for; problems at the end."""
        self.options = options
        self.as_json = options["format"] == "json"
        _refuse_idle(options)
        self.sections = utils.sections(options["section"])
        if options["confirm"]:
            return self._confirm()
        is_asked = any(options[name] for name in ("url", "all", "since"))
        if not engines() and (is_asked or not urls_changed.has_listeners()):
            raise CommandError(
                "No engine is configured: set SITEMAPS_PLUS['ENGINES'], for example "
                '{"indexnow": {"BACKEND": '
                '"django_sitemaps_plus.engines.indexnow.IndexNow", '
                '"OPTIONS": {"key": "…"}}}.',
                returncode=MISUSED,
            )
        known = list(engines())
        self.aliases = utils.known_only(options["engine"], known, "engine") or known
        if options["check"]:
            return self._check()
        if is_asked:
            self._refuse_urls()
        self.site = site_address()
        if options["status"]:
            return self._status()
        is_free = options["force"] or not engines()
        self.refusal = "" if is_free else guards.refusal()
        return self._dry_run() if options["dry_run"] else self._deliver()

    def _refuse_urls(self) -> None:
        """Refuse URLs for engines that take none."""
        if not any(_takes_requests(engines()[alias]) for alias in self.aliases):
            names = ", ".join(self.aliases)
            raise CommandError(
                f"No URL of a page can be submitted to {names}. Leave out --url, --all "
                "and --since.",
                returncode=MISUSED,
            )

    # Submitting

    def _asked(self) -> Iterable[tuple[str, str]]:
        """Return what is asked for beside what is due: locations and sections."""
        if self.options["all"]:
            self.warn(_QUOTA)
            return requests.everything(self.sections, self.site)
        if self.options["since"] is not None:
            moment = _moment(self.options["since"])
            seconds = happened.stored_for()
            if moment < time.time() - seconds:
                self.warn(f"What happened is known for {seconds / 86_400:g} days only.")
            return requests.since(moment, self.sections)
        try:
            return requests.given(self.options["url"], self.site)
        except LocationError as error:
            raise CommandError(f"--url: {error}", returncode=MISUSED) from error

    def _dry_run(self) -> str:
        asked = self._asked()
        _write_remembered()
        looking = self.progress("{:,} pages looked at so far")
        found = requests.plan(asked, self.site, self.aliases, self.sections, looking)
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
        _write_remembered()
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
        rebuilding = self.progress("{:,} pages rebuilt so far")
        return self._print(background.drain(options, self.site, rebuilding))

    def _print(self, report: Report) -> str:
        """Print what was done; return what is wrong."""
        results = [one for one in report.results if one.requests or one.note]
        lines = list(map(asdict, results))
        waiting = outbox.backlog(self.aliases, self.sections)
        troubles = [] if report.refusal else self._troubles(report.unreported)
        if self.as_json:
            self.print_json(
                refusal=report.refusal,
                lines=lines,
                waiting=list(map(_waiting, waiting)),
                troubles=troubles,
            )
        elif not report.refusal:
            self._table(lines, empty="Nothing is due.")
            for one in waiting:
                if not one.problem:
                    until = f"the first until {_clock(one.due_at)}"
                    self.say(f"{_waits(one)} for {one.engine}, {until}.")
        if report.refusal:
            return report.refusal
        problems = []
        if report.unreported:
            problems.append(
                "What changed in these sections could not be reported: "
                f"{', '.join(report.unreported)}. The log says why."
            )
        problems += [
            f"Not everything was accepted: {one.engine}: {one.rejected:,} rejected, "
            f"{one.failed:,} given up."
            for one in results
            if one.rejected or one.failed
        ]
        problems += [_unsent(one) for one in waiting if one.problem]
        return " ".join([*problems, *troubles])

    def _troubles(self, known: Collection[str]) -> list[str]:
        """Return why sections, but those known to fail, cannot be submitted."""
        names = self.sections or list(registry.sources())
        texts = [status.trouble(name) for name in names if name not in known]
        return [text for text in texts if text]

    # How they stand

    def _check(self) -> str:
        found = health.check(self.aliases, force=self.options["force"])
        if self.as_json:
            self.print_json(
                findings=[{"of": name, **asdict(one)} for name, one in found]
            )
        else:
            for name, one in found:
                self.say(_checked(name, one), is_error=not one.is_good)
        is_ready = all(one.is_good for _, one in found)
        return "" if is_ready else "Not ready: see the lines marked WRONG."

    def _status(self) -> str:
        every = health.all_engines(guards.refusal())
        chosen = [one for one in every if one.state.engine in self.aliases]
        known = [_state(one) for one in chosen if one.state.pk]
        addresses = index.addresses(self.site)
        said = [
            (alias, one)
            for alias in self.aliases
            for one in dispatcher.status(engines()[alias], addresses)
        ]
        late = outbox.late(_LATE)
        text = f"Due for more than 15 minutes: {counted(late, 'submission')}."
        if self.as_json:
            sitemaps = [{"engine": alias, **asdict(one)} for alias, one in said]
            self.print_json(engines=known, sitemaps=sitemaps, late=late)
        else:
            blocks = [
                *map(standing.of_engine, chosen),
                *(standing.of_sitemap(alias, one) for alias, one in said),
            ]
            for line in standing.printed(blocks):
                self.say(line)
            self.say(text)
        waiting = outbox.backlog(self.aliases)
        failing = [one for one in waiting if one.problem and one.failures >= _FAILURES]
        problems = list(map(_unsent, failing))
        named = {one.engine for one in failing}
        problems += [
            f"Nothing can be sent to {one['engine']}: {one['problem']}"
            for one in known
            if one["problem"] and one["engine"] not in named
        ]
        return " ".join([*problems, *([text] if late else [])])

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
            self.say("Nothing is on hold.")
        for name, count in done.items():
            urls = counted(count, "URL")
            self.say(f"Section {name!r}: {urls} will be submitted.")
        return ""

    # Printing

    def _table(self, rows: Sequence[dict[str, Any]], empty: str = "") -> None:
        """Print columns under their names."""
        if not rows:
            self.say(empty)
            return
        lines = [list(rows[0]), *(list(map(_cell, row.values())) for row in rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            self.say("  ".join(map(str.ljust, line, widths)).rstrip())


def _refuse_idle(options: Mapping[str, Any]) -> None:
    """Refuse options that would do nothing beside others."""
    for mode, idle in _IDLE.items():
        for name in idle if options[mode] else ():
            if options[name]:
                raise CommandError(
                    f"--{name} does nothing with --{mode}: leave one of them out.",
                    returncode=MISUSED,
                )


def _takes_requests(engine: Engine) -> bool:
    """Tell whether an engine takes URLs that somebody asks to submit."""
    return engine.takes_urls and engine.wants("", Submission.Kind.REQUESTED.value)


def _write_remembered() -> None:
    """Write down what this transaction changed so far, as in a TestCase."""
    for alias in connections:
        write_remembered(alias)
    write_late()


def _waits(one: Backlog) -> str:
    return "1 waits" if one.count == 1 else f"{one.count:,} wait"


def _unsent(one: Backlog) -> str:
    problem = engines()[one.engine].redact(one.problem).rstrip(".")
    next_try = f"next try {_clock(one.due_at)}"
    return f"{_waits(one)}: {one.engine} cannot be notified ({problem}), {next_try}."


def _waiting(one: Backlog) -> dict[str, Any]:
    problem = engines()[one.engine].redact(one.problem)
    return {**asdict(one), "due_at": _when(one.due_at), "problem": problem}


def _clock(seconds: float) -> str:
    """Return a time of today as "02:15", another with its date."""
    moment = localtime(datetime.fromtimestamp(seconds, UTC), get_default_timezone())
    today = localtime(timezone=get_default_timezone()).date()
    return f"{moment:%H:%M}" if moment.date() == today else f"{moment:%Y-%m-%d %H:%M}"


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
    seconds = None
    if moment is not None:
        zone = get_default_timezone()
        moment = moment.replace(tzinfo=zone) if is_naive(moment) else moment
        seconds = moment.timestamp()
    elif duration is not None:
        seconds = time.time() - duration.total_seconds()
    if seconds is not None and seconds > time.time():
        raise CommandError(f"--since {text!r} is in the future.", returncode=MISUSED)
    if seconds is not None:
        return seconds
    raise CommandError(
        f"--since {text!r}: give a date (2026-01-31), a time (2026-01-31T12:00) or a "
        "duration ('2 00:00:00' is two days).",
        returncode=MISUSED,
    )


def _state(one: EngineHealth) -> dict[str, Any]:
    state, engine = one.state, engines()[one.state.engine]
    return {
        "engine": state.engine,
        "host": state.host,
        "health": one.health.value,
        "waiting": one.waiting,
        "verified": _when(state.verified_at),
        "last_success": _when(state.succeeded_at),
        "last_answer": _when(state.answered_at),
        "paused_until": _when(state.paused_until),
        "exhausted_until": _when(state.exhausted_until),
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
