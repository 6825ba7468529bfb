"""
Where single rows of a section are listed, by their keys.

Asked before an object is saved or deleted, so a lookup must be cheap: on the row
path its query is compiled once, and only the key in it is replaced.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from django.db import connections
from django.db.models import Q, QuerySet

from .definitions import Definition, definition, source
from .keys import Key, KeyValue
from .origin import ANYWHERE, as_rendered
from .routes import CompiledRoute
from .rows import Reader, RowPlan, Source, database_of, object_path_reason
from .serializer import Batch
from .sitemaps import declared_expressions

#: Runs a query and returns its rows.
Execute: TypeAlias = Callable[[str, Sequence[Any]], Sequence[tuple[Any, ...]]]

#: Keys that one query asks for.
CHUNK = 500

#: For a value of a type, another one: what tells a key from the other parameters.
_OTHERS: Mapping[type, Callable[[Any], Any]] = {
    int: lambda value: value + 1,
    str: lambda value: f"{value}x",
    uuid.UUID: lambda value: uuid.UUID(int=value.int ^ 1),
    dt.date: lambda value: value + dt.timedelta(days=1),
    dt.datetime: lambda value: value + dt.timedelta(days=1),
    Decimal: lambda value: value + 1,
}


@dataclass
class _Compiled:
    """A statement for some keys, and where in its parameters they stand."""

    plan: RowPlan
    places: tuple[int, ...]
    #: Whether the database has run it already.
    is_proved: bool = False

    def params(self, key: Key, values: Sequence[KeyValue], using: str) -> list[Any]:
        """Return the parameters for as many other keys."""
        given = list(self.plan.statement[1])
        parts = _prepared(key, values, using)
        for place, part in zip(self.places, parts, strict=True):
            given[place] = part
        return given


class Lookup:
    """Finds where the rows of one section are listed; made by ``lookup()``."""

    def __init__(self, found: Source) -> None:
        if found.key is None:
            raise TypeError(f"The section {found.name!r} is paged by position.")
        self.source = found
        self.key: Key = found.key
        #: Where the rows are written, whatever database they are read from.
        self.database = database_of(found.sitemap.items())
        self._reader = Reader(found, ANYWHERE)
        self._serializer = self._reader.serializer()
        self._on_row_path = not object_path_reason(found.sitemap)
        #: By database and number of keys.
        self._compiled: dict[tuple[str, int], _Compiled | None] = {}

    @cached_property
    def _routes(self) -> dict[str | None, CompiledRoute]:
        return self._reader.routes()

    def location(self, key: KeyValue, using: str, execute: Execute) -> list[str]:
        """
        Return where one key is listed: a path for each language, or nothing.

        ``execute`` runs a statement of the database ``using`` and returns its rows.
        Raises the database's errors.
        """
        with as_rendered():
            if not self._on_row_path:
                return next(iter(self._objects([key], using).values()), [])
            plan, rows = self._rows([key], using, execute)
            return self._paths(plan, rows[:1])[0] if rows else []

    def is_proved(self, using: str) -> bool:
        """Tell whether ``location()`` will run a statement that was run before."""
        compiled = self._compiled.get((using, 1))
        return compiled is not None and compiled.is_proved

    def locations(self, keys: Sequence[KeyValue], using: str) -> dict[str, list[str]]:
        """
        Return where each key is listed, read from the database ``using``.

        By the key's text: a path for each language, none if the key is not listed.
        Raises the database's errors.
        """
        found: dict[str, list[str]] = {self.key.dumps(key): [] for key in keys}
        with as_rendered():
            for start in range(0, len(keys), CHUNK):
                found.update(self._locations(keys[start : start + CHUNK], using))
        return found

    def _locations(self, keys: Sequence[KeyValue], using: str) -> dict[str, list[str]]:
        if not self._on_row_path:
            return self._objects(keys, using)
        with connections[using].cursor() as cursor:

            def execute(sql: str, params: Sequence[Any]) -> Any:
                cursor.execute(sql, params)
                return cursor.fetchall()

            plan, rows = self._rows(keys, using, execute)
        if not rows:
            return {}
        width = plan.key_width
        labels = [self.key.dumps(plan.key(row[:width])) for row in rows]
        return dict(zip(labels, self._paths(plan, rows), strict=True))

    # The row path

    def _rows(
        self, keys: Sequence[KeyValue], using: str, execute: Execute
    ) -> tuple[RowPlan, Sequence[tuple[Any, ...]]]:
        if len(keys) not in (1, CHUNK):
            plan = self._make(keys, using)
            return plan, execute(*plan.statement)
        place = using, len(keys)
        if place not in self._compiled:
            self._compiled[place] = self._compile(keys, using)
        compiled = self._compiled[place]
        if compiled is None:
            plan = self._make(keys, using)
            return plan, execute(*plan.statement)
        params = compiled.params(self.key, keys, using)
        rows = execute(compiled.plan.statement[0], params)
        compiled.is_proved = True
        return compiled.plan, rows

    def _paths(self, plan: RowPlan, rows: Sequence[tuple[Any, ...]]) -> list[list[str]]:
        return self._listed(self._reader.batch(plan, rows, self._routes))

    def _listed(self, batch: Batch) -> list[list[str]]:
        # A bad row is left out of its page.
        return [paths or [] for paths in self._serializer.paths(batch)]

    def _make(self, keys: Sequence[KeyValue], using: str) -> RowPlan:
        return RowPlan.make(self.source.sitemap, self._queryset(keys, using), self.key)

    def _queryset(self, keys: Sequence[KeyValue], using: str) -> QuerySet[Any]:
        items: QuerySet[Any] = self.source.sitemap.items().order_by().using(using)
        return items.filter(among(self.key, keys))

    def _compile(self, values: Sequence[KeyValue], using: str) -> _Compiled | None:
        """
        Compile the statement for some keys; None if it must be compiled each time.

        Other keys show where keys stand among the parameters. What else is different
        then, such as the time, is different each time.
        """
        plan = self._make(values, using)
        if not all(type(part) in _OTHERS for value in values for part in value):
            return None
        others = [
            tuple(_OTHERS[type(part)](part) for part in value) for value in values
        ]
        sql, params = plan.statement
        sql_of_others, params_of_others = self._make(others, using).statement
        if sql != sql_of_others or len(params) != len(params_of_others):
            return None
        places = tuple(
            place
            for place, pair in enumerate(zip(params, params_of_others, strict=True))
            if pair[0] != pair[1]
        )
        if [params[place] for place in places] != _prepared(self.key, values, using):
            return None
        return _Compiled(plan, places)

    # The object path

    def _objects(self, keys: Sequence[KeyValue], using: str) -> dict[str, list[str]]:
        queryset = self._queryset(keys, using)
        items = list(queryset.annotate(**declared_expressions(self.source.sitemap)))
        labels = [self.key.dumps(self.key.of(item)) for item in items]
        batches = self._reader.objects(items, labels)
        paths = [paths for batch in batches for paths in self._listed(batch)]
        return dict(zip(labels, paths, strict=True))


def among(key: Key, values: Iterable[KeyValue]) -> Q:
    """Return the condition of rows that have one of these keys."""
    if len(key.names) == 1:
        parts = [part for (part,) in values]
        if len(parts) == 1:
            return Q(**{key.names[0]: parts[0]})
        return Q(**{f"{key.names[0]}__in": parts})
    condition = Q()
    for value in values:
        condition |= Q(**dict(zip(key.names, value, strict=True)))
    return condition


def _prepared(key: Key, values: Iterable[KeyValue], using: str) -> list[Any]:
    connection = connections[using]
    return [
        field.get_db_prep_value(part, connection, prepared=False)
        for value in values
        for field, part in zip(key.fields, value, strict=True)
    ]


@lru_cache(maxsize=1024)
def _lookup(name: str, current: Definition) -> Lookup:
    return Lookup(source(name))


def lookup(name: str) -> Lookup:
    """Return the lookup of the section ``name``, made once for its definition."""
    return _lookup(name, definition(name))
