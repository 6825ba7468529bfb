"""
How many URLs of each section are indexed: what the inspections of 28 days say.

They say it of these 28 days, not of now. What had no verdict may be either: the
interval has room for both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from django.db.models import Count, F, Max, Min, Q
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.protocol.dates import moment
from django_sitemaps_plus.serving.index import why_unusable
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import source

from .coverage import WINDOW, inspected, pages_to_inspect
from .interval import interval
from .models import Inspection

#: What Google calls a URL that is indexed, and one that is not. PARTIAL: it is, though
#: something is wrong. NEUTRAL: it is left out, which need not be an error.
_INDEXED, _NOT_INDEXED = ("PASS", "PARTIAL"), ("FAIL", "NEUTRAL")
#: Inspections below which there is no percentage.
_FEW = 52
#: Reasons of a section that are shown by themselves, and URLs.
_MOST_REASONS, _MOST_URLS = 4, 10

#: What is counted: conditions on what was inspected.
STATES = {
    "indexed": Q(verdict__in=_INDEXED),
    "not": Q(verdict__in=_NOT_INDEXED),
    "lost": Q(verdict__in=_NOT_INDEXED, former_verdict__in=_INDEXED),
    "canonical": ~Q(canonical=""),
    "uncrawled": Q(crawled_at__lt=F("lastmod")),
}
#: What they are called.
NAMES = {
    "indexed": _("indexed"),
    "not": _("not indexed"),
    "lost": _("lost since the last time"),
    "canonical": _("another canonical"),
    "uncrawled": _("not crawled since lastmod"),
}


@dataclass
class Share:
    """What the inspections say of a section."""

    section: str
    #: How many URLs the section has, and how many of them were inspected.
    urls: int
    inspected: int = 0
    #: How many are in each of ``STATES``.
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATES, 0))
    #: When the first and the last was inspected.
    since: float = 0
    until: float = 0
    #: Why others are not indexed, as Google words it, and how many: the most frequent.
    reasons: list[tuple[str, int]] = field(default_factory=list)

    @property
    def others(self) -> int:
        """How many are not indexed for other reasons."""
        return self.counts["not"] - sum(count for _, count in self.reasons)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest share of the section that may be indexed."""
        total = max(self.urls, self.inspected)
        least = interval(total, self.inspected, self.counts["indexed"])[0]
        rest = self.inspected - self.counts["not"]
        return least, interval(total, self.inspected, rest)[1]

    @property
    def figure(self) -> str:
        """How many are indexed, in words: a percentage only of enough."""
        indexed = self.counts["indexed"]
        judged = indexed + self.counts["not"]
        if not judged:
            return "–"
        if self.inspected < _FEW:
            values: dict[str, Any] = {"indexed": indexed, "inspected": judged}
            return gettext("%(indexed)s of %(inspected)s") % values
        least, most = self.bounds
        # Outwards: the interval holds what it says.
        values = {"low": math.floor(100 * least), "high": math.ceil(100 * most)}
        values["share"] = _percent(indexed, judged)
        if least == most:
            return gettext("%(share)s %%") % values
        return gettext("%(share)s %% (%(low)s to %(high)s)") % values

    @property
    def window(self) -> str:
        """When it was inspected, as two days."""
        times = [localtime(moment(one)) for one in (self.since, self.until)]
        since, until = (date_format(one, "MONTH_DAY_FORMAT") for one in times)
        if not self.inspected or since == until:
            return until if self.inspected else "–"
        return gettext("%(since)s to %(until)s") % {"since": since, "until": until}


def shares() -> list[Share]:
    """Return what the inspections say of each section that is stored."""
    known = {
        name: Share(name, sum(page.entries or 0 for page in every))
        for name, every in sorted(pages_to_inspect().items())
    }
    rows = lately().filter(section__in=list(known))
    counted = {name: Count("pk", filter=state) for name, state in STATES.items()}
    times = {"since": Min("inspected_at"), "until": Max("inspected_at")}
    for row in rows.values("section").annotate(every=Count("pk"), **counted, **times):
        share = known[row["section"]]
        share.inspected, share.since = row["every"], row["since"]
        share.until, share.counts = row["until"], {name: row[name] for name in STATES}
    reasons = rows.filter(STATES["not"]).values_list("section", "reason")
    for name, *reason in reasons.annotate(count=Count("pk")).order_by("-count"):
        if len(known[name].reasons) < _MOST_REASONS:
            known[name].reasons.append((reason[0] or "–", reason[1]))
    return sorted(known.values(), key=_worst_first)


def _worst_first(share: Share) -> float:
    judged = share.counts["indexed"] + share.counts["not"]
    return share.counts["indexed"] / judged if judged else math.inf


def state_of(row: Inspection) -> Any:
    """Return in words whether a URL is indexed, as far as Google says."""
    if row.verdict in _INDEXED:
        return NAMES["indexed"]
    return NAMES["not"] if row.verdict in _NOT_INDEXED else _("unknown")


def lately() -> Any:
    """Return the inspections that count."""
    rows = inspected()
    return rows.filter(inspected_at__gt=database_time(rows.db) - WINDOW)


def not_inspected(known: Iterable[Share]) -> dict[str, str]:
    """Return the sections without inspections, each with the reason."""
    missing = set(registry.sources()).difference(share.section for share in known)
    return {name: why_unusable(name) or _why(name) for name in sorted(missing)}


def _why(name: str) -> str:
    if source(name).key is None:
        return gettext("it is built for each request")
    return gettext("no URL of it is stored")


def worth_requesting() -> list[Any]:
    """Return URLs to request the indexing of: nothing is known to be in the way."""
    rows = lately().filter(STATES["not"], obstacle="", canonical="")
    newest = F("lastmod").desc(nulls_last=True)
    return list(rows.order_by(newest, "-inspected_at")[:_MOST_URLS])


def prune_inspections() -> None:
    """Delete what was said so long ago that no "last time" refers to it."""
    rows = inspected()
    rows.filter(inspected_at__lt=database_time(rows.db) - 4 * WINDOW).delete()


def _percent(some: int, every: int) -> int:
    """Return a percentage: 100 of all only, and 0 of none."""
    rounded = round(100 * some / every)
    return min(max(rounded, 1), 99) if 0 < some < every else rounded


def _written(name: str) -> Any:
    """Return what writes a column for a spreadsheet: times are in UTC."""
    if not name.endswith(("_at", "lastmod")):
        return attrgetter(name)
    return lambda row: f"{moment(at):%F %T}" if (at := getattr(row, name)) else ""


#: The columns of a file of URLs, by their headings.
SHARE_COLUMNS = {
    name: _written(name)
    for name in (
        *("url", "section", "verdict", "former_verdict", "reason", "obstacle"),
        *("canonical", "crawled_at", "bing_crawled_at", "lastmod", "inspected_at"),
        "link",
    )
}
