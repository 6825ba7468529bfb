"""
What the location of a row was made of, written down by the database itself.

Where a row was listed is gone once it is saved. To read its columns, make the path
and write that down takes two statements and more time than the save. One statement
copies the columns beside the change; the path is made of them when the change is
looked at, together with many others.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from django.core.exceptions import FieldError
from django.db import connections
from django.db.models import (
    CharField,
    F,
    Func,
    IntegerField,
    QuerySet,
    TextField,
    UUIDField,
)

from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.rendering.row_path import RowPlan
from django_sitemaps_plus.sitemaps.attributes import locating_expressions
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.routes import CompiledRoute
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, as_rendered

from .keyed import Keyed, Statement, among

#: Keys that one query asks for.
CHUNK = 500

#: Columns that JSON gives back as the driver does.
_TEXTS = (CharField, TextField)
_KINDS = (*_TEXTS, IntegerField, UUIDField)


#: The columns of the queries.
KEY, FORMER = "sitemaps_plus_key", "sitemaps_plus_former"


class _KeyText(Func):
    """A key that is a whole number, as ``Key.dumps`` writes it."""

    output_field = TextField()
    template = """('["' || CAST(%(expressions)s AS TEXT) || '"]')"""

    def as_mysql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Write it without ``||``, which means OR there."""
        return super().as_sql(
            compiler, connection, template="""CONCAT('["', %(expressions)s, '"]')"""
        )


class _JSONList(Func):
    """The values of columns, as the text of a JSON list."""

    function = "JSON_ARRAY"
    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """Say which values are texts: a parameter has no type of its own."""
        texts, params = [], []
        for expression in self.get_source_expressions():
            sql, given = compiler.compile(expression)
            is_text = isinstance(expression.output_field, _TEXTS)
            texts.append(f"({sql})::text" if is_text else sql)
            params += given
        return f"(JSON_BUILD_ARRAY({', '.join(texts)}))::text", params


class Formers:
    """Copies and reads what the locations of one section's rows were made of."""

    def __init__(self, found: SectionSource, key: Key) -> None:
        self._source = found
        self._key = key
        self._reader = Reader(found, PLACEHOLDER_SITE)
        self._expressions = locating_expressions(found.sitemap)
        #: By database, number of keys, and whether the key is left out.
        self._kept: dict[tuple[str, int, bool], Keyed | None] = {}

    def is_possible(self, using: str) -> bool:
        """Tell whether a database writes down what it would read."""
        connection = connections[using]
        if not self._expressions or not connection.features.supports_json_field:
            return False
        annotations = self._annotated(using).query.annotations
        try:
            return all(
                isinstance(annotations[name].output_field, _KINDS)
                for name in self._expressions
            )
        except FieldError:
            return False

    def of_key(self, value: KeyValue, using: str) -> Statement | None:
        """
        Return the query of one row's columns, as the text of a JSON list.

        None if it cannot be compiled once for all keys. It gives no row where the
        key is not listed.
        """
        return self._statement([value], using, alone=True)

    def of_keys(self, values: Sequence[KeyValue], using: str) -> Statement | None:
        """
        Return the query of some rows' keys, as texts, and the same text for each.

        None where keys are no whole numbers, and where ``of_key`` gives None.
        """
        if not self._key.is_whole:
            return None
        return self._statement(values, using, alone=False)

    def _statement(
        self, values: Sequence[KeyValue], using: str, *, alone: bool
    ) -> Statement | None:
        place = using, len(values), alone
        if place in self._kept:
            keyed = self._kept[place]
        else:
            keyed = None
            if self.is_possible(using):
                with as_rendered():
                    keyed = self._keyed(values, using, alone=alone)
            if len(values) in (1, CHUNK):
                self._kept[place] = keyed
        if keyed is None:
            return None
        if not alone and len(values) > 1:
            return keyed.written_out(values)
        return keyed.sql, keyed.given(self._key, values, using)

    def _keyed(
        self, values: Sequence[KeyValue], using: str, *, alone: bool
    ) -> Keyed | None:
        """Compile a query for so many keys; alone without the key's column."""
        selected: dict[str, Any] = {} if alone else {KEY: _KeyText(*self._key.names)}
        selected[FORMER] = _JSONList(*map(F, self._expressions))

        def compiled(others: Sequence[KeyValue]) -> Statement:
            rows = self._annotated(using).filter(among(self._key, others))
            if alone:
                # A column of another statement.
                rows = rows[:1]
            return RowPlan.compile(self._source.sitemap, rows, (), selected).statement

        return Keyed.of(compiled, self._key, values, using)

    def _annotated(self, using: str) -> QuerySet[Any]:
        items: QuerySet[Any] = self._source.sitemap.items().order_by().using(using)
        annotated: QuerySet[Any] = items.annotate(**self._expressions)
        return annotated

    @cached_property
    def _plan(self) -> RowPlan:
        items = self._source.sitemap.items()
        return RowPlan.of_locations(self._source.sitemap, items.order_by())

    @cached_property
    def _routes(self) -> dict[str | None, CompiledRoute]:
        return self._reader.routes()

    def paths(self, texts: Sequence[str]) -> list[list[str]]:
        """
        Return where rows were listed, of the texts that were written down for them.

        A path for each language; none for a row that was not listed. A row that was
        left out for its lastmod, priority or media alone counts as listed.
        """
        rows = [json.loads(text) for text in texts]
        listed = [row for row in rows if row]
        if not listed:
            return [[] for _ in rows]
        with as_rendered():
            batch = self._reader.locations(self._plan, listed, self._routes)
            paths = deque(self._reader.serializer().paths(batch))
        # A bad row is left out of its page.
        return [(paths.popleft() or []) if row else [] for row in rows]
