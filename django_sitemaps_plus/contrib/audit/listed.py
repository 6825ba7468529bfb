"""
What the sections list: their stored pages, read one by one.

Sections by position that are not stored are built as for a request.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from django_sitemaps_plus.building.by_position import page_bytes, position_pages
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import ordered, pages, sections
from django_sitemaps_plus.rendering.columns import OMITTED
from django_sitemaps_plus.serving.index import why_unusable
from django_sitemaps_plus.sitemaps.sections import SectionSource, source
from django_sitemaps_plus.sitemaps.site import SiteAddress
from django_sitemaps_plus.storing import storage
from django_sitemaps_plus.storing.bad_rows import noted

from .entries import Entry, EntryBatch, Unreadable, batches_of_page
from .findings import Findings
from .rules.documents import LEFT_OUT, NOT_BUILT, kind_of_row

#: Pages of a section by position that are read.
_BY_POSITION = 10


@dataclass(frozen=True)
class ListedDocument:
    """A sitemap, or an index of sitemaps, and what reads it."""

    #: The section that it is of; of documents without sections, empty.
    section: str
    #: What it is called: "article-3", or its address.
    name: str
    read: Callable[[], bytes]
    #: When its rows were read, in seconds since the epoch; 0 if that is not known.
    read_at: float = 0
    #: The page that it is, if it is a stored one.
    page: Page | None = None
    #: Takes the bytes apart; raises ``Unreadable`` if they are not a sitemap.
    batches_of: Callable[[bytes], Iterator[EntryBatch]] = batches_of_page

    def listed(self) -> Iterator[Entry]:
        """Yield the URLs that it lists; of an invalid one, those before the fault."""
        with suppress(Unreadable):
            for some in self.batches_of(self.read()):
                if not some.is_index:
                    yield from map(some.entry, range(len(some.urls)))


def listed_documents(
    names: Sequence[str], site: SiteAddress, findings: Findings
) -> list[ListedDocument]:
    """Return the pages of some sections; what their builds noted is a finding."""
    listed: list[ListedDocument] = []
    for name in names:
        if why_unusable(name):
            continue  # the section's state says so
        section = source(name)
        address = site.with_scheme(section.sitemap.protocol)
        every = _pages(section)
        built = [page for page in every if page.checksum]
        for page in built:
            _note_rows(findings, page)
            read = partial(_stored, page, address)
            listed.append(ListedDocument(name, str(page), read, page.read_at, page))
        if section.key is None and not built:
            listed += _by_position(section, address)
        elif len(built) < len(every) or not every:
            unbuilt = f"{len(every) - len(built):,} of {len(every):,} pages"
            text = unbuilt if every else "no page yet"
            findings.add(NOT_BUILT, name, text=text)
    return listed


def _pages(section: SectionSource) -> list[Page]:
    """Return a section's pages in their order, without what is not needed."""
    columns = ("section", "section__name", "number", "position", "checksum")
    more = "read_at", "bad", "problems", "lower"
    return [
        page
        for row in sections().filter(name=section.name, key=section.signature)
        for page in ordered(row).select_related("section").only(*columns, *more)
    ]


def _stored(page: Page, site: SiteAddress) -> bytes:
    """Return a page's bytes; none where they are missing or damaged."""
    for _ in range(2):
        stored = storage.read_bytes(page, page.checksum)
        if stored is not None:
            return stored.body_for(site)
        # Another process may have replaced it just now.
        checksums = pages().filter(pk=page.pk).values_list("checksum", flat=True)
        page.checksum = checksums.first() or ""
    return b""


def _by_position(section: SectionSource, site: SiteAddress) -> Iterator[ListedDocument]:
    """Yield the first pages of a section that is not stored."""
    for number in range(1, min(position_pages(section), _BY_POSITION) + 1):
        read = partial(_built, section, number, site)
        yield ListedDocument(
            section.name, f"{section.name}-{number}", read, time.time()
        )


def _built(section: SectionSource, number: int, site: SiteAddress) -> bytes:
    try:
        return page_bytes(section, number, site)
    except SitemapsPlusError:
        return b""  # the log says so, and so does the page


def _note_rows(findings: Findings, page: Page) -> None:
    """Note the rows that a build left out, or listed without a tag."""
    name, left_out = page.section.name, 0
    for row, reason in noted(page.problems):
        kind = kind_of_row(reason)
        is_listed = reason.startswith(OMITTED)
        left_out += not is_listed
        text = reason if is_listed else f"left out: {reason}"
        findings.add(kind, name, page=str(page), row=row[:255], text=text)
    findings.more(LEFT_OUT, name, max(0, page.bad - left_out))
