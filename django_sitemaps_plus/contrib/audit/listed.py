"""
What the sections list: their stored pages, read one by one.

Sections by position are built as for requests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from django.db import Error as DatabaseError

from django_sitemaps_plus.exceptions import SitemapsPlusError, describe
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.serving.documents import page_document
from django_sitemaps_plus.serving.index import why_unusable
from django_sitemaps_plus.sitemaps.sections import SectionSource, source
from django_sitemaps_plus.sitemaps.site import SiteAddress
from django_sitemaps_plus.storing import storage

from .entries import Entry, EntryBatch, Unreadable, batches_of_page
from .findings import Findings
from .rules.documents import LEFT_OUT, NOT_BUILT, kind_of_row


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
    #: The page that it is, if it is a section's: by position its number.
    page: Page | int | None = None
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
        if section.key is None:
            listed += _by_position(section, address, findings)
            continue
        every = _pages(section)
        built = [page for page in every if page.checksum]
        for page in built:
            _note_rows(findings, name, str(page), page.bad, page.left_out)
            read = partial(_stored, page, address)
            listed.append(ListedDocument(name, str(page), read, page.read_at, page))
        if len(built) < len(every) or not every:
            unbuilt = f"{len(every) - len(built):,} of {len(every):,} pages"
            text = unbuilt if every else "no page yet"
            findings.add(NOT_BUILT, name, text=text)
    return listed


def _pages(section: SectionSource) -> list[Page]:
    """Return a section's pages in their order, without what is not needed."""
    columns = ("section", "section__name", "number", "position", "checksum")
    more = "read_at", "bad", "problems", "lower"
    rows = Page.objects.on_site(section.name).filter(section__key=section.signature)
    ordered = rows.select_related("section").order_by("position")
    return list(ordered.only(*columns, *more))


def _stored(page: Page, site: SiteAddress) -> bytes:
    """Return a page's bytes; none where they are missing or damaged."""
    for _ in range(2):
        [(_, stored)] = storage.read_each([page])
        if stored is not None:
            return stored.body_for(site)
        # Another process may have replaced it just now.
        checksums = Page.objects.filter(pk=page.pk).values_list("checksum", flat=True)
        page.checksum = checksums.first() or ""
    return b""


def _by_position(
    section: SectionSource, site: SiteAddress, findings: Findings
) -> Iterator[ListedDocument]:
    """Yield the pages of a section by position; what their builds note is a finding."""
    for number in range(1, section.position_pages + 1):
        name, read_at = f"{section.name}-{number}", time.time()
        try:
            built = page_document(section, number, site)
        except DatabaseError:
            raise
        except Exception as error:  # items() may raise whatever it likes
            is_ours = isinstance(error, SitemapsPlusError)
            text = str(error) if is_ours else describe(error)
            findings.add(NOT_BUILT, section.name, page=name, text=text)
            continue
        if built is not None:
            _note_rows(findings, section.name, name, 0, built.problems)
            # It is packed: an audit holds all of them until its end.
            read = partial(attrgetter("body"), built)
            yield ListedDocument(section.name, name, read, read_at, number)


def _note_rows(
    findings: Findings, name: str, page: str, bad: int, rows: Iterable[tuple[str, str]]
) -> None:
    """Note the rows that a build left out, or listed without a tag."""
    left_out = 0
    for row, reason in rows:
        kind = kind_of_row(reason)
        is_listed = reason.startswith(Reader.OMITTED)
        left_out += not is_listed
        text = reason if is_listed else f"left out: {reason}"
        findings.add(kind, name, page=page, row=row[:255], text=text)
    findings.more(LEFT_OUT, name, max(0, bad - left_out))
