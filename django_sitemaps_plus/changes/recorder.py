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
import math
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
from django_sitemaps_plus.pagination.queries import other_sites_have_sections
from django_sitemaps_plus.signals import changes_written
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.site import (
    declared_sites,
    may_share_database,
    named_site,
)

from .models import Change

logger = logging.getLogger("django_sitemaps_plus")

#: Keys of a section in one transaction above which they become one range.
MOST_KEYS = 10_000
#: Rows of one INSERT.
ROWS = 500
#: Seconds for which nobody looks whether another Site has rows by now.
ONLY = 180.0
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
    #: The site whose row it is. None: one for this process's own Site, and one for each
    #: other Site that has a section of that name.
    site: str | None = None


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

    def hints(self, section: str, site: str | None) -> Iterator[Hint]:
        """Yield what is to be written of them."""
        for label, pk in self.related:
            yield Hint(section, pk, related=label, site=site)
        self._load()
        if self.whole:
            yield Hint(section, site=site)
            return
        dumps = self.key.dumps
        if self.span is not None:
            yield Hint(section, dumps(self.span[0]), dumps(self.span[1]), site=site)
        for value, created in self.singles.items():
            yield Hint(section, dumps(value), None, "", created, site)

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
        #: By the name of the site, empty for the one without, and of the section.
        self.sections: dict[tuple[str, str], _Keys] = {}
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

    def keys(self, site: str, section: str, key: Key, database: str) -> _Keys:
        """Return the keys of a section."""
        found = self.sections.get((site, section))
        if found is None:
            found = self.sections[site, section] = _Keys(key, database)
        return found

    def __call__(self) -> None:
        """Write down what the whole transaction changed, once."""
        hints = _merged([*_drain(self.connection), *self._take()])
        record(hints, self.connection.alias)

    def _take(self) -> list[Hint]:
        sections, self.sections = self.sections, {}
        return [
            hint
            for (site, name), keys in sections.items()
            for hint in keys.hints(name, site or None)
        ]


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
        same = *hint[:4], hint.site
        known = found.setdefault(same, hint)
        if hint.created and not known.created:
            found[same] = hint
    return list(found.values())


def remembers(using: str, section: str) -> bool:
    """Tell whether the open transaction of a connection changed a section."""
    found, known = _bags(connections[using]), (named_site(), section)
    return any(known in bag.sections and bag.is_waiting for bag in found)


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
    own, *named = declared_sites()
    is_shared = may_share_database() and not (own and _is_only_site())
    # What the others have is not for them to record.
    known = [own, *named] if own else named
    by_site: dict[str | None, list[Hint]] = {}
    for hint in hints:
        by_site.setdefault(hint.site, []).append(hint)
    with connection.cursor() as cursor:
        for site, group in by_site.items():
            for start in range(0, len(group), ROWS):
                some = group[start : start + ROWS]
                given = [part for hint in some for part in hint[:5]]
                if site is None and is_shared:
                    mine = [own] if own else []
                    sql = _insertion_for_each_site(
                        connection.vendor, len(some), len(mine), len(known), alone=alone
                    )
                    params = [*given, *mine, *known]
                else:
                    of = own if site is None else site
                    sql = _insertion(connection.vendor, len(some), alone=alone)
                    params = [part for hint in some for part in (*hint[:5], of)]
                cursor.execute(sql, params)


def _columns(vendor: str) -> str:
    quote = "`" if vendor == "mysql" else '"'
    names = ("section", "key", "upto", "related", "created")
    return ", ".join(f"{quote}{name}{quote}" for name in names)


def _definition(vendor: str, *, alone: bool) -> str:
    """
    Return the empty text, and on PostgreSQL have the commit not wait for the disk.

    That takes longer than all the rest. What a crash of the server loses, half a second
    at most, the next comparison finds. SET LOCAL would do nothing in autocommit.
    """
    quick = "left(set_config('synchronous_commit', 'off', true), 0)"
    return quick if vendor == "postgresql" and alone else "''"


@lru_cache(maxsize=64)
def _insertion(vendor: str, count: int, *, alone: bool) -> str:
    """Return the statement that writes so many rows, each with its site."""
    into = (
        f"INSERT INTO sitemaps_plus_change ({_columns(vendor)}, site, at, definition)"
    )
    given = f"%s, %s, %s, %s, %s, %s, {clock_sql(vendor)}"
    first = _definition(vendor, alone=alone)
    rows = ", ".join([f"({given}, {first})", *[f"({given}, '')"] * (count - 1)])
    return f"{into} VALUES {rows}"


@lru_cache(maxsize=64)
def _insertion_for_each_site(
    vendor: str, count: int, mine: int, known: int, *, alone: bool
) -> str:
    """
    Return the statement that writes rows for one's own Site and for all others.

    Others have a section of the name, and are none of the ``known`` sites, which these
    settings describe. Nothing is asked before.
    """
    columns = _columns(vendor)
    into = f"INSERT INTO sitemaps_plus_change ({columns}, site, at, definition)"
    rest = f"{clock_sql(vendor)}, {_definition(vendor, alone=alone)}"
    unknown = f"AND site NOT IN ({', '.join(['%s'] * known)})" if known else ""
    # No value is in the texts.
    if vendor == "postgresql":
        # Planned in half the time of a UNION.
        row = "(%s::text, %s::text, %s::text, %s::text, %s::boolean)"
        values = f"(VALUES {', '.join([row] * count)}) AS given ({columns})"
        others = (
            "SELECT site::text FROM sitemaps_plus_section "  # noqa: S608 (names)
            f"WHERE name = given.section {unknown}"
        )
        sites = f"unnest({'ARRAY[%s::text] || ' * mine}ARRAY({others})) AS own (site)"
        return f"{into} SELECT given.*, site, {rest} FROM {values}, {sites}"  # noqa: S608 (names)
    row, name = "(%s, %s, %s, %s, %s)", "given.section"
    values = f"VALUES {', '.join([row] * count)}"
    if vendor == "mysql":
        values = " UNION ALL ".join([f"SELECT {row[1:-1]}"] * count)
        # Texts in a statement have the connection's collation.
        name = f"CONVERT({name} USING utf8mb4) COLLATE utf8mb4_bin"
    parts = [f"SELECT given.*, %s, {rest} FROM given"] * mine  # noqa: S608 (names)
    parts.append(
        f"SELECT given.*, site, {rest} "  # noqa: S608 (names)
        f"FROM given, sitemaps_plus_section WHERE name = {name} {unknown}"
    )
    return f"{into} WITH given ({columns}) AS ({values}) {' UNION ALL '.join(parts)}"


#: Until when no other Site has rows, as far as this process knows, by the monotonic
#: clock.
_only_until = -math.inf


def look_for_other_sites() -> None:
    """
    Find out whether other Sites have rows; if not, no save looks for them for a while.

    For the background: which site is the first to come is noticed a little later, and
    what was saved until then by its next comparison.
    """
    global _only_until
    now = time.monotonic()
    _only_until = -math.inf if other_sites_have_sections() else now + ONLY


def _is_only_site() -> bool:
    return time.monotonic() < _only_until
