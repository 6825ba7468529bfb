"""
The page of the search manager, the app's index: all of a site at a glance.

Each part is read by one or two statements, however many pages, submissions and events
there are. What a user may not view is not read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial

from django.db.models import Count, Max, Sum
from django.http import HttpRequest
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext

from django_sitemaps_plus.audit.kinds import ERROR, KINDS
from django_sitemaps_plus.audit.models import Audit
from django_sitemaps_plus.audit.queries import last_audit
from django_sitemaps_plus.changes.queries import changes, url_changes
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.delivery import health
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.health import Health
from django_sitemaps_plus.delivery.queries import reports
from django_sitemaps_plus.delivery.reports import has_reports
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import SitemapReport
from django_sitemaps_plus.pagination.queries import pages, sections
from django_sitemaps_plus.publishing.readers import reads
from django_sitemaps_plus.publishing.status import with_states
from django_sitemaps_plus.sitemaps.sections import source

from . import display
from .base import may_view
from .charts import Chart
from .days import Days
from .parts import Alert, AuditRow, EngineRow, ReaderRow, ReportRow, SectionRow

#: Sitemaps of which reports are shown.
REPORTS = 20
#: The states of pages that somebody has to do something about.
_WRONG = ("broken", "error")


@dataclass
class Overview:
    """What the page shows; None for what the user may not view."""

    #: The instance name of the admin that shows it.
    current_app: str = "admin"
    alerts: list[Alert] = field(default_factory=list)
    sections: list[SectionRow] | None = None
    total: SectionRow | None = None
    engines: list[EngineRow] | None = None
    may_check: bool = False
    reports: list[ReportRow] | None = None
    readers: list[ReaderRow] | None = None
    #: Why readers are not counted; empty if they are.
    readers_off: str = ""
    audit: Audit | None = None
    audit_text: str = ""
    audit_rows: list[AuditRow] = field(default_factory=list)
    shows_audit: bool = False
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
    if may("section"):
        _add_sections(found, days)
        found.charts.append(days.entries())
    if may("enginestate"):
        found.may_check = bool(aliases) and request.user.has_perm(
            "sitemaps_plus.change_enginestate"
        )
        _add_engines(found, days, aliases, refusal)
        found.charts.append(days.submissions())
    if may("read"):
        found.readers = _readers(found)
        found.readers_off = _readers_off()
        found.charts.append(days.reads())
    if may("urlchange"):
        found.may_search = True
        _add_on_hold(found)
    if may("audit"):
        found.shows_audit = True
        _add_audit(found, last_audit())
    return found


# Sections


def _add_sections(found: Overview, days: Days) -> None:
    names, problem = display.registered()
    if problem:
        found.alerts.append(Alert(problem))
    problems = display.problems()
    rows = {
        name: SectionRow(
            name, found.list("page", f"of={name}"), problem=problems.get(name, "")
        )
        for name in names
    }
    _read_pages(rows, problems)
    waiting = changes().order_by().values_list("section").annotate(n=Count("pk"))
    for name, count in waiting:
        if name in rows:
            rows[name].waiting = count
    total = SectionRow(gettext("All sections"))
    for name, row in rows.items():
        if not row.pages and not row.problem:
            row.note = _why_no_pages(name)
        row.growth = days.growth(name, row.entries) if row.pages else None
        total.add(row)
    found.sections, found.total = list(rows.values()), total
    broken = [name for name, row in rows.items() if row.problem or row.wrong]
    if broken:
        text = ngettext(
            "The section %(names)s is in error: its sitemap is not renewed.",
            "The sections %(names)s are in error: their sitemaps are not renewed.",
            len(broken),
        )
        link = found.list("page", "state=error")
        found.alerts.append(Alert(text % {"names": ", ".join(broken)}, link))


def _read_pages(rows: dict[str, SectionRow], problems: dict[str, str]) -> None:
    """Read the sums of all sections by one statement."""
    # By their numbers: then pages are found by the index, whatever a planner thinks.
    own = pages().filter(section__in=list(sections().values_list("pk", flat=True)))
    found = with_states(own, problems, time.time()).order_by()
    sums = found.values_list("section__name", "state").annotate(
        Count("pk"), Sum("entries"), Sum("size"), Max("lastmod"), Sum("bad")
    )
    for name, state, count, entries, size, lastmod, bad in sums:
        row = rows.setdefault(name, SectionRow(name))
        part = SectionRow(
            name,
            entries=entries or 0,
            pages=count,
            size=size or 0,
            lastmod=lastmod,
            bad=bad or 0,
            never=count if state == "never" else 0,
            wrong=count if state in _WRONG else 0,
        )
        row.add(part)
        if state == "unregistered":
            row.problem = gettext("not registered any more")


def _why_no_pages(name: str) -> str:
    if reason := source(name).by_position:
        return gettext("Built for each request: %s.") % reason
    return gettext("Not built yet. Run: python manage.py build_sitemaps")


# Engines


def _add_engines(found: Overview, days: Days, aliases: list[str], refusal: str) -> None:
    found.engines = []
    if refusal:
        text = gettext("Search engines are not notified: %s") % refusal
        found.alerts.append(Alert(text))
    if not aliases:
        return
    for one in health.all_engines(refusal):
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
        if one.health is Health.BLOCKED:
            text = gettext("%(engine)s cannot be notified: %(reason)s")
            said = {"engine": one.name, "reason": one.reason}
            found.alerts.append(Alert(text % said))
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
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        return text or "–"
    return display.ago(moment.timestamp())


def _add_on_hold(found: Overview) -> None:
    rows = url_changes().filter(queued_at=None, on_hold=True).order_by()
    count = rows[: display.MOST].count()
    if count:
        text = ngettext(
            "%s removed URL is on hold until you confirm it.",
            "%s removed URLs are on hold until you confirm them.",
            count,
        )
        shown = f"{display.number(count)}{'+' if count == display.MOST else ''}"
        found.alerts.append(
            Alert(text % shown, found.list("urlchange", "on_hold__exact=1"))
        )


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


# The audit


def _add_audit(found: Overview, audit: Audit | None) -> None:
    found.audit = audit
    if audit is None:
        return
    found.audit_text = format_html(
        "{} · {} · {} · {}",
        display.ago(audit.finished_at),
        ngettext("%s URL", "%s URLs", audit.urls) % display.number(audit.urls),
        ngettext("%s error", "%s errors", audit.errors) % display.number(audit.errors),
        ngettext("%s warning", "%s warnings", audit.warnings)
        % display.number(audit.warnings),
    )
    known = [
        (KINDS[name], count) for name, count in audit.counts.items() if name in KINDS
    ]
    for kind, by_section in sorted(known, key=lambda item: item[0].level != ERROR):
        level = display.state(display.LEVELS[kind.level], kind.level)
        count = display.number(sum(by_section.values()))
        title, fix = kind.translated_title, kind.translated_fix
        row = AuditRow(level, title, count, ", ".join(by_section), fix)
        found.audit_rows.append(row)
    if audit.errors:
        text = ngettext(
            "The last audit found %s error.",
            "The last audit found %s errors.",
            audit.errors,
        )
        alert = Alert(text % display.number(audit.errors), "#sitemaps-audit")
        found.alerts.append(alert)
