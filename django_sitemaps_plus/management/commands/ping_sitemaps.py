"""``manage.py ping_sitemaps``: notify the search engines of what changed."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from django.utils.dateparse import parse_date, parse_datetime, parse_duration
from django.utils.timezone import get_default_timezone, localtime
from django.utils.translation import override

from django_sitemaps_plus import hooks
from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.changes.queries import url_changes
from django_sitemaps_plus.delivery import background, gate, outbox, requests
from django_sitemaps_plus.delivery.dispatcher import DeliveryOptions
from django_sitemaps_plus.delivery.engines import (
    EngineHealth,
    engines,
    reports_of,
    why_refused,
)
from django_sitemaps_plus.delivery.models import Submission
from django_sitemaps_plus.engines.base import CheckResult, Engine
from django_sitemaps_plus.health import alerts as attention
from django_sitemaps_plus.health.alerts import Alert
from django_sitemaps_plus.health.check import check
from django_sitemaps_plus.hooks import Report
from django_sitemaps_plus.management import status as standing
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.management.utils import SitemapsCommand, counted, misused
from django_sitemaps_plus.protocol.dates import moment
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.serving import index
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sitemaps.registry import registry

#: Locations, and their sections.
_Asked: TypeAlias = Iterable[tuple[str, str]]
#: Incompatible options: by option, those that would do nothing with it.
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
#: Options that may be given several times.
_NAMES = {
    "--engine": "only this engine, by its alias; may be given several times",
    "--section": "only what happened in this section; may be given several times",
}
#: What the command may do in place of sending what is due.
_MODES = {
    "--dry-run": "do everything but send: look changes up, rebuild pages, fill the "
    "outbox, and say what would be submitted to whom",
    "--check": "check the address, robots.txt, keys and credentials",
    "--status": "show how each engine is doing, and what it says of the sitemap",
    "--confirm": "submit the removals that are on hold: too many at once",
}


class Command(SitemapsCommand):
    """Submit what is due to the engines, or say how they stand."""

    help = (
        "Rebuild the pages whose rows changed, and notify the search engines in the "
        "settings of the URLs that were added, changed or removed. Exits with 0 when "
        "done, 1 if something could not be submitted or is wrong, 2 if misused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        add = parser.add_argument
        for name, text in _NAMES.items():
            add(name, action="append", default=[], help=text)
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
        for name, text in _MODES.items():
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
        self.sections = utils.named_sections(options["section"])
        if options["confirm"]:
            return self._confirm()
        is_asked = any(options[name] for name in ("url", "all", "since"))
        only_looks = options["check"] or options["status"]
        is_heard = urls_changed.has_listeners() or hooks.listens()
        if not engines() and not (only_looks or (is_heard and not is_asked)):
            raise misused(
                "No engine is configured: set SITEMAPS_PLUS['ENGINES'], for example "
                '{"indexnow": {"BACKEND": '
                '"django_sitemaps_plus.engines.indexnow.IndexNow", '
                '"OPTIONS": {"key": "…"}}}.'
            )
        known = list(engines())
        self.aliases = utils.known_only(options["engine"], known, "engine") or known
        if options["check"]:
            return self._check()
        if is_asked and not any(_takes_requests(engines()[a]) for a in self.aliases):
            names = ", ".join(self.aliases)
            raise misused(
                f"No URL of a page can be submitted to {names}. Leave out --url, --all "
                "and --since."
            )
        self.site = self.site_address()
        if options["status"]:
            with override("en"):
                return self._status()
        asked = self._asked()
        refusal = "" if options["force"] or not engines() else why_refused()
        if refusal:
            lists = ["plan"] if options["dry_run"] else ["lines", "waiting", "troubles"]
            if self.as_json:
                self.print_json(refusal=refusal, **{name: [] for name in lists})
            return refusal
        rebuilding = self.progress("{:,} pages rebuilt so far")
        unread = background.prepare(self.site, rebuilding)
        if options["dry_run"]:
            return self._dry_run(asked, unread)
        return self._deliver(asked, unread)

    # Submitting

    def _asked(self) -> _Asked:
        """Return what is asked for beside what is due: locations and sections."""
        if self.options["all"]:
            self.warn(_QUOTA)
            return requests.everything(self.sections, self.site)
        if self.options["since"] is not None:
            moment = _moment(self.options["since"])
            seconds = UrlChange.stored_for()
            if moment < time.time() - seconds:
                self.warn(f"Changes are kept for {seconds / 86_400:g} days only.")
            return requests.since(moment, self.sections)
        try:
            return requests.given(self.options["url"], self.site)
        except LocationError as error:
            raise misused(f"--url: {error}") from error

    def _dry_run(self, asked: _Asked, unread: Sequence[str]) -> str:
        self._warn_of_holds()
        found = requests.plan(asked, self.site, self.aliases, self.sections)
        plans = list(map(asdict, found))
        if self.as_json:
            self.print_json(refusal="", plan=plans)
        else:
            self._table(plans, empty="Nothing to send.")
        return _unread(unread)

    def _deliver(self, asked: _Asked, unread: Sequence[str]) -> str:
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
        return self._print(background.send_due(options), unread)

    def _print(self, report: Report, unread: Sequence[str]) -> str:
        """Print what was done; return what is wrong."""
        self._warn_of_holds()
        results = [one for one in report.results if one.requests or one.note]
        lines = list(map(asdict, results))
        every = EngineHealth.all("", self.sections, self.aliases)
        waiting = [one for one in every if one.waiting]
        names = self.sections or list(registry.sources())
        with override("en"):
            wrong = [one for one in names if one not in unread]
            alerts = [*attention.section_alerts(wrong), *attention.of_apps(names)]
            troubles = [alert.sentence for alert in attention.errors(alerts)]
        if self.as_json:
            waits = list(map(_waiting, waiting))
            self.print_json(refusal="", lines=lines, waiting=waits, troubles=troubles)
        else:
            self._table(lines, empty="No submission is due.")
            for one in waiting:
                if not one.is_failing:
                    until = f"the first until {_clock(one.due_at)}"
                    self.say(f"{_waits(one)} for {one.state.engine}, {until}.")
        rejected = [
            f"Not everything was accepted: {one.engine}: {one.rejected:,} rejected, "
            f"{one.failed:,} given up."
            for one in results
            if one.rejected or one.failed
        ]
        unsent = [_unsent(one) for one in waiting if one.is_failing]
        return " ".join(filter(None, [_unread(unread), *rejected, *unsent, *troubles]))

    def _warn_of_holds(self) -> None:
        """Say before all else what waits for somebody's confirmation."""
        with override("en"):
            for alert in attention.own_alerts([Alert.Subject.URLS]):
                self.warn(alert.sentence)

    # How they stand

    def _check(self) -> str:
        with override("en"):
            found = check(self.aliases, force=self.options["force"])
        if self.as_json:
            findings = [{"of": name, **asdict(one)} for name, one in found]
            self.print_json(findings=findings)
        else:
            for name, one in found:
                self.say(_checked(name, one), is_error=not one.is_good)
        is_ready = all(one.is_good for _, one in found)
        return "" if is_ready else "Not ready: see the lines marked WRONG."

    def _status(self) -> str:
        refusal = why_refused()
        chosen = EngineHealth.all(refusal, aliases=self.aliases)
        addresses = list(index.index_places(self.site))
        said = [
            (alias, one)
            for alias in self.aliases
            for one in reports_of(engines()[alias], addresses)
        ]
        alerts = attention.alerts(aliases=self.aliases, refusal=refusal)
        late = sum(one.late for one in chosen)
        standings = list(hooks.status())
        of_apps = [one for one in standings if not isinstance(one, hooks.Failed)]
        failed = [str(one) for one in standings if isinstance(one, hooks.Failed)]
        if self.as_json:
            self.print_json(
                engines=[_state(one) for one in chosen if one.state.pk],
                sitemaps=[{"engine": alias, **asdict(one)} for alias, one in said],
                late=late,
                **{one.key: one.data for one in of_apps},
                alerts=list(map(_alert, alerts)),
            )
        else:
            blocks = [
                *map(standing.engine_block, chosen),
                *(standing.sitemap_block(alias, one) for alias, one in said),
                *((one.heading, one.values) for one in of_apps if one.heading),
            ]
            for line in standing.printed(blocks):
                self.say(line)
            self.say(f"Due for more than 15 minutes: {counted(late, 'submission')}.")
            for alert in alerts:
                if alert.level != Alert.ERROR:
                    text = f"{alert.level.title()}: {alert.sentence}"
                    self.say("\n".join(standing.wrapped(text)))
        wrong = [alert.sentence for alert in attention.errors(alerts)]
        return "\n".join([*wrong, *failed])

    def _confirm(self) -> str:
        held = url_changes().filter(on_hold=True).order_by()
        names = self.sections or held.values_list("section", flat=True).distinct()
        done = {name: gate.confirm(name) for name in sorted(names)}
        if self.as_json:
            self.print_json(confirmed=done)
            return ""
        if not done:
            self.say("Nothing is on hold.")
        for name, count in done.items():
            self.say(f"Section {name!r}: {counted(count, 'URL')} will be submitted.")
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
    """Refuse incompatible options."""
    for mode, idle in _IDLE.items():
        for name in idle if options[mode] else ():
            if options[name]:
                raise misused(
                    f"--{name} does nothing with --{mode}: leave one of them out."
                )


def _takes_requests(engine: Engine) -> bool:
    """Return whether an engine takes URLs that somebody asks to submit."""
    return engine.takes_urls and engine.wants("", Submission.Kind.REQUESTED.value)


def _unread(names: Sequence[str]) -> str:
    if not names:
        return ""
    return (
        f"The rows of these sections cannot be read: {', '.join(names)}. "
        "The log says why."
    )


def _waits(one: EngineHealth) -> str:
    return "1 waits" if one.waiting == 1 else f"{one.waiting:,} wait"


def _unsent(one: EngineHealth) -> str:
    reason, next_try = one.reason.rstrip("."), f"next try {_clock(one.due_at)}"
    return (
        f"{_waits(one)}: {one.state.engine} cannot be notified ({reason}), {next_try}."
    )


def _waiting(one: EngineHealth) -> dict[str, Any]:
    return {
        "engine": one.state.engine,
        "host": one.state.host,
        "count": one.waiting,
        "due_at": _when(one.due_at),
        "problem": one.reason,
        "failures": one.state.failures,
    }


def _alert(one: Alert) -> dict[str, Any]:
    return {**asdict(one), "subject": one.subject.value, "since": _when(one.since)}


def _clock(seconds: float) -> str:
    """Return a time of today as "02:15", another with its date."""
    at = localtime(moment(seconds), get_default_timezone())
    today = localtime(timezone=get_default_timezone()).date()
    return f"{at:%H:%M}" if at.date() == today else f"{at:%Y-%m-%d %H:%M}"


def _moment(text: str) -> float:
    """Return the time that ``--since`` means."""
    try:
        duration = parse_duration(text)
        # A day means its midnight.
        moment = parse_datetime(str(parse_date(text) or text))
    except ValueError:
        duration = moment = None
    if moment is not None:
        zone = moment.tzinfo or get_default_timezone()
        seconds = moment.replace(tzinfo=zone).timestamp()
    elif duration is not None:
        seconds = time.time() - duration.total_seconds()
    else:
        raise misused(
            f"--since {text!r}: give a date (2026-01-31), a time (2026-01-31T12:00) or "
            "a duration ('2 00:00:00' is two days)."
        )
    if seconds > time.time():
        raise misused(f"--since {text!r} is in the future.")
    return seconds


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
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)) if seconds else ""


def _checked(name: str, found: CheckResult) -> str:
    word = "warn" if found.is_warning else "ok" if found.is_good else "WRONG"
    # Texts that begin with the engine's name have it once.
    text = f"{word:5}  {name}: {found.text.removeprefix(f'{name} ')}"
    return f"{text} {found.fix}" if found.fix else text


def _cell(value: str | int | list[str]) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:,}" if isinstance(value, int) else value
