"""
One build of a section that is paged by position: all its pages, compared as one.

No signal tells of its items, and an item that goes moves all that follow. So all pages
are built in one run, stored in one transaction, and what they list together is compared
with what they listed before. Its first page stands for all: whoever builds claims it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.core.paginator import EmptyPage
from django.db import transaction

from django_sitemaps_plus.changes.events import Taken
from django_sitemaps_plus.changes.queries import changes
from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import (
    forget_pages,
    ledger,
    ordered,
    pages,
    reserve_number,
)
from django_sitemaps_plus.rendering.listing import Listing, listing_of
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.storing.freshness import Served

from .by_position import MOST_PAGES, position_pages, position_size, too_large
from .page_build import Build, OvertakenError, can_store, reload
from .page_writer import PageWriter


class NotStoredError(SitemapsPlusError):
    """The pages of a section are built for each request, and not stored."""


def refuse_too_long(source: SectionSource) -> None:
    """Raise ``NotStoredError`` where pages cannot be stored, or are too many."""
    count = position_pages(source) if can_store(source) else 0
    if not 0 < count <= MOST_PAGES:
        raise NotStoredError(f"The section {source.name!r} is built on each request.")


@dataclass
class PositionBuild(Build):
    """One run that builds all pages of a section."""

    def run(self) -> Served[Page]:
        """Read what is stored, then the items; write all pages."""
        self.source = replace(self.source, is_one_run=True)
        self._begin(Taken(self.source.name), list(ordered(self.page.section)))
        writers = self._writers()
        # Where one is lost nobody knows what was listed.
        if None not in self.stored.values():
            self._compare_all(writers)
        retrying(ledger(), lambda: self._commit_all(writers))
        self._log_done(writers)
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
        self._refuse_bad(writer, f"{self.source.name}-{number}")
        return writer

    def _commit_all(self, writers: Sequence[PageWriter]) -> None:
        with transaction.atomic(using=ledger()):
            self._lock()
            # Recorded when it was paged by key: they concern none of these pages.
            changes(self.source.name).delete()
            known = {row.number: row for row in self.rows}
            for number, writer in enumerate(writers, 1):
                self._write(known.get(number) or self._new_page(number), writer)
            surplus = pages().filter(section=self.page.section)
            surplus.filter(number__gt=len(writers)).delete()
            if None not in self.stored.values():
                self._write_events(writers)

    def _new_page(self, number: int) -> Page:
        reserve_number(self.page.section, number)
        return pages().create(section=self.page.section, number=number, position=number)

    def _compare_all(self, writers: Sequence[PageWriter]) -> None:
        """Compare all pages as one, before the transaction begins."""
        checksums = [row.checksum for row in self.rows]
        if checksums != [writer.checksum for writer in writers]:
            new: Listing = {}
            for writer in writers:
                new.update(listing_of(writer.stored.segment.text()))
            self._compare(new, writers)
