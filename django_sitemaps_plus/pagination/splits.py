"""New pages beside others: their numbers and their positions."""

from __future__ import annotations

from collections.abc import Sequence

from .models import Page, Section
from .queries import lost, ordered, pages, sections

#: Room between the positions of two pages.
GAP = 1 << 32


def create_pages(
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
    positions = _positions(page, len(lowers))
    return create_pages(page.section, owner, lowers, positions)


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
