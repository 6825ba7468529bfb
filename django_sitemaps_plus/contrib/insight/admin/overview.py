"""
The overview, which is the app's index: all of a site at a glance.

Each part is read by one or two statements, however many pages, submissions and events
there are. What a user may not view is not read.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.db.models import Count, Max, Sum
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
from .base import ShownPage, said
from .charts import Chart
from .days import Days
from .parts import SectionRow, ShownAlert

#: The model whose rows a user has to be allowed to view, to see an alert.
_MODELS = {
    Alert.Subject.SECTIONS: Section,
    Alert.Subject.ENGINES: EngineState,
    Alert.Subject.URLS: UrlChange,
    Alert.Subject.AUDIT: Section,
    Alert.Subject.CRAWLER: Section,
}


def overview(request: HttpRequest) -> dict[str, Any]:
    """Return what a user may see of the site that is worked for."""
    if missing := [*missing_tables()]:
        # Any part may read them.
        return {"alerts": [ShownAlert(one.sentence) for one in missing]}
    page, days, charts = ShownPage(request), Days(), list[Chart]()
    aliases, refusal = display.known_engines()
    subjects = [subject for subject, model in _MODELS.items() if page.may(model)]
    if Alert.Subject.SECTIONS in subjects and not page.may(Page):
        # What is said of sections quotes errors of pages, and these quote rows.
        subjects.remove(Alert.Subject.SECTIONS)
    found = {"charts": charts, **_alerts(page, subjects, refusal)}
    if page.may(Section):
        found["sections"], found["total"] = _sections(page, days)
        charts.append(days.entries())
    if page.may(EngineState):
        may_act = request.user.has_perm("sitemaps_plus.change_enginestate")
        found["may_check"] = bool(aliases) and may_act
        found["engines"] = _engines(page, days, refusal) if aliases else []
        charts.append(days.submissions())
    if page.may(Read):
        found["readers"] = _readers(page)
        found["readers_off"] = _readers_off()
        charts.append(days.reads())
    found["may_search"] = page.may(UrlChange)
    # What other apps show, as HTML.
    found["panels"] = [said(one) for one in asked.panels(page)]
    return found


# What needs attention


def _alerts(
    page: ShownPage, subjects: list[Alert.Subject], refusal: str
) -> dict[str, Any]:
    """Return what somebody should do, and what nobody has looked at."""
    try:
        known = alerts(subjects, refusal=refusal)
    except ConfigurationError as error:
        return {"alerts": [ShownAlert(str(error))]}
    links = {
        Alert.Subject.SECTIONS: page.list(Page, "state=error"),
        Alert.Subject.URLS: page.list(UrlChange, "on_hold=yes"),
        Alert.Subject.AUDIT: "#sitemaps-audit",
        Alert.Subject.CRAWLER: "#sitemaps-audit",
    }
    shown = [
        ShownAlert(one.sentence, links.get(one.subject, ""), one.level)
        for one in known
        if one.level != Alert.NOTE
    ]
    return {
        "alerts": sorted(shown, key=lambda one: one.level != Alert.ERROR),
        "notes": [one.sentence for one in known if one.level == Alert.NOTE],
    }


# Sections


def _sections(page: ShownPage, days: Days) -> tuple[list[SectionRow], SectionRow]:
    """Return the sections, and the sum of all."""
    problems = display.problems()
    rows = {
        name: SectionRow(name, page.list(Page, f"of={name}"), problem=problem)
        for name, problem in problems.items()
    }
    for name, sums in Sums.stored().items():
        former = SectionRow(name, problem=gettext("not registered any more"))
        rows.setdefault(name, former).read(sums)
    waiting = Change.objects.on_site().order_by().values_list("section")
    for name, count in waiting.annotate(n=Count("pk")):
        if name in rows:
            rows[name].waiting = count
    total = SectionRow(gettext("All sections"))
    for name, row in rows.items():
        if not row.pages and not row.problem:
            row.note = display.why_no_pages(name)
        row.growth = days.growth(name, row.entries) if row.pages else None
        total.add(row)
    return list(rows.values()), total


# Engines


def _engines(page: ShownPage, days: Days, refusal: str) -> list[dict[str, str]]:
    """Return the engines of the settings, each for one of the site's hosts."""
    return [
        {
            "name": one.name,
            "host": one.state.host,
            "link": page.list(Submission, f"engine={one.state.engine}"),
            "health": display.health(one),
            "waiting": display.number(one.waiting),
            "answered": display.ago(one.state.answered_at),
            "lately": days.lately(one.state.engine),
        }
        for one in EngineHealth.all(refusal)
    ]


# Readers


def _readers(page: ShownPage) -> list[dict[str, str]]:
    """Return the crawlers, who read last first, and all other clients at the end."""
    by_crawler = reads().order_by().values_list("crawler")
    sums = by_crawler.annotate(
        Max("last_at"), Count("pk"), Sum("full"), Sum("unchanged")
    )
    rows = sorted(sums, key=lambda row: (not row[0], -row[1]))
    return [
        {
            "name": crawler or gettext("other clients"),
            "link": page.list(Read, f"crawler={crawler or '-'}"),
            "last": display.ago(last),
            "documents": display.number(documents),
            "full": display.number(full),
            "unchanged": display.number(unchanged),
        }
        for crawler, last, documents, full, unchanged in rows
    ]


def _readers_off() -> str:
    with suppress(ConfigurationError):
        if not get_settings().BACKGROUND:
            return gettext("Readers are not counted: BACKGROUND is off.")
    return ""
