"""
The boundaries of pages, found by skipping along the key's index.

Like the leaves of a B+tree: a page stores its lower bound and owns the keys up to the
next page's. Bounds are only ever compared by the rows' own database.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from django.db import transaction

from django_sitemaps_plus.db import ROWS
from django_sitemaps_plus.exceptions import Filling
from django_sitemaps_plus.sitemaps.keys import KeyValue, plain
from django_sitemaps_plus.sitemaps.sections import SectionSource, repeats
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


def nth_key_after(
    source: SectionSource,
    lower: KeyValue | None,
    rows: int,
    upper: KeyValue | None = None,
) -> KeyValue | None:
    """
    Return the key of the row that ``rows`` rows precede, if there is one.

    Found along the key's index. Raises ``ConfigurationError`` if the rows before it all
    have its key.
    """
    found = source.paged_by.values(source.paged_by.order(source.rows(lower, upper)))
    key = next(iter(found[rows : rows + 1]), None)
    if key is not None and key == lower and rows:
        # Going on from here would not get any further.
        raise repeats(source)
    return key


def bounds_of(
    source: SectionSource, page: Page
) -> tuple[KeyValue | None, KeyValue | None]:
    """
    Return the first key of a page and that of the next; None means no bound.

    Raises ``Busy`` if they are damaged: the section is divided anew.
    """
    key, texts = source.paged_by, (page.lower, upper_of(page))
    lower, upper = (None if text is None else key.read(text) for text in texts)
    unread = [text for text in texts if text is not None and key.read(text) is None]
    if unread or (lower is None) != is_first(page):
        divide_anew(page.section, page)
    return lower, upper


def refuse_disorder(source: SectionSource, page: Page) -> None:
    """
    Raise ``Busy`` if the next page begins before a page: the section is divided anew.

    To be asked of a page that has no rows: another one's bounds are in order.
    """
    lower, upper = page.lower, upper_of(page)
    if lower is None or upper is None:
        return
    if count_lower_bounds(source.paged_by, source.rows().db, [lower], [upper])[lower]:
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
    section = section_row(source.name, source.paged_by)
    if section.filled and has_first(section):
        return section
    if section.filled:
        forget_damaged(section)
    started = time.monotonic()
    wait = 10 if seconds is None else min(seconds, WAIT)
    with lease(section, wait, asked=seconds is not None) as owner:
        section.refresh_from_db(using=ledger())
        if not section.filled:
            deadline = math.inf if seconds is None else started + seconds
            _fill_on(source, section, owner, deadline, progress)
    return section


def _fill_on(
    source: SectionSource,
    section: Section,
    owner: str,
    deadline: float,
    progress: FillProgress | None,
) -> None:
    """Find the bounds that are missing, under the section's lease."""
    key, most = source.paged_by, source.items_per_page

    def write(last: Page, bounds: list[KeyValue], *, filled: bool = False) -> Page:
        """Write some bounds after the last page; returns what is then the last."""
        with transaction.atomic(using=ledger()):
            if bounds:
                texts = [key.dumps(bound) for bound in bounds]
                steps = range(1, len(bounds) + 1)
                positions = [last.position + GAP * step for step in steps]
                last = _create_pages(section, owner, texts, positions)[-1]
            if filled:
                held = sections().filter(pk=section.pk, claimed_by=owner)
                if not held.update(filled=True):
                    raise lost(section)
                section.filled = True
        sections().filter(pk=section.pk).take(owner, LEASE)
        if progress is not None:
            progress(last.number)
        return last

    last = ordered(section).last()
    start = None if last is None or last.lower is None else key.read(last.lower)
    if last is not None and last.lower is not None and start is None:
        # It cannot be read: all begins anew.
        ordered(section).delete()
        last = None
    if last is None:
        with transaction.atomic(using=ledger()):
            (last,) = _create_pages(section, owner, [None], [0])
    before, pending = start, list[KeyValue]()
    written = time.monotonic()
    while (found := nth_key_after(source, start, filled_to(most))) is not None:
        if pending:
            before = pending[-1]
        pending.append(found)
        start = found
        now = time.monotonic()
        # The last bound waits, for the tail may still fit the page before it; but
        # every run brings one at least, however little time it has.
        if len(pending) > 1 and (now >= deadline or now - written >= _WRITE_EVERY):
            last = write(last, pending[:-1])
            pending, written = pending[-1:], now
            if now >= deadline:
                raise Filling(
                    f"The section {section.name!r} is being divided into pages "
                    f"({last.number} so far)."
                )
    if pending and nth_key_after(source, before, most) is None:
        pending.pop()
    write(last, pending, filled=True)


def cuts(source: SectionSource, page: Page, fitting: int, most: int) -> list[KeyValue]:
    """
    Return the keys at which a page is cut of whose rows only ``fitting`` fit.

    As ``cutting`` says, ``most`` times at most: what is still too large is cut when it
    is built.
    """
    lower, upper = bounds_of(source, page)
    # How many bytes the rest has is not known: one long entry would else be reason
    # to cut thousands of pages.
    limit = source.items_per_page
    if upper is None:
        steps = tail(limit, fitting, most)
    else:
        count = plain(source.rows(lower, upper)).order_by().count()
        steps = halves(limit, fitting, most, count)
    found: list[KeyValue] = []
    cut = lower
    for step in steps:
        cut = nth_key_after(source, cut, step, upper)
        if cut is None:
            break
        found.append(cut)
    return found


def _create_pages(
    section: Section, owner: str, lowers: Sequence[str | None], positions: Sequence[int]
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
