"""
Where single rows of a section are listed, by their keys.

Asked before an object is saved or deleted, so a lookup must be cheap: on the row
path its query is compiled once, and only the key in it is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

from django.db import connections
from django.db.models import QuerySet

from django_sitemaps_plus.rendering.columns import Batch
from django_sitemaps_plus.rendering.digest import (
    Definition,
    definition,
    location_digest,
)
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.rendering.row_path import RowPlan
from django_sitemaps_plus.sitemaps.attributes import declared_expressions
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.routes import CompiledRoute
from django_sitemaps_plus.sitemaps.sections import (
    SectionSource,
    database_of,
    object_path_reason,
    source,
)
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, as_rendered

from .formers import CHUNK, Formers
from .keyed import Keyed, among

#: Runs a query and returns its rows.
Execute: TypeAlias = Callable[[str, Sequence[Any]], Sequence[tuple[Any, ...]]]


@dataclass
class _Compiled:
    """A plan for some keys, with its statement for others."""

    plan: RowPlan
    keyed: Keyed
    #: Whether the database has run it already.
    is_proved: bool = False


class Lookup:
    """Finds where the rows of one section are listed; made by ``lookup()``."""

    def __init__(self, found: SectionSource, current: Definition) -> None:
        if found.key is None:
            raise TypeError(f"The section {found.name!r} is paged by position.")
        self.source = found
        self.key: Key = found.key
        #: By which what was written down of locations can be read.
        self.digest = location_digest(found)
        #: Where the rows are written, whatever database they are read from.
        self.database = database_of(found.sitemap.items())
        self._reader = Reader(found, PLACEHOLDER_SITE)
        self._serializer = self._reader.serializer()
        self._on_row_path = not object_path_reason(found.sitemap)
        #: What locations were made of; None if it is not in the row's columns.
        self.formers = (
            Formers(found, found.key)
            if self._on_row_path and not current.clock
            else None
        )
        #: Whether the query is another one each time, or tomorrow.
        self._is_dated = current.clock
        #: By database and number of keys.
        self._compiled: dict[tuple[str, int], _Compiled | None] = {}

    @cached_property
    def _routes(self) -> dict[str | None, CompiledRoute]:
        return self._reader.routes()

    def location(self, key: KeyValue, using: str, execute: Execute) -> list[str]:
        """
        Return where one key is listed: a path for each language, or nothing.

        A row that is left out for its lastmod alone, say, may count as listed.
        ``execute`` runs a statement of the database ``using`` and returns its rows.
        Raises the database's errors.
        """
        with as_rendered():
            if not self._on_row_path:
                found = self._objects([key], using, whole=False)
                return next(iter(found.values()), [])
            plan, rows = self._rows([key], using, execute)
            return self._paths(plan, rows[:1])[0] if rows else []

    def is_proved(self, using: str) -> bool:
        """Tell whether ``location()`` will run a statement that was run before."""
        compiled = self._compiled.get((using, 1))
        return compiled is not None and compiled.is_proved

    def locations(
        self, keys: Sequence[KeyValue], using: str, *, whole: bool = True
    ) -> dict[str, list[str]]:
        """
        Return where each key is listed, read from the database ``using``.

        By the key's text: a path for each language, none if the key is not listed.
        Not ``whole``, only locations are asked for, as in ``location()``. Raises the
        database's errors.
        """
        found: dict[str, list[str]] = {self.key.dumps(key): [] for key in keys}
        with as_rendered():
            for start in range(0, len(keys), CHUNK):
                some = keys[start : start + CHUNK]
                found.update(self._locations(some, using, whole=whole))
        return found

    def _locations(
        self, keys: Sequence[KeyValue], using: str, *, whole: bool
    ) -> dict[str, list[str]]:
        if not self._on_row_path:
            return self._objects(keys, using, whole=whole)
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

    def listed(self, keys: Sequence[KeyValue], using: str) -> set[KeyValue]:
        """Return those of some keys that pass the section's filter."""
        with as_rendered():
            rows = self._queryset(keys, using)
            return set(rows.values_list(*self.key.names))

    # The row path

    def _rows(
        self, keys: Sequence[KeyValue], using: str, execute: Execute
    ) -> tuple[RowPlan, Sequence[tuple[Any, ...]]]:
        if self._is_dated or len(keys) not in (1, CHUNK):
            plan = self._make(keys, using)
            return plan, execute(*plan.statement)
        place = using, len(keys)
        if place not in self._compiled:
            self._compiled[place] = self._compile(keys, using)
        compiled = self._compiled[place]
        if compiled is None:
            plan = self._make(keys, using)
            return plan, execute(*plan.statement)
        params = compiled.keyed.given(self.key, keys, using)
        rows = execute(compiled.keyed.sql, params)
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

    def _compile(self, keys: Sequence[KeyValue], using: str) -> _Compiled | None:
        """Compile the statement for some keys; None if that is wanted each time."""
        plan = self._make(keys, using)
        keyed = Keyed.of(
            lambda values: self._make(values, using).statement, self.key, keys, using
        )
        return None if keyed is None else _Compiled(plan, keyed)

    # The object path

    def _objects(
        self, keys: Sequence[KeyValue], using: str, *, whole: bool
    ) -> dict[str, list[str]]:
        queryset = self._queryset(keys, using)
        items = list(queryset.annotate(**declared_expressions(self.source.sitemap)))
        labels = [self.key.dumps(self.key.of(item)) for item in items]
        batches = self._reader.objects(items, labels, whole=whole)
        paths = [paths for batch in batches for paths in self._listed(batch)]
        return dict(zip(labels, paths, strict=True))


@lru_cache(maxsize=1024)
def _lookup(name: str, current: Definition) -> Lookup:
    return Lookup(source(name), current)


def lookup(name: str) -> Lookup:
    """Return the lookup of the section ``name``, made once for its definition."""
    return _lookup(name, definition(name))
