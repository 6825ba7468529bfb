"""
The overview, which is the app's index: all of a site at a glance.

Each part is read by one or two statements, however many pages, submissions and events
there are. What a user may not view is not read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from django.db.models import Count, Max, Model, Sum
from django.http import HttpRequest
from django.utils.translation import gettext

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.contrib.insight import asked
from django_sitemaps_plus.contrib.insight.models import Read
from django_sitemaps_plus.contrib.insight.readers import reads
from django_sitemaps_plus.delivery.engines import EngineHealth
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.health.alerts import Alert, alerts, missing_tables
from django_sitemaps_plus.models import (
    Change,
    EngineState,
    Page,
    Section,
    Submission,
    UrlChange,
)
from django_sitemaps_plus.pagination.queries import Sums

from . import display
from .base import ShownPage, list_of, may_view, said
from .charts import Chart
from .days import Days
from .parts import EngineRow, ReaderRow, SectionRow, ShownAlert

#: The model whose rows a user has to be allowed to view, to see an alert.
_MODELS = {
    Alert.Subject.SECTIONS: Section,
    Alert.Subject.ENGINES: EngineState,
    Alert.Subject.URLS: UrlChange,
    Alert.Subject.AUDIT: Section,
    Alert.Subject.CRAWLER: Section,
}


@dataclass
class Overview:
    """What the page shows; None for what the user may not view."""

    #: The instance name of the admin that shows it.
    current_app: str = "admin"
    alerts: list[ShownAlert] = field(default_factory=list)
    #: What nobody has looked at.
    notes: list[str] = field(default_factory=list)
    sections: list[SectionRow] | None = None
    total: SectionRow | None = None
    engines: list[EngineRow] | None = None
    may_check: bool = False
    #: What other apps show, as HTML.
    panels: list[str] = field(default_factory=list)
    readers: list[ReaderRow] | None = None
    #: Why readers are not counted; empty if they are.
    readers_off: str = ""
    may_search: bool = False
    charts: list[Chart] = field(default_factory=list)

    def list(self, model: type[Model], query: str) -> str:
        """Return the address of a list in the admin."""
        return list_of(model, self.current_app, query)


def overview(request: HttpRequest) -> Overview:
    """Return what a user may see of the site that is worked for."""
    found = Overview(getattr(request, "current_app", "admin"))
    if missing := [*missing_tables()]:
        # Any part may read them.
        found.alerts = [ShownAlert(one.sentence) for one in missing]
        return found
    may = partial(may_view, request)
    aliases, refusal = display.known_engines()
    days = Days()
    subjects = [subject for subject, model in _MODELS.items() if may(model)]
    if Alert.Subject.SECTIONS in subjects and not may(Page):
        # What is said of sections quotes errors of pages, and these quote rows.
        subjects.remove(Alert.Subject.SECTIONS)
    _add_alerts(found, subjects, refusal)
    if may(Section):
        _add_sections(found, days)
        found.charts.append(days.entries())
    if may(EngineState):
        found.may_check = bool(aliases) and request.user.has_perm(
            "sitemaps_plus.change_enginestate"
        )
        if aliases:
            _add_engines(found, days, refusal)
        else:
            found.engines = []
        found.charts.append(days.submissions())
    if may(Read):
        found.readers = _readers(found)
        found.readers_off = _readers_off()
        found.charts.append(days.reads())
    if may(UrlChange):
        found.may_search = True
    found.panels = [said(one) for one in asked.panels(ShownPage(request))]
    return found


# What needs attention


def _add_alerts(found: Overview, subjects: list[Alert.Subject], refusal: str) -> None:
    try:
        known = alerts(subjects, refusal=refusal)
    except ConfigurationError as error:
        found.alerts.append(ShownAlert(str(error)))
        return
    links = {
        Alert.Subject.SECTIONS: found.list(Page, "state=error"),
        Alert.Subject.URLS: found.list(UrlChange, "on_hold=yes"),
        Alert.Subject.AUDIT: "#sitemaps-audit",
        Alert.Subject.CRAWLER: "#sitemaps-audit",
    }
    for one in known:
        if one.level == Alert.NOTE:
            found.notes.append(one.sentence)
        else:
            link = links.get(one.subject, "")
            found.alerts.append(ShownAlert(one.sentence, link, one.level))
    found.alerts.sort(key=lambda one: one.level != Alert.ERROR)


# Sections


def _add_sections(found: Overview, days: Days) -> None:
    problems = display.problems()
    rows = {
        name: SectionRow(name, found.list(Page, f"of={name}"), problem=problem)
        for name, problem in problems.items()
    }
    for name, sums in Sums.stored().items():
        former = SectionRow(name, problem=gettext("not registered any more"))
        rows.setdefault(name, former).read(sums)
    waiting = (
        Change.objects.on_site()
        .order_by()
        .values_list("section")
        .annotate(n=Count("pk"))
    )
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
    for one in EngineHealth.all(refusal):
        state = one.state
        row = EngineRow(
            alias=state.engine,
            name=one.name,
            host=state.host,
            link=found.list(Submission, f"engine={state.engine}"),
            health=display.health(one),
            waiting=display.number(one.waiting),
            answered=display.ago(state.answered_at),
            lately=days.lately(state.engine),
        )
        found.engines.append(row)


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
            link=found.list(Read, f"crawler={crawler or '-'}"),
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
