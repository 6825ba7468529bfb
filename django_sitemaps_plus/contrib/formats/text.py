"""
Text files of URLs, one a line: derived for each request from the XML that is stored.

Nothing of them is stored: hardly anybody asks for them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Final

from django_sitemaps_plus.hooks import Derived
from django_sitemaps_plus.protocol.markup import escape
from django_sitemaps_plus.serving.documents import Document
from django_sitemaps_plus.serving.index import extra_sitemaps
from django_sitemaps_plus.sitemaps.site import SiteAddress

_TEXT: Final = "text/plain; charset=utf-8"

#: Of what XML escapes, these may be in a URL: the others are percent-encoded. The
#: ampersand comes last, or "&amp;apos;" would be unescaped twice.
_ENTITIES = (b"&apos;", b"'"), (b"&amp;", b"&")
#: The locations of entries, as they are written.
_LOCATION = re.compile(rb"<url><loc>([^<]*)</loc>")
_LISTED = re.compile(rb"(?<=<loc>)([^<]*)\.xml(?=(?:\.gz)?</loc>)")


def derived_of(site: SiteAddress) -> dict[str, Derived]:
    """Return how text files are derived from sitemaps, by their ending."""
    return {"txt": Derived(_TEXT, partial(_as_text, site=site))}


def _as_text(document: Document, site: SiteAddress) -> Document:
    """Return the URLs of a document of entries, one a line; or an index of text files.

    An index may list text files: https://www.sitemaps.org/protocol.html#otherformats
    """
    if document.media is None:
        return _index_of_texts(document, site)
    return document.converted(_text_of, _TEXT)


def _index_of_texts(document: Document, site: SiteAddress) -> Document:
    """Return an index with the text file of each page in place of the page."""
    others = {
        escape(address).encode() for address in extra_sitemaps(site, in_index=True)
    }

    def of(match: re.Match[bytes]) -> bytes:
        is_other = match[0] in others or match[0] + b".gz" in others
        return match[0] if is_other else match[1] + b".txt"

    body = _LISTED.sub(of, document.body)
    return replace(document, segments=Document.of(body).segments)


def _text_of(xml: bytes) -> bytes:
    """Return the URLs of a page, one a line, in its order."""
    text = b"\n".join([*_LOCATION.findall(xml), b""])
    if b"&" in text:
        for escaped, plain in _ENTITIES:
            text = text.replace(escaped, plain)
    return text
