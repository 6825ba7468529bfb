"""A batch's text in bulk: columns put between the literals of one template."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.protocol.writers import alternate_xml

from .columns import Constant, LastmodColumn, Pieces


@dataclass(frozen=True, slots=True)
class Texts:
    """The text of a batch's items, all languages of an item together."""

    #: The text of all items that are not bad.
    whole: str
    #: The number of its entries.
    entries: int
    #: Returns the text of each item; None for a bad row.
    each: Callable[[], Sequence[str | None]]

    def at(self, origin: str) -> str:
        """Return the text of all, with an origin in front of paths."""
        return self.whole.replace(ORIGIN_MARK, origin)


def bulk_lastmods(lastmods: LastmodColumn) -> tuple[Pieces | None, str | None] | None:
    """
    Return a batch's lastmod elements, and the newest lastmod.

    None if some lastmods may be illegal.
    """
    present, bulk = lastmods, lastmods.bulk()
    if bulk is None:
        values = [value for value in lastmods.values if value is not None]
        if not values:
            return None, None
        present = replace(lastmods, values=values)
        bulk = present.bulk()
    if bulk is None:
        return None
    texts, suffix = bulk
    newest = max(texts) + suffix
    if present is lastmods:
        return (("<lastmod>", f"{suffix}</lastmod>"), [texts]), newest
    dated = iter(texts)
    elements = [
        "" if value is None else f"<lastmod>{next(dated)}{suffix}</lastmod>"
        for value in lastmods.values
    ]
    return (("", ""), [elements]), newest


def fill_entries(
    locations: dict[str | None, Pieces],
    tail: Sequence[tuple[str, Pieces | None]],
    links: Sequence[tuple[str, Pieces]],
    media: Sequence[Pieces],
    length: int,
) -> Texts:
    """Put a batch's columns between literals; an item's languages stay together."""
    literals: list[str] = [""]
    columns: list[Sequence[str]] = []

    def add(literal: str, pieces: Pieces | None = None) -> None:
        literals[-1] += literal
        if pieces is not None:
            literals[-1] += pieces[0][0]
            literals.extend(pieces[0][1:])
            columns.extend(pieces[1])

    for location in locations.values():
        add(f"<url><loc>{ORIGIN_MARK}", location)
        add("</loc>")
        for literal, filled in tail:
            add(literal, filled)
        for language, link in links:
            # All of it up to the path.
            start = alternate_xml(language, f"{ORIGIN_MARK}/").removesuffix('/"/>')
            add(start, link)
            add('"/>')
        for filled in media:
            add("", filled)
        add("</url>\n")
    return Texts(
        _whole(literals, columns, length),
        length * len(locations),
        lambda: row_by_row(literals, columns, length),
    )


def _whole(
    literals: Sequence[str], columns: Sequence[Sequence[str]], length: int
) -> str:
    """Return all rows as one text; by slices is twice as fast as row by row."""
    if not columns:
        return literals[0] * length
    first, *between, last = literals
    width = 2 * len(columns)
    # literal, value, literal, value, …; a row's last literal and the next row's
    # first one are one.
    cells = [last + first] * (length * width)
    cells[0] = first
    for index, column in enumerate(columns):
        cells[2 * index + 1 :: width] = column
    for index, literal in enumerate(between, 1):
        cells[2 * index :: width] = [literal] * length
    return "".join(cells) + last


def row_by_row(
    literals: Sequence[str], columns: Sequence[Sequence[str]], length: int
) -> list[str]:
    """Return the same, a text for each row."""
    template = "%s".join(literal.replace("%", "%%") for literal in literals)
    rows = zip(*columns, strict=True) if columns else [()] * length
    return [template % row for row in rows]


def fragments(
    values: Sequence[Any], xml: Callable[[Any], str]
) -> tuple[str, Pieces | None]:
    """Return the fragment of each value; equal ones are written once."""
    if isinstance(values, Constant):
        return xml(values.value), None
    # By spelling: 0.5 and Decimal("0.50") are equal, but are not written alike.
    spellings = list(map(repr, values))
    written = {
        spelling: xml(value) for spelling, value in zip(spellings, values, strict=True)
    }
    return "", (("", ""), [[written[spelling] for spelling in spellings]])


def may_hold(
    segment: str, literals: Sequence[str], columns: Sequence[Sequence[str]]
) -> bool:
    """Return whether ``segment`` could be a whole segment of one of these paths."""
    for literal in literals:
        whole = literal == "" or (literal[0] == "/" and literal[-1] == "/")
        if not whole or f"/{segment}/" in literal:
            return True
    return any("/" in "\n".join(column) or segment in column for column in columns)
