"""
Serves a page's bytes: stored ones, or built on request.

One process builds a page; others get the former bytes, if these were compared within a
day. Otherwise one request waits briefly.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace

from django.db import Error as DatabaseError
from django.db import connections
from django.db.models import Max, QuerySet

from django_sitemaps_plus.changes.assignment import assign
from django_sitemaps_plus.changes.events import Taken, take, taken_of
from django_sitemaps_plus.changes.queries import MOST_TAKEN, waiting_changes
from django_sitemaps_plus.changes.recorder import remembers, write_remembered
from django_sitemaps_plus.exceptions import (
    Busy,
    ConfigurationError,
    SitemapsPlusError,
    TooManyBadRows,
)
from django_sitemaps_plus.pagination.bounds import bounds_of
from django_sitemaps_plus.pagination.deploys import is_outdated
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.places import is_python_ordered
from django_sitemaps_plus.pagination.queries import WAIT, ledger, pages, waiting
from django_sitemaps_plus.protocol.errors import printable
from django_sitemaps_plus.rendering.columns import epoch
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.signals import changes_written
from django_sitemaps_plus.sitemaps.keys import plain
from django_sitemaps_plus.sitemaps.media import is_expression
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, Site, SiteAddress
from django_sitemaps_plus.storing import storage
from django_sitemaps_plus.storing.bad_rows import note_error, note_raised
from django_sitemaps_plus.storing.freshness import (
    Served,
    hold,
    is_fresh,
    page_rows,
    read_page,
)

from .page_build import Build, OvertakenError, can_store, reload
from .page_writer import PageWriter

Progress = Callable[[], object]

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds for which the builder of a page keeps others from building it; it renews that
#: while it lives.
CLAIM = 15.0
#: Seconds for which a command waits for another process's page, and between two looks.
PATIENCE, _POLL = 4.0, 0.1
#: How often a page is built again that somebody else has written meanwhile.
_TRIES = 10
#: Seconds for which a page's former bytes may be sent while it is being built.
FORMER = 86_400


def find(source: SectionSource, number: int) -> Page | None:
    """Return a page, with its section; None if there is no such page."""
    section = {"section__name": source.name, "section__key": source.signature}
    site = Site.current().key
    return read_page(number=number, section__site=site, section__filled=True, **section)


def serve(
    source: SectionSource, page: Page, site: SiteAddress, *, asked: bool = True
) -> Served[Page]:
    """
    Return the bytes of a page that was just read, built if missing or stale.

    The former ones where that cannot be. Raises ``Busy`` if there are none and another
    process builds the page, and whatever the rows or their database raise.
    """
    try:
        return Serving(source, site, asked).serve(page)
    except DatabaseError as error:
        connection = connections[ledger()]
        # Where the ledger's own connection is lost, it is not asked for another.
        is_usable = connection.connection is not None and connection.is_usable()
        if not connection.in_atomic_block:
            # A server that was restarted has others.
            connection.close_if_unusable_or_obsolete()
        if is_usable:
            note_raised(page, error)
        former = _former(page)
        if former is None:
            raise
        said = printable(str(error))
        problem = f"Page {page} keeps its former bytes: the database failed: {said}"
        logger.exception(problem)
        return replace(former, problem=problem)
    except SitemapsPlusError:
        # Noted where it is raised, if it is more than a matter of time.
        raise
    except Exception as error:
        note_raised(page, error)
        raise


def _only_own(source: SectionSource, page: Page) -> Taken | None:
    """
    Take a page's changes, and those of the section that nobody has assigned yet.

    None if one of these is not the page's own, or only the rows' database can tell:
    then they have to be assigned. Also of a page in error, which that ends.
    """
    key, name = source.paged_by, source.name
    if page.error or not is_python_ordered(key):
        return None
    lower, upper = bounds_of(source, page)
    rows = waiting_changes(name, page.number, unassigned=True)
    if len(rows) == MOST_TAKEN:
        return None
    for row in rows:
        if row.page is None:
            value = key.read(row.key)
            if value is None or row.upto is not None or row.related:
                return None
            is_before = lower is not None and value < lower
            is_behind = upper is not None and value >= upper
            if is_before or is_behind:
                return None
    return taken_of(rows)


def stored_version(page: Page) -> Served[Page] | None:
    """Return what is stored of a page."""
    stored = storage.read_bytes(page, page.checksum)
    if stored is None:
        return None
    return Served(page, stored, page.checksum, page.changed_at)


def _former(page: Page) -> Served[Page] | None:
    """Return former bytes that are young enough to be sent instead."""
    stored = None if time.time() - page.read_at > FORMER else stored_version(page)
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
        with self._logging("renewed"):
            pages().these(self.pages).renew(self._owner, CLAIM)

    @contextmanager
    def _logging(self, what: str) -> Iterator[None]:
        try:
            yield
        except DatabaseError as error:
            text = "The claim on page %s cannot be %s: %s"
            logger.warning(text, self.pages[0], what, error)

    def __enter__(self) -> Claim:
        return self

    def __exit__(self, *exception: object) -> None:
        """Give it up; where the connection is lost, it ends by itself."""
        if not self.is_over:
            with self._logging("given up"):
                pages().these(self.pages).release(self._owner)


def claimed(page: Page) -> AbstractContextManager[Claim | None]:
    """
    Try to be the one who builds a page, until the end.

    None if another is, or has looked at it since ``page`` was read.
    """
    owner = uuid.uuid4().hex
    is_mine = pages().claim(page, owner, CLAIM)
    return Claim([page], owner) if is_mine else nullcontext()


def claimed_new(found: Sequence[Page]) -> AbstractContextManager[Claim | None]:
    """Claim those of some pages that were never built, as ``claimed``."""
    owner = uuid.uuid4().hex
    if not pages().claim_new(found, owner, CLAIM):
        return nullcontext()
    # As they are now, in the order of their keys.
    mine = page_rows().filter(pk__in=[page.pk for page in found], claimed_by=owner)
    rows = list(mine.order_by("position"))
    return Claim(rows, owner) if rows else nullcontext()


@dataclass(frozen=True)
class Serving:
    """Who serves a section's pages; ``asked`` tells that a request waits for them."""

    source: SectionSource
    site: SiteAddress
    asked: bool = False

    def serve(self, page: Page) -> Served[Page]:
        """Return the bytes of a page, built if missing or stale: see ``serve``."""
        source = self.source
        if not can_store(source):
            return self._fresh(page) or self.build(page)
        rows = source.database
        if remembers(rows, source.name):
            write_remembered(rows)
            page = reload(page.pk)
        taken, ticks = None, definition(source).ticks
        if source.key is not None and (page.unassigned or ticks):
            taken = None if ticks else _only_own(source, page)
            if taken is None and assign(source, page.section):
                page = reload(page.pk)
        fresh = self._fresh(page)
        if fresh is not None:
            return fresh
        for _ in range(2):
            with claimed(page) as claim:
                if claim is not None:
                    return self._build_or_former(page, claim, taken)
            taken = None
            # Another one is building it, or has done so since it was read.
            page = reload(page.pk)
            fresh = self._fresh(page)
            if fresh is not None:
                return fresh
            if page.claimed_until > time.time():
                break
        return _former(page) or self._wait(page)

    def _fresh(self, page: Page) -> Served[Page] | None:
        is_now = is_fresh(self.source, page, time.time())
        return stored_version(page) if is_now else None

    def _build_or_former(
        self, page: Page, claim: Claim, taken: Taken | None = None
    ) -> Served[Page]:
        """Build a page and return it, or its former bytes where it cannot be built."""
        try:
            age = time.time() - page.verified_at
            if page.error and 0 <= age < hold(definition(self.source), page.failures):
                # That was found out a while ago.
                raise TooManyBadRows(page.error)
            built = self.build(page, taken, claim.renew)
            claim.is_over = built.changed_at is not None and not built.page.claimed_by
            return built
        except (TooManyBadRows, Busy) as error:
            page = reload(page.pk)
            former = _former(page) if isinstance(error, Busy) else stored_version(page)
            if former is None:
                raise
            return former
        except ConfigurationError as error:
            # Such as rows that come twice since somebody's data changed.
            former = stored_version(page)
            kept = " The page keeps its former bytes." if former else ""
            note_error(page, f"{error}{kept}")
            if former is None:
                raise
            return replace(former, page=reload(page.pk))

    def build(
        self, page: Page, taken: Taken | None = None, renew: Progress = lambda: None
    ) -> Served[Page]:
        """
        Build a page, and store it where that can be; split it if it is too large.

        ``taken`` are its changes, if they were read with it. ``renew`` is called again
        and again while rows are read.

        Raises ``TooManyBadRows``, with which the former bytes stay published, and
        ``Busy`` if others are always faster.
        """
        source, site = self.source, Site.current().stored_address(self.site)
        own, current = site.with_scheme(source.sitemap.protocol), definition(source)
        for _ in range(_TRIES):
            if not can_store(source) or is_outdated(page.section, current.digest):
                return self._build_unstored(page, own)
            if taken is None:
                taken = take(source.name, page.number) if page.waits else Taken()
            run = Build(source, current, own, page, renew, self.asked, taken)
            try:
                built = run.run()
            except OvertakenError:
                page, taken = reload(page.pk), None
                continue
            if run.events:
                changes_written.send(None)
            return built
        raise Busy(f"The page {page} is being built by others.")

    def _build_unstored(self, page: Page, site: SiteAddress) -> Served[Page]:
        """Build a page to be sent; nothing of it is stored or reported."""
        writer = PageWriter(self.source, site)
        lower, upper = bounds_of(self.source, page)
        if writer.run(lower, upper) is not None:
            raise Busy(f"The page {page} has to be split.")
        if writer.is_too_bad:
            tally = writer.reader.tally
            raise TooManyBadRows(tally.too_many(writer.items, str(page)))
        return Served(page, writer.stored, writer.checksum, None)

    def _wait(self, page: Page) -> Served[Page]:
        """Wait for another process's page; a request briefly, and only one of all."""
        busy = Busy(f"The page {page} is being built.")
        aliases = {ledger(), self.source.database}
        if any(connections[alias].in_atomic_block for alias in aliases):
            raise busy
        with waiting(busy, WAIT if self.asked else PATIENCE, asked=self.asked) as until:
            while time.monotonic() < until:
                time.sleep(_POLL)
                page = reload(page.pk)
                found = stored_version(page)
                if found is not None:
                    return found
                with claimed(page) as claim:
                    if claim is not None:
                        return self._build_or_former(page, claim)
        raise busy


# Comparing


def expire(page: Page) -> None:
    """Have a page compared with its rows when it is next asked for."""
    pages().filter(pk=page.pk).update(verified_at=0)
    page.verified_at = 0


@PLACEHOLDER_SITE.rendering()
def differs(source: SectionSource, page: Page) -> bool:
    """
    Return whether a page's rows are others than when it was built, by two numbers.

    Their count is compared and, where lastmod is an expression, the newest one.
    """
    if page.entries is None or source.key is None:
        return True
    rows = QuerySet.order_by(source.rows(*bounds_of(source, page)))
    lastmod = getattr(source.sitemap, "lastmod", None)
    if is_expression(lastmod):
        dated = rows.annotate(sitemaps_plus_seen=lastmod)
        newest = epoch(dated.aggregate(at=Max("sitemaps_plus_seen"))["at"])
        if newest is not None and newest != page.newest:
            return True
    return plain(rows).count() != page.items
