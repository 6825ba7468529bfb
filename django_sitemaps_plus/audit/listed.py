"""
What all pages list together: URLs that repeat, and URLs that crawlers may not fetch.

Pages are read one by one. Of each URL only a hash is remembered, in files where there
are many, so that memory does not grow with the site.
"""

from __future__ import annotations

import html
import math
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import IO

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import ordered, sections
from django_sitemaps_plus.protocol.robots import closed, forbids
from django_sitemaps_plus.publishing import storage
from django_sitemaps_plus.publishing.by_position import page_bytes, position_pages
from django_sitemaps_plus.publishing.compression import unpack
from django_sitemaps_plus.publishing.status import problem_of
from django_sitemaps_plus.rendering.listing import locations_of
from django_sitemaps_plus.sitemaps.sections import SectionSource, source
from django_sitemaps_plus.sitemaps.site import configured

#: How many URLs are named of each kind.
SHOWN = 5
#: How many hashes are compared in memory at a time, and in how many files they are.
AT_ONCE, MOST_FILES = 250_000, 400
#: Pages of a section by position that are read.
BY_POSITION = 10

#: Called with how many pages have been read, and how many there are.
Progress = Callable[[int, int], object]
#: A page's name, and what reads its locations as they are written.
_Reading = tuple[str, Callable[[], list[bytes]]]


@dataclass
class Found:
    """Some URLs: how many there are, and the first of them with their pages."""

    count: int = 0
    examples: list[tuple[str, list[str]]] = field(default_factory=list)


@dataclass
class Listed:
    """What was found out about all URLs that some sections list."""

    #: URLs that are listed more than once, on one page or on several.
    repeated: Found = field(default_factory=Found)
    #: Entries whose URL the ``ROBOTS`` of the settings disallow for all crawlers.
    disallowed: Found = field(default_factory=Found)


def listed(names: Sequence[str], progress: Progress = lambda done, of: None) -> Listed:
    """Read all pages of some sections: what is stored, or built by position."""
    found = Listed()
    is_forbidden = _forbidden()
    pages = _pages(names)
    readings: list[_Reading] = [(str(page), partial(_stored, page)) for page in pages]
    readings += _by_position({*names} - {page.section.name for page in pages})
    with _Hashes(sum(page.entries or 0 for page in pages)) as hashes:
        for done, (name, read) in enumerate(readings, 1):
            written = read()
            hashes.add(written)
            if is_forbidden is not None:
                _note(found.disallowed, name, written, is_forbidden)
            progress(done, len(readings))
        found.repeated.count, several = hashes.repeated()
    if several:
        found.repeated.examples = _named(readings, several)
    return found


def _forbidden() -> Callable[[str], bool] | None:
    """Return what says whether a path is disallowed; None if no single path is."""
    groups = get_settings().robots_groups()
    # Where a site is closed to crawlers that is meant, and known.
    if closed(groups) or not any(any(group.disallow) for group in groups):
        return None
    return forbids(groups)


# The pages


def _pages(names: Sequence[str]) -> list[Page]:
    """Return the pages that were built, in their order, without what is not needed."""
    columns = "section", "section__name", "number", "position", "checksum", "entries"
    return [
        page
        for section in sections().filter(name__in=names).order_by("name")
        for page in ordered(section)
        .exclude(checksum="")
        .select_related("section")
        .only(*columns)
    ]


def _stored(page: Page) -> list[bytes]:
    stored = storage.read(page, page.checksum)
    # Another process may have replaced it just now.
    return [] if stored is None else locations_of(unpack(stored.data))


def _by_position(names: set[str]) -> Iterator[_Reading]:
    """Yield the first pages of sections by position."""
    for name in sorted(names):
        if problem_of(name):
            continue  # the section's state says so
        found = source(name)
        if found.key is None:
            for number in range(1, min(position_pages(found), BY_POSITION) + 1):
                yield f"{name}-{number}", partial(_made, found, number)


def _made(found: SectionSource, number: int) -> list[bytes]:
    site = configured()
    try:
        return [] if site is None else locations_of(page_bytes(found, number, site))
    except SitemapsPlusError:
        return []  # the log says so, and so does the page


# What is found


def _note(
    found: Found,
    page: str,
    written: Sequence[bytes],
    is_forbidden: Callable[[str], bool],
) -> None:
    for one in written:
        location = html.unescape(one.decode())
        path = location[location.find("/", len("https://")) :]
        if is_forbidden(path):
            found.count += 1
            if len(found.examples) < SHOWN:
                found.examples.append((location, [page]))


def _named(
    readings: Sequence[_Reading], several: set[int]
) -> list[tuple[str, list[str]]]:
    """Return the locations that have these hashes, with two pages of each."""
    places: dict[bytes, list[str]] = {}
    for name, read in readings:
        for one in read():
            if hash(one) in several:
                known = places.setdefault(one, [])
                if len(known) < 2:
                    known.append(name)
    return [
        (html.unescape(one.decode()), found)
        for one, found in places.items()
        if len(found) > 1
    ]


class _Hashes:
    """The hashes of many texts, divided into so many parts that each fits in memory."""

    def __init__(self, expected: int) -> None:
        self._count = min(MOST_FILES, max(1, math.ceil(expected / AT_ONCE)))
        self._files = ExitStack()
        self._parts: list[IO[bytes]] = []

    def __enter__(self) -> _Hashes:
        self._parts = [
            self._files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (ends with the stack)
            for _ in range(self._count)
        ]
        return self

    def __exit__(self, *error: object) -> None:
        self._files.close()

    def add(self, texts: Sequence[bytes]) -> None:
        """Remember the hashes of some texts."""
        hashes = array("q", map(hash, texts))
        divided = [array("q") for _ in self._parts]
        for one in hashes:
            divided[one % self._count].append(one)
        for part, some in zip(self._parts, divided, strict=True):
            some.tofile(part)

    def repeated(self) -> tuple[int, set[int]]:
        """Return how many hashes there are more than once, and a few of them."""
        total, few = 0, set[int]()
        for part in self._parts:
            part.seek(0)
            seen, several = set[int](), set[int]()
            hashes = array("q")
            hashes.frombytes(part.read())
            for one in hashes:
                (several if one in seen else seen).add(one)
            total += len(several)
            few.update(sorted(several)[: SHOWN - len(few)])
        return total, few
