"""The plans that the databases make, and how much a statement reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from tests.support.ledger_kinds import VENDOR

Statement = tuple[str, Any]

#: How each database says that it reads a table, or an index, from end to end.
_SCANS = {
    "sqlite": "SCAN",
    "postgresql": "Seq Scan",
    "mysql": "'type': '(ALL|index)'",
}


@contextmanager
def statements(table: str) -> Iterator[list[Statement]]:
    """Collect what is read from ``table``."""
    found: list[Statement] = []

    def execute(run: Any, sql: str, params: Any, *args: Any) -> Any:
        # What sorts keys takes a column's type and collation, and none of its rows.
        reads = sql.lstrip().upper().startswith("SELECT") and "WHERE 1 = 0" not in sql
        if reads and table in sql:
            found.append((sql, params))
        return run(sql, params, *args)

    with connection.execute_wrapper(execute):
        yield found


def explained(statement: Statement) -> list[str]:
    """Return a statement's plan, a line each."""
    sql, params = statement
    before = {
        "sqlite": "EXPLAIN QUERY PLAN ",
        "postgresql": "EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) ",
        # MySQL's own default is a tree.
        "mysql": "EXPLAIN FORMAT=TRADITIONAL ",
    }[VENDOR]
    with connection.cursor() as cursor:
        cursor.execute(before + sql, params)
        if VENDOR == "mysql":
            names = [column[0] for column in cursor.description]
            return [str(dict(zip(names, row, strict=True))) for row in cursor]
        return [str(row[-1]) for row in cursor]


def touched(statement: Statement) -> int | None:
    """Return how many rows a statement reads; None where the database does not say."""
    if VENDOR == "sqlite":
        return None
    if VENDOR == "postgresql":
        text = "\n".join(explained(statement))
        counts = re.findall(r"actual rows=(\d+)|Rows Removed by \w+: (\d+)", text)
        return max(int(count) for found in counts for count in found if count)
    with connection.cursor() as cursor:
        cursor.execute("FLUSH STATUS")
        cursor.execute(*statement)
        cursor.fetchall()
        cursor.execute("SHOW SESSION STATUS LIKE 'Handler\\_read\\_%%'", [])
        return sum(int(count) for _, count in cursor.fetchall())


def analyze(table: str) -> None:
    """Let the planner know how many rows there are."""
    # Dead rows that an earlier test left count as read where PostgreSQL takes a
    # bitmap of the index.
    verb = {
        "mysql": "ANALYZE TABLE",
        "postgresql": "VACUUM (ANALYZE)",
        "sqlite": "ANALYZE",
    }[VENDOR]
    with connection.cursor() as cursor:
        cursor.execute(f"{verb} {connection.ops.quote_name(table)}")
        if cursor.description:
            cursor.fetchall()


def scans(statement: Statement, *tables: str) -> list[str]:
    """Return the lines of a plan that read some tables, or any, from end to end."""
    found = [line for line in explained(statement) if re.search(_SCANS[VENDOR], line)]
    named = "|".join(tables)
    return [line for line in found if re.search(rf"\b({named})\b", line)]
