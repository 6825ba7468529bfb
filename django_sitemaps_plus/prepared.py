"""
Statements that the ORM compiles once for each database, with places for values.

The ORM takes several times as long to compile a small statement as a database to run
it. What is compiled here is an ordinary query: its values are ``Slot`` expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from django.db import connections
from django.db.models import Expression, Model, QuerySet, sql


class Slot(Expression):
    """The place of a value, in a filter or among the values of an update."""

    def __init__(self, name: str, field: Any = None) -> None:
        """Prepare values as those of a ``field``; without it they are sent as given."""
        super().__init__(output_field=field)
        self.name, self.column = name, field

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        """Write a placeholder, with this place as its parameter."""
        return "%s", (self,)


def slots(name: str, count: int) -> list[Any]:
    """Return the places of a list of values: see ``listed``."""
    return [Slot(f"{name}{number}") for number in range(count)]


def listed(name: str, values: Collection[Any]) -> tuple[int, dict[str, Any]]:
    """
    Return how many places a list of values takes, and the values by their places.

    A power of two, so that few statements are compiled: the last value is repeated.
    """
    count, found = 1 << (len(values) - 1).bit_length(), list(values)
    found += [found[-1]] * (count - len(found))
    return count, {f"{name}{number}": value for number, value in enumerate(found)}


def update(rows: QuerySet[Any], **values: Any) -> Any:
    """Return what is compiled of an update."""
    query: Any = rows.query.chain(sql.UpdateQuery)
    query.add_update_values(values)
    query.annotations = {}
    return query


def delete(rows: QuerySet[Any]) -> Any:
    """Return what is compiled of a delete, of a table that no other refers to."""
    return rows.query.chain(sql.DeleteQuery)


def insert(model: type[Model], count: int) -> Any:
    """
    Return what is compiled of an insert of some rows, without their primary keys.

    The places are named by column and row: ``kind0``.
    """
    fields: Any = [one for one in model._meta.concrete_fields if not one.primary_key]
    rows = [
        model(**{one.attname: Slot(f"{one.attname}{row}", one) for one in fields})
        for row in range(count)
    ]
    query = sql.InsertQuery(model)
    query.insert_values(fields, rows)
    return query


class Prepared:
    """
    A statement, by the function that returns what is compiled.

    A ``values_list``, or what ``update`` and others return.
    """

    def __init__(self, query: Callable[..., Any]) -> None:
        self._query = query
        self._compiled: dict[Any, tuple[str, Any, Any]] = {}

    def rows(self, using: str, *shape: Any, **values: Any) -> list[Sequence[Any]]:
        """
        Return the rows of a ``values_list``, with their values as the ORM gives them.

        ``shape`` is given to the function: what the statement itself depends on.
        """
        connection = connections[using]
        text, params, converters = self.filled_in(connection, shape, values)
        with connection.cursor() as cursor:
            cursor.execute(text, params)
            rows = cursor.fetchall()
        if not converters:
            return list(rows)
        found: list[Any] = [list(row) for row in rows]
        for index, (steps, expression) in converters.items():
            for row in found:
                for step in steps:
                    row[index] = step(row[index], expression, connection)
        return found

    def run(self, using: str, *shape: Any, **values: Any) -> int:
        """Run another statement; return how many rows it concerned."""
        [count] = run_all(using, [Step(self, shape, values)])
        return count

    def filled_in(
        self, connection: Any, shape: Any, values: dict[str, Any]
    ) -> tuple[str, list[Any], Any]:
        """Return the statement, its parameters, and the converters of its columns."""
        key = connection.alias, shape
        if key not in self._compiled:
            self._compiled[key] = self._compile(connection, shape)
        text, params, converters = self._compiled[key]
        given = []
        for one in params:
            if type(one) is Slot:
                column, one = one.column, values[one.name]
                if column is not None:
                    one = column.get_db_prep_save(one, connection)
            given.append(one)
        return text, given, converters

    def _compile(self, connection: Any, shape: Any) -> tuple[str, Any, Any]:
        made = self._query(*shape)
        query = made.query if isinstance(made, QuerySet) else made
        compiler = query.get_compiler(connection=connection)
        # Those of an insert are several, one here, and nothing is selected.
        made = compiler.as_sql()
        [(text, params)] = made if isinstance(made, list) else [made]
        selected = [column[0] for column in compiler.select or ()]
        return text, params, compiler.get_converters(selected)


class Step(NamedTuple):
    """One of several statements: see ``Prepared.run``."""

    statement: Prepared
    shape: tuple[Any, ...]
    values: dict[str, Any]


def run_all(using: str, steps: Sequence[Step]) -> list[int]:
    """
    Run statements on tables of their own; return how many rows each concerned.

    PostgreSQL runs several as one. In a transaction, unless it is only one.
    """
    connection = connections[using]
    given = [one.filled_in(connection, shape, values) for one, shape, values in steps]
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql" or len(steps) < 2:
            counts = []
            for text, params, _ in given:
                cursor.execute(text, params)
                counts.append(int(cursor.rowcount))
            return counts
        parts = [f"s{n} AS ({text} RETURNING 1)" for n, (text, *_) in enumerate(given)]
        counted = [f"(SELECT count(*) FROM s{n})" for n in range(len(given))]  # noqa: S608 (names)
        statement = f"WITH {', '.join(parts)} SELECT {', '.join(counted)}"
        cursor.execute(statement, [value for _, params, _ in given for value in params])
        return list(cursor.fetchone())
