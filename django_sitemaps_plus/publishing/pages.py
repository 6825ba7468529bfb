"""
A page's bytes for whoever asks: those that are stored, or built now.

One process builds a page; others get the former bytes, if these were compared within a
day. Otherwise one request waits briefly.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

from django.db import Error as DatabaseError
from django.db import connections
from django.db.models import Max

from django_sitemaps_plus.changes.assignment import assign
from django_sitemaps_plus.changes.recorder import remembers, write_remembered
from django_sitemaps_plus.exceptions import Busy, ConfigurationError, TooManyBadRows
from django_sitemaps_plus.pagination.bounds import KeyRange, bounds_of
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import (
    create_first_page,
    ledger,
    of_sections,
    pages,
    waiting,
)
from django_sitemaps_plus.protocol.errors import printable
from django_sitemaps_plus.rendering.columns import epoch
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.attributes import is_expression
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import (
    PLACEHOLDER_SITE,
    SiteAddress,
    rendering_context,
)

from . import page_build, position_build, storage
from .bad_rows import note_error
from .freshness import PageState, hold, is_fresh, looked_at, what_waits
from .page_build import Built, can_store, reload
from .position_build import refuse_too_long
from .storage import StoredBytes

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds for which the builder of a page keeps others from building it; it renews that
#: while it lives.
CLAIM = 15.0
#: Seconds for which a command waits for another process's page, and between two looks.
PATIENCE, _POLL = 4.0, 0.1
#: Seconds for which a page's former bytes may be sent while it is being built.
FORMER = 86_400


@dataclass(frozen=True)
class Served:
    """A page's bytes, ready to be sent."""

    page: Page
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


def find(source: SectionSource, number: int) -> Page | None:
    """Return a page, with its section; None if there is no such page."""
    key = source.signature
    rows = looked_at().filter(of_sections(source.name), section__key=key)
    return rows.filter(section__filled=True, number=number).first()


def find_by_position(
    source: SectionSource, number: int, site: SiteAddress
) -> Page | None:
    """
    Return a page of a section that is paged by position, its row created if missing.

    Raises ``NotStoredError`` where they are not stored.
    """
    first = find(source, 1)
    if first is None:
        refuse_too_long(source)
        create_first_page(source)
        first = find(source, 1)
    if first is None or number == 1:
        return first
    page = find(source, number)
    if page is None and _fresh(source, first) is None:
        serve(source, first, site)
        page = find(source, number)
    return page


def serve(
    source: SectionSource, page: Page, site: SiteAddress, *, asked: bool = True
) -> Served:
    """
    Return the bytes of a page that was just looked at, built if missing or stale.

    The former ones where that cannot be. Raises ``Busy`` if there are none and another
    process builds the page, and whatever the rows or their database raise.

    Pages by position are built with the section's first, all of them. Raises
    ``NotStoredError`` where they are not stored.
    """
    if source.key is None and page.number != 1:
        return _serve_with_first(source, page, site, asked=asked)
    try:
        return _serve(source, page, site, asked=asked)
    except DatabaseError as error:
        connection = connections[ledger()]
        if not connection.in_atomic_block:
            # A server that was restarted has others.
            connection.close_if_unusable_or_obsolete()
        former = _former(page)
        if former is None:
            raise
        said = printable(str(error))
        problem = f"Page {page} keeps its former bytes: the database failed: {said}"
        logger.exception(problem)
        return replace(former, problem=problem)


def _serve_with_first(
    source: SectionSource, page: Page, site: SiteAddress, *, asked: bool
) -> Served:
    first = find(source, 1)
    if first is None:
        raise Busy("The section is being divided anew.")
    if _fresh(source, page) is None:
        expire(first)
    served = serve(source, first, site, asked=asked)
    stored = _stored(reload(page.pk))
    if stored is None:
        raise Busy(f"The page {page} is being built.")
    return replace(stored, problem=served.problem, is_former=served.is_former)


def _serve(
    source: SectionSource, page: Page, site: SiteAddress, *, asked: bool
) -> Served:
    build = _builder(source)
    if not can_store(source):
        return _fresh(source, page) or _served(build(source, page, site))
    rows = definition(source.name).database
    if remembers(rows, source.name):
        write_remembered(rows)
        page = reload(page.pk)
    unassigned = what_waits(page)[1] or definition(source.name).ticks
    if source.key is not None and unassigned and assign(source, page.section):
        page = reload(page.pk)
    fresh = _fresh(source, page)
    if fresh is not None:
        return fresh
    for _ in range(2):
        with claimed(page) as claim:
            if claim is not None:
                return _build_or_former(source, page, site, claim, asked=asked)
        # Another one is building it, or has done so since it was read.
        page = reload(page.pk)
        fresh = _fresh(source, page)
        if fresh is not None:
            return fresh
        if page.building_until > time.time():
            break
    return _former(page) or _wait(source, page, site, asked=asked)


def _builder(source: SectionSource) -> Callable[..., Built]:
    return page_build.build if source.key is not None else position_build.build


def _served(built: Built) -> Served:
    page = built.page
    if not built.is_stored:
        return Served(page, built.stored, built.checksum, None)
    since = page.grace_changed_at if built.checksum == page.grace_checksum else None
    changed_at = max(page.changed_at, page.grace_until) if since is None else since
    return Served(page, built.stored, built.checksum, changed_at)


def _fresh(source: SectionSource, page: Page) -> Served | None:
    current = definition(source.name)
    if remembers(current.database, source.name):
        return None
    is_known = is_fresh(PageState.of(page), current, time.time())
    return _stored(page) if is_known else None


def _stored(page: Page) -> Served | None:
    now = time.time()
    state = PageState.of(page)
    own = page.checksum, page.changed_at
    for checksum, changed_at in dict.fromkeys([state.served(now), own]):
        stored = storage.read(page, checksum) if checksum else None
        if stored is not None:
            return Served(page, stored, checksum, changed_at)
    return None


def _former(page: Page) -> Served | None:
    """Return former bytes that are young enough to be sent instead."""
    stored = None if time.time() - page.read_at > FORMER else _stored(page)
    return None if stored is None else replace(stored, is_former=True)


# Single flight


class Claim:
    """The right to build some pages, renewed while rows are read."""

    def __init__(self, found: Sequence[Page], owner: str) -> None:
        self.pages, self._owner = found, owner
        #: Whether it was given up together with the page that was written.
        self.is_over = False
        self._renew_at = time.monotonic() + CLAIM / 3

    def renew(self) -> None:
        """Keep the claim for a while longer; where that fails, it ends by itself."""
        if time.monotonic() < self._renew_at:
            return
        self._renew_at = time.monotonic() + CLAIM / 3
        try:
            pages().renew(self.pages, self._owner, CLAIM)
        except DatabaseError as error:
            logger.warning(
                "The claim on page %s cannot be renewed: %s", self.pages[0], error
            )

    def release(self) -> None:
        """Give it up; where the connection is lost, it ends by itself."""
        if self.is_over:
            return
        try:
            pages().release(self.pages, self._owner)
        except DatabaseError as error:
            logger.warning(
                "The claim on page %s cannot be given up: %s", self.pages[0], error
            )


@contextmanager
def claimed(page: Page) -> Iterator[Claim | None]:
    """
    Try to be the one who builds a page, until the end.

    None if another is, or has looked at it since ``page`` was read.
    """
    owner = uuid.uuid4().hex
    if not pages().claim(page, owner, CLAIM):
        yield None
        return
    claim = Claim([page], owner)
    try:
        yield claim
    finally:
        claim.release()


@contextmanager
def claimed_new(found: Sequence[Page]) -> Iterator[Claim | None]:
    """Claim those of some pages that were never built, as ``claimed``."""
    owner = uuid.uuid4().hex
    if not pages().claim_new(found, owner, CLAIM):
        yield None
        return
    # As they are now, in the order of their keys.
    mine = looked_at().filter(pk__in=[page.pk for page in found], building_by=owner)
    claim = Claim(list(mine.order_by("position")), owner)
    try:
        yield claim if claim.pages else None
    finally:
        claim.release()


def _build_or_former(
    source: SectionSource, page: Page, site: SiteAddress, claim: Claim, *, asked: bool
) -> Served:
    """Build a page and return it, or its former bytes where it cannot be built."""
    try:
        _refuse_known_bad(source, page)
        build = _builder(source)
        built = build(source, page, site, progress=claim.renew, asked=asked)
        claim.is_over = built.is_stored and not built.page.building_by
        return _served(built)
    except TooManyBadRows:
        former = _stored(reload(page.pk))
        if former is None:
            raise
        return former
    except Busy:
        former = _former(reload(page.pk))
        if former is None:
            raise
        return former
    except ConfigurationError as error:
        # Such as rows that come twice since somebody's data changed.
        former = _stored(page)
        if former is None:
            raise
        note_error(page, f"{error} The page keeps its former bytes.")
        return former


def _refuse_known_bad(source: SectionSource, page: Page) -> None:
    """Raise ``TooManyBadRows`` where that was found out a while ago."""
    if page.error:
        age = time.time() - page.verified_at
        if 0 <= age < hold(definition(source.name), page.failures):
            raise TooManyBadRows(page.error)


def _wait(
    source: SectionSource, page: Page, site: SiteAddress, *, asked: bool
) -> Served:
    """Wait for another process's page; as a request briefly, and only one of all."""
    busy = Busy(f"The page {page} is being built.")
    aliases = {ledger(), definition(source.name).database}
    if any(connections[alias].in_atomic_block for alias in aliases):
        raise busy
    patience = waiting(busy) if asked else nullcontext(time.monotonic() + PATIENCE)
    with patience as until:
        while time.monotonic() < until:
            time.sleep(_POLL)
            page = reload(page.pk)
            found = _stored(page)
            if found is not None:
                return found
            with claimed(page) as claim:
                if claim is not None:
                    return _build_or_former(source, page, site, claim, asked=asked)
    raise busy


# Comparing


def expire(page: Page) -> None:
    """Have a page compared with its rows when it is next asked for."""
    pages().filter(pk=page.pk).update(verified_at=0)
    page.verified_at = 0


def differs(source: SectionSource, page: Page) -> bool:
    """
    Tell whether a page's rows are others than when it was built, by two numbers.

    Their count is compared and, where lastmod is an expression, the newest one.
    """
    if page.entries is None or source.key is None:
        return True
    count, newest = _count_and_newest(source, page)
    return count != page.items or (newest is not None and newest != page.newest)


@rendering_context(PLACEHOLDER_SITE)
def _count_and_newest(source: SectionSource, page: Page) -> tuple[int, float | None]:
    key_range = KeyRange.of(source)
    rows = key_range.rows(*bounds_of(key_range.key, page))
    lastmod = getattr(source.sitemap, "lastmod", None)
    if not is_expression(lastmod):
        return rows.count(), None
    newest = rows.annotate(sitemaps_plus_seen=lastmod).aggregate(
        newest=Max("sitemaps_plus_seen")
    )["newest"]
    return rows.count(), epoch(newest)
