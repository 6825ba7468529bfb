"""
One build of a section that is paged by position: all its pages, compared as one.

No signal tells of its items, and an item that goes moves all that follow. So all pages
are built in one run, stored in one transaction, and what they list together is compared
with what they listed before. Its first page stands for all: whoever builds claims it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from django.core.paginator import EmptyPage
from django.db import transaction

from django_sitemaps_plus.changes.events import Taken
from django_sitemaps_plus.changes.queries import changes
from django_sitemaps_plus.db import Stopwatch, retrying
from django_sitemaps_plus.exceptions import SitemapsPlusError, TooManyBadRows
from django_sitemaps_plus.pagination.deploys import is_outdated
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import (
    forget_pages,
    ledger,
    ordered,
    pages,
    reserve_number,
)
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.rendering.listing import Listing, listing_of
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress, stored_address

from . import storage
from .bad_rows import formerly_bad, note_error
from .by_position import MOST_PAGES, is_bad, position_pages, position_size, too_large
from .page_build import (
    Build,
    Built,
    OvertakenError,
    build_with,
    can_store,
    reload,
)
from .page_writer import PageWriter, to_correct, too_many
from .storage import StoredBytes


class NotStoredError(SitemapsPlusError):
    """The pages of a section are built for each request, and not stored."""


def refuse_too_long(source: SectionSource) -> None:
    """Raise ``NotStoredError`` where pages cannot be stored, or are too many."""
    count = position_pages(source) if can_store(source) else 0
    if not 0 < count <= MOST_PAGES:
        raise NotStoredError(f"The section {source.name!r} is built on each request.")


def build(
    source: SectionSource,
    page: Page,
    site: SiteAddress,
    *,
    progress: Callable[[], object] = lambda: None,
    asked: bool = False,
) -> Built:
    """
    Build all pages of a section, of which ``page`` is the first, and store them.

    Raises what ``page_build.build`` does, and ``NotStoredError`` where the section is
    too long, newer code runs, or somebody else's transaction is open.
    """
    if not can_store(source) or is_outdated(
        page.section, definition(source.name).digest
    ):
        raise NotStoredError(f"The section {source.name!r} cannot be stored now.")
    own = stored_address(site).with_scheme(source.sitemap.protocol)
    return build_with(_PositionBuild, source, page, own, progress, asked=asked)


@dataclass
class _PositionBuild(Build):
    """One run that builds all pages of a section."""

    rows: list[Page] = field(init=False)
    #: What each page has stored, by its number.
    stored: dict[int, StoredBytes | None] = field(init=False)

    def run(self) -> Built:
        """Read what is stored, then the items; write all pages."""
        self.source = replace(self.source, is_one_run=True)
        self.taken = Taken(self.source.name)
        self.rows = list(ordered(self.page.section))
        self.stored = {row.number: storage.read(row, row.checksum) for row in self.rows}
        self.clock = Stopwatch(ledger())
        self.read_at = self.clock.started_at
        writers = self._writers()
        stored = list(self.stored.values())
        # Where one is lost nobody knows what was listed.
        self.former = None if None in stored else stored[0]
        if self.former is not None:
            self._compare_all(writers)
        retrying(ledger(), lambda: self._commit_all(writers))
        self._note_done(writers)
        return self._built(reload(self.page.pk), writers[0])

    def _writers(self) -> list[PageWriter]:
        items, count = position_size(self.source, self.site)
        if count > MOST_PAGES:
            forget_pages(self.source)
            raise NotStoredError(f"The section {self.source.name!r} has {count} pages.")
        writers = [self._writer(number) for number in range(1, count + 1)]
        # Each page is a query: what came or went meanwhile has moved the others.
        if position_size(self.source, self.site) != (items, count):
            raise OvertakenError
        return writers

    def _writer(self, number: int) -> PageWriter:
        writer = PageWriter(self.source, self.site, self.progress)
        try:
            if writer.run_by_position(number) is not None:
                raise too_large(self.source, number)
        except EmptyPage as error:
            raise OvertakenError from error
        if is_bad(len(writer.bad), writer.items):
            problem = too_many(writer.bad, writer.items, f"{self.source.name}-{number}")
            problem = f"{problem} The section keeps its former bytes."
            note_error(self.page, problem, to_correct(writer.bad, writer.items))
            raise TooManyBadRows(problem)
        return writer

    def _commit_all(self, writers: Sequence[PageWriter]) -> None:
        with transaction.atomic(using=ledger()):
            self._lock()
            # Recorded when it was paged by key: they concern none of these pages.
            changes(self.source.name).delete()
            known = {row.number: row for row in self.rows}
            for number, writer in enumerate(writers, 1):
                self._write_page(known.get(number) or self._new_page(number), writer)
            surplus = pages().filter(section=self.page.section)
            surplus.filter(number__gt=len(writers)).delete()
            if self.former is not None:
                self._write_events(writers)

    def _new_page(self, number: int) -> Page:
        reserve_number(self.page.section, number)
        return pages().create(section=self.page.section, number=number, position=number)

    def _former_of(self, page: Page) -> StoredBytes | None:
        return self.stored.get(page.number)

    def _write_page(self, page: Page, writer: PageWriter) -> None:
        if not pages().write(page, **self._values(writer, page)):
            raise OvertakenError
        former = self._former_of(page)
        same = former is not None and former.origin == storage.address_of(self.site)
        if not same or writer.checksum != page.checksum:
            storage.write(page, writer.checksum, writer.stored)

    def _compare_all(self, writers: Sequence[PageWriter]) -> None:
        """Compare all pages as one, before the transaction begins."""
        checksums = [row.checksum for row in self.rows]
        if checksums != [writer.checksum for writer in writers]:
            new: Listing = {}
            for writer in writers:
                new.update(listing_of(writer.stored.segment.text()))
            self._compare(new, writers)

    def _former_bad(self) -> frozenset[str]:
        return formerly_bad(self.rows)

    def _former_listing(self) -> Listing | None:
        listing: Listing = {}
        for stored in self.stored.values():
            if stored is not None:
                listing.update(listing_of(stored.text_for(self.site)))
        return listing
