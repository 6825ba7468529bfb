"""Writers of urlset and index: https://www.sitemaps.org/protocol.html.

They check, escape, count and refuse; they never cut. What they are given either comes
out as well-formed XML that the published schemas accept, or raises ``EntryError``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, tzinfo
from functools import lru_cache
from typing import Final

from .dates import w3c
from .entries import (
    Image,
    IndexItem,
    News,
    Platform,
    Restriction,
    Uploader,
    Url,
    Video,
)
from .errors import (
    DateError,
    EntryError,
    LocationError,
    PageFinished,
    PageFull,
    excerpt,
)
from .limits import (
    CHANGEFREQS,
    MAX_BYTES,
    MAX_ENTRIES,
    MAX_IMAGES,
    MAX_INDEX_ENTRIES,
    MAX_NEWS,
    MAX_PRIORITY,
    MAX_VIDEO_DESCRIPTION,
    MAX_VIDEO_DURATION,
    MAX_VIDEO_RATING,
    MAX_VIDEO_TAGS,
    MAX_VIDEO_TITLE,
    MAX_VIDEO_UPLOADER,
    MIN_PRIORITY,
    MIN_VIDEO_DURATION,
    MIN_VIDEO_RATING,
)
from .locations import ORIGIN_MARK, Origin, absolute, local_path, resolve
from .values import matches, number, several

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

# XML 1.0, https://www.w3.org/TR/xml/#charsets, knows neither these ...
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# ... nor, unescaped, these; a parser would read a bare carriage return as a newline.
_ESCAPES: Final = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&apos;",
    "\r": "&#13;",
}
_SPECIAL = re.compile("[&<>\"'\r\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

# The forms of W3C Datetime that xsd:date and xsd:dateTime, so the schemas, have too.
_DAY_OR_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:T[0-9]{2}:[0-9]{2}(:[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:[0-9]{2}))?"
)
# https://www.rfc-editor.org/info/bcp47, by its shape.
_LANGUAGE_TAG = re.compile(r"x-default|[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")
# http://www.google.com/schemas/sitemap-news/0.9/sitemap-news.xsd
_NEWS_LANGUAGE = re.compile(r"zh-cn|zh-tw|[a-z]{2,3}")
# http://www.google.com/schemas/sitemap-video/1.1/sitemap-video.xsd
_COUNTRY = re.compile(r"[A-Z]{2}")
_PLATFORM = re.compile(r"web|mobile|tv")
_MAX_COUNT: Final = 2**63 - 1


def escape(text: str) -> str:
    """Escape the five entities of XML, and carriage returns; good in attributes too.

    Raises:
        EntryError: A character that XML 1.0 cannot hold, or no text.
    """
    try:
        if not _SPECIAL.search(text):
            return text
    except TypeError as error:
        raise EntryError(f"text {excerpt(text)}: not a text") from error
    if match := _NO_XML.search(text):
        msg = f"text {excerpt(text)}: U+{ord(match.group()):04X} is illegal in XML"
        raise EntryError(msg)
    return _SPECIAL.sub(lambda match: _ESCAPES[match.group()], text)


def changefreq_xml(value: object) -> str:
    """Return ``<changefreq>``; EntryError for any but the seven words."""
    if not isinstance(value, str) or value not in CHANGEFREQS:
        words = ", ".join(sorted(CHANGEFREQS))
        raise EntryError(f"changefreq {excerpt(value)}: not one of {words}")
    return f"<changefreq>{value}</changefreq>"


def priority_xml(value: object) -> str:
    """Return ``<priority>`` with the number as given; EntryError outside 0 to 1."""
    text = number(value, "priority", MIN_PRIORITY, MAX_PRIORITY)
    return f"<priority>{text}</priority>"


def lastmod_xml(text: str) -> str:
    """Return ``<lastmod>`` of a W3C Datetime, such as ``w3c`` returns.

    The schemas want a day: DateError for a year or a month alone. They want seconds:
    a time without them gets ":00".
    """
    return f"<lastmod>{_day_or_time(text, 'lastmod')}</lastmod>"


def alternate_xml(hreflang: str, href: str) -> str:
    """Return ``<xhtml:link>``; ``href`` as ``absolute`` returns it, or behind the mark.

    Raises:
        EntryError: The language is neither of BCP 47's shape nor ``x-default``, or
            the address is not absolute.
    """
    language, uri = _hreflang(hreflang), _uri(href)
    return f'<xhtml:link rel="alternate" hreflang="{language}" href="{uri}"/>'


def image_xml(image: Image, origin: str) -> str:
    """Return ``<image:image>``; ``origin`` goes before a path.

    Here and below ``origin`` is ``str(Origin)`` or ``ORIGIN_MARK``.

    Raises:
        EntryError: The location is illegal.
    """
    loc = _location(image.loc, origin, "images")
    return f"<image:image><image:loc>{_uri(loc)}</image:loc></image:image>"


def video_xml(video: Video, origin: str, loc: str, zone: tzinfo) -> str:
    """Return ``<video:video>``, its tags in the order of the schema.

    ``loc`` is the location of the entry: the video's own must differ from it. Behind
    ``ORIGIN_MARK`` only paths can be compared, and an uploader's page given as an
    absolute URL is taken to be on the site.

    Raises:
        EntryError: A field is missing or illegal.
    """
    page = f"{origin}{loc}" if loc.startswith("/") else loc
    content = _video_location(video.content_loc, origin, page, "content_loc")
    player = _video_location(video.player_loc, origin, page, "player_loc")
    if not content and not player:
        raise EntryError("videos: neither content_loc nor player_loc")
    parts = [
        _video_location(video.thumbnail_loc, origin, None, "thumbnail_loc")
        or _missing("videos.thumbnail_loc"),
        _video("title", _text(video.title, "videos.title", MAX_VIDEO_TITLE)),
        _video("description", _description(video.description)),
        content,
        player,
        _count(video.duration, "duration", MIN_VIDEO_DURATION, MAX_VIDEO_DURATION),
        _video_date(video.expiration_date, zone, "expiration_date"),
        _rating(video.rating),
        _count(video.view_count, "view_count", 0, _MAX_COUNT),
        _video_date(video.publication_date, zone, "publication_date"),
        _tags(video.tags),
        _yes_no(video.family_friendly, "family_friendly"),
        _relation(video.restriction, "restriction", _COUNTRY),
        _yes_no(video.requires_subscription, "requires_subscription"),
        _uploader(video.uploader, origin),
        _relation(video.platform, "platform", _PLATFORM),
        _yes_no(video.live, "live"),
    ]
    return f"<video:video>{''.join(parts)}</video:video>"


def news_xml(news: News, zone: tzinfo) -> str:
    """Return ``<news:news>``; EntryError if a field is missing or illegal."""
    if not matches(news.language, _NEWS_LANGUAGE):
        msg = (
            f"news.language {excerpt(news.language)}: not a code of ISO 639, zh-cn "
            "or zh-tw"
        )
        raise EntryError(msg)
    name = _text(news.name, "news.name")
    title = _text(news.title, "news.title")
    day = _date(news.publication_date, zone, "news.publication_date")
    return (
        f"<news:news><news:publication><news:name>{name}</news:name>"
        f"<news:language>{news.language}</news:language></news:publication>"
        f"<news:publication_date>{day}</news:publication_date>"
        f"<news:title>{title}</news:title></news:news>"
    )


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
        parts.append(f"<lastmod>{_date(url.lastmod, zone, 'lastmod')}</lastmod>")
    if url.changefreq is not None:
        parts.append(changefreq_xml(url.changefreq))
    if url.priority is not None:
        parts.append(priority_xml(url.priority))
    for alternate in several(url.alternates, "alternates"):
        href = _alternate(alternate.href, origin, shown)
        parts.append(alternate_xml(alternate.hreflang, href))
    images = several(url.images, "images", MAX_IMAGES)
    parts += [image_xml(image, shown) for image in images]
    videos = several(url.videos, "videos")
    parts += [video_xml(video, shown, path, zone) for video in videos]
    if url.news is not None:
        parts.append(news_xml(url.news, zone))
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
        xml = f"<sitemap><loc>{escape(_location(item.loc, None, 'loc'))}</loc>"
        if item.lastmod is not None:
            xml += f"<lastmod>{_date(item.lastmod, zone, 'lastmod')}</lastmod>"
        self.add_xml(f"{xml}</sitemap>\n".encode())


def _uri(uri: str) -> str:
    """Escape an address; the mark may stand before a path, nowhere else."""
    if uri.startswith(f"{ORIGIN_MARK}/"):
        return ORIGIN_MARK + escape(uri[1:])
    if not uri.startswith(("https://", "http://")):
        raise LocationError(f"location {excerpt(uri)}: not an absolute URL")
    return escape(uri)


def _location(location: object, prefix: str | None, field: str) -> str:
    try:
        return resolve(location, prefix)
    except LocationError as error:
        raise LocationError(f"{field}: {error}") from error


def _alternate(href: object, origin: Origin, shown: str) -> str:
    try:
        uri = absolute(href, origin)
    except LocationError as error:
        raise LocationError(f"alternates: {error}") from error
    return (
        shown + uri.removeprefix(str(origin)) if uri.startswith(f"{origin}/") else uri
    )


@lru_cache(maxsize=1024)
def _hreflang(hreflang: str) -> str:
    if not matches(hreflang, _LANGUAGE_TAG):
        msg = f"hreflang {excerpt(hreflang)}: neither a language tag nor x-default"
        raise EntryError(msg)
    return hreflang


def _date(value: date | datetime | str, zone: tzinfo, field: str) -> str:
    try:
        text = w3c(value, zone)
    except DateError as error:
        raise DateError(f"{field}: {error}") from error
    return _day_or_time(text, field)


def _day_or_time(text: str, field: str) -> str:
    match = _DAY_OR_TIME.fullmatch(text)
    if match is None:
        raise DateError(
            f"{field} {excerpt(text)}: the schemas want YYYY-MM-DD at least"
        )
    if "T" in text and match.group(1) is None:
        return f"{text[:16]}:00{text[16:]}"
    return text


def _missing(field: str) -> str:
    raise EntryError(f"{field}: missing")


def _text(value: object, field: str, most: int | None = None) -> str:
    """Check that there is a text and how long it is, and escape it."""
    if not isinstance(value, str):
        raise EntryError(f"{field} {excerpt(value)}: not a text")
    if not value.strip():
        raise EntryError(f"{field} {excerpt(value)}: empty")
    if most is not None and len(value) > most:
        raise EntryError(
            f"{field} {excerpt(value)}: {len(value)} characters, over {most}"
        )
    try:
        return escape(value)
    except EntryError as error:
        raise EntryError(f"{field}: {error}") from error


def _video(tag: str, content: str) -> str:
    return f"<video:{tag}>{content}</video:{tag}>"


def _description(value: object) -> str:
    return _text(value, "videos.description", MAX_VIDEO_DESCRIPTION)


def _video_location(location: object, origin: str, page: str | None, tag: str) -> str:
    if location is None:
        return ""
    uri = _location(location, origin, f"videos.{tag}")
    if uri == page:
        raise EntryError(f"videos.{tag} {excerpt(location)}: is the loc of the entry")
    return _video(tag, _uri(uri))


def _count(value: object, tag: str, low: int, high: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, int) or isinstance(value, bool):
        raise EntryError(f"videos.{tag} {excerpt(value)}: not a whole number")
    if not low <= value <= high:
        msg = f"videos.{tag} {excerpt(value)}: not within {low} and {high}"
        raise EntryError(msg)
    return _video(tag, f"{int(value)}")


def _rating(value: object) -> str:
    if value is None:
        return ""
    text = number(value, "videos.rating", MIN_VIDEO_RATING, MAX_VIDEO_RATING)
    return _video("rating", text)


def _video_date(value: date | datetime | str | None, zone: tzinfo, tag: str) -> str:
    if value is None:
        return ""
    return _video(tag, _date(value, zone, f"videos.{tag}"))


def _yes_no(value: object, tag: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, bool):
        raise EntryError(f"videos.{tag} {excerpt(value)}: neither True nor False")
    return _video(tag, "yes" if value else "no")


def _relation(
    value: Restriction | Platform | None, tag: str, legal: re.Pattern[str]
) -> str:
    if value is None:
        return ""
    if value.relationship not in ("allow", "deny"):
        msg = f"videos.{tag} {excerpt(value.relationship)}: neither allow nor deny"
        raise EntryError(msg)
    names = several(value.values, f"videos.{tag}")
    for name in names:
        if not matches(name, legal):
            raise EntryError(f"videos.{tag} {excerpt(name)}: not {legal.pattern}")
    if not names:
        raise EntryError(f"videos.{tag}: no values")
    start = f'<video:{tag} relationship="{value.relationship}">'
    return f"{start}{' '.join(names)}</video:{tag}>"


def _uploader(value: Uploader | str | None, origin: str) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        value = Uploader(value)
    name = _text(value.name, "videos.uploader", MAX_VIDEO_UPLOADER)
    if value.info is None:
        return _video("uploader", name)
    info = _location(value.info, origin, "videos.uploader")
    if origin != ORIGIN_MARK and _domain(info) != _domain(f"{origin}/"):
        msg = f"videos.uploader {excerpt(value.info)}: not on the domain of the entry"
        raise EntryError(msg)
    return f'<video:uploader info="{_uri(info)}">{name}</video:uploader>'


def _domain(uri: str) -> str:
    return uri.split("/")[2].partition("?")[0]


def _tags(tags: tuple[str, ...]) -> str:
    names = several(tags, "videos.tags", MAX_VIDEO_TAGS)
    return "".join(_video("tag", _text(name, "videos.tags")) for name in names)
