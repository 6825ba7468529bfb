"""
Which pages sections have, as the ledger knows it: for an address that gathers them.

No page is built for that, and no model is asked. Only sections by position that are
not stored are counted.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import Error as DatabaseError
from django.db.models import Exists, OuterRef

from django_sitemaps_plus.changes.queries import changes
from django_sitemaps_plus.changes.recorder import remembers
from django_sitemaps_plus.changes.schedule import EVERY
from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.exceptions import NotReady
from django_sitemaps_plus.pagination.bounds import fill
from django_sitemaps_plus.pagination.deploys import was_shared
from django_sitemaps_plus.pagination.models import Section
from django_sitemaps_plus.pagination.queries import (
    is_filled,
    ledger,
    pages,
    sections,
)
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.sections import SectionSource

from .by_position import newest_lastmod, position_pages
from .freshness import hold, looked_at

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds that a request may spend on finding the bounds of pages.
FILL_SECONDS = 3.0


@dataclass(frozen=True)
class Listed:
    """A page as an index lists it."""

    source: SectionSource
    number: int
    lastmod: float | None = None
    #: None: never counted, divided since it was, or paged by position.
    entries: int | None = None
    #: Bytes of the page's file, not compressed; 0 where that is not known.
    size: int = 0
    #: The primary key of its row, if it has one.
    pk: int | None = None
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
class Listing:
    """The pages of one address, and whether it holds their index as yet."""

    is_index: bool
    pages: list[Listed] = field(default_factory=list)
    #: The sections that have pages in the ledger, and the sum of what their next pages
    #: will be called: another one when a page was divided.
    names: list[str] = field(default_factory=list)
    next_number: int = 0
    #: The sections of which nobody can say now what pages they have.
    unusable: set[str] = field(default_factory=set)

    @property
    def indexed(self) -> list[Listed]:
        """The pages that an index lists: not those that were empty."""
        return [item for item in self.pages if not item.is_empty]


def listed(name: str, sources: Sequence[SectionSource]) -> Listing:
    """
    Return the pages of some sections; those known to be empty are left out.

    ``name`` is the section whose address they are for, "" for the site's. Raises
    ``Filling`` if bounds are still being found after some seconds.
    """
    unusable = set[str]()
    rows = _filled_rows(name, sources, unusable)
    listing = Listing(
        is_index=name in rows and rows[name].is_index,
        names=list(rows),
        next_number=sum(row.next_number for row in rows.values()),
        unusable=unusable,
    )
    found = _stored_pages(rows, sources)
    for item in sources:
        row = rows.get(item.name)
        if item.key is not None or (row is not None and row.pk in found):
            listing.pages += found.get(row.pk, []) if row is not None else []
            continue
        with _unless_unusable(item.name, unusable):
            listing.pages += _listed_by_position(item)
    return listing


def _stored_pages(
    rows: Mapping[str, Section], sources: Sequence[SectionSource]
) -> dict[int, list[Listed]]:
    """Return the pages that have rows, by the primary key of their section."""
    by_section = {rows[item.name].pk: item for item in sources if item.name in rows}
    found: dict[int, list[Listed]] = {}
    now = time.time()
    columns = (
        *("pk", "section", "number", "lastmod", "entries", "size"),
        *("error", "digest", "verified_at", "grace_until", "grace_checksum"),
    )
    every = pages().filter(section__in=by_section).order_by("number")
    values = list(every.values_list(*columns))
    # Changes are asked for only where a page is empty.
    some_empty = any(row[4] == 0 for row in values)
    with_entries = {row[1] for row in values if row[4] != 0}
    changed = _empty_with_changes(by_section, with_entries) if some_empty else {}
    for page, pk, number, lastmod, entries, size, *state in values:
        error, digest, verified, grace, former = state
        item = by_section[pk]
        if entries is None and item.key is None:
            # Not stored, or not yet: they are counted instead.
            continue
        found.setdefault(pk, [])
        # In its grace a page shows more than it holds; the end of that is news.
        in_grace = former and grace > now
        if former and not in_grace:
            lastmod = max(lastmod or 0.0, grace)
        # Where an error is noted there are rows.
        is_empty = entries == 0 and not (in_grace or error)
        is_empty = is_empty and digest == definition(item.name).digest
        is_known = is_empty and page not in changed
        if is_known and not _is_due(rows[item.name], verified, now):
            continue
        is_empty = is_empty and not changed.get(page)
        found[pk].append(Listed(item, number, lastmod, entries, size, page, is_empty))
    return found


def _empty_with_changes(
    by_section: Mapping[int, SectionSource], with_entries: Collection[int]
) -> dict[int, bool]:
    """
    Return the empty pages that a change may concern, and whether it surely does.

    What was not assigned yet may concern any page of its section: only where none has
    entries that is sure enough for an index.
    """
    remembering = [
        pk
        for pk, item in by_section.items()
        if remembers(definition(item.name).database, item.name)
    ]
    own = changes().filter(section=OuterRef("section__name"), page=OuterRef("number"))
    empty = looked_at().filter(section__in=by_section, entries=0)
    rows = empty.annotate(is_own=Exists(own))
    return {
        page: is_own or pk not in with_entries
        for page, pk, is_own, unassigned in rows.values_list(
            "pk", "section", "is_own", "unassigned"
        )
        if is_own or unassigned or pk in remembering
    }


def _is_due(row: Section, verified: float, now: float) -> bool:
    """Tell whether it is time to look whether an empty page has rows by now."""
    current = definition(row.name)
    if current.ticks and not 0 <= now - row.ticked_at < EVERY:
        return True
    if was_shared(row, current.digest, verified, now):
        return True
    return not 0 <= now - verified < hold(current)


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
        rows = {row.name: row for row in sections().filter(name__in=names)}
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
        # items() may raise whatever it likes: the others are none the worse for it.
        logger.exception("The section %r cannot be used.", name)
        unusable.add(name)


def _listed_by_position(item: SectionSource) -> list[Listed]:
    newest = newest_lastmod(item)
    return [
        Listed(item, number, newest) for number in range(1, position_pages(item) + 1)
    ]
