"""What engines say of the site's sitemaps: asked in the background, and stored."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import partial

from django.db.models import QuerySet

from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.delivery.engines import (
    engines,
    reports_of,
    side_by_side,
    why_refused,
)
from django_sitemaps_plus.engines.base import Engine
from django_sitemaps_plus.serving import index
from django_sitemaps_plus.sitemaps.site import Site

from .models import SitemapReport

#: Seconds between two questions to an engine, and after one that had no answer. Search
#: Console reads sitemaps every few hours or days.
_EVERY, _SOON = 6 * 3600.0, 3600.0


def reports() -> QuerySet[SitemapReport]:
    """Return what engines said of the site's sitemaps, in the database for writing."""
    return SitemapReport.objects.on_site()


def able() -> dict[str, Engine]:
    """Return the engines that can say anything of sitemaps, by their aliases."""
    return {
        alias: engine
        for alias, engine in engines().items()
        if type(engine).status is not Engine.status
    }


def ask(*, at_once: bool = False) -> None:
    """
    Ask each engine that reports on sitemaps, and store what it says.

    An engine is asked every six hours, by one process; ``at_once`` where somebody
    wants to know now. A slow engine holds up no other, and none is asked within a
    transaction of somebody else's, or from where nothing is submitted.
    """
    known, site = able(), Site.current().address()
    if not known or site is None or why_refused():
        return
    rows = reports()
    now = database_time(rows.db)
    due = dict(rows.values_list("engine", "due_at"))
    new = [SitemapReport(engine=alias) for alias in known if alias not in due]
    rows.bulk_create(new, ignore_conflicts=True)
    until = math.inf if at_once else now
    waiting = {alias: one for alias, one in known.items() if due.get(alias, 0) <= until}
    locations = list(index.index_places(site)) if waiting else []
    jobs = [partial(_ask_one, *one, locations, now, until) for one in waiting.items()]
    side_by_side(jobs, rows.db)


def _ask_one(
    alias: str, engine: Engine, locations: list[str], now: float, until: float
) -> None:
    """Ask one engine, unless another process asks it or has asked."""
    row = reports().filter(engine=alias)
    mine = row if until == math.inf else row.filter(due_at__lte=until)
    if mine.update(due_at=now + _SOON):
        sitemaps = [asdict(one) for one in reports_of(engine, locations)]
        wait = _SOON if any(one["problem"] for one in sitemaps) else _EVERY
        row.update(sitemaps=sitemaps, asked_at=now, due_at=now + wait)
