"""
What is sent: gzipped bytes, of a page or of several, and the tag of what they say.

A page's are stored, or built for the request: by position, or where they cannot be.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any, Final
from urllib.parse import quote

from django_sitemaps_plus.building.by_position import (
    Entries,
    position_all,
    position_page,
)
from django_sitemaps_plus.building.page_writer import raises
from django_sitemaps_plus.building.pages import expire, find, serve, stored_version
from django_sitemaps_plus.building.refresh import assign_all, refresh_all
from django_sitemaps_plus.changes.assignment import Bounds
from django_sitemaps_plus.changes.queries import changes
from django_sitemaps_plus.changes.recorder import remembers, write_remembered
from django_sitemaps_plus.db import has_failed
from django_sitemaps_plus.exceptions import (
    Busy,
    NotReady,
    TooManyBadRows,
    UnusableError,
)
from django_sitemaps_plus.pagination.bounds import bounds_of, fill
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import ledger, pages, sections
from django_sitemaps_plus.protocol.limits import MAX_BYTES, MAX_ENTRIES
from django_sitemaps_plus.protocol.writers import URLSET_FOOTER
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.rendering.listing import listed_of
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource, source
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, Site, SiteAddress
from django_sitemaps_plus.storing import storage
from django_sitemaps_plus.storing.freshness import (
    PageState,
    Served,
    is_fresh,
    stored_pages,
)
from django_sitemaps_plus.storing.segments import (
    Segment,
    converted,
    gzipped,
    segment_of,
)

from .listed import FILL_SECONDS, ListedPage, log_once

logger = logging.getLogger("django_sitemaps_plus")

XML: Final = "application/xml"


@dataclass(frozen=True)
class Document:
    """What is sent: compressed texts, and the tag of what they say."""

    tag: str
    segments: tuple[Segment, ...]
    #: Of a file of entries: how many there are, and the kinds of media whose namespaces
    #: they need. None: the segments are all of it.
    entries: int = 0
    media: frozenset[str] | None = None
    #: When the bytes changed, in seconds since the epoch; None if not known.
    changed_at: float | None = None
    #: Whether another version is being built: then there is no 304.
    is_former: bool = False
    content_type: str = XML
    #: The ``next_number`` of a page's section: another one than when the pages were
    #: listed if one was divided since. 0 if it is not of the ledger.
    next_number: int = 0
    #: Of a page that was built for the request: which rows are left out, or lack a tag.
    problems: Sequence[tuple[str, str]] = ()

    @classmethod
    def of(cls, body: bytes, content_type: str = XML) -> Document:
        """Return bytes to send that are stored nowhere."""
        return cls(_tag(body), (segment_of(body),), content_type=content_type)

    def converted(
        self, convert: Callable[[bytes], bytes], content_type: str
    ) -> Document:
        """Return what a function makes of its parts, which says the same."""
        segments = tuple(converted(one, convert) for one in self.segments)
        return replace(self, segments=segments, media=None, content_type=content_type)

    @property
    def packed(self) -> bytes:
        """The whole file, gzipped."""
        header, footer = self._around
        return gzipped(header, self.segments, footer)

    @property
    def body(self) -> bytes:
        """The whole file, not compressed."""
        texts = [segment.text() for segment in self.segments]
        header, footer = self._around
        return b"".join([header, *texts, footer])

    @property
    def size(self) -> int:
        """How many bytes the whole file has, not compressed."""
        texts = sum(segment.size for segment in self.segments)
        return texts + sum(map(len, self._around))

    def listed(self, locations: Collection[str], site: SiteAddress) -> dict[str, str]:
        """Return those of some locations that it lists for a site, with lastmod."""
        return listed_of(self.body, locations, str(site.origin))

    @property
    def _around(self) -> tuple[bytes, bytes]:
        if self.media is None:
            return b"", b""
        return storage.entries_header(self.media), URLSET_FOOTER


def _tag(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=12).hexdigest()


# Pages


def usable_source(name: str) -> SectionSource | None:
    """Return a section if it can be used; log why it cannot."""
    try:
        section = source(name)
        definition(section)
    except Exception as error:
        # items() may raise whatever it likes: the other sections are unaffected.
        known = registry.sources().get(name)
        log_once(f"The section {name!r} cannot be used.", known, error)
        return None
    return section


def page_or_former(
    item: SectionSource,
    number: int,
    site: SiteAddress,
    stored: Served[PageState] | None = None,
) -> Document | None:
    """
    Return a page's bytes; the former ones where its section raises something.

    ``stored`` is what was just found stored, and not fresh. None if the section has no
    such page. Raises ``UnusableError`` if there are no former bytes.
    """
    try:
        return page_document(item, number, site, stored)
    except (NotReady, TooManyBadRows):
        raise
    except Exception as error:
        # items() and expressions may raise whatever they like.
        if raises() or has_failed(error, ledger(), item.database):
            raise
        text = f"Page {item.name}-{number} cannot be built."
        log_once(text, item.registered, error)
    return former_document(item.name, number, site)


def former_document(name: str, number: int, site: SiteAddress) -> Document:
    """
    Return what is stored of a page whose section cannot be used.

    Raises ``UnusableError`` if that is nothing.
    """
    rows = pages().select_related("section").on_site(name).filter(number=number)
    page = rows.exclude(checksum="").first()
    former = None if page is None else stored_version(page)
    if former is not None and former.stored.entries:
        own = _with_scheme(site, name)
        return served_document(replace(former, is_former=True), own)
    raise UnusableError(f"Nothing is stored of the page {name}-{number}.")


def version_document(page: Page, checksum: str, site: SiteAddress) -> Document | None:
    """
    Return a version of a page, fresh or not; None if it is not stored any more.

    Raises ``TooManyBadRows`` for one without entries, if the page is in error.
    """
    stored = storage.read_bytes(page, checksum)
    if stored is None:
        return None
    own = _with_scheme(site, page.section.name)
    return served_document(Served(page, stored, checksum, None), own)


def version_tag(page: Page, checksum: str, site: SiteAddress) -> str:
    """Return the tag of a version of a page."""
    return _with_scheme(site, page.section.name).version_tag(checksum)


def _with_scheme(site: SiteAddress, name: str) -> SiteAddress:
    """Return the address that a section has, whether it can be used or not."""
    return site.with_scheme(getattr(registry.sources()[name], "protocol", None))


def page_document(
    item: SectionSource,
    number: int,
    site: SiteAddress,
    stored: Served[PageState] | None = None,
) -> Document | None:
    """
    Return a page's bytes; None if the section has no such page.

    Raises ``Filling`` if bounds are still being found after some seconds. ``stored`` is
    as for ``page_or_former``.
    """
    if item.key is None:
        built = position_page(item, number, site)
        return None if built is None else _of_entries(built, item)
    page = find(item, number)
    if page is None:
        fill(item, FILL_SECONDS)
        page = find(item, number)
    if page is None:
        return None
    if stored is not None and stored.checksum == page.checksum:
        page.stored = page.checksum, stored.stored
    own = site.with_scheme(item.sitemap.protocol)
    return served_document(serve(item, page, site), own)


def rebuild(item: SectionSource, page: Page, site: SiteAddress) -> bool:
    """
    Compare a page with its rows now; return whether its bytes changed.

    Raises ``NotReady`` if it keeps its former bytes, and what ``serve`` raises.
    """
    expire(page)
    served = serve(item, page, site)
    if problem := served.problem or served.page.error:
        raise NotReady(problem)
    return served.page.checksum != page.checksum


#: Changes, and pages that they concern, for which a request rebuilds these.
_MOST_CHANGES, _MOST_PAGES = 500, 10


def rebuild_waiting(sources: Sequence[SectionSource], site: SiteAddress) -> None:
    """
    Rebuild the pages of some sections whose rows were saved, for a request.

    Many are left to the background.
    """
    for one in sources:
        if remembers(one.database, one.name):
            write_remembered(one.database)
    rows = changes().filter(section__in=[one.name for one in sources])
    waiting = list(rows.values_list("section", flat=True)[: _MOST_CHANGES + 1])
    if 0 < len(waiting) <= _MOST_CHANGES:
        changed = [one for one in sources if one.name in waiting]
        assign_all(changed)
        address = Site.current().stored_address(site)
        refresh_all(changed, address, most=_MOST_PAGES)


def documents_by_position(item: SectionSource, site: SiteAddress) -> Iterator[Document]:
    """Return all pages of a section by position, in their order, built one by one."""
    return (_of_entries(built, item) for built in position_all(item, site))


def _of_entries(built: Entries, item: SectionSource) -> Document:
    """Return a page that was built for the request, so that others can join it."""
    body = built.body
    _, start, rest = body.partition(b"<url>")
    entries = start + rest.removesuffix(URLSET_FOOTER) if start else b""
    return Document(
        _tag(body),
        (segment_of(entries),),
        built.entries,
        frozenset(item.media),
        problems=tuple(built.problems),
    )


def served_document(served: Served[Any], site: SiteAddress) -> Document:
    """
    Return a page's bytes with an address.

    Raises ``TooManyBadRows`` for former bytes without entries, if a page is in error:
    it has rows by now, and to say that it has none would be a lie.
    """
    if served.page.error and not served.stored.entries:
        raise TooManyBadRows(served.page.error)
    stored = served.stored.for_site(site)
    return Document(
        site.version_tag(served.checksum),
        (stored.segment,),
        stored.entries,
        frozenset(stored.media.split()),
        served.changed_at,
        served.is_former,
        next_number=served.page.section.next_number,
    )


def fresh_documents(
    listed_pages: Iterable[ListedPage], site: SiteAddress, *, or_stale: bool = False
) -> dict[tuple[str, int], Document]:
    """
    Return those of some pages that are fresh, by one query.

    By the names of the pages, without what a page that was split shows for a while.
    ``or_stale``: also those that are not fresh, if they are stored.
    """
    pks = {item.pk: item for item in listed_pages if item.pk is not None}
    if not pks:
        return {}
    now, found = time.time(), {}
    for pk, state, stored in stored_pages(pks):
        section = pks[pk].source
        is_wanted = or_stale or (not state.error and is_fresh(section, state, now))
        if stored is not None and is_wanted:
            served = Served(state, stored, state.checksum, state.changed_at)
            own = site.with_scheme(section.sitemap.protocol)
            found[pks[pk].name] = served_document(served, own)
    return found


# Several together


def joined(parts: Sequence[tuple[ListedPage, Document]]) -> Document | None:
    """Return the entries of several pages as one file; None if they do not fit."""
    if len(parts) == 1:
        return parts[0][1]
    documents = [document for _, document in parts]
    tags = "\n".join(f"{item.source.name}:{doc.tag}" for item, doc in parts)
    media = [document.media for document in documents if document.media is not None]
    whole = Document(
        tag=_tag(tags.encode()),
        segments=tuple(part for document in documents for part in document.segments),
        entries=sum(document.entries for document in documents),
        media=frozenset().union(*media),
        is_former=any(document.is_former for document in documents),
    )
    fits = whole.entries <= MAX_ENTRIES and whole.size <= MAX_BYTES
    for section, group in groupby(parts, key=lambda pair: pair[0].source):
        own = sum(document.entries for _, document in group)
        fits = fits and own <= section.most_in_one_file
    return whole if fits else None


def document_at(path: str) -> str:
    """Return the name of the document at a path: of both, the file and its twin."""
    return path[path.rfind("/") + 1 :].removesuffix(".gz")


def cache_tag(document: str, site: str = "") -> str:
    """Return a document's cache tag: of one of ``SITES``, or of the current site."""
    name = site or Site.current().name
    # Visible ASCII, as all caches take it.
    return quote(f"{name}/{document}" if name else document)


@PLACEHOLDER_SITE.rendering()
def pages_of(source: SectionSource, keys: Iterable[str]) -> Mapping[str, int]:
    """Return the number of the page that owns each key; empty if that is not known."""
    section = sections().filter(name=source.name).first()
    try:
        bounds = None if section is None else Bounds.of(source, section)
        return {} if bounds is None else bounds.pages(keys)
    except Busy:
        return {}


def rows_of_page(
    source: SectionSource, page: Page | int, site: SiteAddress, most: int | None = None
) -> Iterator[tuple[Any, dict[str, str]]]:
    """
    Yield the key of each row of a page, and the lastmods of the URLs that it lists.

    They are read again, at most ``most`` of them. Of a page by position, given by its
    number, in place of keys what the items are called.
    """
    own = site.with_scheme(source.sitemap.protocol)
    reader = Reader(source, own)
    with own.rendering():
        if isinstance(page, int):
            batches = reader.by_position(page)
        else:
            bounds = bounds_of(source, page)
            batches = reader.by_key(*bounds, most or source.limit)
        yield from islice(reader.lastmods(batches), most)
