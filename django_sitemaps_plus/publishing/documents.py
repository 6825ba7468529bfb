"""
What is sent: gzipped bytes, of a page or of several, and the tag of what they say.

A page's are stored, or built for the request where they cannot be.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from django.db import Error as DatabaseError

from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.exceptions import NotReady, SitemapsPlusError, TooManyBadRows
from django_sitemaps_plus.pagination.bounds import fill
from django_sitemaps_plus.pagination.queries import ledger, of_sections, pages
from django_sitemaps_plus.protocol.errors import PageFull
from django_sitemaps_plus.protocol.writers import (
    URLSET_FOOTER,
    UrlsetWriter,
    urlset_header,
)
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress

from . import storage
from .by_position import page_bytes, position_pages
from .compression import compressor, pack, unpack
from .freshness import PageState, fresh_bytes, tag_of
from .listed import FILL_SECONDS
from .page_writer import raises
from .pages import Served, find, find_by_position, serve
from .position_build import NotStoredError
from .storage import StoredBytes, address_of
from .stylesheet import stylesheet
from .text import text_of

logger = logging.getLogger("django_sitemaps_plus")

XML: Final = "application/xml"
TEXT: Final = "text/plain; charset=utf-8"

#: What an XML namespace begins with, of each kind of media.
_NAMESPACES = {
    "images": b"xmlns:image",
    "videos": b"xmlns:video",
    "news": b"xmlns:news",
}


class UnusableError(SitemapsPlusError):
    """A section cannot be used, and nothing is stored of what was asked for."""


@dataclass(frozen=True)
class Document:
    """Gzipped bytes to send, and the tag of what they say."""

    tag: str
    packed: bytes
    #: When the bytes changed, in seconds since the epoch; None if not known.
    changed_at: float | None = None
    #: Whether another version is being built: then there is no 304.
    is_former: bool = False
    content_type: str = XML


def document(body: bytes, content_type: str = XML) -> Document:
    """Return bytes to send that are stored nowhere."""
    tag = hashlib.blake2b(body, digest_size=12).hexdigest()
    return Document(tag, pack(body), content_type=content_type)


def as_text(found: Document) -> Document:
    """Return the URLs of a document of entries, one a line."""
    packed = pack(text_of(unpack(found.packed)))
    return replace(found, packed=packed, content_type=TEXT)


def is_blank(packed: bytes) -> bool:
    """Tell whether a document of entries has none."""
    return b"<url>" not in unpack(packed)


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
        if stored is not None and not is_blank(stored.data):
            scheme = getattr(registry.sources()[name], "protocol", None)
            own = site.with_scheme(scheme)
            tag, data = tag_of(checksum, own), packed_for(stored, own)
            return Document(tag, data, changed_at, is_former=True)
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
    return document(page_bytes(item, number, site))


def _of_served(item: SectionSource, served: Served, site: SiteAddress) -> Document:
    own = site.with_scheme(item.sitemap.protocol)
    tag = tag_of(served.checksum, own)
    refuse_blank(served.page.error, served.stored)
    data = packed_for(served.stored, own)
    return Document(tag, data, served.changed_at, served.is_former)


def fresh_document(name: str, number: int, site: SiteAddress) -> Document | None:
    """Return a fresh page's bytes, by one query; None if it must be looked into."""
    found = fresh_bytes(name, number)
    if found is None:
        return None
    state, stored = found
    refuse_blank(state.error, stored)
    checksum, changed_at = state.served(time.time())
    own = site.with_scheme(definition(name).protocol)
    return Document(tag_of(checksum, own), packed_for(stored, own), changed_at)


def refuse_blank(error: str, stored: StoredBytes) -> None:
    """
    Raise ``TooManyBadRows`` for former bytes without entries, if a page is in error.

    It has rows by now: to say that it has none would be a lie.
    """
    if error and is_blank(stored.data):
        raise TooManyBadRows(error)


def packed_for(stored: StoredBytes, site: SiteAddress, *, text: bool = False) -> bytes:
    """Return gzipped bytes with the address of ``site``, or the URLs in them."""
    if stored.origin == address_of(site) and not text:
        return stored.data
    return packed_for_others(stored, site, text=text)


@lru_cache(maxsize=8)
def packed_for_others(stored: StoredBytes, site: SiteAddress, *, text: bool) -> bytes:
    """Do so, once for whoever asks again: to pack a full page takes 50 ms."""
    body = stored.body_for(site)
    return pack(text_of(body) if text else body)


# Several together


def merged(bodies: Sequence[tuple[SectionSource, Document]]) -> Document | None:
    """Return the entries of several pages as one document; None if they do not fit."""
    if len(bodies) == 1:
        return bodies[0][1]
    tags = "\n".join(f"{item.name}:{document.tag}" for item, document in bodies)
    tag = hashlib.blake2b(tags.encode(), digest_size=12).hexdigest()
    try:
        documents = [document for _, document in bodies]
        is_former = any(document.is_former for document in documents)
        return Document(tag, _merge(documents), is_former=is_former)
    except PageFull:
        return None


def _merge(documents: Sequence[Document]) -> bytes:
    bodies = [unpack(document.packed) for document in documents]
    heads = [body.partition(b"<url>")[0] for body in bodies]
    media = {
        kind: any(mark in head for head in heads) for kind, mark in _NAMESPACES.items()
    }
    packer = compressor()
    packed: list[bytes] = []
    writer = UrlsetWriter(
        lambda block: packed.append(packer.compress(block)),
        header=urlset_header(**media, stylesheet=stylesheet()),
    )
    for body in bodies:
        _, start, rest = body.partition(b"<url>")
        if start:
            entries = start + rest.removesuffix(URLSET_FOOTER)
            writer.add_xml(entries, entries.count(b"<url>"))
    writer.finish()
    packed.append(packer.flush())
    return b"".join(packed)
