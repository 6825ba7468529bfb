"""
The pages of sections, as the ledger knows them, for an address that gathers them.

No page is built for that, and no model is asked. Only sections by position that are
not stored are counted.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import Error as DatabaseError
from django.db import connections
from django.db.models import Exists, OuterRef

from django_sitemaps_plus.building.by_position import newest_lastmod, position_pages
from django_sitemaps_plus.changes.queries import changes
from django_sitemaps_plus.changes.recorder import remembers
from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.exceptions import NotReady
from django_sitemaps_plus.pagination.bounds import fill
from django_sitemaps_plus.pagination.models import Section
from django_sitemaps_plus.pagination.queries import (
    divide_anew,
    is_filled,
    ledger,
    sections_called,
)
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.storing.freshness import is_due, page_rows

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds that a request may spend on finding the bounds of pages.
FILL_SECONDS = 3.0


class ListedPage(NamedTuple):
    """A page as an index lists it."""

    source: SectionSource
    number: int
    lastmod: float | None = None
    #: None: never counted, divided since it was, or paged by position.
    entries: int | None = None
    #: Bytes of the page's file, not compressed; 0 where that is not known.
    size: int = 0
    #: The primary key of its row, and its section's ``next_number``, if it has one.
    pk: int | None = None
    next_number: int = 0
    #: Whether this code has built the page and found nothing for it, and no change of
    #: it waits.
    is_empty: bool = False

    @property
    def place(self) -> tuple[SectionSource, int]:
        """The section, and the page's number."""
        return self.source, self.number

    @property
    def name(self) -> tuple[str, int]:
        """What the page is called."""
        return self.source.name, self.number

    @property
    def uncounted(self) -> bool:
        """Whether nobody knows how many entries the page has."""
        return self.entries is None and self.source.key is not None


@dataclass
class ListedPages:
    """The pages of one address, and whether it holds their index as yet."""

    is_index: bool
    pages: list[ListedPage] = field(default_factory=list)
    #: The sections of which nobody can say now what pages they have.
    unusable: set[str] = field(default_factory=set)

    @property
    def indexed(self) -> list[ListedPage]:
        """The pages that an index lists: not those that were empty."""
        return [item for item in self.pages if not item.is_empty]


def list_pages(name: str, sources: Sequence[SectionSource]) -> ListedPages:
    """
    Return the pages of some sections; those known to be empty are left out.

    ``name`` is the section whose address they are for, "" for the site's. Raises
    ``Filling`` if bounds are still being found after some seconds.
    """
    unusable = set[str]()
    rows = _filled_rows(name, sources, unusable)
    listing = ListedPages(
        is_index=name in rows and rows[name].is_index,
        unusable=unusable,
    )
    by_section = _stored_pages(rows, sources)
    for item in sources:
        row = rows.get(item.name)
        if item.key is not None or (row is not None and row.pk in by_section):
            listing.pages += by_section.get(row.pk, []) if row is not None else []
            continue
        with _unless_unusable(item.name, unusable):
            listing.pages += _listed_by_position(item)
    return listing


def _stored_pages(
    rows: Mapping[str, Section], sources: Sequence[SectionSource]
) -> dict[int, list[ListedPage]]:
    """Return the pages that have rows, by the primary key of their section."""
    by_section = {rows[item.name].pk: item for item in sources if item.name in rows}
    pages_of: dict[int, list[ListedPage]] = {}
    values = _read(by_section)
    # More is asked only of pages that are empty.
    some_empty = any(row[4] == 0 for row in values)
    with_entries = {row[0] for row in values if row[4] != 0}
    empty = _empty(rows, by_section, with_entries) if some_empty else {}
    next_numbers = {row.pk: row.next_number for row in rows.values()}
    firsts = Counter(row[0] for row in values if row[6])
    for row in rows.values():
        if row.pk in by_section and by_section[row.pk].key and firsts[row.pk] != 1:
            raise divide_anew(row)
    for section, pk, number, lastmod, entries, size, _ in values:
        item = by_section[section]
        if entries is None and item.key is None:
            # Not stored, or not yet: they are counted instead.
            continue
        own = pages_of.setdefault(section, [])
        if not empty.get(pk):
            next_number, is_empty = next_numbers[section], pk in empty
            facts = item, number, lastmod, entries, size, pk, next_number, is_empty
            own.append(ListedPage(*facts))
    return pages_of


def _read(sections: Collection[int]) -> list[Any]:
    """Read what is told of every page, by hand: the ORM takes five times as long."""
    if not sections:
        return []
    keys = ", ".join(["%s"] * len(sections))
    with connections[ledger()].cursor() as cursor:
        cursor.execute(
            "SELECT section_id, id, number, lastmod, entries, size, lower IS NULL "  # noqa: S608 (placeholders)
            f"FROM sitemaps_plus_page WHERE section_id IN ({keys}) ORDER BY number",
            list(sections),
        )
        return list(cursor.fetchall())


def _empty(
    rows: Mapping[str, Section],
    by_section: Mapping[int, SectionSource],
    with_entries: Collection[int],
) -> dict[int, bool]:
    """
    Return the pages that this code found empty, and whether they are known to be still.

    Without those that a change surely concerns. What was not assigned yet may concern
    any page of its section: only where none has entries that is sure enough for an
    index. Where an error is noted there are rows.
    """
    own = changes().filter(section=OuterRef("section__name"), page=OuterRef("number"))
    empty = page_rows().filter(section__in=by_section, entries=0, error="")
    columns = "pk", "section", "digest", "verified_at", "is_own", "unassigned"
    values = empty.annotate(is_own=Exists(own)).values_list(*columns)
    now = time.time()
    found: dict[int, bool] = {}
    for pk, section, digest, verified, is_own, unassigned in values:
        item = by_section[section]
        current = definition(item)
        waits = is_own or unassigned or remembers(current.database, item.name)
        is_sure = is_own or (waits and section not in with_entries)
        if digest == current.digest and not is_sure:
            due = is_due(rows[item.name], verified, current, now)
            found[pk] = not (waits or due)
    return found


def _filled_rows(
    name: str, sources: Sequence[SectionSource], unusable: set[str]
) -> dict[str, Section]:
    """
    Return the sections' rows by name, all filled, and the row of ``name``.

    Of a section by position only if it is stored. Those that cannot be filled are added
    to ``unusable``.
    """
    names = {name, *(item.name for item in sources)}
    try:
        # Not compiled: that takes as long as all the rest.
        rows = {row.name: row for row in sections_called(names)}
    except DatabaseError:
        if any(item.key for item in sources) or tables_exist(ledger()):
            raise
        return {}
    deadline = time.monotonic() + FILL_SECONDS
    for item in sources:
        row = rows.get(item.name)
        if row is not None and is_filled(row, item):
            continue
        rows.pop(item.name, None)
        if item.key is not None:
            with _unless_unusable(item.name, unusable):
                left = max(0.0, deadline - time.monotonic())
                rows[item.name] = fill(item, left)
    return rows


@contextmanager
def _unless_unusable(name: str, unusable: set[str]) -> Iterator[None]:
    """Log what a section raises, and add it to ``unusable``."""
    try:
        yield
    except (NotReady, DatabaseError):
        raise
    except Exception:
        # items() may raise whatever it likes: the other sections are unaffected.
        logger.exception("The section %r cannot be used.", name)
        unusable.add(name)


def _listed_by_position(item: SectionSource) -> list[ListedPage]:
    newest = newest_lastmod(item)
    return [
        ListedPage(item, number, newest)
        for number in range(1, position_pages(item) + 1)
    ]
