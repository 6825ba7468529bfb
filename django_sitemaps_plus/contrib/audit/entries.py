"""
The entries of sitemaps: of this package's own pages, and of what others wrote.

Our own are taken apart as ``serializer`` wrote them, which is what makes them valid.
Others are read by expat as a stream, whatever their size. A document type is refused,
because entities that expand without end need one, and sitemaps do not have one.
"""

from __future__ import annotations

import gzip
import html
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import IO, Any, Final, NamedTuple, TypeAlias
from xml.parsers import expat

from django_sitemaps_plus.db import parts
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.protocol.limits import MAX_BYTES

SITEMAP: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
_ALTERNATE: Final = "http://www.w3.org/1999/xhtml link"
_SCHEMAS: Final = "http://www.google.com/schemas/sitemap"
#: An entry's own elements beside its location.
_OWN: Final = ("lastmod", "changefreq", "priority")
#: Elements below the entry's own, and the texts of an entry that they belong to.
_MEDIA: Final = {
    f"{_SCHEMAS}-news/0.9 publication_date": "published",
    f"{_SCHEMAS}-image/1.1 loc": "images",
    f"{_SCHEMAS}-video/1.1 content_loc": "players",
    f"{_SCHEMAS}-video/1.1 player_loc": "players",
    f"{_SCHEMAS}-video/1.1 expiration_date": "expires",
}
_CHUNK = 65_536
_GZIP = b"\x1f\x8b"
#: Bytes of a document, unpacked: twice what is legal. A few packed ones may hide more.
_MOST_BYTES = 2 * MAX_BYTES
#: The parts of a whole entry, as texts of XML; the links and the media undivided.
#: Possessive: nothing is tried twice, which takes a quarter less time.
_ENTRY = re.compile(
    r"<url><loc>([^<]*+)</loc>(?:<lastmod>([^<]*+)</lastmod>)?+"
    r"(?:<changefreq>([^<]*+)</changefreq>)?+(?:<priority>([^<]*+)</priority>)?+"
    r"((?:<xhtml:link [^>]*+>)*+)(.*?)</url>\n",
    re.DOTALL,
)
#: Characters of one text.
_MOST_TEXT = 100_000
#: Sitemaps of one site that are read; an index may list 50,000.
_MOST_SITEMAPS = 60_000
#: How deep an index may stand in others, which sitemaps.org does not allow at all.
_DEEPEST = 2
#: What sitemaps are written in, or may be: https://www.sitemaps.org/protocol.html
_ENCODINGS = ("utf-8", "us-ascii", "ascii", "iso-8859-1", "utf-16")

#: Entries that are looked at together.
_ENTRIES_AT_ONCE = 5_000
#: Location, lastmod, changefreq, priority, links and media, as they are written.
_Part: TypeAlias = tuple[str, str, str, str, str, str]
#: Pairs of a language and a URL.
Alternates: TypeAlias = tuple[tuple[str, str], ...]


class Unreadable(SitemapsPlusError):
    """Something that should be a sitemap but is not one, or cannot be read."""


class Entry(NamedTuple):
    """One ``<url>`` of a sitemap, or one ``<sitemap>`` of an index, as texts."""

    #: Empty if it has none.
    location: str
    lastmod: str = ""
    changefreq: str = ""
    priority: str = ""
    alternates: Alternates = ()
    #: When the news article that it names was published.
    published: str = ""
    #: The addresses of its images, and of its videos' contents and players.
    images: tuple[str, ...] = ()
    players: tuple[str, ...] = ()
    #: Until when its videos are available.
    expires: tuple[str, ...] = ()
    #: Whether it is another sitemap, which lists the entries.
    is_sitemap: bool = False


# Our own pages

_LINK = re.compile('hreflang="([^"]*)" href="([^"]*)"')
_NEWS = re.compile("<news:publication_date>([^<]*)<")
_IMAGE = re.compile("<image:loc>([^<]*)<")
_PLAYER = re.compile("<video:(?:content|player)_loc>([^<]*)<")
_EXPIRES = re.compile("<video:expiration_date>([^<]*)<")


class EntryBatch(NamedTuple):
    """Some entries as columns: most of them have a URL and a date only."""

    urls: Sequence[str]
    lastmods: Sequence[str]
    #: Those that have alternates, images, videos or news.
    special: Sequence[Entry]
    #: Returns one of them by its place.
    entry: Callable[[int], Entry]
    #: Whether they are sitemaps.
    is_index: bool = False
    #: How many there were without a URL.
    lacking: int = 0


def batches_of_page(body: bytes) -> Iterator[EntryBatch]:
    """Yield the entries of a page that this package wrote."""
    for some in parts(_ENTRY.findall(body.decode()), _ENTRIES_AT_ONCE):
        urls, lastmods, _, _, links, media = zip(*some, strict=True)
        has_more = any(links) or any(media)
        special = [_entry(one) for one in some if one[4] or one[5]] if has_more else []
        urls = tuple(map(html.unescape, urls)) if b"&" in body else urls
        yield EntryBatch(urls, lastmods, special, partial(_entry_at, some))


def batches_of(entries: Iterator[Entry]) -> Iterator[EntryBatch]:
    """Yield entries that were read one by one."""
    for some in parts(entries, _ENTRIES_AT_ONCE):
        listed = [entry for entry in some if entry.location]
        urls = [entry.location for entry in listed]
        lastmods = [entry.lastmod for entry in listed]
        is_index = any(entry.is_sitemap for entry in listed)
        lacking = len(some) - len(listed)
        yield EntryBatch(urls, lastmods, listed, listed.__getitem__, is_index, lacking)


def entries_of_page(body: bytes) -> Iterator[Entry]:
    """Yield the entries of a page that this package wrote."""
    return map(_entry, _ENTRY.findall(body.decode()))


def _entry_at(some: Sequence[_Part], number: int) -> Entry:
    return _entry(some[number])


def _entry(part: _Part) -> Entry:
    location, lastmod, changefreq, priority, links, media = part
    return Entry(
        html.unescape(location) if "&" in location else location,
        lastmod,
        changefreq,
        priority,
        _alternates(links) if links else (),
        **(_media(media) if media else {}),
    )


def _media(text: str) -> dict[str, Any]:
    """Return what the images, videos and news of an entry have."""
    news = _NEWS.search(text)
    return {
        "published": news[1] if news else "",
        "images": tuple(map(html.unescape, _IMAGE.findall(text))),
        "players": tuple(map(html.unescape, _PLAYER.findall(text))),
        "expires": tuple(_EXPIRES.findall(text)),
    }


#: The languages of an item stand one after the other, with the same alternates.
@lru_cache(maxsize=1)
def _alternates(links: str) -> Alternates:
    pairs = _LINK.findall(links)
    return tuple((language, html.unescape(href)) for language, href in pairs)


# What others wrote

#: An entry, and what lists it: a section, a file, a URL.
ListedEntry: TypeAlias = tuple[str, Entry]
#: Returns the entries of the sitemap at a URL.
ReadSitemap: TypeAlias = Callable[[str], Iterator[Entry]]


def walk(start: str, read: ReadSitemap) -> Iterator[ListedEntry]:
    """
    Yield the entries of a sitemap or, if it is an index, of all that it lists.

    Raises ``Unreadable`` for indexes in indexes without end.
    """
    waiting, seen = deque([(start, 0)]), {start}
    while waiting:
        name, depth = waiting.popleft()
        for entry in read(name):
            if not entry.is_sitemap:
                yield name, entry
            elif depth == _DEEPEST:
                raise Unreadable(f"{name} is an index in an index in an index.")
            elif entry.location not in seen:
                seen.add(entry.location)
                waiting.append((entry.location, depth + 1))
                if len(seen) > _MOST_SITEMAPS:
                    raise Unreadable(f"{start} has over {_MOST_SITEMAPS:,} sitemaps.")


def parse(name: str, file: IO[bytes], *, namespace: str = "") -> Iterator[Entry]:
    """
    Yield the entries of a document, gzipped or not.

    Raises ``Unreadable`` if it is not well-formed, far too large, or not a sitemap: of
    any namespace or, where that matters, of ``namespace``.
    """
    parser = _Parser(name, namespace)
    try:
        is_packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        read = gzip.GzipFile(fileobj=file).read if is_packed else file.read
        for number, chunk in enumerate(iter(partial(read, _CHUNK), b"")):
            if number * _CHUNK > _MOST_BYTES:
                raise Unreadable(
                    f"{name} has over {_MOST_BYTES:,} bytes; a sitemap may have "
                    f"{MAX_BYTES:,}."
                )
            yield from parser.feed(chunk)
        yield from parser.feed(b"", is_last=True)
    except (expat.ExpatError, zlib.error, EOFError, OSError) as error:
        raise Unreadable(f"{name} is not well-formed XML: {error}.") from error


class _Parser:
    """Calls of expat become entries."""

    def __init__(self, name: str, namespace: str) -> None:
        self._name = name
        self._namespace = namespace
        self._depth = 0
        self._space = self._root = ""
        self._fields: dict[str, str] = {}
        self._media: dict[str, list[str]] = {}
        self._links: list[tuple[str, str]] = []
        self._text: list[str] = []
        self._complete: list[Entry] = []
        #: Bytes that expat was given, and that it has done with.
        self._read = self._passed = 0
        self._expat = expat.ParserCreate(namespace_separator=" ")
        self._expat.buffer_text = True
        self._expat.XmlDeclHandler = self._declared
        self._expat.StartDoctypeDeclHandler = self._refuse
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._text.append

    def feed(self, chunk: bytes, *, is_last: bool = False) -> list[Entry]:
        """Read on; returns the entries that are complete."""
        self._expat.Parse(chunk, is_last)
        self._read += len(chunk)
        # Some versions of expat read a tag from its start again with each chunk.
        self._passed = max(self._passed, self._expat.CurrentByteIndex)
        self._refuse_long(self._read - self._passed)
        self._refuse_long(sum(map(len, self._text)))
        complete, self._complete = self._complete, []
        return complete

    def _refuse_long(self, length: int) -> None:
        if length > _MOST_TEXT:
            raise Unreadable(
                f"{self._name} has a text or a tag of over {_MOST_TEXT:,} characters."
            )

    def _declared(self, version: str, encoding: str | None, alone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            raise Unreadable(
                f"{self._name} is in the encoding {encoding!r}; sitemaps are in UTF-8."
            )

    def _refuse(self, *declared: object) -> None:
        raise Unreadable(
            f"{self._name} has a document type, as web pages have and sitemaps do not, "
            "so it may not be the address of a sitemap."
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        self._text.clear()
        if self._depth == 1:
            self._space, _, self._root = name.rpartition(" ")
            self._check_root()
        elif self._depth == 2:
            self._fields, self._media, self._links = {}, {}, []
        elif name == _ALTERNATE and attributes.get("rel") == "alternate":
            link = attributes.get("hreflang", ""), attributes.get("href", "")
            self._links.append(link)

    def _check_root(self) -> None:
        if self._root not in ("urlset", "sitemapindex"):
            raise Unreadable(f"{self._name} is <{self._root}>, not a sitemap.")
        if self._namespace not in ("", self._space):
            raise Unreadable(
                f"{self._name} has the namespace {self._space!r}, not "
                f"{self._namespace!r}."
            )

    def _end(self, name: str) -> None:
        space, _, local = name.rpartition(" ")
        text = "".join(self._text).strip()
        self._refuse_long(len(text))
        self._text.clear()
        if self._depth == 3 and space == self._space:
            self._fields.setdefault(local, text)
        elif name in _MEDIA:
            self._media.setdefault(_MEDIA[name], []).append(text)
        elif self._depth == 2:
            given: dict[str, Any] = {name: self._fields.get(name, "") for name in _OWN}
            given |= {name: tuple(texts) for name, texts in self._media.items()}
            (given["published"],) = given.get("published", ("",))[:1]
            links, is_sitemap = tuple(self._links), self._root == "sitemapindex"
            location = self._fields.get("loc", "")
            self._complete.append(
                Entry(location, alternates=links, is_sitemap=is_sitemap, **given)
            )
        self._depth -= 1
