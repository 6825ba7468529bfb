"""
The page of the search manager, the app's index: all of a site at a glance.

Each part is read by one or two statements, however many pages, submissions and events
there are. What a user may not view is not read.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial

from django.db.models import Count, Max, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext

from django_sitemaps_plus.audit.kinds import ERROR, KINDS
from django_sitemaps_plus.changes.queries import changes
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.queries import reports
from django_sitemaps_plus.delivery.reports import has_reports, seconds_of
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.health.alerts import NOTE, Subject, alerts
from django_sitemaps_plus.health.audits import looks
from django_sitemaps_plus.health.engines import all_engines
from django_sitemaps_plus.models import SitemapReport
from django_sitemaps_plus.publishing import status
from django_sitemaps_plus.publishing.readers import reads

from . import display
from .base import may_view
from .charts import Chart
from .days import Days
from .parts import Alert, AuditRow, EngineRow, LookRow, ReaderRow, ReportRow, SectionRow

#: Sitemaps of which reports are shown.
REPORTS = 20
#: The model whose rows a user has to be allowed to view, to see an alert.
MODELS = {
    Subject.SECTIONS: "section",
    Subject.ENGINES: "enginestate",
    Subject.URLS: "urlchange",
    Subject.AUDIT: "audit",
    Subject.CRAWLER: "audit",
}


@dataclass
class Overview:
    """What the page shows; None for what the user may not view."""

    #: The instance name of the admin that shows it.
    current_app: str = "admin"
    alerts: list[Alert] = field(default_factory=list)
    #: What nobody has looked at.
    notes: list[str] = field(default_factory=list)
    sections: list[SectionRow] | None = None
    total: SectionRow | None = None
    engines: list[EngineRow] | None = None
    may_check: bool = False
    reports: list[ReportRow] | None = None
    readers: list[ReaderRow] | None = None
    #: Why readers are not counted; empty if they are.
    readers_off: str = ""
    #: What was looked at, and what was found.
    looks: list[LookRow] | None = None
    findings: list[AuditRow] = field(default_factory=list)
    may_search: bool = False
    charts: list[Chart] = field(default_factory=list)

    def list(self, model: str, query: str) -> str:
        """Return the address of a list in the admin."""
        name = f"admin:sitemaps_plus_{model}_changelist"
        return f"{reverse(name, current_app=self.current_app)}?{query}"


def overview(request: HttpRequest) -> Overview:
    """Return what a user may see of the site that is worked for."""
    found = Overview(getattr(request, "current_app", "admin"))
    may = partial(may_view, request)
    aliases, refusal = display.known_engines()
    days = Days()
    subjects = [subject for subject, model in MODELS.items() if may(model)]
    _add_alerts(found, subjects, refusal)
    if may("section"):
        _add_sections(found, days)
        found.charts.append(days.entries())
    if may("enginestate"):
        found.may_check = bool(aliases) and request.user.has_perm(
            "sitemaps_plus.change_enginestate"
        )
        if aliases:
            _add_engines(found, days, refusal)
        else:
            found.engines = []
        found.charts.append(days.submissions())
    if may("read"):
        found.readers = _readers(found)
        found.readers_off = _readers_off()
        found.charts.append(days.reads())
    if may("urlchange"):
        found.may_search = True
    if may("audit"):
        _add_audits(found)
    return found


# What needs attention


def _add_alerts(found: Overview, subjects: list[Subject], refusal: str) -> None:
    try:
        known = alerts(subjects, refusal=refusal)
    except ConfigurationError as error:
        found.alerts.append(Alert(str(error)))
        return
    links = {
        Subject.SECTIONS: found.list("page", "state=error"),
        Subject.URLS: found.list("urlchange", "on_hold=yes"),
        Subject.AUDIT: "#sitemaps-audit",
        Subject.CRAWLER: "#sitemaps-audit",
    }
    for one in known:
        if one.level == NOTE:
            found.notes.append(one.sentence)
        else:
            link = links.get(one.subject, "")
            found.alerts.append(Alert(one.sentence, link, one.level))


# Sections


def _add_sections(found: Overview, days: Days) -> None:
    problems = display.problems()
    rows = {
        name: SectionRow(name, found.list("page", f"of={name}"), problem=problem)
        for name, problem in problems.items()
    }
    for name, sums in status.sums().items():
        former = SectionRow(name, problem=gettext("not registered any more"))
        rows.setdefault(name, former).read(sums)
    waiting = changes().order_by().values_list("section").annotate(n=Count("pk"))
    for name, count in waiting:
        if name in rows:
            rows[name].waiting = count
    total = SectionRow(gettext("All sections"))
    for name, row in rows.items():
        if not row.pages and not row.problem:
            row.note = display.why_no_pages(name)
        row.growth = days.growth(name, row.entries) if row.pages else None
        total.add(row)
    found.sections, found.total = list(rows.values()), total


# Engines


def _add_engines(found: Overview, days: Days, refusal: str) -> None:
    found.engines = []
    for one in all_engines(refusal):
        state = one.state
        row = EngineRow(
            alias=state.engine,
            name=one.name,
            host=state.host,
            link=found.list("submission", f"engine={state.engine}"),
            health=display.health(one),
            waiting=display.number(one.waiting),
            answered=display.ago(state.answered_at),
            lately=days.lately(state.engine),
        )
        found.engines.append(row)
    if any(has_reports(engine) for engine in engines().values()):
        rows = reports().order_by("engine", "digest")[:REPORTS]
        found.reports = sorted(map(_report, rows), key=lambda row: row.address)


def _report(row: SitemapReport) -> ReportRow:
    urls = sum(row.submitted.values()) if row.submitted else None
    waits = gettext("not read yet") if row.is_pending else ""
    return ReportRow(
        address=display.link(row.location),
        engine=row.engine,
        submitted=_moment(row.last_submitted),
        read=waits or _moment(row.last_downloaded),
        urls=display.number(urls),
        errors=display.number(row.errors),
        warnings=display.number(row.warnings),
        asked=display.ago(row.asked_at),
        problem=row.problem,
    )


def _moment(text: str) -> str:
    """Return a time as an engine writes it (RFC 3339) as all others are shown."""
    seconds = seconds_of(text)
    return display.ago(seconds) if seconds else text or "–"


# Readers


def _readers(found: Overview) -> list[ReaderRow]:
    """Return the crawlers, who read last first, and all other clients at the end."""
    sums = (
        reads()
        .order_by()
        .values_list("crawler")
        .annotate(Max("last_at"), Count("pk"), Sum("full"), Sum("unchanged"))
    )
    rows = sorted(sums, key=lambda row: (not row[0], -row[1]))
    return [
        ReaderRow(
            name=crawler or gettext("other clients"),
            link=found.list("read", f"crawler={crawler or '-'}"),
            last=display.ago(last),
            documents=display.number(documents),
            full=display.number(full),
            unchanged=display.number(unchanged),
        )
        for crawler, last, documents, full, unchanged in rows
    ]


def _readers_off() -> str:
    try:
        is_on = bool(get_settings().BACKGROUND)
    except ConfigurationError:
        return ""
    return "" if is_on else gettext("Readers are not counted: BACKGROUND is off.")


# The audits


def _add_audits(found: Overview) -> None:
    every = looks()
    found.looks = [
        LookRow(look.of, look.how, display.ago(look.audit.finished_at), look.result)
        for look in every
    ]
    counts: dict[str, Counter[str]] = {}
    for look in every:
        for name, some in look.counts.items():
            counts.setdefault(name, Counter()).update(some)
    known = [(KINDS[name], some) for name, some in counts.items()]
    for kind, by_section in sorted(known, key=lambda item: item[0].level != ERROR):
        found.findings.append(
            AuditRow(
                level=display.state(display.LEVELS[kind.level], kind.level),
                title=kind.translated_title,
                number=display.number(by_section.total()),
                link=found.list("finding", f"kind={kind.id}"),
                sections=", ".join(filter(None, by_section)) or "–",
                fix=kind.translated_fix,
            )
        )
