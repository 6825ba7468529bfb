"""
Neighbouring pages with few entries become one, by command: the reverse of a split.

The first of them keeps its number and lists what all listed; the others end. In one
transaction, with what comparing all their listings with the new one says. So a URL that
only moves from one page to another is no event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import F

from django_sitemaps_plus.changes.assignment import unassign
from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.exceptions import Busy
from django_sitemaps_plus.pagination.bounds import bounds_of
from django_sitemaps_plus.pagination.cutting import filled_to
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import lease, ledger, lost, pages, sections
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.rendering.listing import Listing, listing_of
from django_sitemaps_plus.signals import changes_written
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress
from django_sitemaps_plus.storing import storage

from .page_build import MOST_PIECES, Build, OvertakenError, can_store, reload
from .page_writer import PageWriter


def join(source: SectionSource, site: SiteAddress) -> int:
    """
    Join neighbouring pages of a section that fit one; return how many pages ended.

    Those that somebody else writes meanwhile stay as they are.
    """
    own = Site.current().stored_address(site).with_scheme(source.sitemap.protocol)
    current, ended = definition(source), 0
    found = pages().on_site(source.name).filter(digest=current.digest)
    rows = list(found.order_by("position")) if can_store(source) else []
    runs = _runs(rows, filled_to(source.items_per_page))
    for first, *others in [run for run in runs if len(run) > 1]:
        joining = _Joining(source, current, own, first, others=others)
        try:
            ended += joining.join()
        except (OvertakenError, Busy):
            continue
        if joining.events:
            changes_written.send(None)
    return ended


def _runs(found: Iterable[Page], most: int) -> Iterator[list[Page]]:
    """Yield all pages in runs of neighbours that have no more rows than ``most``."""
    run: list[Page] = []
    for page in found:
        rows = page.items + sum(one.items for one in run)
        if run and (rows > most or len(run) == MOST_PIECES):
            yield run
            run = []
        run.append(page)
    yield run


@dataclass
class _Joining(Build):
    """One run that takes over what other pages list, which come after its own."""

    def join(self) -> int:
        """Build the page with their rows, and end them; return how many these were."""
        section = self.page.section
        with lease(section) as owner:
            found = [reload(page.pk) for page in (self.page, *self.others)]
            (self.page, *self.others), last = found, found[-1]
            places = self.page.position, last.position
            there = pages().filter(section=section, position__range=places)
            self._begin()
            stored = storage.read_all(found)
            # One of them was divided, or is in error: nobody knows all that it lists.
            is_known = not any(page.error for page in found)
            if not (is_known and len(found) == len(stored) == there.count()):
                raise OvertakenError
            ends = bounds_of(self.source, self.page)[0], bounds_of(self.source, last)[1]
            writer, overflow = self._write_range(*ends)
            if overflow is not None or writer.is_too_bad:
                return 0
            former = Listing()
            for page in found:
                former.update(listing_of(stored[page.pk].text_for(self.site)))
            self._compare(former, listing_of(writer.stored.segment.text()), [writer])
            retrying(ledger(), lambda: self._commit_joined(owner, writer, found))
        self._log_done([writer])
        return len(self.others)

    def _commit_joined(
        self, owner: str, writer: PageWriter, found: Sequence[Page]
    ) -> None:
        section = self.page.section
        with self._writing():
            # By the number others see that the boundaries are not those that they read.
            if sections().take_numbers(section, owner, 1) is None:
                raise lost(section)
            searched = all(page.searched for page in found)
            self._write(self.page, writer, searched=searched)
            for page in self.others:
                same = pages().filter(pk=page.pk, version=page.version)
                if not same.filter(read_at=page.read_at).update(version=F("version")):
                    raise OvertakenError
                same.delete()
            for page in found:
                unassign(self.source.name, page.number)
