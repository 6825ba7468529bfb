"""
Whether a page is fresh: read by one statement, together with its bytes.

A page is fresh if it was built by the running code's definition of its section, no
change may concern it, and it was compared with its rows less than ``VERIFY_AFTER`` ago,
and not while older code may have run that has ended since.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import connections
from django.db.models import Exists, Model, OuterRef, Q

from django_sitemaps_plus.changes.models import Change
from django_sitemaps_plus.changes.recorder import remembers
from django_sitemaps_plus.changes.schedule import ticks_are_due as ticks_are_due
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import DatabaseTime, Stopwatch, binary_cursor
from django_sitemaps_plus.pagination.deploys import (
    SectionColumns,
    is_outdated,
    was_shared,
)
from django_sitemaps_plus.pagination.models import Page, PageQuerySet, Section
from django_sitemaps_plus.pagination.queries import ledger, pages, with_uppers
from django_sitemaps_plus.prepared import Prepared, Slot
from django_sitemaps_plus.rendering.digest import Definition, definition
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import Site

from . import storage
from .storage import StoredBytes

#: Seconds after which a page whose query depends on the clock, or that could not
#: be built, is compared again; each further failure doubles it.
_SOON = 60.0


class PageState(NamedTuple):
    """What decides whether a page is fresh, and what names its bytes: some columns."""

    checksum: str
    digest: str
    verified_at: float
    read_at: float
    error: str
    failures: int
    changed_at: float
    section: SectionColumns
    #: Whether a change may concern the page.
    waits: bool


_P = TypeVar("_P", Page, PageState)


@dataclass(frozen=True)
class Served(Generic[_P]):
    """A page's bytes, ready to be sent."""

    page: _P
    stored: StoredBytes
    checksum: str
    #: Since when they are served, in seconds since the epoch; None if they are not
    #: stored.
    changed_at: float | None
    #: Why they are not compared with the rows; empty if they are.
    problem: str = ""
    #: Whether another version is being built, or cannot be: then nobody may be said to
    #: have the current one.
    is_former: bool = False


def is_fresh(section: SectionSource, page: Page | PageState, now: float) -> bool:
    """
    Return whether a page's bytes may be served without reading a row.

    A change may concern every page that was not read by ``page_rows``.
    """
    current = definition(section)
    if not page.checksum or remembers(section.database, section.name):
        return False
    if is_outdated(page.section, current.digest):
        return True
    if page.digest != current.digest or page.waits:
        return False
    return not is_due(page.section, page.verified_at, current, now, page.failures)


def is_due(
    section: Section | SectionColumns,
    verified_at: float,
    current: Definition,
    now: float,
    failures: int = 0,
) -> bool:
    """Return whether it is time to compare a page of the current definition again."""
    if current.ticks and ticks_are_due(section.ticked_at, now):
        return True
    if was_shared(section, current.digest, verified_at, now):
        return True
    # A clock that was set back must not make a page fresh for ever.
    return not 0 <= now - verified_at < hold(current, failures)


def hold(current: Definition, failures: int = 0) -> float:
    """Return for how many seconds a comparison of a page with its rows holds."""
    longest = float(get_settings().VERIFY_AFTER)
    if failures:
        return min(longest, _SOON * 2.0 ** min(failures - 1, 20))
    by_clock = current.clock and not current.ticks
    return min(longest, _SOON) if by_clock else longest


def page_rows(site: Any = None) -> PageQuerySet:
    """
    Return the pages, each with its section, where it ends, and what waits for it.

    ``waits`` says whether a change may concern it, ``unassigned`` whether the section
    has changes of which the page is not known. All by one statement: whoever builds a
    page deletes its changes in the same transaction.
    """
    site = Site.current().key if site is None else site
    of_section = Change.objects.of_all_sites().filter(
        site=site, section=OuterRef("section__name")
    )
    unassigned = Exists(of_section.filter(page=None))
    assigned = Exists(of_section.filter(page=OuterRef("number")))
    rows: Any = with_uppers(pages()).select_related("section")
    waits = Q(assigned) | Q(unassigned)
    found: PageQuerySet = rows.annotate(
        unassigned=unassigned, waits=waits, clock=DatabaseTime()
    )
    return found


def read_page(**wanted: Any) -> Page | None:
    """
    Return the page of ``page_rows`` for which some columns have values; None if none.

    It has a ``watch``: what time it was at the database when it was read.
    """
    using, site = ledger(), Site.current().key
    asked, started_at = time.monotonic(), time.time()
    found = _READ.rows(using, *wanted, site=site, **wanted)
    if not found:
        return None
    values = iter(found[0])
    own, of_section = _attnames(Page), _attnames(Section)
    page = Page.from_db(using, own, list(islice(values, len(own))))
    section = list(islice(values, len(of_section)))
    page.section = Section.from_db(using, of_section, section)
    for name, value in zip(_SEEN, values, strict=True):
        setattr(page, name, value)
    # SQLite lies on this host, and its own clock counts in milliseconds.
    if connections[using].vendor != "sqlite":
        started_at = float(found[0][-1])
    page.watch = Stopwatch(started_at, asked)
    return page


def _attnames(model: type[Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


#: What ``page_rows`` adds to pages.
_SEEN = "upper", "first", "unassigned", "waits", "clock"


def _read_query(*names: str) -> Any:
    rows = page_rows(Slot("site")).filter(**{name: Slot(name) for name in names})
    of_section = [f"section__{name}" for name in _attnames(Section)]
    return rows.values_list(*_attnames(Page), *of_section, *_SEEN)[:1]


_READ = Prepared(_read_query)


def watch_of(page: Page) -> Stopwatch:
    """Return the database's clock since a page was looked at, or from now on."""
    return page.watch or Stopwatch.ask(ledger())


# The statements, written by hand: the ORM takes several times as long as they run.

_PAGE, _SECTION = PageState._fields[:-2], SectionColumns._fields
_WAITS = (
    "EXISTS (SELECT 1 FROM sitemaps_plus_change c WHERE c.site = {} "
    "AND c.section = {} AND (c.page = {} OR c.page IS NULL))"
)
_STATE = ", ".join([*(f"p.{name}" for name in _PAGE), *(f"s.{n}" for n in _SECTION)])
#: With the page's name as parameters: otherwise PostgreSQL takes a page without changes
#: for one with many, and reads the whole table of changes in search of the first.
_STATE_OF_ONE = f"{_STATE}, {_WAITS.format('%s', '%s', '%s')}"
_STATE_OF_SOME = f"{_STATE}, {_WAITS.format('s.site', 's.name', 'p.number')}"
#: The columns of a state, which are followed by the page's primary key and its bytes.
_WIDTH = len(_PAGE) + len(_SECTION) + 1
_BYTES = ", ".join(["p.id", *(f"f.{name}" for name in storage.COLUMNS)])
_TABLES = "sitemaps_plus_section s JOIN sitemaps_plus_page p ON p.section_id = s.id"
_OF_ONE = "s.site = %s AND s.name = %s AND s.key = %s AND s.filled AND p.number = %s"


def _with_bytes(state: str, where: str) -> str:
    """Return the statement for pages' states and their bytes."""
    return (
        f"SELECT {state}, {_BYTES} FROM {_TABLES} JOIN sitemaps_plus_pagefile f "  # noqa: S608 (names)
        f"ON f.page_id = p.id AND f.checksum = p.checksum WHERE {where} "
        "ORDER BY p.id, f.part"
    )


def fresh_state(section: SectionSource, number: int) -> PageState | None:
    """Return the state of a page that may be served without reading a row."""
    statement = f"SELECT {_STATE_OF_ONE} FROM {_TABLES} WHERE {_OF_ONE}"  # noqa: S608 (names)
    now = time.time()
    with connections[ledger()].cursor() as cursor:
        rows = _rows(cursor, statement, section, number)
    state = _state(rows[0]) if rows else None
    return state if state and is_fresh(section, state, now) else None


def stored_page(
    section: SectionSource, number: int
) -> tuple[Served[PageState] | None, bool]:
    """Return what is stored of a page, and whether it is fresh, by one statement."""
    now = time.time()
    statement = _with_bytes(_STATE_OF_ONE, _OF_ONE)
    with binary_cursor(ledger()) as cursor:
        rows = _rows(cursor, statement, section, number)
    stored = storage.bytes_of_pieces([row[_WIDTH + 1 :] for row in rows])
    if stored is None:
        return None, False
    state = _state(rows[0])
    served = Served(state, stored, state.checksum, state.changed_at)
    return served, is_fresh(section, state, now)


def stored_pages(
    keys: Collection[int],
) -> Iterator[tuple[int, PageState, StoredBytes | None]]:
    """
    Yield pages by their primary keys, each with what is stored, by one statement.

    So they are one version. None is what is damaged; what is missing is left out.
    """
    places = ", ".join(["%s"] * len(keys))
    with binary_cursor(ledger()) as cursor:
        cursor.execute(_with_bytes(_STATE_OF_SOME, f"p.id IN ({places})"), list(keys))
        rows = list(cursor.fetchall())
    for pk, group in groupby(rows, key=itemgetter(_WIDTH)):
        pieces = list(group)
        stored = storage.bytes_of_pieces([row[_WIDTH + 1 :] for row in pieces])
        yield pk, _state(pieces[0]), stored


def _rows(
    cursor: Any, statement: str, section: SectionSource, number: int
) -> list[Any]:
    """Run a statement for one page."""
    site, name, key = Site.current().key, section.name, section.signature
    cursor.execute(statement, [site, name, number, site, name, key, number])
    return list(cursor.fetchall())


def _state(row: Sequence[Any]) -> PageState:
    """Return the state that begins a row."""
    newest = SectionColumns._make(row[len(_PAGE) : _WIDTH - 1])
    return PageState._make((*row[: len(_PAGE)], newest, bool(row[_WIDTH - 1])))
