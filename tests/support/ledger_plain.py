"""
What the ledger should do, said plainly: lists and integers, no database, no clock.

A row's key is its rank among all keys there are, so that every kind of key is
compared as its own database compares it, and here as an integer.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from itertools import accumulate

from django_sitemaps_plus.pagination import cutting


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

    @property
    def location(self) -> tuple[int, int]:
        """What its address is made of."""
        return self.rank, self.revision


@dataclass(frozen=True)
class Content:
    """What a page's bytes say."""

    changefreq: str
    entries: tuple[Entry, ...]


@dataclass(eq=False)
class PlainPage:
    """A page: its name for ever, its lower bound (None: −∞), and what it lists."""

    number: int
    lower: int | None
    #: What it listed when it was last built.
    content: Content | None = None
    #: The version of the project's code that built it.
    code: str = ""
    #: It must be compared with its rows before it is served again.
    stale: bool = False
    #: A range of changed keys crossed it.
    marked: bool = False
    #: Its bytes are still stored.
    stored: bool = False
    #: How many entries the ledger believes it has; None if it does not know.
    count: int | None = None

    @property
    def shown(self) -> Content:
        """What is served."""
        assert self.content is not None
        return self.content


@dataclass
class PlainLedger:
    """A section: its rows, its pages, and how it divides the ones into the others."""

    limit: int
    changefreq: str = "daily"
    filled: bool = False
    #: Whether the section's address holds an index.
    is_index: bool = False
    next_number: int = 1
    #: Keys that were recorded as changed, and whether any key may have.
    pending: set[int] = field(default_factory=set)
    #: Those with a change whose page nobody has looked for, and those with one whose
    #: page was found: a key may be changed again.
    unassigned: set[int] = field(default_factory=set)
    assigned: set[int] = field(default_factory=set)
    all_pending: bool = False
    rows: dict[int, Row] = field(default_factory=dict)
    pages: list[PlainPage] = field(default_factory=list)
    #: Entries of builds that could not know what was listed before.
    unsaid: set[tuple[int, int]] = field(default_factory=set)

    @property
    def size(self) -> int:
        """How many rows a page gets that is not made at the right edge."""
        return cutting.filled_to(self.limit)

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

    def ready(self, page: PlainPage) -> bool:
        """Return whether a page is served as it is."""
        old = self._waits(page) or page.stale or page.code != self.changefreq
        return page.content is not None and page.stored and not old

    def _waits(self, page: PlainPage) -> bool:
        return self.all_pending or any(
            self.owner(rank) == page.number for rank in self.pending
        )

    # What was recorded

    def record(self, ranks: list[int]) -> None:
        """Remember that keys changed."""
        self.pending.update(ranks)
        self.unassigned.update(ranks)

    def assign(self) -> None:
        """Let changes reach their pages, and one of the whole section all of them."""
        if not self.filled:
            return
        self.assigned |= self.unassigned
        self.unassigned.clear()
        if self.all_pending:
            self.all_pending = False
            for page in self.pages:
                page.stale, page.marked = True, True

    def assign_all(self) -> None:
        """Let changes reach their pages, which are found for it."""
        if self.unassigned or self.all_pending:
            self.fill()
        self.assign()

    def refresh(self, new: list[int], changed: list[int]) -> None:
        """
        Build pages with new rows, that ranges crossed, or whose rows changed.

        In this order: a page that is split there gets the next numbers.
        """
        marked = sorted(
            page.number for page in self.pages if page.marked and page.content
        )
        for number in dict.fromkeys([*new, *marked, *changed]):
            page = self.page(number)
            assert page is not None
            self.serve(page)

    # What happens to it

    def fill(self, *, hurried: bool = False) -> bool:
        """Find all bounds, or one if ``hurried``; return whether it is done."""
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
        self.assign()
        if not self.ready(page):
            mine = {rank for rank in self.pending if self.owner(rank) == page.number}
            before = page.content
            former = before if page.stored else None
            parts = [page, *self._split(page)]
            for part in parts:
                self._build(part)
            listed = {e.location for part in parts for e in _entries(part.content)}
            if former is None:
                # Nobody knows what was listed: what was not saved goes unsaid.
                self.unsaid |= listed | {e.location for e in _entries(before)}
            self.pending -= mine
            self.unassigned -= mine
            self.assigned -= mine
        return page.shown

    def _build(self, page: PlainPage) -> None:
        page.content = self.right(page)
        page.stale, page.marked, page.stored = False, False, True
        page.count, page.code = len(page.content.entries), self.changefreq

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
                return [page for page in listed if self._is_indexed(page)], None
            next_number = self.next_number
            for page in listed:
                self.serve(page)
            if next_number != self.next_number:
                continue
            shown = [page.content for page in listed if page.content]
            if len(listed) == 1 or sum(len(s.entries) for s in shown) <= self.limit:
                return listed, shown
            self.is_index = True
            return [page for page in self.listed() if self._is_indexed(page)], None

    def listed(self) -> list[PlainPage]:
        """Return the pages not known to be empty, by number."""
        some = self.all_pending or bool(self.unassigned)
        listed = [
            page
            for page in self.pages
            if some or page.stale or self._waits(page) or not self._is_empty(page)
        ]
        return sorted(listed, key=lambda page: page.number)

    def _is_indexed(self, page: PlainPage) -> bool:
        """Return whether an index lists a page: an empty one only for its changes."""
        if not self._is_empty(page):
            return True
        if any(self.owner(rank) == page.number for rank in self.assigned):
            return True
        is_blank = all(page.count == 0 for page in self.pages)
        return is_blank and (self.all_pending or bool(self.unassigned))

    def _is_empty(self, page: PlainPage) -> bool:
        return page.count == 0 and page.code == self.changefreq

    def _few(self, listed: list[PlainPage]) -> bool:
        counts = [page.count for page in listed]
        if None in counts and self.is_index:
            return False
        share = 0.8 if self.is_index else 1
        known = [
            (0 if page is listed[-1] else self.limit * cutting.FILL)
            if count is None
            else count
            for page, count in zip(listed, counts, strict=True)
        ]
        return sum(known) <= self.limit * share

    def _split(self, page: PlainPage) -> list[PlainPage]:
        """Cut a page that has too many rows: its tail off, or else into equal parts."""
        ranks = self.ranks(page)
        if len(ranks) <= self.limit:
            return []
        index, most = self.pages.index(page), len(ranks)
        if index + 1 == len(self.pages):
            sizes = cutting.tail(self.limit, self.limit, most)
        else:
            sizes = cutting.halves(self.limit, self.limit, most, len(ranks))
        cuts = [ranks[at] for at in accumulate(sizes) if at < len(ranks)]
        return self._add(cuts, after=index)

    def _add(
        self, lowers: list[int] | list[None], after: int | None = None
    ) -> list[PlainPage]:
        index = len(self.pages) if after is None else after + 1
        new = [
            PlainPage(self.next_number + offset, lower)
            for offset, lower in enumerate(lowers)
        ]
        self.pages[index:index] = new
        self.next_number += len(lowers)
        return new


def _entries(content: Content | None) -> tuple[Entry, ...]:
    return () if content is None else content.entries
