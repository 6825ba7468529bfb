"""
Text files of a page's URLs, one a line: derived from the page's own bytes.

They are stored beside them, under the same checksum, so that whoever writes another
version of the page deletes them too, and freshness is the page's.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from django.db import IntegrityError, transaction

from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import ledger, of_sections, pages
from django_sitemaps_plus.rendering.listing import locations_of

from .segments import segment_of
from .storage import StoredBytes, files, read, write_new

logger = logging.getLogger("django_sitemaps_plus")

#: What follows the checksum of a page's version in that of its text.
SUFFIX = ".txt"

#: Of what XML escapes, these may be in a URL: the others are percent-encoded. The
#: ampersand comes last, or "&amp;apos;" would be unescaped twice.
_ENTITIES = (b"&apos;", b"'"), (b"&amp;", b"&")


def text_of(xml: bytes) -> bytes:
    """Return the URLs of a page, one a line, in its order."""
    text = b"\n".join([*locations_of(xml), b""])
    if b"&" in text:
        for escaped, plain in _ENTITIES:
            text = text.replace(escaped, plain)
    return text


def text_bytes(stored: StoredBytes) -> StoredBytes:
    """Return the URLs of a page's entries, one a line."""
    return replace(stored, segment=segment_of(text_of(stored.segment.text())))


def store_text(name: str, number: int, checksum: str, text: StoredBytes) -> None:
    """
    Store the gzipped text of a page's version, which is missing or damaged.

    ``checksum`` is the version's. Two who do so at once store the same.
    """
    page = pages().filter(of_sections(name), number=number).first()
    if page is None:
        return
    version = f"{checksum}{SUFFIX}"
    try:
        if retrying(ledger(), lambda: _write(page, version, text)):
            logger.warning(
                "The stored text of page %s was damaged; it was written again.", page
            )
    except IntegrityError:
        # The page was deleted meanwhile: there is nothing to store it beside.
        return


def _write(page: Page, version: str, text: StoredBytes) -> bool:
    """Store a text unless it is there by now; return whether a damaged one was."""
    with transaction.atomic(using=ledger()):
        if read(page, version) is not None:
            return False
        damaged, _ = files().filter(page=page, checksum=version).delete()
        write_new([(page, version, text)], ignore_conflicts=True)
        return bool(damaged)
