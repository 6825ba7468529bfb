"""Writers of urlset and index: https://www.sitemaps.org/protocol.html.

They check, escape, count and refuse; they never cut. What they are given either comes
out as well-formed XML that the published schemas accept, or raises ``EntryError``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import tzinfo
from typing import Final

from .entries import Alternate, Image, IndexItem, News, Url, Video
from .errors import EntryError, PageFinished, PageFull, excerpt
from .extensions import image_xml, news_xml, video_xml
from .limits import (
    CHANGEFREQS,
    MAX_BYTES,
    MAX_ENTRIES,
    MAX_IMAGES,
    MAX_INDEX_ENTRIES,
    MAX_NEWS,
    MAX_PRIORITY,
    MIN_PRIORITY,
)
from .locations import Origin, local_path
from .markup import address, date_text, day_or_time, escape, location_text
from .values import matches, number, one, several

__all__ = [
    "INDEX_FOOTER",
    "INDEX_HEADER",
    "URLSET_FOOTER",
    "URLSET_HEADER",
    "IndexWriter",
    "UrlsetWriter",
    "alternate_xml",
    "changefreq_xml",
    "escape",
    "image_xml",
    "lastmod_xml",
    "news_xml",
    "priority_xml",
    "url_xml",
    "urlset_header",
    "video_xml",
]

_DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'
_SITEMAP: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
_XHTML: Final = "http://www.w3.org/1999/xhtml"
_GOOGLE: Final = {
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
}


def urlset_header(
    *, images: bool = False, videos: bool = False, news: bool = False
) -> bytes:
    """Return the bytes before the first ``<url>``, with the namespaces asked for."""
    asked = {"image": images, "video": videos, "news": news}
    spaces = "".join(
        f' xmlns:{prefix}="{_GOOGLE[prefix]}"' for prefix, use in asked.items() if use
    )
    start = f'<urlset xmlns="{_SITEMAP}" xmlns:xhtml="{_XHTML}"{spaces}>\n'
    return (_DECLARATION + start).encode()


URLSET_HEADER: Final = urlset_header()
URLSET_FOOTER: Final = b"</urlset>\n"
INDEX_HEADER: Final = f'{_DECLARATION}<sitemapindex xmlns="{_SITEMAP}">\n'.encode()
INDEX_FOOTER: Final = b"</sitemapindex>\n"

# https://www.rfc-editor.org/info/bcp47, by its shape.
_LANGUAGE_TAG = re.compile(r"x-default|[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")


def changefreq_xml(value: object) -> str:
    """Return ``<changefreq>``, "" for none; EntryError for any but the seven words."""
    if value is None or value == "":
        return ""
    if not isinstance(value, str) or value not in CHANGEFREQS:
        words = ", ".join(sorted(CHANGEFREQS))
        raise EntryError(f"changefreq {excerpt(value)}: not one of {words}")
    return f"<changefreq>{value}</changefreq>"


def priority_xml(value: object) -> str:
    """Return ``<priority>`` with the number as given, "" for none.

    Raises:
        EntryError: Not a number from 0 to 1.
    """
    if value is None or value == "":
        return ""
    text = number(value, "priority", MIN_PRIORITY, MAX_PRIORITY)
    return f"<priority>{text}</priority>"


def lastmod_xml(text: str) -> str:
    """Return ``<lastmod>`` of a W3C Datetime, such as ``w3c`` returns.

    The schemas want a day: DateError for a year or a month alone. They want seconds:
    a time without them gets ":00".
    """
    return f"<lastmod>{day_or_time(text, 'lastmod')}</lastmod>"


def alternate_xml(hreflang: str, href: str, origin: str = "") -> str:
    """Return ``<xhtml:link>``.

    ``href`` is what ``local_path`` or ``absolute`` returned; ``origin``, which goes
    before a path, is ``str(Origin)`` or ``ORIGIN_MARK``.

    Raises:
        EntryError: The language is neither of BCP 47's shape nor ``x-default``, or
            the address is neither a path nor an http(s) URL.
    """
    if not matches(hreflang, _LANGUAGE_TAG):
        msg = f"hreflang {excerpt(hreflang)}: neither a language tag nor x-default"
        raise EntryError(msg)
    uri = origin + escape(href) if href.startswith("/") else address(href)
    return f'<xhtml:link rel="alternate" hreflang="{hreflang}" href="{uri}"/>'


def url_xml(
    url: Url, origin: Origin, zone: tzinfo, *, prefix: str | None = None
) -> str:
    """Return one whole ``<url>`` and a newline.

    ``prefix`` is what to write in place of the origin: ``ORIGIN_MARK`` for bytes that
    are to be stamped. ``zone`` is that of naive datetimes.

    Raises:
        EntryError: A field is illegal; the message names it.
    """
    shown = str(origin) if prefix is None else prefix
    path = local_path(url.loc, origin)
    parts = [f"<url><loc>{shown}{escape(path)}</loc>"]
    if url.lastmod is not None:
        parts.append(f"<lastmod>{date_text(url.lastmod, zone, 'lastmod')}</lastmod>")
    parts += [changefreq_xml(url.changefreq), priority_xml(url.priority)]
    for alternate in several(url.alternates, Alternate, "alternates"):
        href = _alternate(alternate.href, origin, shown)
        parts.append(alternate_xml(alternate.hreflang, href))
    images = several(url.images, Image, "images", MAX_IMAGES)
    parts += [image_xml(image, shown) for image in images]
    videos = several(url.videos, Video, "videos")
    parts += [video_xml(video, shown, path, zone) for video in videos]
    if url.news is not None:
        parts.append(news_xml(one(url.news, News, "news"), zone))
    return f"{''.join(parts)}</url>\n"


class _Writer:
    """Counts what a file holds, and refuses what would pass its limits."""

    def __init__(
        self,
        sink: Callable[[bytes], object],
        header: bytes,
        footer: bytes,
        max_entries: int,
        max_bytes: int,
    ) -> None:
        self._sink = sink
        self._footer = footer
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._finished = False
        #: Entries so far.
        self.entries = 0
        #: Uncompressed bytes of the file if it ended here, header and footer included.
        self.size = len(header) + len(footer)
        sink(header)

    def fits(self, xml: bytes, entries: int = 1, extra: int = 0) -> bool:
        """Say whether ``add_xml`` would take this."""
        return (
            not self._finished
            and self.entries + entries <= self._max_entries
            and self.size + len(xml) + extra <= self._max_bytes
        )

    def add_xml(self, xml: bytes, entries: int = 1, extra: int = 0) -> None:
        """Write entries that are made already.

        ``extra`` is by how many bytes they will grow when their origin is stamped.

        Raises:
            PageFull: They would pass the limit of entries or of bytes; nothing was
                written.
            PageFinished: After ``finish()``.
        """
        self._check_open()
        if self.entries + entries > self._max_entries:
            raise PageFull(f"page full: {self.entries} of {self._max_entries} entries")
        if self.size + len(xml) + extra > self._max_bytes:
            raise PageFull(f"page full: {self.size} of {self._max_bytes} bytes")
        self._sink(xml)
        self.entries += entries
        self.size += len(xml) + extra

    def finish(self) -> None:
        """Write the end of the file; PageFinished if it is written already."""
        self._check_open()
        self._finished = True
        self._sink(self._footer)

    def _check_open(self) -> None:
        if self._finished:
            raise PageFinished("page finished: nothing can follow its end")


class UrlsetWriter(_Writer):
    """Writes a urlset to a sink of bytes: header at once, entries as they come."""

    def __init__(
        self,
        sink: Callable[[bytes], object],
        *,
        origin: Origin,
        zone: tzinfo,
        max_entries: int = MAX_ENTRIES,
        max_bytes: int = MAX_BYTES,
        header: bytes = URLSET_HEADER,
    ) -> None:
        """``zone`` is that of naive datetimes; ``header`` as ``urlset_header`` does."""
        super().__init__(sink, header, URLSET_FOOTER, max_entries, max_bytes)
        self._origin = origin
        self._zone = zone
        self._declared = {
            prefix for prefix in _GOOGLE if f" xmlns:{prefix}=".encode() in header
        }
        self._news = 0

    def add(self, url: Url) -> None:
        """Write one entry.

        Raises:
            EntryError: A field is illegal, or of an extension that the header does
                not declare.
            PageFull: It would pass the limit of entries, bytes or news.
            PageFinished: After ``finish()``.
        """
        self._check_open()
        used = {"image": url.images, "video": url.videos, "news": url.news}
        for prefix, value in used.items():
            if value and prefix not in self._declared:
                raise EntryError(f"{prefix}: not declared by the header of the page")
        if url.news and self._news >= MAX_NEWS:
            raise PageFull(f"page full: {self._news} of {MAX_NEWS} news")
        self.add_xml(url_xml(url, self._origin, self._zone).encode())
        self._news += bool(url.news)


class IndexWriter(_Writer):
    """Writes a sitemap index to a sink of bytes."""

    def __init__(
        self,
        sink: Callable[[bytes], object],
        *,
        max_entries: int = MAX_INDEX_ENTRIES,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(sink, INDEX_HEADER, INDEX_FOOTER, max_entries, max_bytes)

    def add(self, item: IndexItem, zone: tzinfo) -> None:
        """Write one sitemap; ``zone`` is that of a naive lastmod.

        Raises:
            EntryError: The location is not a legal absolute URL, or lastmod no date.
            PageFull: It would pass the limit of entries or bytes.
            PageFinished: After ``finish()``.
        """
        self._check_open()
        xml = f"<sitemap><loc>{escape(location_text(item.loc, None, 'loc'))}</loc>"
        if item.lastmod is not None:
            xml += f"<lastmod>{date_text(item.lastmod, zone, 'lastmod')}</lastmod>"
        self.add_xml(f"{xml}</sitemap>\n".encode())


def _alternate(href: object, origin: Origin, shown: str) -> str:
    """Return an alternate's address, with what is shown in place of the origin."""
    uri = location_text(href, str(origin), "alternates")
    if uri.startswith(f"{origin}/"):
        return shown + uri.removeprefix(str(origin))
    return uri
