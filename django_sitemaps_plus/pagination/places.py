"""
Finds between which bounds keys are, as the rows' own database orders them.

Python compares whole numbers, dates and decimals itself: all databases order these
alike.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from django.db import connections
from django.db.models import DateField, DecimalField, IntegerField

from django_sitemaps_plus.db import parts
from django_sitemaps_plus.sitemaps.keys import Key

#: Keys that are looked at together.
KEYS_AT_ONCE = 1_000
#: Bounds that a database sorts at a time.
BOUNDS = 500


class DamagedError(Exception):
    """Bounds that cannot be read, or are not in order."""


def count_lower_bounds(
    key: Key, database: str, keys: Iterable[str], lowers: Sequence[str]
) -> dict[str, int]:
    """
    Return how many lower bounds are at or before each key.

    Raises ``DamagedError`` where that cannot be said of the bounds.
    """
    wanted = list(keys)
    if not wanted:
        return {}
    if not is_python_ordered(key):
        return _sorted_places(key, database, wanted, lowers)
    read = [value for text in lowers if (value := key.read(text)) is not None]
    if len(read) < len(lowers) or any(a >= b for a, b in pairwise(read)):
        raise DamagedError
    return {text: bisect_right(read, key.loads(text)) for text in wanted}


def is_python_ordered(key: Key) -> bool:
    """Return whether Python orders keys as each database does."""
    ordered = (IntegerField, DateField, DecimalField)
    return all(isinstance(column, ordered) for column in key.fields)


def _sorted_places(
    key: Key, database: str, keys: list[str], lowers: Sequence[str]
) -> dict[str, int]:
    """Do the same in the rows' own database, some hundred bounds at a time."""
    places: dict[str, int] = {}
    step = max(1, -(-len(lowers) // BOUNDS))
    for some in parts(keys, KEYS_AT_ONCE):
        coarse = _merged(key, database, some, lowers[::step])
        if step == 1:
            places.update(coarse)
            continue
        groups: dict[int, list[str]] = {}
        for text, place in coarse.items():
            groups.setdefault(place, []).append(text)
        for place, texts in groups.items():
            first = max(0, (place - 1) * step)
            fine = _sorted_places(key, database, texts, lowers[first : place * step])
            places.update({text: first + inner for text, inner in fine.items()})
    return places


def _merged(
    key: Key, database: str, keys: list[str], lowers: Sequence[str]
) -> dict[str, int]:
    """
    Let the database sort keys and bounds together; returns each key's place.

    The first part of the UNION is the column itself, without a row: it gives the
    others its type and its collation.
    """
    if not lowers:
        return dict.fromkeys(keys, 0)
    connection = connections[database]
    quote = connection.ops.quote_name
    table = quote(key.fields[0].model._meta.db_table)
    columns = [quote(str(known.column)) for known in key.fields]
    rows = [(text, 0, number) for number, text in enumerate(lowers, 1)]
    rows.extend((text, 1, index) for index, text in enumerate(keys))
    params: list[Any] = []
    for text, kind, number in rows:
        value = key.read(text)
        if value is None:
            raise DamagedError
        for column, part in zip(key.fields, value, strict=True):
            params.append(column.get_db_prep_value(part, connection, prepared=False))
        params += [kind, number]
    row = ", ".join(["%s"] * (len(columns) + 2))
    if connection.vendor == "mysql":
        values = " UNION ALL ".join([f"SELECT {row}"] * len(rows))
    else:
        values = f"VALUES {', '.join([f'({row})'] * len(rows))}"
    names = ", ".join(f"k{index}" for index in range(len(columns)))
    named = [f"{column} AS k{index}" for index, column in enumerate(columns)]
    selected = ", ".join(named)
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
            elif number != place + 1:
                raise DamagedError
            else:
                place = number
    return places
