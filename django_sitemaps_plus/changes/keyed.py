"""
Statements compiled once, in which only the keys are replaced.

To compile one takes several times as long as to run it.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from django.db import connections
from django.db.models import Q

from django_sitemaps_plus.sitemaps.keys import Key, KeyValue

#: SQL and its parameters.
Statement: TypeAlias = tuple[str, Sequence[Any]]

#: For a value of a type, another one: what tells a key from the other parameters.
_OTHERS: Mapping[type, Callable[[Any], Any]] = {
    int: lambda value: value + 1,
    str: lambda value: f"{value}x",
    uuid.UUID: lambda value: uuid.UUID(int=value.int ^ 1),
    dt.date: lambda value: value + dt.timedelta(days=1),
    dt.datetime: lambda value: value + dt.timedelta(days=1),
    Decimal: lambda value: value + 1,
}


@dataclass(frozen=True)
class Keyed:
    """A statement for some keys, and where in its parameters they stand."""

    sql: str
    params: tuple[Any, ...]
    places: tuple[int, ...]

    @classmethod
    def of(
        cls,
        compiled: Callable[[Sequence[KeyValue]], Statement],
        key: Key,
        values: Sequence[KeyValue],
        using: str,
    ) -> Keyed | None:
        """
        Find out where ``values`` stand; None if it must be compiled each time.

        Other keys show it. What else is different then, such as the time, is
        different each time.
        """
        if not all(type(part) in _OTHERS for value in values for part in value):
            return None
        others = [
            tuple(_OTHERS[type(part)](part) for part in value) for value in values
        ]
        sql, params = compiled(values)
        sql_of_others, params_of_others = compiled(others)
        if sql != sql_of_others or len(params) != len(params_of_others):
            return None
        places = tuple(
            place
            for place, pair in enumerate(zip(params, params_of_others, strict=True))
            if pair[0] != pair[1]
        )
        if [params[place] for place in places] != prepared(key, values, using):
            return None
        return cls(sql, tuple(params), places)

    def written_out(self, values: Sequence[KeyValue]) -> Statement:
        """Return it for other keys, whole numbers, that are written into its text."""
        numbers = ", ".join(str(int(part)) for (part,) in values)
        marks = ", ".join(["%s"] * len(values))
        sql = self.sql.replace(f"({marks})", f"({numbers})", 1)
        first, last = self.places[0], self.places[-1]
        return sql, (*self.params[:first], *self.params[last + 1 :])

    def given(self, key: Key, values: Sequence[KeyValue], using: str) -> list[Any]:
        """Return the parameters for as many other keys."""
        given = list(self.params)
        parts = prepared(key, values, using)
        for place, part in zip(self.places, parts, strict=True):
            given[place] = part
        return given


def prepared(key: Key, values: Iterable[KeyValue], using: str) -> list[Any]:
    """Return the parts of keys as the driver takes them."""
    connection = connections[using]
    return [
        field.get_db_prep_value(part, connection, prepared=False)
        for value in values
        for field, part in zip(key.fields, value, strict=True)
    ]


def among(key: Key, values: Iterable[KeyValue]) -> Q:
    """Return the condition of rows that have one of these keys."""
    if len(key.names) == 1:
        parts = [part for (part,) in values]
        if len(parts) == 1:
            return Q(**{key.names[0]: parts[0]})
        return Q(**{f"{key.names[0]}__in": parts})
    condition = Q()
    for value in values:
        # One by one: keywords of a Q are sorted, and keys are to keep their order.
        whole = Q()
        for name, part in zip(key.names, value, strict=True):
            whole &= Q(**{name: part})
        condition |= whole
    return condition
