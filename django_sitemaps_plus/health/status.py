"""The state of sections and pages, as the ledger knows it, and what to do next."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Min, Q, Sum

from django_sitemaps_plus.pagination.queries import sections
from django_sitemaps_plus.sitemaps.sections import (
    SectionSource,
)

#: Seconds for which it is shown that the stored bytes of a page were lost.
LATELY = 7 * 86_400.0


@dataclass(frozen=True)
class Sums:
    """The sums of a section's pages, as the ledger has them."""

    pk: int
    key: str
    filled: bool
    pages: int
    unbuilt: int
    entries: int
    #: Uncompressed bytes.
    size: int
    lastmod: float | None
    #: Rows, and those of them that are left out for a fault.
    items: int
    bad: int
    #: Pages whose stored bytes were missing or damaged within the last week.
    lost: int
    #: Pages that cannot be built, and why one of them cannot.
    wrong: int
    error: str
    #: When somebody last confirmed what it no longer lists.
    confirmed_at: float
    #: How many URLs it listed on the last days, by the date.
    listed: Mapping[str, int]
    #: When its page boundaries were last found damaged; 0: never.
    damaged_at: float
    #: Why its changes cannot be reported; empty if they can.
    failure: str


def sums() -> dict[str, Sums]:
    """Return the sums of the site's sections by name, by one statement."""
    failed = ~Q(pages__error="")
    rows: Any = (
        sections()
        .exclude(name="")
        .order_by("name")
        .annotate(
            n=Count("pages"),
            unbuilt=Count("pages", filter=Q(pages__checksum="")),
            entries=Sum("pages__entries", default=0),
            size=Sum("pages__size", default=0),
            lastmod=Max("pages__lastmod"),
            items=Sum("pages__items", default=0),
            bad=Sum("pages__bad", default=0),
            lost=Count("pages", filter=Q(pages__lost_at__gt=time.time() - LATELY)),
            wrong=Count("pages", filter=failed),
            error=Min("pages__error", filter=failed, default=""),
        )
    )
    columns = (
        *("pk", "key", "filled", "n", "unbuilt", "entries", "size", "lastmod"),
        *("items", "bad", "lost", "wrong", "error", "confirmed_at"),
        *("listed", "damaged_at", "failure"),
    )
    found = rows.values_list("name", *columns)
    return {name: Sums(*rest) for name, *rest in found}


def current_sums(section: SectionSource, row: Sums | None) -> Sums | None:
    """Return the sums of a section's pages; None if it has none, or of a former key."""
    is_current = row is not None and row.pages and row.key == section.signature
    return row if is_current else None


# Pages
