"""
The database's clock, and what it ends; bytes as the driver reads them quickest;
and times at which nothing may be queried.

Hosts disagree about the time, the database does not.
"""

from __future__ import annotations

import hashlib
import random
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial, wraps
from itertools import islice
from typing import Any, TypeVar, cast

from django.apps import apps
from django.conf import settings
from django.db import (
    DatabaseError,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    connections,
    router,
)
from django.db import Error as AnyDatabaseError
from django.db.models import FloatField, Func, QuerySet
from django.utils.module_loading import import_string

from .hooks import ATTRIBUTE

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])

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
    """
    Return the expression for the seconds since the epoch.

    Raises ``NotSupportedError`` for a database of another vendor.
    """
    if vendor not in _SQL:
        raise NotSupportedError(f"databases of the vendor {vendor!r} are not supported")
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
    if connections[using].vendor == "sqlite":
        # It lies on this host, and its own clock counts in milliseconds.
        return time.time()
    with connections[using].cursor() as cursor:
        cursor.execute(f"SELECT {clock_sql(connections[using].vendor)}")
        return float(cursor.fetchone()[0])


class Stopwatch:
    """The database's clock for a while: asked once, and never behind it."""

    def __init__(self, started_at: float, asked: float) -> None:
        #: What the database said: seconds since the epoch.
        self.started_at = started_at
        #: Before the question was sent, by this process's own clock.
        self._asked = asked

    @classmethod
    def ask(cls, using: str) -> Stopwatch:
        """Ask a database what time it is."""
        asked = time.monotonic()
        return cls(database_time(using), asked)

    def now(self) -> float:
        """Return what time it is at the database, or a little later."""
        return self.started_at + time.monotonic() - self._asked


def aliases_of(using: str) -> frozenset[str]:
    """Return all aliases of the database that one names, as far as settings say so."""
    place = _place(using)
    if ":memory:" in place[1]:
        return frozenset({using})
    return frozenset(alias for alias in connections if _place(alias) == place)


def _place(alias: str) -> tuple[str, ...]:
    settings = connections.settings[alias]
    options = settings["OPTIONS"]
    return (
        settings["ENGINE"].rpartition(".")[2],
        *(str(settings[name]) for name in ("NAME", "HOST", "PORT")),
        *(str(options.get(name)) for name in ("service", "read_default_file")),
    )


def locks_late(using: str) -> bool:
    """
    Return whether transactions take SQLite's lock only when they first write.

    SQLite refuses the lock at once, whatever the timeout, to a transaction that has
    read before, if another process has written since.
    """
    connection = connections[using]
    mode = connection.settings_dict["OPTIONS"].get("transaction_mode") or "DEFERRED"
    return connection.vendor == "sqlite" and str(mode).upper() == "DEFERRED"


@contextmanager
def binary_cursor(using: str) -> Iterator[Any]:
    """
    Give a cursor that reads large bytes, of a query without dates or JSON.

    PostgreSQL sends bytes as hexadecimal digits unless asked for binary results, which
    Django's cursors on psycopg 3 cannot do: 7 ms instead of 1 for a page of 0.65 MB.
    """
    connection: Any = connections[using]
    driver = connection.Database
    if driver.__name__ != "psycopg":
        with connection.cursor() as cursor:
            yield cursor
        return
    # A cursor of Django's comes first: some backends set the schema with it.
    connection.cursor().close()
    bare = driver.Cursor(connection.connection)
    bare.format = driver.pq.Format.BINARY
    # As Django prepares its own: with its wrappers, log and errors.
    with connection._prepare_cursor(bare) as cursor:
        yield cursor


def tables_exist(using: str, *, of_apps: bool = False) -> bool:
    """
    Return whether the core's tables are there (the migration was run).

    With ``of_apps`` those of the installed apps beside it, too.
    """
    models = list(apps.get_app_config("sitemaps_plus").get_models())
    for config in apps.get_app_configs() if of_apps else ():
        if hasattr(config, ATTRIBUTE):
            # Those of somebody else's app may belong into another database.
            models += filter(
                partial(router.allow_migrate_model, using), config.get_models()
            )
    names = connections[using].introspection.table_names()
    return {model._meta.db_table for model in models}.issubset(names)


def tables_are_missing(using: str) -> bool:
    """Return whether that is why a database failed; not if it cannot be asked."""
    try:
        return not tables_exist(using)
    except DatabaseError:
        return False


def is_without_connection(using: str, error: Exception) -> bool:
    """Return whether a database failed because it could not be connected to."""
    connection = connections[using]
    # SQLite says the same of a missing table, and connects at once.
    is_remote = connection.vendor != "sqlite" and isinstance(error, OperationalError)
    return is_remote and connection.connection is None


def has_failed(error: Exception, ledger: str, *others: str) -> bool:
    """
    Return whether an error means that the ledger's database fails, or another.

    If they answer it is a query's own: what a project's ``items()`` cannot do has
    errors of all kinds.
    """
    if not isinstance(error, AnyDatabaseError):
        return False
    try:
        for alias in (ledger, *others):
            with connections[alias].cursor() as cursor:
                cursor.execute("SELECT 1")
    except AnyDatabaseError:
        return True
    return tables_are_missing(ledger)


@contextmanager
def bounded(connection: Any, seconds: float) -> Iterator[None]:
    """
    End a connection that answers nothing for ``seconds``, as that to a hung host.

    Drivers wait for an answer as long as the network takes what is sent.
    """
    if connection.vendor == "sqlite":
        yield
        return
    if connection.connection is None:
        _connect(connection, seconds)
    with connection.wrap_database_errors:
        number = connection.connection.fileno()
    lock, is_over = threading.Lock(), False

    def end() -> None:
        with lock, suppress(OSError):
            if not is_over:
                # os.dup() takes no sockets on Windows. The family is never looked at.
                with socket.fromfd(number, socket.AF_INET, socket.SOCK_STREAM) as own:
                    own.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    # A process that ends starts no threads.
    with suppress(RuntimeError):
        timer.start()
    try:
        yield
    finally:
        with lock:
            # From now on it may be closed, and its number another's.
            is_over = True
        timer.cancel()


def _connect(connection: Any, seconds: float) -> None:
    """Connect within the same time, unless the settings say another."""
    # A pool has a timeout of its own.
    has_pool = "pool" in connection.settings_dict["OPTIONS"]
    own = {} if has_pool else {"connect_timeout": round(seconds)}
    given = connection.get_connection_params
    connection.get_connection_params = lambda: {**own, **given()}
    try:
        connection.ensure_connection()
    finally:
        del connection.get_connection_params


#: Rows of one statement.
ROWS = 500


def parts(values: Iterable[_T], size: int = ROWS) -> Iterator[list[_T]]:
    """Yield values in lists, as many as one statement takes."""
    rest = iter(values)
    while some := list(islice(rest, size)):
        yield some


def delete_old(rows: QuerySet[Any], column: str, before: float) -> int:
    """
    Delete the rows of which a time is before another; return how many.

    Of a table whose rows are written in the order of that time: they are read from its
    start.
    """
    deleted = 0
    while True:
        first = rows.order_by("pk").values_list("pk", column)[:ROWS]
        old = [pk for pk, at in first if at < before]
        if not old:
            return deleted
        deleted += rows.filter(pk__in=old).delete()[0]


#: How often a transaction is tried that another one kept from its locks.
_TRIES = 3


def retrying(using: str, action: Callable[[], _T]) -> _T:
    """
    Run a transaction of the database ``using``, again where that ended it.

    As it does with one of two that wait for each other, and when it is restarted.
    """
    connection = connections[using]
    for turn in range(1, _TRIES):
        if connection.in_atomic_block:
            break
        try:
            return action()
        except (OperationalError, InterfaceError):
            time.sleep(turn * random.uniform(0.02, 0.1))  # noqa: S311 (no secret)
            connection.close_if_unusable_or_obsolete()
    return action()


def retried(method: _F) -> _F:
    """Have a method of a queryset run as ``retrying``, where its rows are written."""

    @wraps(method)
    def inner(rows: QuerySet[Any], *args: Any, **kwargs: Any) -> Any:
        using = router.db_for_write(rows.model)
        return retrying(using, partial(method, rows, *args, **kwargs))

    return cast(_F, inner)


def digest_of(text: str) -> str:
    """Return a digest of a text for an index: URLs themselves are too long for one."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class NoQueriesError(OperationalError):
    """A query at startup, when none may be made."""


@contextmanager
def no_queries() -> Iterator[None]:
    """
    Refuse every query; a connection that was opened for one is closed again.

    Only the current Site can be looked up: a stand-in with its key, which is all that
    a query needs. Not while requests are answered: they would see it too.
    """
    pk = getattr(settings, "SITE_ID", None)
    with ExitStack() as stack:
        if pk and apps.is_installed("django.contrib.sites"):
            cache = import_string("django.contrib.sites.models.SITE_CACHE")
            if pk not in cache:
                cache[pk] = apps.get_model("sites.Site")(pk=pk, domain="localhost")
                stack.callback(cache.pop, pk, None)
        stack.enter_context(refusing_queries())
        yield


@contextmanager
def refusing_queries() -> Iterator[None]:
    """Refuse every query, of whichever Site; nothing else is changed."""

    def refuse(*args: Any) -> None:
        raise NoQueriesError("items() runs a query when it is called")

    opened = {alias for alias in connections if connections[alias].connection}
    # A refused UPDATE has harmed no transaction that is open.
    broken = {alias: connections[alias].needs_rollback for alias in connections}
    try:
        with ExitStack() as refusals:
            for one in connections.all():
                refusals.enter_context(one.execute_wrapper(refuse))
            yield
    finally:
        for alias in connections:
            connections[alias].needs_rollback = broken[alias]
            if alias not in opened and connections[alias].connection:
                connections[alias].close()
