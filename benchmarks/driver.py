"""The bare database driver: what no Python code on top of it can beat."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

from django.db import connection


def connect() -> Any:
    """Open a connection of the driver's own, without anything of Django's."""
    chosen = connection.settings_dict
    if connection.vendor == "sqlite":
        return sqlite3.connect(chosen["NAME"])
    address: dict[str, Any] = {
        "host": chosen["HOST"] or None,
        "user": chosen["USER"] or None,
    }
    if connection.vendor == "postgresql":
        import psycopg

        port = chosen["PORT"] or None
        return psycopg.connect(dbname=chosen["NAME"], port=port, **address)
    import MySQLdb

    port = int(chosen["PORT"] or 3306)
    return MySQLdb.connect(database=chosen["NAME"], port=port, **address)


def fetching(statement: str) -> Callable[[], list[Any]]:
    """Return a function that fetches all rows of ``statement``."""
    opened = connect()
    if hasattr(opened, "autocommit"):
        opened.autocommit = True

    def fetch() -> list[Any]:
        cursor = opened.cursor()
        cursor.execute(statement)
        rows: list[Any] = cursor.fetchall()
        return rows

    return fetch
