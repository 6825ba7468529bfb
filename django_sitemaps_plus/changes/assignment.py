"""
Which page a change concerns: the keys that were recorded are assigned to pages.

The rows' own database compares keys, except whole numbers, dates and decimals.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import connections, transaction
from django.db.models import F

from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.pagination.models import Section
from django_sitemaps_plus.pagination.places import (
    KEYS_AT_ONCE,
    DamagedError,
    count_lower_bounds,
)
from django_sitemaps_plus.pagination.queries import (
    divide_anew,
    ledger,
    ordered,
    pages,
    sections,
)
from django_sitemaps_plus.sitemaps.sections import SectionSource, database_of
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE

from .queries import changes
from .related import rows_concerned
from .schedule import record_crossed


def unassign(name: str, page: int) -> None:
    """Have the pages of a page's changes looked for again."""
    changes(name).filter(page=page).update(page=None)


@PLACEHOLDER_SITE.rendering()
def assign(source: SectionSource, section: Section, seconds: float = 1.0) -> bool:
    """
    Find the pages that own the recorded keys, for ``seconds`` at most.

    Ranges, and related objects that changed, mark pages for comparison, and are
    deleted. Nothing is done while the section's bounds are not known: they will be
    found with the rows as they are then. Returns whether there was anything:
    then pages that were read before may be marked by now.
    """
    ticked = record_crossed(source, section)
    deadline = time.monotonic() + seconds
    bounds: Bounds | None = None
    last = 0
    while time.monotonic() < deadline:
        waiting = changes(source.name).filter(page=None, pk__gt=last).order_by("pk")
        values = waiting.values_list("pk", "key", "upto", "related", named=True)
        rows: list[Any] = list(values[:KEYS_AT_ONCE])
        if not rows:
            return ticked or bool(last)
        bounds = bounds or Bounds.of(source, section)
        if bounds is None:
            return ticked
        keys = {row.pk: row.key for row in rows if bounds.is_single(row)}
        others = [row for row in rows if row.pk not in keys]
        found = bounds.pages(set(keys.values()))
        write = partial(_write, bounds, keys, found, others)
        if retrying(ledger(), write):
            if len(rows) < KEYS_AT_ONCE:
                return True
            last = rows[-1].pk
        else:
            # A page was divided meanwhile.
            bounds = None
    return True


def _write(
    bounds: Bounds, keys: dict[int, str], found: dict[str, int], others: Sequence[Any]
) -> bool:
    """Assign keys to pages, unless a page was divided since the bounds were read."""
    by_page: dict[int, list[int]] = {}
    for pk, key in keys.items():
        by_page.setdefault(found[key], []).append(pk)
    with transaction.atomic(using=ledger()):
        if not bounds.lock():
            return False
        for page, ids in by_page.items():
            changes(bounds.source.name).filter(pk__in=ids).update(page=page)
        if wrong := bounds.in_error.intersection(by_page):
            # What was saved since may correct them.
            pages().filter(section=bounds.section, number__in=wrong).mark()
        if others:
            # Ranges cross pages, and the rows of pages depend on an object.
            found_of = [_concerned(row, bounds) for row in others]
            numbers = set[int]().union(*found_of)
            marked = pages().filter(section=bounds.section)
            if len(numbers) < len(bounds.numbers):
                marked = marked.filter(number__in=numbers)
            marked.mark()
            changes().filter(pk__in=[row.pk for row in others]).delete()
    return True


def _concerned(row: Any, bounds: Bounds) -> Iterable[int]:
    if not row.related:
        return bounds.crossed(row)
    keys = rows_concerned(bounds.source, row.related, row.key)
    if keys is None:
        return bounds.numbers
    return set(bounds.pages(key for key in keys if bounds.reads(key)).values())


@dataclass
class Bounds:
    """The pages of a section in the order of their keys, and their lower bounds."""

    source: SectionSource
    database: str
    section: Section
    #: Counts up when a page is divided.
    next_number: int
    numbers: list[int]
    #: Of all pages but the first.
    lowers: list[str]
    #: The numbers of pages in error.
    in_error: frozenset[int]

    @classmethod
    def of(cls, source: SectionSource, section: Section) -> Bounds | None:
        """
        Return the bounds of a section; None if they are not known just now.

        Raises ``Busy`` if they are damaged: the section is divided anew.
        """
        if source.key is None:
            return None
        filled = {"section__filled": True, "section__key": source.signature}
        columns = "number", "lower", "section__next_number", "error"
        rows = list(ordered(section).filter(**filled).values_list(*columns))
        if not rows:
            return None
        lowers = [lower for _, lower, *_ in rows[1:] if lower is not None]
        if rows[0][1] is not None or len(lowers) < len(rows) - 1:
            divide_anew(section)
        numbers = [number for number, *_ in rows]
        errors = frozenset(number for number, *_, error in rows if error)
        database = database_of(source.sitemap.items())
        return cls(source, database, section, rows[0][2], numbers, lowers, errors)

    def lock(self) -> bool:
        """Keep pages from being divided; False if one was since these were read."""
        rows = sections().filter(pk=self.section.pk, filled=True)
        rows = rows.filter(next_number=self.next_number)
        if connections[rows.db].vendor == "sqlite":
            # There a reader cannot become a writer: to write comes first.
            return bool(rows.update(next_number=F("next_number")))
        return bool(list(rows.select_for_update().values_list("pk")))

    def is_single(self, row: Any) -> bool:
        """Return whether a change is of one key."""
        return row.upto is None and not row.related and self.reads(row.key)

    def reads(self, key: str) -> bool:
        """Return whether a key can be read: older code may write another kind."""
        return self.source.paged_by.read(key) is not None

    def pages(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the number of the page that owns each key."""
        return {key: self.numbers[index] for key, index in self.places(keys).items()}

    def crossed(self, row: Any) -> list[int]:
        """Return the numbers of the pages that a range crosses: all if not known."""
        if row.upto is None or not (self.reads(row.key) and self.reads(row.upto)):
            return self.numbers
        places = self.places({row.key, row.upto})
        return self.numbers[places[row.key] : places[row.upto] + 1]

    def places(self, keys: Iterable[str]) -> dict[str, int]:
        """Return how many lower bounds are at or before each key."""
        try:
            key = self.source.paged_by
            return count_lower_bounds(key, self.database, keys, self.lowers)
        except DamagedError:
            divide_anew(self.section)
