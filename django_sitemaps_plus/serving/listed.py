"""
The pages of sections, as the ledger knows them, for an address that gathers them.

No page is built for that, and no model is asked. Only sections by position are counted.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import Error as DatabaseError
from django.db import connections
from django.db.models import Exists, OuterRef

from django_sitemaps_plus.building.by_position import forget_stored
from django_sitemaps_plus.changes.queries import changes
from django_sitemaps_plus.changes.recorder import remembers
from django_sitemaps_plus.db import has_failed, tables_exist
from django_sitemaps_plus.exceptions import NotReady, describe
from django_sitemaps_plus.pagination.bounds import fill
from django_sitemaps_plus.pagination.deploys import is_outdated
from django_sitemaps_plus.pagination.models import Section
from django_sitemaps_plus.pagination.queries import divide_anew, ledger, sections_called
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.tenants import current_tenant_key
from django_sitemaps_plus.storing.freshness import is_due, page_rows

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds that a request may spend on finding the bounds of pages.
FILL_SECONDS = 3.0


class ListedPage(NamedTuple):
    """A page as an index lists it."""

    source: SectionSource
    number: int
    lastmod: float | None = None
    #: None: never counted, or divided since it was. By position, the most.
    entries: int | None = None
    #: Bytes of the page's file, not compressed; 0 where that is not known.
    size: int = 0
    #: The primary key of its row, and its section's ``next_number``, if it has one.
    pk: int | None = None
    next_number: int = 0
    #: Whether this code has built the page and found nothing for it, and no change of
    #: it waits.
    is_empty: bool = False
    #: Whether its lastmod is the section's newest, which is not known yet.
    has_newest: bool = False

    @property
    def place(self) -> tuple[SectionSource, int]:
        """The section, and the page's number."""
        return self.source, self.number

    @property
    def name(self) -> tuple[str, int]:
        """What the page is called."""
        return self.source.name, self.number


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
    is_index = name in rows and rows[name].is_index
    listing = ListedPages(is_index, unusable=unusable)
    by_section = _stored_pages(rows, sources)
    for item in sources:
        if item.key is None:
            with _unless_unusable(item, unusable):
                listing.pages += _listed_by_position(item)
        elif row := rows.get(item.name):
            listing.pages += by_section.get(row.pk, [])
    return listing


def _stored_pages(
    rows: Mapping[str, Section], sources: Sequence[SectionSource]
) -> dict[int, list[ListedPage]]:
    """Return the pages that have rows, by the primary key of their section."""
    keyed = (item for item in sources if item.key is not None and item.name in rows)
    by_section = {rows[item.name].pk: item for item in keyed}
    pages_of = defaultdict[int, list[ListedPage]](list)
    values = _read(by_section)
    # More is asked only of pages that are empty.
    some_empty = any(row[4] == 0 for row in values)
    with_entries = {row[0] for row in values if row[4] != 0}
    empty = _empty(rows, by_section, with_entries) if some_empty else {}
    next_numbers = {row.pk: row.next_number for row in rows.values()}
    firsts = Counter(row[0] for row in values if row[6])
    for row in rows.values():
        if row.pk in by_section and firsts[row.pk] != 1:
            divide_anew(row)
    for section, pk, number, lastmod, entries, size, _ in values:
        if not empty.get(pk):
            item, next_number = by_section[section], next_numbers[section]
            facts = item, number, lastmod, entries, size, pk, next_number, pk in empty
            pages_of[section].append(ListedPage(*facts))
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
        waits = is_own or unassigned or remembers(item.database, item.name)
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

    Those that cannot be filled are added to ``unusable``. What is stored of a section
    that is paged by position now is deleted.
    """
    names = {name, *(item.name for item in sources)}
    try:
        rows = {row.name: row for row in sections_called(names)}
    except DatabaseError:
        if any(item.key for item in sources) or tables_exist(ledger()):
            raise
        return {}
    deadline = time.monotonic() + FILL_SECONDS
    for item in sources:
        row = rows.get(item.name)
        if item.key is None:
            # Unless newer code has given it a key.
            if row and row.key and not is_outdated(row, definition(item).digest):
                forget_stored(row)
        elif row is None or not row.is_filled(item.signature):
            rows.pop(item.name, None)
            with _unless_unusable(item, unusable):
                left = max(0.0, deadline - time.monotonic())
                rows[item.name] = fill(item, left)
    return rows


#: What was logged last of a section or a page, and of what that is registered.
_logged: dict[tuple[str, str], tuple[Any, str]] = {}


def log_once(text: str, registered: Any, error: Exception) -> None:
    """Log an error with its traceback: not for each request, until there is another."""
    known, said = (current_tenant_key(), text), (registered, describe(error))
    if _logged.get(known) != said:
        _logged[known] = said
        logger.error(text, exc_info=error)


@contextmanager
def _unless_unusable(item: SectionSource, unusable: set[str]) -> Iterator[None]:
    """Log what a section raises, and add it to ``unusable``."""
    try:
        yield
    except NotReady:
        raise
    except Exception as error:
        if has_failed(error, ledger(), item.database):
            raise
        # items() may raise whatever it likes: the other sections are unaffected.
        log_once(f"The section {item.name!r} cannot be used.", item.registered, error)
        unusable.add(item.name)


def _listed_by_position(item: SectionSource) -> list[ListedPage]:
    """Return the pages of a section by position; its items are counted, not read."""
    items, count = item.position_size()
    each = 1 if item.hook else item.entries_per_item
    left = [items * each - number * item.limit for number in range(count)]
    return [
        ListedPage(
            item,
            number,
            entries=max(0, min(item.limit, entries)),
            # A class that builds its pages may have entries without items.
            is_empty=not (items or item.hook),
            has_newest=count == 1,
        )
        for number, entries in enumerate(left, 1)
    ]
