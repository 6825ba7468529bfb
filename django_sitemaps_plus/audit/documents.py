"""
Sitemaps that somebody else wrote: files, answers of a server, indexes of both.

They are read by expat as a stream, whatever their size. A document type is refused,
because entities that expand without end need one, and no sitemap has it.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias
from xml.parsers import expat

from django_sitemaps_plus.exceptions import SitemapsPlusError

_CHUNK = 65_536
_GZIP = b"\x1f\x8b"
#: What a folder is searched for.
_ENDINGS = (".xml", ".xml.gz")


class Unreadable(SitemapsPlusError):
    """Something that should be a sitemap and is none, or cannot be had."""


class Entry(NamedTuple):
    """What is compared of one ``<url>``; or, of an index, one ``<sitemap>``."""

    location: str
    lastmod: str = ""
    changefreq: str = ""
    priority: str = ""
    #: Pairs of a language and a URL.
    alternates: tuple[tuple[str, str], ...] = ()
    #: Whether it is another sitemap, which lists the entries.
    is_sitemap: bool = False


#: An entry, and what lists it: a section, a file, a URL.
Listed: TypeAlias = tuple[str, Entry]
#: Returns the entries of the sitemap at a URL.
Read: TypeAlias = Callable[[str], Iterator[Entry]]


def walk(start: str, read: Read) -> Iterator[Listed]:
    """Yield the entries of a sitemap or, if it is an index, of all that it lists."""
    waiting, seen = [start], {start}
    while waiting:
        name = waiting.pop(0)
        for entry in read(name):
            if not entry.is_sitemap:
                yield name, entry
            elif entry.location not in seen:
                seen.add(entry.location)
                waiting.append(entry.location)


def saved(path: Path) -> Iterator[Listed]:
    """
    Yield the entries of a file, or of all files of a folder.

    Raises ``Unreadable`` if an index lists more sitemaps than there are.
    """
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.name.endswith(_ENDINGS))
        if not files:
            raise Unreadable(f"The folder {path} has no *.xml and no *.xml.gz.")
    wanted, indexes = 0, 0
    for file in files:
        before = wanted
        for entry in _of_file(file):
            wanted += entry.is_sitemap
            if not entry.is_sitemap:
                yield str(file), entry
        indexes += wanted > before
    if wanted > len(files) - indexes:
        raise Unreadable(
            f"{path} has an index of {wanted:,} sitemaps, and {len(files) - indexes:,} "
            "are there. Save all of them in one folder and name the folder, or name "
            "the URL of the index."
        )


def _of_file(path: Path) -> Iterator[Entry]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.") from error
    with file:
        yield from parse(str(path), file)


def parse(name: str, file: IO[bytes]) -> Iterator[Entry]:
    """Yield the entries of a document, gzipped or not; ``Unreadable`` if it is none."""
    parser = _Parser(name)
    try:
        is_packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        read = gzip.GzipFile(fileobj=file).read if is_packed else file.read
        for chunk in iter(partial(read, _CHUNK), b""):
            yield from parser.feed(chunk)
        yield from parser.feed(b"", is_last=True)
    except (expat.ExpatError, zlib.error, EOFError, OSError) as error:
        raise Unreadable(f"{name} is not well-formed XML: {error}.") from error


class _Parser:
    """Calls of expat become entries."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._depth = 0
        self._space = self._root = ""
        self._fields: dict[str, str] = {}
        self._links: list[tuple[str, str]] = []
        self._text: list[str] = []
        self._found: list[Entry] = []
        self._expat = expat.ParserCreate(namespace_separator=" ")
        self._expat.buffer_text = True
        self._expat.StartDoctypeDeclHandler = self._refuse
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._text.append

    def feed(self, chunk: bytes, *, is_last: bool = False) -> list[Entry]:
        """Read on; returns the entries that are complete."""
        self._expat.Parse(chunk, is_last)
        found, self._found = self._found, []
        return found

    def _refuse(self, *declared: object) -> None:
        raise Unreadable(
            f"{self._name} has a document type, as web pages have and sitemaps have "
            "not. Is it the address of a sitemap?"
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        space, _, local = name.rpartition(" ")
        self._text.clear()
        if self._depth == 1:
            if local not in ("urlset", "sitemapindex"):
                raise Unreadable(f"{self._name} is <{local}>, and no sitemap.")
            self._space, self._root = space, local
        elif self._depth == 2:
            self._fields, self._links = {}, []
        elif local == "link" and attributes.get("rel") == "alternate":
            link = attributes.get("hreflang", ""), attributes.get("href", "")
            self._links.append(link)

    def _end(self, name: str) -> None:
        space, _, local = name.rpartition(" ")
        if self._depth == 3 and space == self._space:
            self._fields[local] = "".join(self._text).strip()
        elif self._depth == 2:
            get = self._fields.get
            self._found.append(
                Entry(
                    location=get("loc", ""),
                    lastmod=get("lastmod", ""),
                    changefreq=get("changefreq", ""),
                    priority=get("priority", ""),
                    alternates=tuple(self._links),
                    is_sitemap=self._root == "sitemapindex",
                )
            )
        self._depth -= 1
