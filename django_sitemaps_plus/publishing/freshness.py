"""
Is a page fresh? Whoever asks for it reads that, and its bytes, by one statement.

A page is fresh if it was built by the running code's definition of its section, no
change may concern it, and it was compared with its rows less than ``VERIFY_AFTER`` ago,
and not while older code may have run that has ended since.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import DatabaseError, connections
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.db.models.functions import Concat

from django_sitemaps_plus.changes.models import Change
from django_sitemaps_plus.changes.queries import changes, of_page
from django_sitemaps_plus.changes.recorder import remembers
from django_sitemaps_plus.changes.schedule import EVERY
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import binary_cursor, tables_exist
from django_sitemaps_plus.pagination.deploys import is_outdated, was_shared
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import ledger, pages
from django_sitemaps_plus.rendering.digest import Definition, definition
from django_sitemaps_plus.sitemaps.sections import BY_POSITION
from django_sitemaps_plus.sitemaps.site import SiteAddress, current_site

from .models import PageFile
from .storage import COLUMNS, StoredBytes, files, joined

#: Seconds after which a page whose query depends on the clock, or that could not
#: be built, is compared again; each further failure doubles it.
SOON = 60.0

#: Stand for a page's number and for the time in compiled statements.
_ANY_NUMBER, _ANY_TIME = 1_234_567_890, 1_234_567_890.5
#: The columns of a state's query, in the order of ``PageState``; ``waits`` follows.
_COLUMNS = (
    "checksum",
    "digest",
    "verified_at",
    "read_at",
    "error",
    "failures",
    "changed_at",
    "grace_until",
    "grace_checksum",
    "grace_changed_at",
    "section__digest",
    "section__digest_since",
    "section__digest_seen",
    "section__ticked_at",
)


@dataclass(frozen=True, slots=True)
class _Newest:
    """What the section's row says of the newest definition."""

    digest: str
    digest_since: float
    digest_seen: float


@dataclass(frozen=True, slots=True)
class PageState:
    """What decides whether a page is fresh, and what names its bytes."""

    checksum: str
    digest: str
    verified_at: float
    read_at: float
    error: str
    failures: int
    changed_at: float
    grace_until: float
    grace_checksum: str
    grace_changed_at: float
    newest: _Newest
    ticked_at: float
    #: Whether a change may concern the page.
    waits: bool

    @classmethod
    def of_row(cls, row: tuple[Any, ...]) -> PageState:
        """Return the state that a row of ``_COLUMNS`` says, with ``waits``."""
        known = dict(zip(_COLUMNS[:10], row, strict=False))
        newest = _Newest(*row[10:13])
        return cls(**known, newest=newest, ticked_at=row[13], waits=bool(row[14]))

    @classmethod
    def of(cls, page: Page) -> PageState:
        """Return the state of a page; with ``looked_at``, of what waits too."""
        section = page.section
        newest = section.digest, section.digest_since, section.digest_seen
        own = [getattr(page, name) for name in _COLUMNS[:10]]
        return cls.of_row((*own, *newest, section.ticked_at, what_waits(page)[0]))

    def served(self, now: float) -> tuple[str, float]:
        """
        Return the version that is served, and since when.

        During the grace of a split the former one is; when that is over the new one
        is news, whenever it was built.
        """
        if self.grace_until > now and self.grace_checksum:
            return self.grace_checksum, self.grace_changed_at
        return self.checksum, max(self.changed_at, self.grace_until)


def is_fresh(state: PageState, current: Definition, now: float) -> bool:
    """Tell whether a page's bytes may be served without reading a row."""
    if not state.checksum:
        return False
    if is_outdated(state.newest, current.digest):
        return True
    if state.waits or state.digest != current.digest:
        return False
    # A clock that was set back must not make a page fresh for ever.
    if current.ticks and not 0 <= now - state.ticked_at < EVERY:
        return False
    if was_shared(state.newest, state.digest, state.verified_at, now):
        return False
    return 0 <= now - state.verified_at < hold(current, state.failures)


def hold(current: Definition, failures: int = 0) -> float:
    """Return for how many seconds a comparison of a page with its rows holds."""
    longest = float(get_settings().VERIFY_AFTER)
    if failures:
        return min(longest, SOON * 2.0 ** min(failures - 1, 20))
    by_clock = current.clock and not current.ticks
    return min(longest, SOON) if by_clock else longest


def looked_at() -> QuerySet[Page]:
    """
    Return the pages, each with its section and with what waits for it.

    ``waits`` says whether a change may concern it, ``unassigned`` whether the section
    has changes of which the page is not known. All by one statement: whoever builds a
    page deletes its changes in the same transaction.
    """
    of_section = changes().filter(section=OuterRef("section__name"))
    unassigned = Exists(of_section.filter(page=None))
    assigned = Exists(of_section.filter(page=OuterRef("number")))
    rows: QuerySet[Page] = pages().select_related("section")
    return rows.annotate(unassigned=unassigned, waits=Q(assigned) | Q(unassigned))


def what_waits(page: Page) -> tuple[bool, bool]:
    """Return a page's ``waits`` and ``unassigned``; true where nobody looked."""
    return getattr(page, "waits", True), getattr(page, "unassigned", True)


# The statements


@lru_cache(maxsize=16)
def _statement(
    using: str, *, bytes_too: bool, suffix: str
) -> tuple[str, tuple[Any, ...]]:
    """
    Return the statement that reads a page's state, and its bytes too, compiled once.

    Of the bytes under the version's checksum and ``suffix``.

    Compiling it takes several times as long as running it, and it stands before
    every page that is served. Its parameters are stand-ins for the real ones.
    """
    own = Change.objects.filter(site="<site>", section="<name>")
    waits = Exists(own.filter(of_page(_ANY_NUMBER)))
    if not bytes_too:
        rows = pages().using(using).filter(**_of_page(""))
        columns: Any = rows.annotate(waits=waits).values_list(*_COLUMNS, "waits")
    else:
        found = files().using(using).filter(**_of_page("page__"))
        served: Any = Case(
            When(
                Q(page__grace_until__gt=_ANY_TIME) & ~Q(page__grace_checksum=""),
                then=F("page__grace_checksum"),
            ),
            default=F("page__checksum"),
        )
        columns = _with_bytes(found, served, waits, suffix).order_by("part")
    statement, params = columns.query.sql_with_params()
    return statement, tuple(params)


@lru_cache(maxsize=64)
def _statement_of_pages(
    using: str, count: int, suffix: str
) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that reads the states and bytes of some pages."""
    same = Change.objects.filter(site="<site>", section=OuterRef("page__section__name"))
    waits = Exists(same.filter(of_page(OuterRef("page__number"))))
    keys = [_ANY_NUMBER + place for place in range(count)]
    found = files().using(using).filter(page__in=keys)
    served = F("page__checksum")
    columns = _with_bytes(found, served, waits, suffix).order_by("page", "part")
    statement, params = columns.query.sql_with_params()
    return statement, tuple(params)


def _with_bytes(
    found: QuerySet[PageFile], served: Any, waits: Exists, suffix: str
) -> Any:
    """Return the columns of states, ``waits``, the page and the bytes served of it."""
    if suffix:
        served = Concat(served, Value(suffix))
    names = [f"page__{name}" for name in _COLUMNS]
    rows = found.filter(checksum=served).annotate(waits=waits)
    return rows.values_list(*names, "waits", "page", *COLUMNS)


def _of_page(prefix: str) -> dict[str, Any]:
    return {
        f"{prefix}section__site": "<site>",
        f"{prefix}section__name": "<name>",
        f"{prefix}section__key": "<key>",
        f"{prefix}section__filled": True,
        f"{prefix}number": _ANY_NUMBER,
    }


def _rows(
    name: str, number: int, now: float, *, bytes_too: bool, suffix: str = ""
) -> list[Any]:
    key = definition(name).key
    using = ledger()
    given: dict[Any, Any] = {
        "<site>": current_site(),
        "<name>": name,
        "<key>": key,
        _ANY_NUMBER: number,
        _ANY_TIME: now,
    }
    compiled = _statement(using, bytes_too=bytes_too, suffix=suffix)
    try:
        return _run(compiled, given, bytes_too=bytes_too)
    except DatabaseError:
        # What is paged by position is served without tables too.
        if key != BY_POSITION or tables_exist(using):
            raise
        return []


def _run(
    compiled: tuple[str, tuple[Any, ...]], given: Mapping[Any, Any], *, bytes_too: bool
) -> list[Any]:
    """Run a statement with the real parameters in place of the stand-ins."""
    statement, params = compiled
    using = ledger()
    opened = binary_cursor(using) if bytes_too else connections[using].cursor()
    with opened as cursor:
        cursor.execute(statement, [given.get(param, param) for param in params])
        return list(cursor.fetchall())


def fresh_state(name: str, number: int) -> PageState | None:
    """Return the state of a page that may be served without reading a row."""
    now = time.time()
    rows = _rows(name, number, now, bytes_too=False)
    return _fresh(name, rows, now)


def fresh_bytes(
    name: str, number: int, suffix: str = ""
) -> tuple[PageState, StoredBytes] | None:
    """
    Return a fresh page's state and its bytes, by one statement.

    With ``suffix`` what is stored beside them, under their checksum and that.
    """
    now = time.time()
    rows = _rows(name, number, now, bytes_too=True, suffix=suffix)
    state = _fresh(name, rows, now)
    stored = joined(row[-len(COLUMNS) :] for row in rows)
    return None if state is None or stored is None else (state, stored)


def fresh_pages(
    names: Mapping[int, str], suffix: str = ""
) -> dict[int, tuple[PageState, StoredBytes]]:
    """
    Return the states and bytes of those of some pages that are fresh, by one statement.

    The pages are given, and returned, by their primary keys, each with its section's
    name. For ``suffix`` see ``fresh_bytes``. What a page that was split shows for a
    while to those who ask for it alone, does not count.
    """
    now = time.time()
    given = {_ANY_NUMBER + place: pk for place, pk in enumerate(names)}
    compiled = _statement_of_pages(ledger(), len(names), suffix)
    params: dict[Any, Any] = {"<site>": current_site(), _ANY_TIME: now, **given}
    found: dict[int, tuple[PageState, StoredBytes]] = {}
    page = len(_COLUMNS) + 1
    rows = _run(compiled, params, bytes_too=True)
    for pk, group in groupby(rows, key=itemgetter(page)):
        some = list(group)
        state = _fresh(names[pk], some, now)
        stored = joined(row[page + 1 :] for row in some)
        if state is not None and stored is not None:
            found[pk] = state, stored
    return found


def _fresh(name: str, rows: list[Any], now: float) -> PageState | None:
    if not rows or remembers(ledger(), name):
        return None
    state = PageState.of_row(rows[0])
    return state if is_fresh(state, definition(name), now) else None


def tag_of(checksum: str, site: SiteAddress) -> str:
    """Return the tag of what a page's version says at an address."""
    return f"{checksum[:24]}-{site.tag}"
