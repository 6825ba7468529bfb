"""
What is written down of an object that is saved again, together with its UPDATE.

Where it was listed is in its row until then.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import Model

from django_sitemaps_plus.sitemaps.keys import KeyValue

from .keyed import Statement
from .marks import mark, tell
from .reporting import Lookup
from .statements import (
    NOT_RECORDED,
    Harmless,
    Row,
    Statements,
    Together,
    beside,
    guarded,
    harmlessly,
    insertion,
    is_autocommit,
    may_be_ours,
    runs_several,
)

#: Runs a statement, the user's own unless another is given.
Run = Callable[..., Any]


def without_former(found: Lookup, statements: Statements) -> Harmless:
    """Go on without what a lookup would have told."""
    return Harmless(
        statements.using,
        "Section %r: where objects were listed before is not known.",
        found.source.name,
        undo=statements.recover,
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """An object about to be saved, of one section."""

    found: Lookup
    value: KeyValue
    text: str
    needs_old: bool

    def write(self, statements: Statements, *, settled: bool) -> None:
        """Write it down, with where it is listed now if that is wanted."""
        old = None
        if self.needs_old:
            with without_former(self.found, statements):
                if self._copy(statements, settled=settled):
                    return
                if not self.found.is_proved(statements.using):
                    statements.begin()
                paths = self.found.location(
                    self.value, statements.using, statements.rows
                )
                old = json.dumps(paths)
        row = Row(self.found.source.name, self.text, old=old)
        statements.insert([row], settled=settled)

    def _copy(self, statements: Statements, *, settled: bool) -> bool:
        """Write it with the columns of which its location is made, if that can be."""
        former = self._former(statements.using) if statements.copies else None
        if former is None:
            return False
        statements.insert_former(self._row, former, self.found.digest, settled=settled)
        return True

    def statement(self, connection: Any) -> Statement | None:
        """Return the one statement that writes it; None if it takes more than one."""
        former = self._former(connection.alias) if self.needs_old else None
        if self.needs_old and former is None:
            return None
        digest = None if former is None else self.found.digest
        return insertion(connection.vendor, self._row, former, digest, settled=True)

    @property
    def _row(self) -> Row:
        return Row(self.found.source.name, self.text)

    def _former(self, using: str) -> Statement | None:
        """Return the query of the columns of which its location is made, if any."""
        formers = self.found.formers
        return None if formers is None else formers.of_key(self.value, using)


class Update:
    """
    The rows of an object that is saved, until its UPDATE, which is the next statement.

    Outside of a transaction both are committed together, which takes one write to the
    disk instead of two. On PostgreSQL they are one message, in a transaction too.
    """

    def __init__(self, instance: Model, connection: Any) -> None:
        self._instance = instance
        self._connection = connection
        self._entries: list[Entry] = []

    @classmethod
    def of(cls, instance: Model, connection: Any) -> Update:
        """Return what waits for an object, which does not wait until ``wait()``."""
        wrappers = connection.execute_wrappers
        for wrapper in wrappers:
            if isinstance(wrapper, cls) and wrapper._instance is instance:
                wrappers.remove(wrapper)
                return wrapper
        return cls(instance, connection)

    @property
    def is_worth_waiting_for(self) -> bool:
        """Whether it saves anything to write the rows together with the UPDATE."""
        return is_autocommit(self._connection) or runs_several(self._connection)

    def add(self, entry: Entry) -> None:
        """Add a row."""
        self._entries.append(entry)

    def wait(self) -> None:
        """Wait for the next statement."""
        # First of all: who leaves execute_wrapper() removes the last one.
        self._connection.execute_wrappers.insert(0, self)

    def __call__(
        self, execute: Any, sql: Any, params: Any, many: bool, context: Any
    ) -> Any:
        """Write the rows, and run the statement that waits."""
        self._connection.execute_wrappers.remove(self)

        def run(text: Any = sql, given: Any = params) -> Any:
            return execute(text, given, many, context)

        if str(sql).startswith("ROLLBACK"):
            # Something else went wrong before the UPDATE: there will be none.
            return run()
        if not self._is_expected(sql, params):
            # Another receiver's, say. The rows must not be lost over it.
            self.write(settled=not is_autocommit(self._connection))
            return run()
        combined = self._combined(sql, params)
        if combined is None:
            return self._run_after(run)
        try:
            result = self._run_combined(run, combined, context["cursor"])
        except DatabaseError as error:
            if not may_be_ours(self._connection, error):
                raise
            # Then what is wrong with ours is logged, and the UPDATE done alone.
            with Statements(self._connection) as statements:
                statements.recover()
            return self._run_after(run)
        self._note()
        return result

    def _combined(self, sql: Any, params: Any) -> Statement | None:
        """Return the statement that does both; None if there must be several."""
        if self._connection.vendor != "postgresql":
            return None
        rows = list[Statement]()
        for entry in self._entries:
            try:
                row = entry.statement(self._connection)
            except Exception:  # whatever a project's items() raises
                # Tried once more before the UPDATE, and logged there.
                return None
            if row is None:
                return None
            rows.append(row)
        return beside(rows, str(sql), params or ())

    def _run_combined(self, run: Run, combined: Statement, cursor: Any) -> Any:
        if is_autocommit(self._connection):
            return run(*combined)
        sql, params = combined
        result = run(guarded(sql), params)
        # From the savepoint's result to that of the UPDATE.
        cursor.nextset()
        return result

    def _run_after(self, run: Run) -> Any:
        """Write the rows and run the UPDATE, in one transaction."""
        connection = self._connection
        if not is_autocommit(connection):
            self.write(settled=True)
            return run()
        if connection.vendor == "sqlite":
            with transaction.atomic(using=connection.alias):
                self.write(settled=True)
                return run()
        with Together(connection) as statements:
            self._write_with(statements)
            result = run()
        tell()
        return result

    def _write_with(self, statements: Together) -> None:
        using = statements.using
        with Harmless(using, NOT_RECORDED, using, undo=statements.recover):
            for entry in self._entries:
                entry.write(statements, settled=True)

    def _is_expected(self, sql: Any, params: Any) -> bool:
        """Tell whether this is the UPDATE, and can be in a transaction of ours."""
        meta, ops = self._instance._meta, self._connection.ops
        text = str(sql)
        if not text.startswith(f"UPDATE {ops.quote_name(meta.db_table)} "):
            return False
        # SQLite does not commit as long as what is returned was not fetched.
        if " RETURNING " in text:
            return False
        own = [
            known.get_db_prep_save(
                getattr(self._instance, known.attname), self._connection
            )
            for known in meta.pk_fields
        ]
        return list(params or ())[-len(own) :] == own

    def write(self, *, settled: bool) -> None:
        """Write the rows, whatever comes after them."""

        def write(statements: Statements) -> None:
            for entry in self._entries:
                entry.write(statements, settled=settled)
            self._note()

        harmlessly(self._connection, write)

    def _note(self) -> None:
        """Note what was recorded, for the transaction and for who waits for it."""
        for entry in self._entries:
            name = entry.found.source.name
            mark(self._connection, name, entry.text, knows_old=entry.needs_old)
