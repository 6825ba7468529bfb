"""
The boundaries of pages, found by skipping along the key's index.

Like the leaves of a B+tree: a page stores its lower bound and owns the keys up to the
next page's. Bounds are only ever compared by the rows' own database.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from django_sitemaps_plus.exceptions import Filling
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.sections import (
    SectionSource,
    bounded,
    database_of,
    items_of,
    repeats,
)
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, rendering_context

from .models import Page, Section
from .queries import (
    LEASE,
    WAIT,
    lease,
    ledger,
    lost,
    ordered,
    section_row,
    sections,
    upper_of,
)
from .splits import GAP, create_pages

#: Pages inside the range are filled to this share, so that a late commit or a row
#: that is published again does not split them.
FILL = 0.9
#: Seconds between two writes of the bounds found so far.
_WRITE_EVERY = 0.5

#: Called with the number of pages so far.
Progress = Callable[[int], object]


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
        items = items_of(self.source.sitemap).order_by()
        return bounded(items.using(database_of(items)), self.key, lower, upper)

    def nth_key_after(
        self, lower: KeyValue | None, rows: int, upper: KeyValue | None = None
    ) -> KeyValue | None:
        """
        Return the key of the row that ``rows`` rows precede, if there is one.

        Raises ``ConfigurationError`` if the rows before it all have its key.
        """
        found = self.key.order(self.rows(lower, upper))
        key = next(iter(found.values_list(*self.key.names)[rows : rows + 1]), None)
        if key is not None and key == lower and rows:
            # Going on from here would not get any further.
            raise repeats(self.source)
        return key

    def count(self, lower: KeyValue | None, upper: KeyValue | None) -> int:
        """Return how many rows a range has."""
        return self.rows(lower, upper).count()


def bounds_of(key: Key, page: Page) -> tuple[KeyValue | None, KeyValue | None]:
    """Return the first key of a page and that of the next; None is no bound."""
    upper = upper_of(page)
    return (
        None if page.lower is None else key.loads(page.lower),
        None if upper is None else key.loads(upper),
    )


@rendering_context(PLACEHOLDER_SITE)
def fill(
    source: SectionSource,
    seconds: float | None = None,
    progress: Progress | None = None,
) -> Section:
    """
    Find the bounds of all pages of a section, where that is still to be done.

    Goes on where an earlier call stopped or died. ``progress`` is called with the
    number of pages after every write. Raises ``Filling`` when ``seconds`` are over,
    ``Busy`` when another process is at it for longer than that.
    """
    key_range = KeyRange.of(source)
    section = section_row(source.name, key_range.key)
    if section.filled:
        return section
    started = time.monotonic()
    asked = seconds is not None
    wait = 10 if seconds is None else min(seconds, WAIT)
    with lease(section, wait, asked=asked) as owner:
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
    progress: Progress | None

    def run(self) -> None:
        size = max(1, math.floor(self.key_range.source.items_per_page * FILL))
        last = self._last_page()
        start = None if last.lower is None else self.key_range.key.loads(last.lower)
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
                last = create_pages(self.section, self.owner, [None], [0])[-1]
        return last

    def _write(
        self, last: Page, bounds: list[KeyValue], *, filled: bool = False
    ) -> Page:
        """Write some bounds after the last page; returns what is then the last."""
        with transaction.atomic(using=ledger()):
            if bounds:
                last = create_pages(
                    self.section,
                    self.owner,
                    [self.key_range.key.dumps(bound) for bound in bounds],
                    [last.position + GAP * step for step in range(1, len(bounds) + 1)],
                )[-1]
            if filled:
                held = sections().filter(pk=self.section.pk, lease_owner=self.owner)
                if not held.update(filled=True):
                    raise lost(self.section)
                self.section.filled = True
        sections().take_lease(self.section.pk, self.owner, LEASE)
        if self.progress is not None:
            self.progress(last.number)
        return last


def cuts(key_range: KeyRange, page: Page, fitting: int, most: int) -> list[KeyValue]:
    """
    Return the keys at which a page is cut of whose rows only ``fitting`` fit.

    At the right edge a new page takes the tail, so that nothing moves as keys grow;
    elsewhere the page is cut into as many equal pieces as it needs. ``most`` at most:
    what is still too large is cut when it is built.
    """
    lower, upper = bounds_of(key_range.key, page)
    # How many bytes the rest has is not known: one long entry would else be reason
    # to cut thousands of pages.
    size = max(1, math.floor(key_range.source.items_per_page * FILL))
    if upper is None:
        steps = [max(1, fitting), *[size] * (most - 1)]
    else:
        count = key_range.count(lower, upper)
        pieces = min(most + 1, max(2, math.ceil(count / size)))
        ends = [count * piece // pieces for piece in range(pieces)]
        # The first piece has to fit: what it has listed is known of it alone.
        ends[1] = max(1, min(ends[1], fitting))
        steps = [max(1, stop - start) for start, stop in pairwise(ends)]
    found: list[KeyValue] = []
    cut = lower
    for step in steps:
        cut = key_range.nth_key_after(cut, step, upper)
        if cut is None:
            break
        found.append(cut)
    return found
