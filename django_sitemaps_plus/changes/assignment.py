"""
Which page a change concerns: the keys that were recorded are assigned to pages.

Keys are compared by the rows' own database, but for whole numbers, dates and decimals.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import connections, transaction
from django.db.models import DateField, DecimalField, F, IntegerField

from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.pagination.models import Section
from django_sitemaps_plus.pagination.queries import ordered, pages, sections
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.sections import SectionSource, database_of
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, rendering_context

from .queries import changes
from .related import rows_concerned
from .schedule import record_crossed

#: Changes read at a time.
CHUNK = 1_000
#: Bounds that a database sorts at a time.
BOUNDS = 500


def unassign(name: str, page: int) -> None:
    """Have the pages of a page's changes looked for again."""
    changes(name).filter(page=page).update(page=None)


class _Row(NamedTuple):
    """A change whose page is to be found."""

    pk: int
    key: str
    upto: str | None
    related: str


@rendering_context(PLACEHOLDER_SITE)
def assign(source: SectionSource, section: Section, seconds: float = 1.0) -> bool:
    """
    Find the pages that own the recorded keys, for ``seconds`` at most.

    Ranges, and related objects that changed, mark pages for comparison, and are
    deleted. Nothing is done while the section's bounds are not known: they will be
    found with the rows as they are then. Returns whether there was anything:
    then pages that were read before may be marked by now.
    """
    ticked = record_crossed(source, section)
    deadline = time.monotonic() + seconds
    bounds: _Bounds | None = None
    last = 0
    while time.monotonic() < deadline:
        rows = _unassigned(source.name, last)
        if not rows:
            return ticked or bool(last)
        bounds = bounds or _Bounds.of(source, section)
        if bounds is None:
            return ticked
        keys = {row.pk: row.key for row in rows if bounds.is_single(row)}
        others = [row for row in rows if row.pk not in keys]
        found = bounds.pages(set(keys.values()))
        write = partial(_write, source, bounds, keys, found, others)
        if retrying(changes().db, write):
            if len(rows) < CHUNK:
                return True
            last = rows[-1].pk
        else:
            # A page was divided meanwhile.
            bounds = None
    return True


@rendering_context(PLACEHOLDER_SITE)
def pages_of(source: SectionSource, keys: Iterable[str]) -> Mapping[str, int]:
    """Return the number of the page that owns each key; empty if that is not known."""
    section = sections().filter(name=source.name).first()
    bounds = None if section is None else _Bounds.of(source, section)
    return {} if bounds is None else bounds.pages(keys)


def _write(
    source: SectionSource,
    bounds: _Bounds,
    keys: Mapping[int, str],
    found: Mapping[str, int],
    others: Sequence[_Row],
) -> bool:
    """Assign keys to pages, unless a page was divided since the bounds were read."""
    by_page: dict[int, list[int]] = {}
    for pk, key in keys.items():
        by_page.setdefault(found[key], []).append(pk)
    with transaction.atomic(using=changes().db):
        if not bounds.lock():
            return False
        for page, ids in by_page.items():
            changes(source.name).filter(pk__in=ids).update(page=page)
        _mark_pages(source, others, bounds)
    return True


def _unassigned(name: str, after: int) -> list[_Row]:
    rows = changes(name).filter(page=None, pk__gt=after).order_by("pk")
    values = rows.values_list("pk", "key", "upto", "related")
    return [_Row(*row) for row in values[:CHUNK]]


def _mark_pages(source: SectionSource, rows: Sequence[_Row], bounds: _Bounds) -> None:
    """Have the pages compared that ranges cross, or whose rows depend on an object."""
    if not rows:
        return
    with transaction.atomic(using=changes().db):
        numbers = {number for row in rows for number in _concerned(source, row, bounds)}
        marked = pages().filter(section=bounds.section)
        if len(numbers) < len(bounds.numbers):
            marked = marked.filter(number__in=numbers)
        marked.mark()
        changes().filter(pk__in=[row.pk for row in rows]).delete()


def _concerned(source: SectionSource, row: _Row, bounds: _Bounds) -> Iterable[int]:
    if not row.related:
        return bounds.crossed(row)
    keys = rows_concerned(source, row.related, row.key)
    if keys is None:
        return bounds.numbers
    return set(bounds.pages(key for key in keys if bounds.reads(key)).values())


@dataclass
class _Bounds:
    """The pages of a section in the order of their keys, and their lower bounds."""

    database: str
    key: Key
    section: int
    #: Counts up when a page is divided.
    next_number: int
    numbers: list[int]
    #: Of all pages but the first.
    lowers: list[str]

    @classmethod
    def of(cls, source: SectionSource, section: Section) -> _Bounds | None:
        """Return the bounds of a section; None if they are not known just now."""
        key = source.key
        if key is None:
            return None
        filled = ordered(section).filter(
            section__filled=True, section__key=key.signature
        )
        rows = list(filled.values_list("number", "lower", "section__next_number"))
        if not rows:
            return None
        lowers = [lower for _, lower, _ in rows if lower is not None]
        numbers = [number for number, _, _ in rows]
        database = database_of(source.sitemap.items())
        return cls(database, key, section.pk, rows[0][2], numbers, lowers)

    def lock(self) -> bool:
        """Keep pages from being divided; False if one was since these were read."""
        rows = sections().filter(pk=self.section, filled=True)
        rows = rows.filter(next_number=self.next_number)
        if connections[rows.db].vendor == "sqlite":
            # There a reader cannot become a writer: to write comes first.
            return bool(rows.update(next_number=F("next_number")))
        return bool(list(rows.select_for_update().values_list("pk")))

    def is_single(self, row: _Row) -> bool:
        """Return whether a change is of one key."""
        return row.upto is None and not row.related and self.reads(row.key)

    def reads(self, key: str) -> bool:
        """Return whether a key can be read: older code may write another kind."""
        try:
            self.key.loads(key)
        except (ValueError, TypeError, ArithmeticError, ValidationError):
            return False
        return True

    def pages(self, keys: Iterable[str]) -> dict[str, int]:
        """Return the number of the page that owns each key."""
        return {key: self.numbers[index] for key, index in self.places(keys).items()}

    def crossed(self, row: _Row) -> list[int]:
        """Return the numbers of the pages that a range crosses: all if not known."""
        if row.upto is None or not (self.reads(row.key) and self.reads(row.upto)):
            return self.numbers
        places = self.places({row.key, row.upto})
        return self.numbers[places[row.key] : places[row.upto] + 1]

    def places(self, keys: Iterable[str]) -> dict[str, int]:
        """Return how many lower bounds are at or before each key."""
        key, wanted = self.key, list(keys)
        if not wanted:
            return {}
        if _is_python_ordered(key):
            lowers = [key.loads(lower) for lower in self.lowers]
            return {text: bisect_right(lowers, key.loads(text)) for text in wanted}
        return _sorted_places(self, wanted, self.lowers)


def _is_python_ordered(key: Key) -> bool:
    ordered = (IntegerField, DateField, DecimalField)
    return all(isinstance(column, ordered) for column in key.fields)


def _sorted_places(
    bounds: _Bounds, keys: list[str], lowers: Sequence[str]
) -> dict[str, int]:
    """Do the same in the rows' own database, some hundred bounds at a time."""
    places: dict[str, int] = {}
    step = max(1, -(-len(lowers) // BOUNDS))
    for start in range(0, len(keys), CHUNK):
        some = keys[start : start + CHUNK]
        coarse = _merged(bounds, some, lowers[::step])
        if step == 1:
            places.update(coarse)
            continue
        groups: dict[int, list[str]] = {}
        for text, place in coarse.items():
            groups.setdefault(place, []).append(text)
        for place, texts in groups.items():
            first = max(0, (place - 1) * step)
            fine = _sorted_places(bounds, texts, lowers[first : place * step])
            places.update({text: first + inner for text, inner in fine.items()})
    return places


def _merged(bounds: _Bounds, keys: list[str], lowers: Sequence[str]) -> dict[str, int]:
    """
    Let the database sort keys and bounds together; returns each key's place.

    The first part of the UNION is the column itself, without a row: it gives the
    others its type and its collation.
    """
    if not lowers:
        return dict.fromkeys(keys, 0)
    key, connection = bounds.key, connections[bounds.database]
    quote = connection.ops.quote_name
    table = quote(key.fields[0].model._meta.db_table)
    columns = [quote(str(known.column)) for known in key.fields]
    rows = [(text, 0, number) for number, text in enumerate(lowers, 1)]
    rows.extend((text, 1, index) for index, text in enumerate(keys))
    params: list[Any] = []
    for text, kind, number in rows:
        params += [*_params(bounds, key.loads(text)), kind, number]
    row = ", ".join(["%s"] * (len(columns) + 2))
    if connection.vendor == "mysql":
        values = " UNION ALL ".join([f"SELECT {row}"] * len(rows))
    else:
        values = f"VALUES {', '.join([f'({row})'] * len(rows))}"
    names = ", ".join(f"k{index}" for index in range(len(columns)))
    selected = ", ".join(
        f"{column} AS k{index}" for index, column in enumerate(columns)
    )
    statement = (
        f"SELECT kind, number FROM (SELECT {selected}, 0 AS kind, 0 AS number "  # noqa: S608 (names)
        f"FROM {table} WHERE 1 = 0 UNION ALL {values}) merged ORDER BY {names}, kind"
    )
    places, place = {}, 0
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        for kind, number in cursor.fetchall():
            if kind:
                places[keys[number]] = place
            else:
                place = number
    return places


def _params(bounds: _Bounds, value: KeyValue) -> list[Any]:
    connection = connections[bounds.database]
    return [
        column.get_db_prep_value(part, connection, prepared=False)
        for column, part in zip(bounds.key.fields, value, strict=True)
    ]
