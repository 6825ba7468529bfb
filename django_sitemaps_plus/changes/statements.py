"""
Statements of ours among the user's own: one that fails must not harm them.

A ``Change`` row is written beside the object, in its database and its transaction, by
one plain INSERT: no constraint, no UPDATE, so that writers do not wait for each other.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Self
from weakref import WeakKeyDictionary

from django.db import DatabaseError, connections
from django.db.models.signals import post_migrate

from django_sitemaps_plus.db import clock_sql, is_deadlock

from .keyed import Statement

logger = logging.getLogger("django_sitemaps_plus")

#: The table of ``models.Change``, which cannot be imported before the apps are ready.
TABLE = "sitemaps_plus_change"
#: Rows of one INSERT.
ROWS = 500
#: What is logged of a change that is lost, with the database.
NOT_RECORDED = "A change of the database %r could not be recorded."
#: Seconds after which a table that was missing is looked for again.
LOOK_AGAIN = 60

_COLUMNS = ("section", "key", "upto", "old", "definition", "settled")
_SAVEPOINT = "sitemaps_plus_recording"
#: libpq's PQTRANS_IDLE and PQTRANS_INERROR, in the numbers of both versions of psycopg.
_IDLE, _IN_ERROR = 0, 3
#: What begins the SQLSTATE of errors that an INSERT into a table without constraints
#: does not cause: a constraint, and a transaction that was rolled back for another.
_OF_OTHERS = ("23", "40")


@dataclass(frozen=True, slots=True)
class Row:
    """What is written down of one key, or of a range of keys."""

    section: str
    #: Empty: the whole section.
    key: str = ""
    upto: str | None = None
    #: Where it was listed, or what that was made of, as ``models.Change`` has it.
    old: str | None = None
    definition: str | None = None


_missing: dict[str, float] = {}
_present: set[str] = set()


def can_record(using: str) -> bool:
    """
    Tell whether the table of changes is there, beside the objects.

    Known beforehand, because a statement that fails ends the user's transaction on
    PostgreSQL. A table that is missing is looked for again every minute.
    """
    if using in _present:
        return True
    if time.monotonic() - _missing.get(using, -LOOK_AGAIN) < LOOK_AGAIN:
        return False
    connection = connections[using]
    with connection.cursor() as cursor:
        names = connection.introspection.table_names(cursor)
    if TABLE in names:
        _present.add(using)
        return True
    _missing[using] = time.monotonic()
    logger.warning(
        "Changes of the database %r are not recorded: its table %s is missing. Run "
        "'manage.py migrate sitemaps_plus --database %s'.",
        using,
        TABLE,
        using,
    )
    return False


def look_again(**kwargs: Any) -> None:
    """Look for the tables of changes again, as after a migration."""
    _missing.clear()
    _present.clear()


post_migrate.connect(look_again, dispatch_uid="django_sitemaps_plus.changes.recorder")


def is_autocommit(connection: Any) -> bool:
    """Tell whether each statement is committed on its own."""
    return not connection.in_atomic_block and bool(connection.get_autocommit())


class Harmless:
    """
    Keep what goes wrong within from what the user does: it is undone, and logged.

    Raises only what ended the user's transaction, which must not go on by half.
    """

    __slots__ = ("_args", "_text", "_undo", "_using")

    def __init__(
        self,
        using: str,
        text: str,
        *args: object,
        undo: Callable[[], object] | None = None,
    ) -> None:
        self._using, self._text, self._args, self._undo = using, text, args, undo

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, traceback: object) -> bool:
        if error is None or not isinstance(error, Exception):
            return False
        if has_ended(connections[self._using], error):
            return False
        if self._undo is not None:
            self._undo()
        logger.error(self._text, *self._args, exc_info=error)
        return True


def harmlessly(connection: Any, write: Callable[[Statements], None]) -> None:
    """Run statements that must not make the user's own work fail."""
    using = connection.alias
    with Harmless(using, NOT_RECORDED, using, undo=partial(_present.discard, using)):
        if can_record(using):
            with Statements(connection) as statements:
                write(statements)


def has_ended(connection: Any, error: Exception) -> bool:
    """
    Tell whether the database rolled the open transaction back because of an error.

    MySQL does so after a deadlock, SQLite when the disk is full. What the project
    does next would be committed without what it did before.
    """
    if not connection.in_atomic_block:
        return False
    if connection.vendor == "mysql":
        return is_deadlock(error)
    return connection.vendor == "sqlite" and not connection.connection.in_transaction


def may_be_ours(connection: Any, error: DatabaseError) -> bool:
    """Tell whether a statement of PostgreSQL may have failed for what we added."""
    cause = error.__cause__
    # As psycopg calls it, and psycopg2.
    state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None) or ""
    if not state or state.startswith(_OF_OTHERS):
        return False
    return bool(connection.connection.info.transaction_status in (_IDLE, _IN_ERROR))


#: By connection: the driver's own, and whether what is selected for an INSERT is
#: read without locks on it.
_lockless: WeakKeyDictionary[Any, tuple[Any, bool]] = WeakKeyDictionary()


def copies_without_locks(connection: Any) -> bool:
    """
    Tell whether ``INSERT … SELECT`` locks no row that it reads.

    InnoDB does, but under READ COMMITTED: two writers of the same rows would then be
    a deadlock. Each connection is asked once, for a project may set it in SQL.
    """
    if connection.vendor != "mysql":
        return True
    driver, lockless = _lockless.get(connection, (None, False))
    if driver is None or driver is not connection.connection:
        name = (
            "tx_isolation" if connection.mysql_is_mariadb else "transaction_isolation"
        )
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT @@{name}")
            (level,) = cursor.fetchone()
        lockless = level == "READ-COMMITTED"
        _lockless[connection] = connection.connection, lockless
    return lockless


class Statements:
    """
    Some statements of ours, with a cursor of their own.

    On PostgreSQL one that fails would end the user's transaction, so there they are
    run under a savepoint. It is set together with the first of them and released
    together with the last one, because each message to the server takes as long as
    the statement itself.
    """

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.using: str = connection.alias
        self._is_guarded = connection.vendor == "postgresql" and not is_autocommit(
            connection
        )
        #: Whether rows may be copied by one statement.
        self.copies = copies_without_locks(connection)
        self._is_set = False
        # Parameters that are sent apart from the statement allow for one only.
        self._takes_several = not getattr(
            connection.features, "uses_server_side_binding", False
        )

    def __enter__(self) -> Self:
        self._cursor = self.connection.cursor()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        with self._cursor:
            if error is not None:
                self.recover()
            if self._is_set:
                self._cursor.execute(f"RELEASE SAVEPOINT {_SAVEPOINT}")

    def begin(self) -> None:
        """Set the savepoint, before a statement that is not known to be right."""
        if self._is_guarded and not self._is_set:
            self._cursor.execute(f"SAVEPOINT {_SAVEPOINT}")
            self._is_set = True

    def recover(self) -> None:
        """Undo what failed, so that the transaction goes on."""
        if self._is_guarded and self._has_failed():
            self._cursor.execute(f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}")
            self._is_set = True

    def _has_failed(self) -> bool:
        """Tell whether the server refuses all but a rollback, as psycopg knows."""
        return bool(self.connection.connection.info.transaction_status == _IN_ERROR)

    def rows(self, sql: str, params: Sequence[Any]) -> Sequence[tuple[Any, ...]]:
        """Return the rows of a query."""
        self._execute(sql, params)
        if self._cursor.description is None:
            # psycopg gives the savepoint's result first.
            self._cursor.nextset()
        found: Sequence[tuple[Any, ...]] = self._cursor.fetchall()
        return found

    def insert(self, rows: Sequence[Row], *, settled: bool) -> None:
        """Write rows, by one statement for each five hundred of them."""
        vendor = self.connection.vendor
        for start in range(0, len(rows), ROWS):
            some = rows[start : start + ROWS]
            is_last = len(some) == len(rows)
            found = [_values(row, settled=settled) for row in some]
            if vendor == "postgresql" and len(some) > 1:
                # psycopg spends a microsecond or three on each parameter.
                self._execute(_MANY, [json.dumps(found)], is_last=is_last)
                continue
            params = [part for params in found for part in params]
            self._execute(_insertion(vendor, len(some)), params, is_last=is_last)

    def insert_former(
        self, row: Row, former: Statement, definition: str, *, settled: bool
    ) -> None:
        """Write a row with what ``former``, a query of one text, gives now."""
        vendor = self.connection.vendor
        sql, given = insertion(vendor, row, former, definition, settled=settled)
        self._execute(sql, given, is_last=True)

    def insert_formers(
        self, section: str, formers: Statement, definition: str, *, settled: bool
    ) -> int:
        """
        Write a row for each key that ``formers``, a query of two texts, gives.

        Returns how many they are.
        """
        self.begin()
        sql, params = formers
        given = [section, definition, settled, *params]
        self._cursor.execute(_copying_all(self.connection.vendor, sql), given)
        return int(self._cursor.rowcount)

    def _execute(
        self, sql: str, params: Sequence[Any], *, is_last: bool = False
    ) -> None:
        if not self._is_guarded or not self._takes_several:
            self.begin()
            self._cursor.execute(sql, params)
            return
        if not self._is_set:
            sql = f"SAVEPOINT {_SAVEPOINT}; {sql}"
        if is_last:
            sql = f"{sql}; RELEASE SAVEPOINT {_SAVEPOINT}"
        self._cursor.execute(sql, params)
        self._is_set = not is_last


class Together(Statements):
    """
    A transaction of ours, for statements of ours and one of the user's.

    Used where each statement is committed on its own. ``transaction.atomic()`` would
    send twice as many messages: on PostgreSQL a savepoint for ours, on MySQL two that
    turn the autocommit off and on.
    """

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self._takes_several &= connection.vendor == "postgresql"

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        with self._cursor:
            if error is None:
                if self._is_set:
                    self._cursor.execute("COMMIT")
                return
            try:
                self.recover()
            except DatabaseError:
                # Lost, and with it the transaction; what was raised first says why.
                self.connection.close()

    def begin(self) -> None:
        """Start the transaction, unless it was."""
        if not self._is_set:
            self._cursor.execute("START TRANSACTION")
            self._is_set = True

    def recover(self) -> None:
        """Undo all that is ours; the user's statement goes on alone."""
        if self._is_set:
            self._cursor.execute("ROLLBACK")
            self._is_set = False

    def _execute(
        self, sql: str, params: Sequence[Any], *, is_last: bool = False
    ) -> None:
        if self._is_set or not self._takes_several:
            self.begin()
        else:
            sql = f"START TRANSACTION; {sql}"
            self._is_set = True
        self._cursor.execute(sql, params)


def runs_several(connection: Any) -> bool:
    """
    Tell whether the driver runs several statements at once and gives all results.

    psycopg 3 does, unless it sends parameters apart from the statement; psycopg2 gives
    the last one's only.
    """
    return (
        connection.vendor == "postgresql"
        and connection.Database.__name__ == "psycopg"
        and not connection.features.uses_server_side_binding
    )


def guarded(sql: str) -> str:
    """Return a statement of PostgreSQL with a savepoint around it."""
    return f"SAVEPOINT {_SAVEPOINT}; {sql}; RELEASE SAVEPOINT {_SAVEPOINT}"


def beside(rows: Sequence[Statement], sql: str, params: Sequence[Any]) -> Statement:
    """
    Return a statement of PostgreSQL that runs ``sql`` and the INSERTs ``rows`` at once.

    All of them see the rows as they were before it (PostgreSQL, "7.8.2. Data-Modifying
    Statements in WITH"), and its result is that of ``sql``.
    """
    parts = ", ".join(
        f"sitemaps_plus_{number} AS ({row})" for number, (row, _) in enumerate(rows)
    )
    given = [part for _, some in rows for part in some]
    return f"WITH {parts} {sql}", (*given, *params)


#: The rows as one parameter.
_MANY = (
    f'INSERT INTO {TABLE} (section, "key", upto, old, definition, settled, at) '  # noqa: S608
    "SELECT row ->> 0, row ->> 1, row ->> 2, row ->> 3, row ->> 4, "
    f"(row ->> 5)::boolean, {clock_sql('postgresql')} "
    "FROM json_array_elements(%s::json) AS rows(row)"
)


def insertion(
    vendor: str,
    row: Row,
    former: Statement | None = None,
    definition: str | None = None,
    *,
    settled: bool,
) -> Statement:
    """Return the statement that writes one row, with what ``former`` gives if any."""
    if former is None:
        return _insertion(vendor, 1), _values(row, settled=settled)
    sql, params = former
    given = [row.section, row.key, *params, definition, settled]
    return _copying(vendor, sql), given


def _values(row: Row, *, settled: bool) -> tuple[Any, ...]:
    """Return what is written of a row, in the order of the columns."""
    return (row.section, row.key, row.upto, row.old, row.definition, settled)


@lru_cache
def _insertion(vendor: str, count: int) -> str:
    """Return the statement that writes so many rows."""
    values = f"(%s, %s, %s, %s, %s, %s, {clock_sql(vendor)})"
    return f"{_into(vendor)} VALUES {', '.join([values] * count)}"


@lru_cache(maxsize=256)
def _copying(vendor: str, former: str) -> str:
    """Return the statement that writes a row with what a query gives."""
    return (
        f"{_into(vendor)} SELECT %s, %s, NULL, COALESCE(({former}), '[]'), %s, %s, "
        f"{clock_sql(vendor)}"
    )


@lru_cache(maxsize=256)
def _copying_all(vendor: str, formers: str) -> str:
    """Return the statement that writes a row for each one that a query gives."""
    return (
        f"{_into(vendor)} SELECT %s, sitemaps_plus_key, NULL, sitemaps_plus_former, "  # noqa: S608
        f"%s, %s, (SELECT {clock_sql(vendor)}) FROM ({formers}) AS formers"
    )


def _into(vendor: str) -> str:
    # No column of ours needs to be quoted but one: KEY is a word of MySQL.
    quote = "`" if vendor == "mysql" else '"'
    columns = ", ".join(f"{quote}{name}{quote}" for name in (*_COLUMNS, "at"))
    return f"INSERT INTO {TABLE} ({columns})"
