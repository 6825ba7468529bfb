"""
What is sent: gzipped bytes, of a page or of several, and the tag of what they say.

A page's are stored, or built for the request where they cannot be.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final

from django.db import Error as DatabaseError

from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.exceptions import NotReady, SitemapsPlusError, TooManyBadRows
from django_sitemaps_plus.pagination.bounds import fill
from django_sitemaps_plus.pagination.queries import ledger, of_sections, pages
from django_sitemaps_plus.protocol.limits import MAX_BYTES, MAX_ENTRIES
from django_sitemaps_plus.protocol.writers import URLSET_FOOTER
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress

from . import storage
from .by_position import page_bytes, position_pages
from .freshness import PageState, fresh_bytes, fresh_pages, tag_of
from .listed import FILL_SECONDS, Listed
from .page_writer import raises
from .pages import Served, find, find_by_position, serve
from .position_build import NotStoredError
from .segments import Segment, gzipped, segment_of
from .storage import StoredBytes, address_of, entries_header
from .text import SUFFIX, store_text, text_bytes, text_of

logger = logging.getLogger("django_sitemaps_plus")

XML: Final = "application/xml"
TEXT: Final = "text/plain; charset=utf-8"


class UnusableError(SitemapsPlusError):
    """A section cannot be used, and nothing is stored of what was asked for."""


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

    @property
    def packed(self) -> bytes:
        """The whole file, gzipped."""
        return gzipped(self._header, self.segments, self._footer)

    @property
    def body(self) -> bytes:
        """The whole file, not compressed."""
        texts = [segment.text() for segment in self.segments]
        return b"".join([self._header, *texts, self._footer])

    @property
    def size(self) -> int:
        """How many bytes the whole file has, not compressed."""
        texts = sum(segment.size for segment in self.segments)
        return len(self._header) + texts + len(self._footer)

    @property
    def _header(self) -> bytes:
        return b"" if self.media is None else entries_header(self.media)

    @property
    def _footer(self) -> bytes:
        return b"" if self.media is None else URLSET_FOOTER


def document(body: bytes, content_type: str = XML) -> Document:
    """Return bytes to send that are stored nowhere."""
    tag = hashlib.blake2b(body, digest_size=12).hexdigest()
    return Document(tag, (segment_of(body),), content_type=content_type)


def as_text(found: Document) -> Document:
    """Return the URLs of a document of entries, one a line."""
    texts = (segment_of(text_of(segment.text())) for segment in found.segments)
    return replace(found, segments=tuple(texts), media=None, content_type=TEXT)


# Pages


def page_or_former(
    item: SectionSource, number: int, site: SiteAddress
) -> Document | None:
    """
    Return a page's bytes; the former ones where its section raises something.

    None if the section has no such page. Raises ``UnusableError`` if there are no
    former bytes.
    """
    try:
        return page_document(item, number, site)
    except (NotReady, TooManyBadRows, DatabaseError):
        raise
    except Exception:
        # items() and expressions may raise whatever they like.
        if raises():
            raise
        logger.exception("Page %s-%d cannot be built.", item.name, number)
    return former_document(item.name, number, site)


def former_document(name: str, number: int, site: SiteAddress) -> Document:
    """
    Return what is stored of a page whose section cannot be used.

    Raises ``UnusableError`` if that is nothing.
    """
    rows = pages().select_related("section").filter(of_sections(name), number=number)
    page = rows.exclude(checksum="").first()
    if page is not None:
        checksum, changed_at = PageState.of(page).served(time.time())
        stored = storage.read(page, checksum)
        if stored is not None and stored.entries:
            scheme = getattr(registry.sources()[name], "protocol", None)
            own = site.with_scheme(scheme)
            return _of_stored(stored, checksum, own, changed_at, is_former=True)
    raise UnusableError(f"Nothing is stored of the page {name}-{number}.")


def page_document(
    item: SectionSource, number: int, site: SiteAddress
) -> Document | None:
    """
    Return a page's bytes; None if the section has no such page.

    Raises ``Filling`` if bounds are still being found after some seconds.
    """
    if item.key is None:
        return _by_position(item, number, site)
    page = find(item, number)
    if page is None:
        fill(item, FILL_SECONDS)
        page = find(item, number)
    return None if page is None else _of_served(item, serve(item, page, site), site)


def _by_position(
    item: SectionSource, number: int, site: SiteAddress
) -> Document | None:
    """Return a page by position: stored, or built for this request."""
    try:
        page = find_by_position(item, number, site)
        if page is not None:
            return _of_served(item, serve(item, page, site), site)
        return None
    except NotStoredError:
        pass
    except DatabaseError:
        if tables_exist(ledger()):
            raise
    if not 1 <= number <= position_pages(item):
        return None
    return _of_bytes(page_bytes(item, number, site), item)


def _of_bytes(body: bytes, item: SectionSource) -> Document:
    """Return a page that was built for the request, so that others can join it."""
    whole = document(body)
    _, start, rest = body.partition(b"<url>")
    entries = start + rest.removesuffix(URLSET_FOOTER) if start else b""
    return replace(
        whole,
        segments=(segment_of(entries),),
        entries=entries.count(b"<url>"),
        media=frozenset(item.media_used),
    )


def _of_served(item: SectionSource, served: Served, site: SiteAddress) -> Document:
    own = site.with_scheme(item.sitemap.protocol)
    refuse_blank(served.page.error, served.stored)
    return _of_stored(
        served.stored,
        served.checksum,
        own,
        served.changed_at,
        is_former=served.is_former,
    )


def _of_stored(
    stored: StoredBytes,
    checksum: str,
    site: SiteAddress,
    changed_at: float | None,
    *,
    is_former: bool = False,
) -> Document:
    found = readdressed(stored, site)
    return Document(
        tag_of(checksum, site),
        (found.segment,),
        found.entries,
        frozenset(found.media.split()),
        changed_at,
        is_former,
    )


def fresh_document(name: str, number: int, site: SiteAddress) -> Document | None:
    """Return a fresh page's bytes, by one query; None if it must be looked into."""
    found = fresh_bytes(name, number)
    return None if found is None else _of_fresh(name, *found, site)


def fresh_documents(
    found: Iterable[Listed], site: SiteAddress, *, text: bool
) -> dict[tuple[str, int], Document]:
    """
    Return those of some pages that are fresh, by one query; or the texts of their URLs.

    By the names of the pages, without what a page that was split shows for a while.
    """
    pks = {item.pk: item for item in found if item.pk is not None}
    if not pks:
        return {}
    names = {pk: item.source.name for pk, item in pks.items()}
    fresh = {}
    for pk, (state, stored) in fresh_pages(names, SUFFIX if text else "").items():
        own = site.with_scheme(definition(names[pk]).protocol)
        if state.error or (text and stored.origin != address_of(own)):
            continue
        document = _of_stored(stored, state.checksum, own, state.changed_at)
        fresh[pks[pk].name] = _as_text(document) if text else document
    return fresh


def fresh_text(name: str, number: int, site: SiteAddress) -> Document | None:
    """Return a fresh page's URLs, one a line; None if the page must be looked into."""
    own = site.with_scheme(definition(name).protocol)
    found = fresh_bytes(name, number, SUFFIX)
    if found is not None and not found[0].error and found[1].origin == address_of(own):
        state, stored = found
        checksum, changed_at = state.served(time.time())
        return _as_text(_of_stored(stored, checksum, own, changed_at))
    page = fresh_bytes(name, number)
    if page is None:
        return None
    state, stored = page
    checksum, changed_at = state.served(time.time())
    refuse_blank(state.error, stored)
    text = readdressed(stored, own, text=True)
    if stored.origin == address_of(own):
        store_text(name, number, checksum, text)
    return _as_text(_of_stored(text, checksum, own, changed_at))


def _as_text(found: Document) -> Document:
    return replace(found, media=None, content_type=TEXT)


def _of_fresh(
    name: str, state: PageState, stored: StoredBytes, site: SiteAddress
) -> Document:
    refuse_blank(state.error, stored)
    checksum, changed_at = state.served(time.time())
    own = site.with_scheme(definition(name).protocol)
    return _of_stored(stored, checksum, own, changed_at)


def refuse_blank(error: str, stored: StoredBytes) -> None:
    """
    Raise ``TooManyBadRows`` for former bytes without entries, if a page is in error.

    It has rows by now: to say that it has none would be a lie.
    """
    if error and not stored.entries:
        raise TooManyBadRows(error)


def readdressed(
    stored: StoredBytes, site: SiteAddress, *, text: bool = False
) -> StoredBytes:
    """Return stored bytes with the address of ``site``, or the URLs in them."""
    if stored.origin == address_of(site) and not text:
        return stored
    return _readdressed(stored, site, text=text)


@lru_cache(maxsize=8)
def _readdressed(stored: StoredBytes, site: SiteAddress, *, text: bool) -> StoredBytes:
    """Do so, once for whoever asks again: a full page takes 10 ms."""
    found = stored.for_site(site)
    return text_bytes(found) if text else found


# Several together


def joined(
    found: Sequence[tuple[SectionSource, Document]], *, text: bool
) -> Document | None:
    """Return the entries of several pages as one file; None if they do not fit."""
    if len(found) == 1:
        return found[0][1]
    documents = [document for _, document in found]
    tags = "\n".join(f"{item.name}:{document.tag}" for item, document in found)
    media = [document.media for document in documents if document.media is not None]
    whole = Document(
        tag=hashlib.blake2b(tags.encode(), digest_size=12).hexdigest(),
        segments=tuple(part for document in documents for part in document.segments),
        entries=sum(document.entries for document in documents),
        media=None if text else frozenset().union(*media),
        content_type=TEXT if text else XML,
        is_former=any(document.is_former for document in documents),
    )
    fits = whole.entries <= MAX_ENTRIES and whole.size <= MAX_BYTES
    for item, group in groupby(found, key=itemgetter(0)):
        own = sum(document.entries for _, document in group)
        fits = fits and own <= item.most_in_one_file
    return whole if fits else None
