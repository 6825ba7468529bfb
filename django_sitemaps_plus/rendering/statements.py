"""Queries that the ORM compiles and the raw cursor runs, and what converts columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from django.core.exceptions import EmptyResultSet
from django.db import connections
from django.db.models import FileField, QuerySet

from django_sitemaps_plus.sitemaps.media import FileUrl

#: A statement and its parameters.
Statement: TypeAlias = tuple[str, tuple[Any, ...]]
#: By column number, what the ORM would do to a value.
Converters: TypeAlias = dict[int, Callable[[Any], Any]]
#: Calls a function with each value; errors go to the dict, by the value's index.
#: Without a dict each is returned in place of its value, as ``columns.FailedValue``.
Attempt: TypeAlias = Callable[
    [Callable[[Any], Any], Sequence[Any], dict[int, str] | None], list[Any]
]


def compiled(queryset: QuerySet[Any]) -> tuple[Statement, Converters]:
    """Return the statement of a ``values_list``, and the converters of its columns."""
    connection = connections[queryset.db]
    compiler = queryset.query.get_compiler(connection=connection)
    try:
        sql, params = compiler.as_sql()
    except EmptyResultSet:
        sql, params = "SELECT 1 WHERE 1 = 0", ()
    return (sql, tuple(params)), _converters(compiler, connection)


def transposed(rows: Sequence[Sequence[Any]]) -> list[Sequence[Any]]:
    """Return rows as columns; not by ``zip``, which creates an iterator for each."""
    return [[row[index] for row in rows] for index in range(len(rows[0]))]


def rows_of(columns: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Return columns as rows: tuples, or plain values if it is one column."""
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


def converted(
    convert: Callable[[Any], Any],
    column: Sequence[Any],
    attempt: Attempt,
    faults: dict[int, str] | None,
) -> Sequence[Any]:
    """Return a column as the ORM, or a file's storage, converts it."""
    if isinstance(convert, FileUrl):
        addresses = convert.many(column)
        if addresses is not None:
            return addresses
    return attempt(convert, column, faults)


def _converters(compiler: Any, connection: Any) -> Converters:
    """Return one function for each column that the ORM would convert."""
    converters: Converters = {}
    selected = [column[0] for column in compiler.select or ()]
    for index, (steps, expression) in compiler.get_converters(selected).items():
        converters[index] = partial(_convert, steps, expression, connection)
    for index, expression in enumerate(selected):
        output = getattr(expression, "output_field", None)
        if isinstance(output, FileField):
            converters[index] = FileUrl(output)
    return converters


def _convert(steps: Any, expression: Any, connection: Any, value: Any) -> Any:
    for step in steps:
        value = step(value, expression, connection)
    return value
