"""The numbers of the state of health for monitoring, by five statements at most."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Min, QuerySet

from django_sitemaps_plus.contrib.insight import asked
from django_sitemaps_plus.delivery.engines import EngineHealth, engines, why_refused
from django_sitemaps_plus.health.alerts import waiting_rows
from django_sitemaps_plus.pagination.queries import Sums
from django_sitemaps_plus.serving.index import why_unusable
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import source


@dataclass(frozen=True, kw_only=True)
class Metrics:
    """The numbers of a site; None means unknown."""

    #: Changes whose pages wait to be rebuilt and, where engines are configured, URLs
    #: and submissions that wait to be sent, also to engines that are paused. What is on
    #: hold is not counted.
    waiting: int
    #: Seconds since the first of these happened; 0 if nothing waits.
    oldest_waiting_seconds: float
    #: The aliases of engines that cannot be notified, or reject what they are sent.
    #: None if no engine is configured, or if nothing may be submitted from here.
    paused_engines: tuple[str, ...] | None
    #: Sitemap pages that were never built. None if a section has no pages yet, or
    #: cannot be used: nobody knows how many there are.
    unbuilt_pages: int | None
    #: Rows of the pages that were built which are left out for a fault. None if no page
    #: was built.
    left_out_rows: int | None
    #: Seconds since the last audit that read all pages; the section for which that is
    #: longest ago counts. None if a section was never audited.
    last_audit_seconds: float | None


def metrics() -> Metrics:
    """
    Return the numbers of the current site for monitoring, to be asked for often.

    What they count is what ``alerts()`` judges. They cost what waits and the number of
    pages, not the number of rows or of submissions. Raises ``ConfigurationError`` for
    settings that cannot be used, and what the database raises.
    """
    now, refusal = time.time(), why_refused()
    chosen = EngineHealth.all(refusal) if engines() else []
    paused = {
        one.state.engine
        for one in chosen
        if one.is_failing or one.health == "rejecting"
    }
    waiting, first = _waiting(chosen)
    unbuilt, left_out = _pages()
    audited = asked.audited_at()
    return Metrics(
        waiting=waiting,
        oldest_waiting_seconds=max(0.0, now - first) if waiting else 0.0,
        paused_engines=tuple(sorted(paused)) if chosen and not refusal else None,
        unbuilt_pages=unbuilt,
        left_out_rows=left_out,
        last_audit_seconds=None if audited is None else max(0.0, now - audited),
    )


def _waiting(chosen: Sequence[EngineHealth]) -> tuple[int, float]:
    """Return how much waits, and when the first of it happened."""
    found = list(map(_counted, waiting_rows()))
    found += [(one.waiting, one.waiting_since) for one in chosen]
    times = [first for count, first in found if count]
    return sum(count for count, _ in found), min(times, default=0.0)


def _counted(rows: QuerySet[Any]) -> tuple[int, float]:
    sums = rows.order_by().aggregate(count=Count("pk"), first=Min("at"))
    return sums["count"], sums["first"] or 0.0


def _pages() -> tuple[int | None, int | None]:
    """Return how many pages were never built, and how many rows are left out."""
    stored, found, names = Sums.stored(), list[Sums](), registry.sources()
    is_whole = bool(names)
    for name in names:
        if why_unusable(name):
            is_whole = False
            continue
        row = stored.get(name)
        if row is not None and row.is_of(source(name)):
            found.append(row)
            is_whole = is_whole and row.filled
        elif source(name).key is not None:
            is_whole = False
    unbuilt = sum(row.unbuilt for row in found)
    is_built = any(row.unbuilt < row.pages for row in found)
    return (
        unbuilt if is_whole else None,
        sum(row.bad for row in found) if is_built else None,
    )
