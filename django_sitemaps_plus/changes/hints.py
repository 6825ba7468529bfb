"""
Hints, "look at this key again": written to the ledger, when it can be reached.

The INSERT is written by hand, because the ORM's own costs as much as the user's
``save()``.
"""

from __future__ import annotations

import atexit
import logging
import math
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import lru_cache
from typing import Any, NamedTuple

from django.db import (
    Error,
    NotSupportedError,
    OperationalError,
    connections,
    transaction,
)

from django_sitemaps_plus.db import bounded, clock_sql, parts
from django_sitemaps_plus.pagination.queries import ledger, other_sites
from django_sitemaps_plus.signals import changes_written
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.site import Site

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds after which a save reads again which other Sites have sections.
READ_AGAIN = 180.0
#: Keys of a section in one transaction above which they become one range, and changes
#: that wait in memory above which they become whole sections.
MOST_KEYS = 10_000
#: The least seconds for which no save tries to write, after the database was away.
PAUSE = 5.0
#: Seconds for which a save waits for another database than its own.
PATIENCE = 3.0
#: How much longer than a vain attempt the pause is.
PAUSES = 20
#: Seconds after its commit within which a hint is written, where the database can be
#: reached again: a pause, and as long for the attempts before and after.
LATE = 2 * PAUSES * PATIENCE
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
    #: The key of the site whose row it is. Empty: a row for the default site, and one
    #: for each other Site that has a section of that name.
    site: str = ""


def _insert(connection: Any, hints: Sequence[Hint]) -> None:
    """Write a row of ``Change`` for each hint, and for each site that it concerns."""
    # What commits on its own need not wait for the disk.
    alone = not connection.in_atomic_block and connection.get_autocommit()
    sites = {name: _sites_of(name) for name in {hint.section for hint in hints}}
    rows = [
        (*hint[:-1], site)
        for hint in hints
        for site in ([hint.site] if hint.site else sites[hint.section])
    ]
    with connection.cursor() as cursor:
        for some in parts(rows):
            sql = _insertion(connection.vendor, len(some), alone=alone)
            cursor.execute(sql, [part for row in some for part in row])


@lru_cache(maxsize=64)
def _insertion(vendor: str, count: int, *, alone: bool) -> str:
    """
    Return the statement that writes so many rows, each with its site.

    Behind the first text it tells PostgreSQL's commit not to wait for the disk, if it
    stands ``alone``: that takes longer than all the rest. What a crash of the server
    loses, half a second at most, the next comparison finds. SET LOCAL would do nothing
    in autocommit.
    """
    quick = ""
    if vendor == "postgresql" and alone:
        quick = " || left(set_config('synchronous_commit', 'off', true), 0)"
    quote = "`" if vendor == "mysql" else '"'
    columns = ", ".join(f"{quote}{name}{quote}" for name in (*Hint._fields, "at"))
    rest = f"%s, %s, %s, %s, %s, {clock_sql(vendor)}"
    rows = ", ".join([f"(%s{quick}, {rest})", *[f"(%s, {rest})"] * (count - 1)])
    return f"INSERT INTO sitemaps_plus_change ({columns}) VALUES {rows}"  # noqa: S608 (names)


#: The other Sites by section, and when they were read, by the monotonic clock.
_other_sites: dict[str, list[str]] = {}
_read_at = -math.inf


def _sites_of(section: str) -> list[str]:
    """
    Return the keys of the sites for which a change of a section is recorded.

    Those are the default site and Sites with settings of their own. A Site that is new
    is noticed a little later: its comparisons find what was saved until then.
    """
    global _other_sites, _read_at
    default = Site.default()
    if not default.may_share_database:
        return [default.key]
    if time.monotonic() - _read_at > READ_AGAIN:
        _other_sites, _read_at = other_sites(), time.monotonic()
    others = _other_sites.get(section, [])
    return others if default.is_chosen_by_request else [default.key, *others]


# Writing, where the database can be reached


#: What could not be written yet, by tenant: SQLite is locked, or the database is away.
_late: dict[str, list[Hint]] = {}
_lock = threading.Lock()
#: Until when no save tries to write to a database, by the monotonic clock.
_away_until: dict[str, float] = {}
_logged: dict[str, float] = {}


def write_hints(hints: Sequence[Hint], *, committed: str = "") -> None:
    """
    Write rows of ``Change``; what cannot be written is logged.

    While the database is away it waits in memory, and no save waits for the database.
    ``committed`` is the database of what was saved, if that is known.
    """
    if not hints:
        return
    connection = connections[ledger()]
    if connection.in_atomic_block:
        _insert(connection, hints)
        changes_written.send(None)
    elif time.monotonic() < _away_until.get(connection.alias, -math.inf):
        _keep(hints)
    else:
        # Where the user's own hangs, that is theirs to bound.
        _write(connection, hints, wait=False, is_bounded=committed != connection.alias)


def write_late() -> None:
    """Write what could not be written, and wait for SQLite's lock: not for a save."""
    late = list(_late)
    known = tenants.existing(late)
    for tenant in late:
        if tenant not in known:
            _late.pop(tenant, None)
            continue
        with tenants.active(tenant):
            _write(connections[ledger()], [], wait=True, is_bounded=True)


atexit.register(write_late)


def _write(
    connection: Any, hints: Sequence[Hint], *, wait: bool, is_bounded: bool
) -> None:
    """Write hints, and what waits in memory; without ``wait``, not if it is locked."""
    with _lock:
        hints = [*_late.pop(tenants.current_tenant_key(), []), *hints]
    started = time.monotonic()
    try:
        clock_sql(connection.vendor)  # other drivers may lack what comes next
        bound = bounded(connection, PATIENCE) if is_bounded else nullcontext()
        with bound, _own_block(connection), _patience(connection, wait=wait):
            _insert(connection, hints)
        _away_until.pop(connection.alias, None)
    except Error as error:
        if isinstance(error, OperationalError) and "locked" in str(error):
            _keep(hints)
        else:
            took = time.monotonic() - started
            _log(connection.alias, error)
            if isinstance(error, NotSupportedError) or not _is_lost(connection):
                return
            pause = max(PAUSE, PAUSES * took)
            _away_until[connection.alias] = time.monotonic() + pause
            _keep(hints)
    changes_written.send(None)


def _keep(hints: Sequence[Hint]) -> None:
    """Have hints wait in memory; so many become whole sections."""
    with _lock:
        _late.setdefault(tenants.current_tenant_key(), []).extend(hints)
        if sum(map(len, _late.values())) > MOST_KEYS:
            for late in _late.values():
                late[:] = {Hint(one.section, site=one.site): None for one in late}


def _own_block(connection: Any) -> AbstractContextManager[Any]:
    """Return a savepoint within a transaction that is managed by hand."""
    is_by_hand = not connection.get_autocommit()
    return transaction.atomic(connection.alias) if is_by_hand else nullcontext()


def _is_lost(connection: Any) -> bool:
    """Return whether the connection is lost; the next attempt opens another."""
    if connection.connection is None:
        return True
    # Within a transaction that is managed by hand it is not ours to close.
    is_lost = connection.autocommit and not connection.is_usable()
    if is_lost:
        with suppress(Error):
            connection.close()
    return is_lost


class _patience:  # noqa: N801 (used as a function)
    """Do not wait for SQLite's lock meanwhile."""

    def __init__(self, connection: Any, *, wait: bool) -> None:
        is_concerned = connection.vendor == "sqlite" and not wait
        self._driver = connection.connection if is_concerned else None

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
            "missing, run '%s'.",
            " ".join(str(error).split()),
            tenants.migration(using),
        )
