"""The database's clock: hosts disagree about the time, the database does not."""

from __future__ import annotations

from typing import Any

from django.db import connections
from django.db.models import FloatField, Func

#: Seconds since the epoch, in the SQL of each kind of database.
_SQL = {
    # The day count of Julius Caesar's calendar, as seconds from 1970.
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
    # The clock itself, not the start of the transaction.
    "postgresql": "EXTRACT(EPOCH FROM clock_timestamp())::double precision",
    # UTC throughout: local time is there twice when summer ends.
    "mysql": "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1e6",
}


def clock_sql(vendor: str) -> str:
    """Return the expression for the seconds since the epoch."""
    return _SQL[vendor]


class DatabaseTime(Func):
    """The database's clock: seconds since the epoch. Leases of all hosts use it."""

    output_field = FloatField()
    arity = 0

    def as_sql(  # type: ignore[override]  # its other arguments are for templates
        self, compiler: Any, connection: Any, **extra: Any
    ) -> Any:
        """Write the clock of the connection's database."""
        return clock_sql(connection.vendor), []


def database_time(using: str) -> float:
    """Ask a database what time it is: seconds since the epoch."""
    with connections[using].cursor() as cursor:
        cursor.execute(f"SELECT {clock_sql(connections[using].vendor)}")
        return float(cursor.fetchone()[0])
