"""
The boundaries of pages, found by skipping along the key's index.

Like the leaves of a B+tree: a page stores its lower bound and owns the keys up to the
next page's. Bounds are only ever compared by the rows' own database.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from django_sitemaps_plus.db import ROWS
from django_sitemaps_plus.exceptions import Filling
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue, plain
from django_sitemaps_plus.sitemaps.sections import (
    SectionSource,
    database_of,
    items_of,
    repeats,
    rows_between,
)
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE

from .cutting import filled_to, halves, tail
from .models import Page, Section
from .places import count_lower_bounds
from .queries import (
    LEASE,
    WAIT,
    divide_anew,
    forget_damaged,
    has_first,
    is_first,
    lease,
    ledger,
    lost,
    ordered,
    pages,
    section_row,
    sections,
    upper_of,
)

#: Room between the positions of two pages.
GAP = 1 << 32


#: Seconds between two writes of the bounds found so far.
_WRITE_EVERY = 0.5

#: Called with the number of pages so far.
FillProgress = Callable[[int], object]


@dataclass(frozen=True)
class KeyRange:
    """Finds keys by counting rows along the key's index."""

    source: SectionSource
    key: Key

    @classmethod
    def of(cls, source: SectionSource) -> KeyRange:
        """Return the range of all keys of a section that is paged by key."""
        if source.key is None:
            raise TypeError(f"The section {source.name!r} is paged by position.")
        return cls(source=source, key=source.key)

    def rows(self, lower: KeyValue | None, upper: KeyValue | None) -> QuerySet[Any]:
        """Return the rows of a range, without anything that only entries need."""
        items = QuerySet.order_by(items_of(self.source.sitemap))
        return rows_between(items.using(database_of(items)), self.key, lower, upper)

    def nth_key_after(
        self, lower: KeyValue | None, rows: int, upper: KeyValue | None = None
    ) -> KeyValue | None:
        """
        Return the key of the row that ``rows`` rows precede, if there is one.

        Raises ``ConfigurationError`` if the rows before it all have its key.
        """
        found = plain(self.key.order(self.rows(lower, upper)))
        key = next(iter(found.values_list(*self.key.names)[rows : rows + 1]), None)
        if key is not None and key == lower and rows:
            # Going on from here would not get any further.
            raise repeats(self.source)
        return key

    def count(self, lower: KeyValue | None, upper: KeyValue | None) -> int:
        """Return how many rows a range has."""
        return plain(self.rows(lower, upper)).count()


def bounds_of(key: Key, page: Page) -> tuple[KeyValue | None, KeyValue | None]:
    """
    Return the first key of a page and that of the next; None means no bound.

    Raises ``Busy`` if they are damaged: the section is divided anew.
    """
    texts = page.lower, upper_of(page)
    lower, upper = (None if text is None else key.read(text) for text in texts)
    unread = [text for text in texts if text is not None and key.read(text) is None]
    if unread or (lower is None) != is_first(page):
        divide_anew(page.section, page)
    return lower, upper


def refuse_disorder(key_range: KeyRange, page: Page) -> None:
    """
    Raise ``Busy`` if the next page begins before a page: the section is divided anew.

    To be asked of a page that has no rows: another one's bounds are in order.
    """
    lower, upper = page.lower, upper_of(page)
    if lower is None or upper is None:
        return
    rows = key_range.rows(None, None)
    if count_lower_bounds(key_range.key, rows.db, [lower], [upper])[lower]:
        divide_anew(page.section, page)


@PLACEHOLDER_SITE.rendering()
def fill(
    source: SectionSource,
    seconds: float | None = None,
    progress: FillProgress | None = None,
) -> Section:
    """
    Find the bounds of all pages of a section, where that is still to be done.

    Goes on where an earlier call stopped or died. ``progress`` is called with the
    number of pages after every write. Raises ``Filling`` when ``seconds`` are over,
    ``Busy`` when another process is at it for longer than that.
    """
    key_range = KeyRange.of(source)
    section = section_row(source.name, key_range.key)
    if section.filled and has_first(section):
        return section
    if section.filled:
        forget_damaged(section)
    started = time.monotonic()
    wait = 10 if seconds is None else min(seconds, WAIT)
    with lease(section, wait, asked=seconds is not None) as owner:
        section.refresh_from_db(using=ledger())
        if not section.filled:
            deadline = None if seconds is None else started + seconds
            _Filling(key_range, section, owner, deadline, progress).run()
    return section


@dataclass
class _Filling:
    """One run of ``fill``, under the section's lease."""

    key_range: KeyRange
    section: Section
    owner: str
    deadline: float | None
    progress: FillProgress | None

    def run(self) -> None:
        size = filled_to(self.key_range.source.items_per_page)
        last = self._last_page()
        start = None if last.lower is None else self.key_range.key.read(last.lower)
        if last.lower is not None and start is None:
            # It cannot be read: all begins anew.
            ordered(self.section).delete()
            last = self._last_page()
        before, pending = start, list[KeyValue]()
        written = time.monotonic()
        while (found := self.key_range.nth_key_after(start, size)) is not None:
            if pending:
                before = pending[-1]
            pending.append(found)
            start = found
            now = time.monotonic()
            late = self._late()
            # The last bound waits, for the tail may still fit the page before it;
            # but every run brings one at least, however little time it has.
            if len(pending) > 1 and (late or now - written >= _WRITE_EVERY):
                last = self._write(last, pending[:-1])
                pending, written = pending[-1:], now
                if late:
                    raise Filling(
                        f"The section {self.section.name!r} is being divided into "
                        f"pages ({last.number} so far)."
                    )
        most = self.key_range.source.items_per_page
        if pending and self.key_range.nth_key_after(before, most) is None:
            pending.pop()
        self._write(last, pending, filled=True)

    def _late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _last_page(self) -> Page:
        last = ordered(self.section).last()
        if last is None:
            with transaction.atomic(using=ledger()):
                last = _create_pages(self.section, self.owner, [None], [0])[-1]
        return last

    def _write(
        self, last: Page, bounds: list[KeyValue], *, filled: bool = False
    ) -> Page:
        """Write some bounds after the last page; returns what is then the last."""
        with transaction.atomic(using=ledger()):
            if bounds:
                last = _create_pages(
                    self.section,
                    self.owner,
                    [self.key_range.key.dumps(bound) for bound in bounds],
                    [last.position + GAP * step for step in range(1, len(bounds) + 1)],
                )[-1]
            if filled:
                held = sections().filter(pk=self.section.pk, claimed_by=self.owner)
                if not held.update(filled=True):
                    raise lost(self.section)
                self.section.filled = True
        sections().filter(pk=self.section.pk).take(self.owner, LEASE)
        if self.progress is not None:
            self.progress(last.number)
        return last


def cuts(key_range: KeyRange, page: Page, fitting: int, most: int) -> list[KeyValue]:
    """
    Return the keys at which a page is cut of whose rows only ``fitting`` fit.

    As ``cutting`` says, ``most`` times at most: what is still too large is cut when it
    is built.
    """
    lower, upper = bounds_of(key_range.key, page)
    # How many bytes the rest has is not known: one long entry would else be reason
    # to cut thousands of pages.
    limit = key_range.source.items_per_page
    if upper is None:
        steps = tail(limit, fitting, most)
    else:
        steps = halves(limit, fitting, most, key_range.count(lower, upper))
    found: list[KeyValue] = []
    cut = lower
    for step in steps:
        cut = key_range.nth_key_after(cut, step, upper)
        if cut is None:
            break
        found.append(cut)
    return found


def _create_pages(
    section: Section,
    owner: str,
    lowers: Sequence[str | None],
    positions: Sequence[int],
) -> list[Page]:
    """
    Add pages to ``section``, as the lease's owner, inside a transaction.

    Raises ``Busy`` if the lease was lost: then another process's bounds stand.
    """
    first = sections().take_numbers(section, owner, len(lowers))
    if first is None:
        raise lost(section)
    numbers = range(first, first + len(lowers))
    pages().bulk_create(
        Page(section=section, number=number, lower=lower, position=position)
        for number, lower, position in zip(numbers, lowers, positions, strict=True)
    )
    # Not every database tells the primary keys of what was inserted.
    found = pages().filter(section=section, number__in=numbers).order_by("number")
    return list(found.select_related("section"))


def split_after(page: Page, owner: str, lowers: Sequence[str]) -> list[Page]:
    """
    Add pages that begin at ``lowers`` between a page and the one that follows it.

    In a transaction, as the owner of the section's lease; raises ``Busy`` without it.
    """
    return _create_pages(page.section, owner, lowers, _positions(page, len(lowers)))


def _positions(page: Page, count: int) -> list[int]:
    """Return ``count`` positions after ``page``, before the page that follows."""
    siblings = pages().filter(section=page.section_id)
    positions = siblings.values_list("position", flat=True)
    # As it is now, under the lease: ``_spread`` may have moved it since it was read.
    start = positions.get(pk=page.pk)
    following = positions.filter(position__gt=start).order_by("position").first()
    if following is None:
        return [start + GAP * (index + 1) for index in range(count)]
    step = (following - start) // (count + 1)
    if step == 0:
        _spread(page.section)
        return _positions(page, count)
    return [start + step * (index + 1) for index in range(count)]


def _spread(section: Section) -> None:
    """Make room again between the positions of all pages of ``section``."""
    spread = list(ordered(section).only("pk", "position"))
    # Upwards from behind the last one, so that no reader sees two orders mixed.
    start = (spread[-1].position if spread else 0) + GAP
    for index, page in enumerate(spread):
        page.position = start + index * GAP
    pages().bulk_update(spread, ["position"], batch_size=ROWS)
