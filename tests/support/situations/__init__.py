"""
What projects do with Django's ORM and its connections, one function for each.

Each gets a ``World``, in which it notes what it sees. It starts with the rows of
``data.fill``, and is chosen for the databases that it can happen on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from django.db import connection, transaction
from django.dispatch import Signal

from tests.support.alike import Situation, World

Act: TypeAlias = Callable[[World], object]

SITUATIONS: dict[str, Situation] = {}

POSTGRESQL = connection.vendor == "postgresql"
MYSQL = connection.vendor == "mysql"
SQLITE = connection.vendor == "sqlite"


def situation(
    *,
    on: bool = True,
    inserts: int | tuple[int, int] = 1,
    name: str = "",
    in_atomic: bool = False,
    **options: Any,
) -> Callable[[Act], Act]:
    """
    Add a situation.

    ``inserts`` is how many statements of ours may follow its commits: 1 by default,
    because one statement writes five hundred keys. ``on`` tells whether it can happen
    on this database, ``in_atomic`` that it also happens all in one transaction.
    """

    def add(act: Act) -> Act:
        known = name or act.__name__
        if on:
            _add(known, act, inserts, options)
        if on and in_atomic:
            _add(f"{known}_in_atomic", transaction.atomic(act), 1, options)
        return act

    return add


def _add(
    name: str, act: Act, inserts: int | tuple[int, int], options: dict[str, Any]
) -> None:
    allowed = (inserts, inserts) if isinstance(inserts, int) else inserts
    assert name not in SITUATIONS, f"there are two situations {name!r}"
    SITUATIONS[name] = Situation(act, allowed, **options)


@contextmanager
def receiving(signal: Signal, receiver: Any, sender: Any) -> Iterator[None]:
    """Connect a receiver of the project's own."""
    signal.connect(receiver, sender=sender)
    try:
        yield
    finally:
        signal.disconnect(receiver, sender=sender)


def run(sql: str, *params: Any) -> list[Any]:
    """Run a statement on the default connection; return its rows."""
    with connection.cursor() as cursor:
        cursor.execute(sql, params or None)
        return list(cursor.fetchall()) if cursor.description else []
