"""
What a page listed, divided among the pages into which it is split.

Each of them is made later, perhaps by another process. Its part is kept until then, so
that what happened to its URLs can be told by comparing bytes, as for any other page.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django_sitemaps_plus.changes import events
from django_sitemaps_plus.changes.reporting import Lookup, lookup
from django_sitemaps_plus.pagination import ledger
from django_sitemaps_plus.pagination.ledger import KeyRange, Parts
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.sitemaps.keys import KeyValue
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress

from . import compression, storage

#: Rows beside a cut that are looked up first: nearly always one of them is listed. And
#: the most that are looked up at a time, where an import left thousands of new ones.
FEW, MOST = 10, 500


def divide(
    found: SectionSource,
    page: Page,
    former: bytes,
    place: SiteAddress,
    first: int,
    cuts: Sequence[KeyValue],
) -> Parts | None:
    """
    Keep the part of ``former``, gzipped, of a page and of each that is cut off it.

    The numbers of the new pages count up from ``first``. If all of it is the page's
    own, nothing need be kept for that one. None if it cannot be told what belongs
    where, or if a part cannot be kept: then nobody knows what was listed.
    """
    listing = _Listing.of(compression.unpack(former))
    places = _places(found, page, listing, place, cuts)
    if places is None:
        return None
    moves = places[0] < len(listing.entries)
    listed = list[str]()
    numbers = [page.number, *range(first, first + len(cuts))]
    ends = pairwise([0, *places, len(listing.entries)])
    for number, (start, end) in zip(numbers, ends, strict=True):
        if number == page.number and not moves:
            listed.append(page.listed)
            continue
        checksum, data = listing.part(start, end)
        if storage.keep(storage.file_name(found.name, number, checksum, place), data):
            return None
        listed.append(checksum)
    return Parts(listed, moves)


@dataclass(frozen=True)
class _Listing:
    """The lines of a page: its entries, in the order of keys, and what is around."""

    head: list[bytes]
    entries: list[bytes]
    tail: list[bytes]

    #: The place of each location among the entries.
    index: dict[bytes, int]

    @classmethod
    def of(cls, text: bytes) -> _Listing:
        lines = text.splitlines(keepends=True)
        found = enumerate(map(events.LOC.search, lines))
        places = [(match[1], place) for place, match in found if match]
        if not places:
            return cls(lines, [], [], {})
        start, end = places[0][1], places[-1][1] + 1
        index = {location: place - start for location, place in places}
        return cls(lines[:start], lines[start:end], lines[end:], index)

    def part(self, start: int, end: int) -> tuple[str, bytes]:
        """Return a page of some of the entries: its checksum, and its gzipped bytes."""
        text = b"".join([*self.head, *self.entries[start:end], *self.tail])
        compressor = compression.compressor()
        data = compressor.compress(text) + compressor.flush()
        return hashlib.sha256(text).hexdigest()[:32], data


def _places(
    found: SectionSource,
    page: Page,
    listing: _Listing,
    place: SiteAddress,
    cuts: Sequence[KeyValue],
) -> list[int] | None:
    """
    Return before which entry each cut falls; None if that is not certain.

    It is where the first of the rows behind it was listed that are still listed where
    they were. If rows have taken each other's locations, the last of those before it
    was listed behind that place: then the entries' order is not that of the keys.
    """
    key_range, known = ledger.key_range_of(found), lookup(found.name)
    upper = ledger.upper_of(page)
    bounds = [
        None if page.lower is None else key_range.key.loads(page.lower),
        *cuts,
        None if upper is None else key_range.key.loads(upper),
    ]

    def nearest(batches: Iterable[Sequence[KeyValue]]) -> int | None:
        return next(_listed(known, listing.index, place, batches), None)

    last, lasts, firsts = -1, list[int](), list[int | None]()
    for lower, cut, end in zip(bounds, cuts, bounds[2:], strict=False):
        before = nearest(_downwards(key_range, lower, cut))
        last = last if before is None else before
        lasts.append(last)
        firsts.append(nearest(_upwards(key_range, cut, end)))
    following, places = len(listing.entries), list[int]()
    for first in reversed(firsts):
        following = following if first is None else first
        places.insert(0, following)
    certain = all(last < place for last, place in zip(lasts, places, strict=True))
    return places if certain and places == sorted(places) else None


def _listed(
    known: Lookup,
    index: Mapping[bytes, int],
    place: SiteAddress,
    batches: Iterable[Sequence[KeyValue]],
) -> Iterator[int]:
    """Yield where rows stand among the former entries, of those that do."""
    for keys in batches:
        for paths in known.locations(keys, known.database).values():
            for path in paths:
                text = events.written(path, place)
                if text in index:
                    yield index[text]


def _upwards(
    key_range: KeyRange, lower: KeyValue | None, upper: KeyValue | None
) -> Iterator[list[KeyValue]]:
    """Yield the keys of a range from the first on."""
    some, skipped = FEW, 0
    while True:
        rows = key_range.key.order(key_range.rows(lower, upper)).values_list(
            *key_range.key.names
        )
        keys = list(rows[skipped : skipped + some])
        yield keys
        if len(keys) < some or keys[-1] == lower:
            return
        # A range begins with its lower bound.
        lower, skipped, some = keys[-1], 1, min(2 * some, MOST)


def _downwards(
    key_range: KeyRange, lower: KeyValue | None, upper: KeyValue | None
) -> Iterator[list[KeyValue]]:
    """Yield the keys of a range from the last on."""
    some = FEW
    while True:
        rows = key_range.key.order(key_range.rows(lower, upper)).reverse()
        keys = list(rows.values_list(*key_range.key.names)[:some])
        yield keys
        if len(keys) < some:
            return
        upper, some = keys[-1], min(2 * some, MOST)
