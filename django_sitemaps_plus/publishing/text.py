"""
Text files of a page's URLs, one a line: derived from the page's own bytes.

They are stored beside them, under the same checksum, so that they are deleted with
that version of the page, and are as fresh as the page.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache

from django.db import DatabaseError, transaction

from django_sitemaps_plus.pagination.queries import ledger, of_sections, pages
from django_sitemaps_plus.rendering.listing import locations_of

from .segments import Segment, segment_of
from .storage import StoredBytes, files, write_new

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


@lru_cache(maxsize=8)
def text_segment(entries: Segment) -> Segment:
    """
    Return the URLs of some entries, one a line, compressed as they are.

    The last few are remembered: a full page takes 15 ms.
    """
    return segment_of(text_of(entries.text()))


def store_text(name: str, number: int, checksum: str, text: StoredBytes) -> None:
    """
    Store the text of a page's version, in the place of a damaged one.

    ``checksum`` is the version's. Where the database refuses, the next request derives
    it again.
    """
    page = pages().filter(of_sections(name), number=number).first()
    if page is None:
        return
    version = f"{checksum}{SUFFIX}"
    # The page may be deleted meanwhile, or the text stored by another request.
    with suppress(DatabaseError), transaction.atomic(using=ledger()):
        files().filter(page=page, checksum=version).delete()
        write_new([(page, version, text)])
