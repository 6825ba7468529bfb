"""What was recorded in the open transaction, and who is told when it is committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from django.db import connections, transaction

#: Called after changes were committed.
listeners: list[Callable[[], object]] = []


class Marker:
    """
    "Recorded in this transaction."

    Only ``connection.run_on_commit`` holds it, so it dies with the savepoint or the
    transaction that is rolled back, as the row does.
    """

    __slots__ = ("__weakref__", "knows_old")

    def __init__(self, *, knows_old: bool) -> None:
        self.knows_old = knows_old

    def __call__(self) -> None:
        """Run after the commit."""
        tell()


#: By section and key.
Markers = WeakValueDictionary[tuple[str, str], Marker]
_markers: WeakKeyDictionary[Any, Markers] = WeakKeyDictionary()


def tell() -> None:
    """Tell whoever waits for changes that some were committed."""
    for listener in listeners:
        listener()


def marked(connection: Any) -> Markers:
    """Return what was recorded in the open transaction of a connection."""
    found = _markers.get(connection)
    if found is None:
        found = _markers[connection] = WeakValueDictionary()
    return found


def mark(connection: Any, section: str, text: str, *, knows_old: bool) -> None:
    """Note that a key was recorded; outside of a transaction it is told at once."""
    if not connection.in_atomic_block:
        tell()
        return
    marker = Marker(knows_old=knows_old)
    transaction.on_commit(marker, using=connection.alias, robust=True)
    marked(connection)[section, text] = marker


def forget_marks(using: str) -> None:
    """
    Have objects recorded again that were recorded in the open transaction.

    For who took the changes within that transaction, as in a ``TestCase``.
    """
    _markers.pop(connections[using], None)
