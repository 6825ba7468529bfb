"""
What was saved and deleted: remembered in the transaction, written after its commit.

Nothing here runs inside the user's transaction but Python: no statement, no savepoint,
no lock. What an ``atomic()`` rolls back is forgotten with it. What is written is a
hint, "look at this key again". Where one is lost, because the process was killed
between the commit and the INSERT, the next comparison of its page with the rows finds
what happened.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, NamedTuple
from weakref import ref

from django.db import (
    DatabaseError,
    OperationalError,
    connections,
    router,
    transaction,
)

from django_sitemaps_plus.db import clock_sql
from django_sitemaps_plus.signals import changes_written
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue

from .models import Change

logger = logging.getLogger("django_sitemaps_plus")

#: Keys of a section in one transaction above which they become one range.
MOST_KEYS = 10_000
#: Rows of one INSERT.
ROWS = 500
#: Seconds between two log entries that say that changes cannot be recorded.
_LOG_AGAIN = 60.0


class Hint(NamedTuple):
    """One row of ``Change`` to be written."""

    section: str
    #: Empty: the whole section.
    key: str = ""
    upto: str | None = None
    #: The label of another model, whose primary key ``key`` is.
    related: str = ""
    created: bool = False


@dataclass
class _Keys:
    """The keys of one section that a transaction changed."""

    key: Key
    database: str
    #: Whether the object is new, by key.
    singles: dict[KeyValue, bool] = field(default_factory=dict)
    #: Primary keys of objects whose key was not loaded.
    unloaded: dict[Any, None] = field(default_factory=dict)
    #: Related objects, by the label of their model and their primary key.
    related: dict[tuple[str, str], None] = field(default_factory=dict)
    #: The first and the last of too many keys.
    span: tuple[KeyValue, KeyValue] | None = None
    whole: bool = False

    def add(self, value: KeyValue, *, created: bool = False) -> None:
        """Add a key; too many become a range, or the whole section."""
        if self.whole:
            return
        if self.span is not None:
            self.span = min(self.span[0], value), max(self.span[1], value)
            return
        self.singles[value] = created or self.singles.get(value, False)
        if len(self.singles) <= MOST_KEYS:
            return
        # Only whole numbers have the same order here and in every database.
        if self.key.is_whole:
            self.span = min(self.singles), max(self.singles)
        else:
            self.whole = True
        self.singles.clear()

    def hints(self, section: str) -> Iterator[Hint]:
        """Yield what is to be written of them."""
        for label, pk in self.related:
            yield Hint(section, pk, related=label)
        self._load()
        if self.whole:
            yield Hint(section)
            return
        dumps = self.key.dumps
        if self.span is not None:
            yield Hint(section, dumps(self.span[0]), dumps(self.span[1]))
        for value, created in self.singles.items():
            yield Hint(section, dumps(value), created=created)

    def _load(self) -> None:
        """Look up the keys of objects that were saved without having loaded them."""
        if not self.unloaded or self.whole:
            return
        rows = self.key.model._base_manager.using(self.database)
        found = rows.filter(pk__in=list(self.unloaded)).values_list(*self.key.names)
        keys = list(found)
        # Whoever deleted an object has taken its key along.
        self.whole = len(keys) < len(self.unloaded)
        for value in keys:
            self.add(value)


class Bag:
    """
    What one set of open savepoints changed.

    Only ``connection.run_on_commit`` holds it, so it goes with the savepoint or the
    transaction that is rolled back.
    """

    __slots__ = ("__weakref__", "_at", "connection", "is_alone", "sections")

    def __init__(self, connection: Any, *, is_alone: bool = False) -> None:
        self.connection = connection
        #: Whether no transaction is open, whose commit would write it down.
        self.is_alone = is_alone
        self.sections: dict[str, _Keys] = {}
        #: Where it stood among the callbacks.
        self._at = len(connection.run_on_commit)

    def __enter__(self) -> Bag:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if self.is_alone and kind is None:
            self()

    @property
    def is_waiting(self) -> bool:
        """
        Whether it will be called when the open transaction is committed.

        An error that somebody keeps, with its traceback, may hold a bag whose
        transaction is over.
        """
        callbacks = self.connection.run_on_commit
        if self._at < len(callbacks) and callbacks[self._at][1] is self:
            return True
        # A savepoint that was rolled back has taken its callbacks away.
        for index, (_, callback, _) in enumerate(callbacks):
            if callback is self:
                self._at = index
                return True
        return False

    def keys(self, section: str, key: Key, database: str) -> _Keys:
        """Return the keys of a section."""
        found = self.sections.get(section)
        if found is None:
            found = self.sections[section] = _Keys(key, database)
        return found

    def __call__(self) -> None:
        """Write down what the whole transaction changed, once."""
        hints = _merged([*_drain(self.connection), *self._take()])
        record(hints, self.connection.alias)

    def _take(self) -> list[Hint]:
        sections, self.sections = self.sections, {}
        return [hint for name, keys in sections.items() for hint in keys.hints(name)]


#: What a connection has as an attribute: by their savepoints, the bags of its open
#: transaction. Dictionaries with weak keys and values take three times as long to ask,
#: for each deleted object.
_OPEN = "_sitemaps_plus_open"


def remembering(using: str) -> Bag:
    """
    Return what remembers the open transaction's changes, for a ``with`` statement.

    Where no transaction is open, they are written at its end: they are committed
    already. No generator, which takes as long as all the rest, for each deleted object.
    """
    connection = connections[using]
    if not connection.in_atomic_block:
        return Bag(connection, is_alone=True)
    bags: dict[frozenset[Any], ref[Bag]] = vars(connection).setdefault(_OPEN, {})
    # None stands for a block without a savepoint of its own.
    savepoints = frozenset(connection.savepoint_ids) - {None}
    known = bags.get(savepoints)
    bag = None if known is None else known()
    if bag is None or not bag.is_waiting:
        for other, found in list(bags.items()):
            old = found()
            if old is None or not old.is_waiting:
                del bags[other]
        bag = Bag(connection)
        bags[savepoints] = ref(bag)
        transaction.on_commit(bag, using=using, robust=True)
    return bag


def _bags(connection: Any) -> list[Bag]:
    known = vars(connection).get(_OPEN)
    if not known:
        return []
    return [bag for found in list(known.values()) if (bag := found()) is not None]


def _drain(connection: Any) -> list[Hint]:
    return [hint for bag in _bags(connection) for hint in bag._take()]


def _merged(hints: Sequence[Hint]) -> list[Hint]:
    """Return one hint for each key, of those that several savepoints remembered."""
    found: dict[tuple[Any, ...], Hint] = {}
    for hint in hints:
        known = found.setdefault(hint[:4], hint)
        if hint.created and not known.created:
            found[hint[:4]] = hint
    return list(found.values())


def remembers(using: str, section: str) -> bool:
    """Tell whether the open transaction of a connection changed a section."""
    found = _bags(connections[using])
    return any(section in bag.sections and bag.is_waiting for bag in found)


def write_remembered(using: str) -> None:
    """
    Write down what the open transaction of a connection changed so far.

    For whoever reads inside the same transaction, as in a ``TestCase``.
    """
    hints = _drain(connections[using])
    if hints:
        write(hints)


def record(hints: Sequence[Hint], committed: str) -> None:
    """
    Write hints of what was ``committed`` in a database.

    Where the ledger is in another one whose transaction is open, they are written when
    that is committed. Within transactions managed by hand, of whose end nobody is
    told, they are written at once, in a savepoint.
    """
    if not hints:
        return
    using = _database()
    connection = connections[using]
    if connection.in_atomic_block and using != committed:
        transaction.on_commit(partial(write, hints), using=using, robust=True)
        return
    if connection.in_atomic_block or connection.get_autocommit():
        write(hints)
        return
    try:
        with transaction.atomic(using=using):
            write(hints)
    except DatabaseError as error:
        _log(using, error)


# The INSERT


def _database() -> str:
    return router.db_for_write(Change)


#: What a lock kept from being written, on SQLite.
_late: list[Hint] = []
_lock = threading.Lock()
_logged: dict[str, float] = {}


def write(hints: Sequence[Hint]) -> None:
    """Write rows of ``Change``; what cannot be written is logged."""
    using = _database()
    connection = connections[using]
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        with _lock:
            _late.extend(hints)
        write_late(wait=False)
        return
    try:
        _insert(connection, hints)
    except DatabaseError as error:
        if connection.in_atomic_block:
            raise
        _log(using, error)
        return
    changes_written.send(None)


def write_late(*, wait: bool = True) -> None:
    """
    Write what a lock on SQLite kept from being written.

    Without ``wait`` a lock is not waited for: nobody's ``save()`` shall.
    """
    if not _late:
        return
    connection = connections[_database()]
    with _lock:
        hints = _late[:]
        _late.clear()
    connection.ensure_connection()
    try:
        with _patience(connection, wait=wait):
            _insert(connection, hints)
    except OperationalError as error:
        if "locked" not in str(error):
            _log(connection.alias, error)
            return
        with _lock:
            _late[:0] = hints
    except DatabaseError as error:
        _log(connection.alias, error)
        return
    changes_written.send(None)


atexit.register(write_late)


class _patience:  # noqa: N801 (used as a function)
    """Do not wait for SQLite's lock meanwhile."""

    def __init__(self, connection: Any, *, wait: bool) -> None:
        self._driver = None if wait else connection.connection

    def __enter__(self) -> None:
        if self._driver is not None:
            (self._timeout,) = self._driver.execute("PRAGMA busy_timeout").fetchone()
            self._driver.execute("PRAGMA busy_timeout = 0")

    def __exit__(self, *exception: object) -> None:
        if self._driver is not None:
            self._driver.execute(f"PRAGMA busy_timeout = {self._timeout}")


def _log(using: str, error: Exception) -> None:
    now = time.monotonic()
    if now - _logged.get(using, -_LOG_AGAIN) >= _LOG_AGAIN:
        _logged[using] = now
        logger.error(
            "Changes cannot be recorded: %s. If the tables of django_sitemaps_plus are "
            "missing, run 'manage.py migrate sitemaps_plus --database %s'.",
            " ".join(str(error).split()),
            using,
        )


def _insert(connection: Any, hints: Sequence[Hint]) -> None:
    # What commits on its own need not wait for the disk.
    alone = not connection.in_atomic_block and connection.get_autocommit()
    with connection.cursor() as cursor:
        for start in range(0, len(hints), ROWS):
            some = hints[start : start + ROWS]
            params = [part for hint in some for part in hint]
            sql = _insertion(connection.vendor, len(some), alone=alone)
            cursor.execute(sql, params)


@lru_cache(maxsize=64)
def _insertion(vendor: str, count: int, *, alone: bool) -> str:
    """Return the statement that writes so many rows."""
    quote = "`" if vendor == "mysql" else '"'
    names = ("section", "key", "upto", "related", "created", "at", "definition")
    columns = ", ".join(f"{quote}{name}{quote}" for name in names)
    given = f"%s, %s, %s, %s, %s, {clock_sql(vendor)}"
    # Waiting for the disk takes longer than all the rest. What a crash of the server
    # loses, half a second at most, the next comparison finds. SET LOCAL would do
    # nothing in autocommit.
    quick = "left(set_config('synchronous_commit', 'off', true), 0)"
    first = quick if vendor == "postgresql" and alone else "''"
    rows = ", ".join([f"({given}, {first})", *[f"({given}, '')"] * (count - 1)])
    return f"INSERT INTO sitemaps_plus_change ({columns}) VALUES {rows}"  # noqa: S608 (no value is in it)
