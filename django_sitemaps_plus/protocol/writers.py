"""Writers of urlset and index: https://www.sitemaps.org/protocol.html.

They check, escape, count and refuse; they never cut. What they are given either comes
out as well-formed XML that the published schemas accept, or raises ``EntryError``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from typing import Final

from .errors import EntryError, PageFull
from .extensions import MEDIA
from .limits import CHANGEFREQS, MAX_BYTES, MAX_ENTRIES, MAX_INDEX_ENTRIES, PRIORITY
from .markup import day_or_time, escape, escaped_address
from .values import decimal_text, matches

_DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_SITEMAP: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
_XHTML: Final = "http://www.w3.org/1999/xhtml"


def _beginning(stylesheet: str) -> str:
    """Return what comes before the root element: https://www.w3.org/TR/xml-stylesheet/."""
    if not stylesheet:
        return _DECLARATION
    return f'{_DECLARATION}<?xml-stylesheet type="text/css" href="{stylesheet}"?>\n'


def urlset_header(media: Collection[str] = (), *, stylesheet: str = "") -> bytes:
    """Return the bytes before the first ``<url>``, with the namespaces of some media.

    ``stylesheet`` is the address of a CSS file by which browsers show the file.
    """
    kinds = (kind for name, kind in MEDIA.items() if name in media)
    spaces = "".join(f' xmlns:{kind.prefix}="{kind.namespace}"' for kind in kinds)
    start = f'<urlset xmlns="{_SITEMAP}" xmlns:xhtml="{_XHTML}"{spaces}>\n'
    return f"{_beginning(stylesheet)}{start}".encode()


URLSET_FOOTER: Final = b"</urlset>\n"

# https://www.rfc-editor.org/info/bcp47, by its shape.
_LANGUAGE_TAG = re.compile(r"x-default|[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")


def changefreq_xml(value: object) -> str:
    """Return ``<changefreq>``, "" for none; EntryError for any but the seven words."""
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or value not in CHANGEFREQS:
        words = ", ".join(sorted(CHANGEFREQS))
        raise EntryError.of("changefreq", value, f"not one of {words}")
    return f"<changefreq>{value}</changefreq>"


def priority_xml(value: object) -> str:
    """Return ``<priority>`` with the number as given, "" for none.

    Raises:
        EntryError: Not a number from 0 to 1.
    """
    if value is None or value == "":
        return ""
    text = decimal_text(value, "priority", PRIORITY)
    return f"<priority>{text}</priority>"


def lastmod_xml(text: str) -> str:
    """Return ``<lastmod>`` of a W3C Datetime, such as ``w3c`` returns.

    The schemas want a day: DateError for a year or a month alone. They want seconds:
    a time without them gets ":00".
    """
    return f"<lastmod>{day_or_time(text, 'lastmod')}</lastmod>"


def is_language(hreflang: object) -> bool:
    """Return whether an alternate can name a language so."""
    return matches(hreflang, _LANGUAGE_TAG)


def alternate_xml(hreflang: str, href: str) -> str:
    """Return ``<xhtml:link>``; ``href`` is what ``locations.resolve`` returned.

    Raises:
        EntryError: The language is neither of BCP 47's shape nor ``x-default``, or
            the address is neither an http(s) URL nor a path behind ``ORIGIN_MARK``.
    """
    if not is_language(hreflang):
        raise EntryError.of(
            "hreflang", hreflang, "neither a language tag nor x-default"
        )
    url = escaped_address(href)
    return f'<xhtml:link rel="alternate" hreflang="{hreflang}" href="{url}"/>'


class UrlsetWriter:
    """
    Writes a urlset to a sink of bytes: header at once, entries as they come.

    It counts what the file holds, and refuses what would pass its limits.
    """

    def __init__(
        self,
        sink: Callable[[bytes], object],
        *,
        header: bytes,
        max_entries: int = MAX_ENTRIES,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """``header`` is what ``urlset_header`` returned."""
        self._sink = sink
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        #: Entries so far.
        self.entries = 0
        #: Uncompressed bytes of the file if it ended here, header and footer included.
        self.size = len(header) + len(URLSET_FOOTER)
        sink(header)

    def add_xml(self, xml: bytes, entries: int = 1) -> None:
        """Write entries whose XML is ready.

        Raises:
            PageFull: They would pass the limit of entries or of bytes; nothing was
                written.
        """
        if self.entries + entries > self._max_entries:
            raise PageFull(f"page full: {self.entries} of {self._max_entries} entries")
        if self.size + len(xml) > self._max_bytes:
            raise PageFull(f"page full: {self.size} of {self._max_bytes} bytes")
        self._sink(xml)
        self.entries += entries
        self.size += len(xml)

    def finish(self) -> None:
        """Write the end of the file."""
        self._sink(URLSET_FOOTER)


def index_xml(sitemaps: Collection[str], *, stylesheet: str = "") -> bytes:
    """Return an index of what ``sitemap_xml`` returned; see ``urlset_header``.

    Raises:
        PageFull: More sitemaps or bytes than an index may have.
    """
    if len(sitemaps) > MAX_INDEX_ENTRIES:
        raise PageFull(f"page full: {len(sitemaps)} of {MAX_INDEX_ENTRIES} entries")
    start = f'{_beginning(stylesheet)}<sitemapindex xmlns="{_SITEMAP}">\n'
    data = f"{start}{''.join(sitemaps)}</sitemapindex>\n".encode()
    if len(data) > MAX_BYTES:
        raise PageFull(f"page full: {len(data)} of {MAX_BYTES} bytes")
    return data


def sitemap_xml(location: str, lastmod: str | None = None) -> str:
    """Return a sitemap in an index, by an address that ``locations.resolve`` returned.

    ``lastmod`` is a W3C Datetime.
    """
    dated = "" if lastmod is None else f"<lastmod>{lastmod}</lastmod>"
    return f"<sitemap><loc>{escape(location)}</loc>{dated}</sitemap>\n"
