"""
What the ledger should do, said plainly: lists and integers, no database, no clock.

A row's key is its rank among all keys there are, so that every kind of key is
compared as its own database compares it, and here as an integer.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import pairwise

#: How many empty pages one request looks into.
LOOKS = 20


@dataclass
class Row:
    """A row of the section's model."""

    revision: int = 0
    #: Seconds since the epoch; None where it has no date.
    updated: int | None = None
    live: bool = True


@dataclass(frozen=True)
class Entry:
    """What a page says of a row."""

    rank: int
    revision: int
    updated: int | None


@dataclass(frozen=True)
class Content:
    """What a page's bytes say."""

    changefreq: str
    entries: tuple[Entry, ...]


@dataclass(eq=False)
class PlainPage:
    """A page: its name for ever, its lower bound (None: −∞), and what it showed."""

    number: int
    lower: int | None
    version: int = 0
    content: Content | None = None
    #: The version of the project's code that made it.
    code: str = ""
    #: It must be compared with its rows before it is served again.
    stale: bool = False
    #: It was split since its bytes were made: they hold other pages' entries too.
    divided: bool = False
    #: It keeps them for a while.
    grace: bool = False
    #: Its bytes are still on the shelf.
    kept: bool = False
    #: Since a split: what it alone listed. None: what it shows, or it is not known.
    own: tuple[Entry, ...] | None = None
    #: What it was found to list in its grace.
    found: Content | None = None
    #: How many entries the ledger believes it has; None if it does not know.
    count: int | None = None
    #: A range of changed keys crossed it.
    marked: bool = False


@dataclass
class PlainLedger:
    """A section: its rows, its pages, and how it divides the ones into the others."""

    limit: int
    changefreq: str = "daily"
    split_grace: bool = True
    filled: bool = False
    #: Whether the section's address holds an index.
    is_index: bool = False
    next_number: int = 1
    #: Keys that were recorded as changed, and whether all of them were.
    pending: set[int] = field(default_factory=set)
    all_pending: bool = False
    rows: dict[int, Row] = field(default_factory=dict)
    pages: list[PlainPage] = field(default_factory=list)

    @property
    def size(self) -> int:
        """How many rows a page gets that is not made at the right edge."""
        return max(1, math.floor(self.limit * 0.9))

    def live(self) -> list[int]:
        """Return the ranks of all rows that are listed, in order."""
        return sorted(rank for rank, row in self.rows.items() if row.live)

    def page(self, number: int) -> PlainPage | None:
        """Return a page by its number."""
        return next((page for page in self.pages if page.number == number), None)

    def ranks(self, page: PlainPage) -> list[int]:
        """Return the ranks of the rows that belong on ``page``."""
        ranks = self.live()
        index = self.pages.index(page)
        start = 0 if page.lower is None else bisect_left(ranks, page.lower)
        if index + 1 == len(self.pages):
            return ranks[start:]
        upper = self.pages[index + 1].lower
        assert upper is not None
        return ranks[start : bisect_left(ranks, upper)]

    def owner(self, rank: int) -> int:
        """Return the number of the page whose range has ``rank``."""
        return next(
            page.number
            for page in reversed(self.pages)
            if page.lower is None or page.lower <= rank
        )

    def due(self, page: PlainPage) -> bool:
        """Tell whether a page that was made must be made again."""
        changed = page.divided or self._is_changed(page)
        return not page.grace and (changed or self._outdated(page))

    def ready(self, page: PlainPage) -> bool:
        """Tell whether a page is served as it is."""
        return page.content is not None and page.kept and not self.due(page)

    # What was recorded

    def _changed(self) -> set[int]:
        """Return the numbers of the pages whose keys were recorded as changed."""
        return {self.owner(rank) for rank in self.pending} if self.filled else set()

    def _is_changed(self, page: PlainPage) -> bool:
        return self.all_pending or page.number in self._changed()

    def _settle(self, page: PlainPage) -> None:
        """Forget the recorded changes of a page that says them now."""
        page.marked = False
        self.pending = {
            rank for rank in self.pending if self.owner(rank) != page.number
        }

    def sort(self) -> None:
        """Let a change of the whole section reach all its pages."""
        if self.all_pending and self.filled:
            self.all_pending = False
            for page in self.pages:
                page.version += 1
                page.stale, page.marked = True, True

    def hurry(self) -> None:
        """Make the pages that changed, as is done before an index is written."""
        self.sort()
        changed = self._changed()
        changed |= {page.number for page in self.pages if page.marked and page.content}
        for number in sorted(changed):
            page = self.page(number)
            assert page is not None
            if page.grace:
                self.look(page)
            else:
                self.serve(page)

    # What happens to it

    def fill(self, *, hurried: bool = False) -> bool:
        """Find all bounds, or one if ``hurried``; tell whether it is done."""
        if self.filled:
            return True
        if not self.pages:
            self._add([None])
        rest = self.ranks(self.pages[-1])
        bounds: list[int] = []
        while len(rest) > self.size:
            rest = rest[self.size :]
            bounds.append(rest[0])
            if hurried and len(bounds) == 2:
                self._add(bounds[:1])
                return False
        if bounds and self.size + len(rest) <= self.limit:
            bounds.pop()
        self._add(bounds)
        self.filled = True
        return True

    def serve(self, page: PlainPage) -> Content:
        """Return what ``page`` shows when it is asked for."""
        if not self.ready(page):
            self.sort()
            return self.make(page)
        assert page.content is not None
        return page.content

    def make(self, page: PlainPage) -> Content:
        """Compare ``page`` with its rows, and return what it then shows."""
        while len(self.ranks(page)) > self.limit:
            self.split(page)
            if page.grace and page.kept:
                assert page.content is not None
                return page.content
        content = self.right(page)
        if content != page.content:
            page.version += 1
        page.content = content
        page.stale, page.divided, page.grace, page.kept = False, False, False, True
        page.own = page.found = None
        self._settle(page)
        page.count, page.code = len(content.entries), self.changefreq
        return content

    def look(self, page: PlainPage) -> None:
        """Find out what a page lists by now whose former bytes are served on."""
        while len(self.ranks(page)) > self.limit:
            self.split(page)
        content = self.right(page)
        if content != page.found:
            page.version += 1
        page.found, page.own = content, content.entries
        self._settle(page)

    def right(self, page: PlainPage) -> Content:
        """Return what ``page`` must say of its rows as they are now."""
        entries = tuple(
            Entry(rank, self.rows[rank].revision, self.rows[rank].updated)
            for rank in self.ranks(page)
        )
        return Content(self.changefreq if entries else "", entries)

    def address(self) -> tuple[list[PlainPage], list[Content] | None]:
        """
        Return the pages that the section's address gathers, and what it shows of them.

        That is None where it is an index.
        """
        self.fill()
        while True:
            listed = self.listed()
            few = self._few(listed)
            if listed:
                self.is_index = not few
            if not few:
                return listed, None
            versions = [page.version for page in listed]
            shown = [self.serve(page) for page in listed]
            # Listed once more, other empty pages would be looked into.
            same = versions == [page.version for page in listed]
            if same or listed == self.listed():
                return listed, shown

    def listed(self) -> list[PlainPage]:
        """Return the pages not known to be empty, by number; look at those due."""
        self.hurry()
        for page in self.unseen()[:LOOKS]:
            if self.ranks(page):
                page.count = None
            else:
                self.serve(page)
        listed = [page for page in self.pages if page.count != 0]
        return sorted(listed, key=lambda page: page.number)

    def unseen(self) -> list[PlainPage]:
        """Return the empty pages that are due to be looked into, by number."""
        due = [page for page in self.pages if page.count == 0 and self._outdated(page)]
        return sorted(due, key=lambda page: page.number)

    def _outdated(self, page: PlainPage) -> bool:
        return page.stale or page.code != self.changefreq

    def _few(self, listed: list[PlainPage]) -> bool:
        counts = [None if page.divided else page.count for page in listed]
        if None in counts and (self.is_index or len(counts) > 1):
            return False
        share = 0.8 if self.is_index else 1
        return sum(count or 0 for count in counts) <= self.limit * share

    def split(self, page: PlainPage) -> None:
        """Cut a page that has too many rows: its tail off, or else into equal parts."""
        ranks = self.ranks(page)
        index = self.pages.index(page)
        edge = index + 1 == len(self.pages)
        if edge:
            cuts = ranks[self.limit :: self.size]
        else:
            pieces = max(2, math.ceil(len(ranks) / self.size))
            cuts = [ranks[len(ranks) * piece // pieces] for piece in range(1, pieces)]
        page.version += 1
        parts = self._parts(page, cuts)
        moves = parts is None or any(parts[1:])
        if page.content is not None and moves:
            page.divided = True
            page.grace = page.grace or self.split_grace
        self._add(cuts, after=index)
        if moves:
            page.own, page.found = None if parts is None else parts[0], None
        for number in range(1, len(cuts) + 1):
            self.pages[index + number].own = None if parts is None else parts[number]

    def _parts(
        self, page: PlainPage, cuts: list[int]
    ) -> list[tuple[Entry, ...]] | None:
        """Divide what a page listed, if that is known."""
        listed = self._listed(page)
        if listed is None:
            return None
        ends = [0, *(self._place(listed, cut) for cut in cuts), len(listed)]
        return [listed[start:end] for start, end in pairwise(ends)]

    def _listed(self, page: PlainPage) -> tuple[Entry, ...] | None:
        """Return what a page alone listed when it was made, if that is known."""
        if page.own is not None:
            return page.own
        if page.content is None or page.divided or not page.kept:
            return None
        return page.content.entries

    def _place(self, listed: tuple[Entry, ...], cut: int) -> int:
        """Return the place of the first of some entries that is still there behind."""
        for place, entry in enumerate(listed):
            row = self.rows.get(entry.rank) if entry.rank >= cut else None
            if row is not None and row.live and row.revision == entry.revision:
                return place
        return len(listed)

    def _add(self, lowers: list[int] | list[None], after: int | None = None) -> None:
        index = len(self.pages) if after is None else after + 1
        self.pages[index:index] = [
            PlainPage(self.next_number + offset, lower)
            for offset, lower in enumerate(lowers)
        ]
        self.next_number += len(lowers)
