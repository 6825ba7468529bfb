"""Imports: what is saved and deleted within is written down by few rows, at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from django.db import connections
from django.utils.asyncio import async_unsafe

from django_sitemaps_plus.sitemaps.keys import KeyValue

from .marks import mark
from .reporting import lookup
from .statements import Row, Statements, harmlessly

#: Keys above which a gathered or touched set becomes one range.
MOST_KEYS = 1_000


@dataclass
class _Gathered:
    """Keys gathered of one section; None when they were too many to keep."""

    keys: dict[KeyValue, None] | None = field(default_factory=dict)

    def add(self, value: KeyValue | None) -> None:
        """Add a key; None stands for any."""
        if value is None:
            self.keys = None
        elif self.keys is not None:
            self.keys[value] = None
            if len(self.keys) > MOST_KEYS:
                self.keys = None


_gathering: ContextVar[dict[tuple[str, str], _Gathered] | None] = ContextVar(
    "sitemaps_plus_gathering", default=None
)


def is_gathering() -> bool:
    """Tell whether this is within ``gather_changes``."""
    return _gathering.get() is not None


def gather(section: str, value: KeyValue | None, using: str) -> bool:
    """Keep a key, None for any, for ``gather_changes``; False outside of it."""
    gathered = _gathering.get()
    if gathered is None:
        return False
    gathered.setdefault((using, section), _Gathered()).add(value)
    return True


@contextmanager
def gather_changes() -> Iterator[None]:
    """
    Write down what is saved and deleted within by few rows, at the end.

    For imports: up to a thousand objects of a section are one row each, more are one
    row for the section. Put it inside of the import's ``atomic()``, so that both are
    committed together. Where objects were listed before is not recorded. Raises
    ``SynchronousOnlyOperation`` in a coroutine, as the ORM does.
    """
    outer = _gathering.get()
    gathered = _gathered() if outer is None else outer
    token = _gathering.set(gathered)
    try:
        yield
    finally:
        _gathering.reset(token)
        if outer is None:
            for (using, section), found in gathered.items():
                _write_gathered(using, section, found)


@async_unsafe
def _gathered() -> dict[tuple[str, str], _Gathered]:
    return {}


def _write_gathered(using: str, section: str, found: _Gathered) -> None:
    if connections[using].needs_rollback:
        # What was saved is undone, and so would be what is written of it.
        return
    rows = [Row(section)]
    if found.keys is not None:
        dumps = lookup(section).key.dumps
        rows = [Row(section, dumps(value)) for value in found.keys]
    write_rows(using, rows)


def write_rows(using: str, rows: Sequence[Row]) -> None:
    """Write rows of changes that were made already."""
    connection: Any = connections[using]

    def write(statements: Statements) -> None:
        statements.insert(rows, settled=True)
        if rows:
            mark(connection, rows[0].section, "written", knows_old=False)

    harmlessly(connection, write)
