"""
The bounds of pages: how a section is divided, and stays divided.

Like the leaves of a B+tree: a page stores its lower bound and owns the keys up to
the next page's. Bounds are found by **hops** (``OFFSET n LIMIT 1`` on the key's
index), and only ever compared by the rows' own database.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.db import OperationalError, connections, router, transaction
from django.db.models import QuerySet, Subquery

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import is_deadlock
from django_sitemaps_plus.exceptions import Busy, Filling
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.sections import SectionSource, bounded, repeats
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, rendering_context

from .models import Page, PageQuerySet, Section, SectionQuerySet

#: Pages inside the range are filled to this share, so that a late commit or a row
#: that is published again does not split them.
FILL = 0.9
#: Seconds after which the lease of a process that died can be taken.
LEASE = 120
#: Room between the positions of two pages.
GAP = 1 << 32
#: Seconds between two writes of the bounds found so far.
_WRITE_EVERY = 0.5
#: Seconds between two looks whether the lease is free.
_POLL = 0.05
#: Times a row is made or found before its absence is an error.
_TRIES = 5

Report = Callable[[int], object]


@dataclass(frozen=True)
class Parts:
    """What a page listed, divided among itself and the pages into which it is split."""

    #: Of each page: the checksum of the kept bytes that hold its part.
    listed: Sequence[str]
    #: Whether pages beside the first one have a part.
    moves: bool


#: Given the number of the first new page and the cuts: the parts, None if not known.
Divide = Callable[[int, Sequence[KeyValue]], Parts | None]


def sections() -> SectionQuerySet:
    """Return the sections, of the database where they are written."""
    found: SectionQuerySet = Section.objects.using(router.db_for_write(Section)).all()
    return found


def pages() -> PageQuerySet:
    """Return the pages, of the database where they are written."""
    found: PageQuerySet = Page.objects.using(router.db_for_write(Page)).all()
    return found


def section_row(name: str, key: Key) -> Section:
    """Return the ledger's row of a section, made if it is not there."""
    section = row_of(name, key=key.signature)
    if section.key != key.signature:
        void(section, key.signature)
    return section


def row_of(name: str, **defaults: Any) -> Section:
    """
    Return the ledger's row of a name, made with ``defaults`` if it is not there.

    Of several who make it at once, InnoDB may take some for deadlocked: these find it
    the next time. Raises that error where the transaction is not ours.
    """
    rows = sections()
    for _ in range(_TRIES):
        try:
            return rows.get_or_create(name=name, defaults=defaults)[0]
        except OperationalError as error:
            if connections[rows.db].in_atomic_block or not is_deadlock(error):
                raise
    return rows.get(name=name)


def is_filled(section: Section, source: SectionSource) -> bool:
    """Tell whether the bounds of all pages are known, and made for this key."""
    return section.filled and section.key == key_range_of(source).key.signature


def void(section: Section, signature: str = "") -> None:
    """
    Forget bounds that were made for another key than ``signature``; the numbers go on.

    Raises ``Busy`` if another process is dividing the section.
    """
    with lease(section) as owner, transaction.atomic(using=sections().db):
        held = sections().filter(pk=section.pk, lease_owner=owner)
        if held.update(key=signature, filled=False):
            pages().filter(section=section).delete()
    section.refresh_from_db()


@contextmanager
def lease(section: Section, wait: float = 10) -> Iterator[str]:
    """
    Hold the lease of ``section``; nobody else changes its bounds meanwhile.

    Raises ``Busy`` if it is not free within ``wait`` seconds.
    """
    owner = uuid.uuid4().hex
    deadline = time.monotonic() + wait
    while not sections().take_lease(section.pk, owner, LEASE):
        if time.monotonic() >= deadline:
            raise Busy(f"Another process is dividing the section {section.name!r}.")
        time.sleep(_POLL)
    try:
        yield owner
    finally:
        sections().drop_lease(section.pk, owner)


def ordered(section: Section) -> PageQuerySet:
    """Return the pages of ``section`` in the order of their keys."""
    return pages().filter(section=section).order_by("position")


def upper_of(page: Page) -> str | None:
    """Return the next page's lower bound; None for the last page."""
    # The position as it is now: ``_spread`` may have moved it since it was read.
    position = pages().filter(pk=page.pk).values("position")
    following = (
        pages()
        .filter(section=page.section_id, position__gt=Subquery(position))
        .order_by("position")
        .values_list("lower", flat=True)
        .first()
    )
    return following


@dataclass(frozen=True)
class KeyRange:
    """Finds keys by counting rows along the key's index."""

    source: SectionSource
    key: Key

    def rows(self, lower: KeyValue | None, upper: KeyValue | None) -> QuerySet[Any]:
        """Return the rows of a range, without anything that only entries need."""
        items = self.source.sitemap.items().order_by()
        return bounded(items, self.key, lower, upper)

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


@rendering_context(PLACEHOLDER_SITE)
def first_key(source: SectionSource, page: Page) -> KeyValue | None:
    """Return the first key of a page's rows; None if it has no row."""
    key_range = key_range_of(source)
    upper = upper_of(page)
    return key_range.nth_key_after(
        None if page.lower is None else key_range.key.loads(page.lower),
        0,
        None if upper is None else key_range.key.loads(upper),
    )


def key_range_of(source: SectionSource) -> KeyRange:
    """Return the keys of a section that is paged by key."""
    if source.key is None:
        raise TypeError(f"The section {source.name!r} is paged by position.")
    return KeyRange(source=source, key=source.key)


@rendering_context(PLACEHOLDER_SITE)
def fill(
    source: SectionSource, seconds: float | None = None, report: Report | None = None
) -> Section:
    """
    Find the bounds of all pages of a section, where that is still to be done.

    Goes on where an earlier call stopped or died. ``report`` is told the number of
    pages after every write. Raises ``Filling`` when ``seconds`` are over, ``Busy``
    when another process is at it for longer than that.
    """
    section = section_row(source.name, key_range_of(source).key)
    if section.filled:
        return section
    started = time.monotonic()
    with lease(section, wait=10 if seconds is None else seconds) as owner:
        section.refresh_from_db()
        if not section.filled:
            deadline = None if seconds is None else started + seconds
            _Filling(key_range_of(source), section, owner, deadline, report).run()
    return section


@dataclass
class _Filling:
    """One run of ``fill``, under the section's lease."""

    key_range: KeyRange
    section: Section
    owner: str
    deadline: float | None
    report: Report | None

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
            with transaction.atomic(using=pages().db):
                last = create_pages(self.section, self.owner, [None], [0])[-1]
        return last

    def _write(
        self, last: Page, bounds: list[KeyValue], *, filled: bool = False
    ) -> Page:
        """Write some bounds after the last page; returns what is then the last."""
        with transaction.atomic(using=pages().db):
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
                    raise _lost(self.section)
                self.section.filled = True
        sections().take_lease(self.section.pk, self.owner, LEASE)
        if self.report is not None:
            self.report(last.number)
        return last


def create_pages(
    section: Section,
    owner: str,
    lowers: Sequence[str | None],
    positions: Sequence[int],
    values: Sequence[Mapping[str, Any]] = (),
) -> list[Page]:
    """
    Add pages to ``section``, as the lease's owner, inside a transaction.

    With further ``values`` for each, if there are any.
    Raises ``Busy`` if the lease was lost: then another process's bounds stand.
    """
    first = sections().take_numbers(section, owner, len(lowers))
    if first is None:
        raise _lost(section)
    return pages().bulk_create(
        Page(
            section=section, number=first + index, lower=lower, position=position, **own
        )
        for index, (lower, position, own) in enumerate(
            zip(lowers, positions, values or [{}] * len(lowers), strict=True)
        )
    )


def _lost(section: Section) -> Busy:
    return Busy(f"The lease of the section {section.name!r} was lost.")


@rendering_context(PLACEHOLDER_SITE)
def split(source: SectionSource, page: Page, fitting: int, divide: Divide) -> None:
    """
    Divide a page of whose rows only the first ``fitting`` fit.

    At the right edge a new page takes the tail, so that nothing moves as keys
    grow; elsewhere the page is cut into as many equal pieces as it needs. If that
    moves entries that the page had listed, it keeps its bytes for ``SPLIT_GRACE``.
    What each of them is compared with when it is made, ``divide`` tells. A page that
    somebody else has changed meanwhile is left alone.
    """
    key_range = key_range_of(source)
    with lease(page.section) as owner:
        page.section.refresh_from_db()
        upper = upper_of(page)
        bounds = _cuts(key_range, page, upper, fitting)
        if not bounds:
            return
        lowers = [key_range.key.dumps(bound) for bound in bounds]
        parts = divide(page.section.next_number, bounds)
        listed = [""] * (len(bounds) + 1) if parts is None else parts.listed
        now = time.time()
        with transaction.atomic(using=pages().db):
            changes: dict[str, Any] = {"listed": listed[0]}
            moves = page.checksum and (parts is None or parts.moves)
            # One that is split again stands in no longer than it would have.
            if moves and page.grace_until <= now:
                changes["grace_until"] = now + get_settings().SPLIT_GRACE
            if not pages().made(page, **changes):
                return
            positions = _positions(page, len(lowers))
            values = [{"listed": part, "digest": page.digest} for part in listed[1:]]
            create_pages(page.section, owner, lowers, positions, values)


def _cuts(
    key_range: KeyRange, page: Page, upper: str | None, fitting: int
) -> list[KeyValue]:
    """Return the keys at which ``page`` is cut."""
    lower = None if page.lower is None else key_range.key.loads(page.lower)
    end = None if upper is None else key_range.key.loads(upper)
    # How many bytes the rest has is not known: one long entry would else be reason
    # to cut thousands of pages. What is still too long is cut when it is made.
    size = max(1, math.floor(key_range.source.items_per_page * FILL))
    cuts: list[KeyValue] = []
    if end is None:
        cut = key_range.nth_key_after(lower, max(1, fitting))
        while cut is not None:
            cuts.append(cut)
            cut = key_range.nth_key_after(cut, size)
        return cuts
    count = key_range.count(lower, end)
    pieces = max(2, math.ceil(count / size))
    ends = [count * piece // pieces for piece in range(pieces)]
    cut = lower
    for start, stop in pairwise(ends):
        cut = key_range.nth_key_after(cut, max(1, stop - start), end)
        if cut is None:
            break
        cuts.append(cut)
    return cuts


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
    pages().bulk_update(spread, ["position"], batch_size=500)
