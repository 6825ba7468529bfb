"""
What is written down when objects are saved, deleted or touched.

A ``Change`` row says "look at this key again". It is written beside the object, in
its database and its transaction, by one plain INSERT: no constraint, no UPDATE, so
that writers do not wait for each other. Whatever goes wrong here is logged, and the
user's own statement goes on.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary, ref

from django.db import OperationalError, connections, transaction
from django.db.models import Model, QuerySet
from django.db.models.signals import post_migrate
from django.utils.asyncio import async_unsafe

from . import lookups
from .clock import clock_sql
from .definitions import source
from .keys import Key, KeyValue
from .registry import registry
from .watching import Watched, family, watched

logger = logging.getLogger("django_sitemaps_plus")

#: The table of ``models.Change``, which cannot be imported before the apps are ready.
TABLE = "sitemaps_plus_change"
#: Rows of one INSERT.
ROWS = 500
#: Keys above which a gathered or touched set becomes one range.
MOST_KEYS = 1_000
#: Seconds after which a table that was missing is looked for again.
LOOK_AGAIN = 60

_COLUMNS = ("section", "key", "upto", "old", "settled")
_SAVEPOINT = "sitemaps_plus_recording"
#: MySQL's ER_LOCK_DEADLOCK.
_DEADLOCK = 1213
#: libpq's PQTRANS_INERROR, in the numbers of both versions of psycopg.
_IN_ERROR = 3

#: Called after changes were committed.
listeners: list[Callable[[], object]] = []


@dataclass(frozen=True, slots=True)
class Row:
    """What is written down of one key, or of a range of keys."""

    section: str
    #: Empty: the whole section.
    key: str = ""
    upto: str | None = None
    #: Where it was listed: None is not known, empty is nowhere.
    old: Sequence[str] | None = None


class _Marker:
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


_Markers = WeakValueDictionary[tuple[str, str], _Marker]
_markers: WeakKeyDictionary[Any, _Markers] = WeakKeyDictionary()


def tell() -> None:
    """Tell whoever waits for changes that some were committed."""
    for listener in listeners:
        listener()


def _connection(using: str) -> Any:
    return connections[using]


class Recorder:
    """Writes down what happens to the objects of one section."""

    def __init__(self, name: str) -> None:
        self.name = name

    @cached_property
    def watched(self) -> Watched | None:
        """The models and fields on which the section depends."""
        return watched(registry.get(self.name))

    @property
    def key(self) -> Key:
        """The key by which the section is paged."""
        return lookups.lookup(self.name).key

    @property
    def database(self) -> str:
        """The database in which the section's rows are written."""
        return lookups.lookup(self.name).database

    def depends_on(self, model: type[Model]) -> bool:
        """Tell whether rows of ``model`` are read beside the section's own."""
        found = self.watched
        return found is not None and any(
            model in family(other) for other in found.related
        )

    def key_of(self, instance: Model, using: str) -> KeyValue | None:
        """
        Return the section's key of an instance, of a parent or a child model too.

        None if it has no row of the section's model, or no key yet.
        """
        key = self.key
        if key.is_whole and type(instance.__dict__.get(key.names[0])) is int:
            return (instance.__dict__[key.names[0]],)
        if all(name in instance.__dict__ for name in key.names):
            value = key.of(instance)
        elif key.names == (key.model._meta.pk.attname,):
            value = (instance.pk,)
        else:
            rows = key.model._base_manager.using(using).filter(pk=instance.pk)
            found = rows.values_list(*key.names).first()
            if found is None:
                return None
            value = found
        if None in value:
            # A copy that is about to get a key of its own.
            return None
        return tuple(
            known.to_python(part) for known, part in zip(key.fields, value, strict=True)
        )

    def _wanted_key(self, instance: Model, using: str) -> KeyValue | None:
        """Return the key that is to be written now, if one is."""
        if using != self.database:
            # The section's rows are elsewhere: nobody would ever look at it there.
            return None
        value = self.key_of(instance, using)
        if value is None or _gather(self.name, value, using):
            return None
        return value

    def updating(
        self, instance: Model, using: str, update_fields: Iterable[str] | None
    ) -> None:
        """Write down that an object is about to be saved again."""
        value = self._wanted_key(instance, using)
        if value is None:
            return
        text = self.key.dumps(value)
        needs_old = self.watched is None or self.watched.concerns(update_fields)
        marker = _marked(using).get((self.name, text))
        if marker is not None and (marker.knows_old or not needs_old):
            return

        def write(statements: _Statements) -> None:
            autocommit = _is_autocommit(using)
            waiting = _Update.of(instance, using) if autocommit else None
            old = self._old(value, statements) if needs_old else None
            row = Row(self.name, text, old=old)
            if waiting is not None:
                waiting.add(row)
                return
            statements.insert([row], settled=True)
            _mark(using, self.name, text, knows_old=needs_old)

        _harmlessly(using, write)

    def saved(self, instance: Model, using: str, *, created: bool) -> None:
        """Write down that an object was created, or saved over one not loaded."""
        value = self._wanted_key(instance, using)
        if value is None:
            return
        text = self.key.dumps(value)
        if (self.name, text) in _marked(using):
            return

        def write(statements: _Statements) -> None:
            row = Row(self.name, text, old=() if created else None)
            statements.insert([row], settled=True)
            _mark(using, self.name, text, knows_old=True)

        _harmlessly(using, write)

    def deleting(self, instance: Model, using: str) -> None:
        """Write down that an object is about to be deleted, with those of its kind."""
        value = self._wanted_key(instance, using)
        if value is not None:
            _Deletion.on(using).add(self, value)

    def of_key(self, pk: Any) -> None:
        """Write down that something happened on which the row ``pk`` depends."""
        key = self.key
        if key.names != (key.model._meta.pk.attname,):
            self.whole()
            return
        value = (key.fields[0].to_python(pk),)
        if not _gather(self.name, value, self.database):
            self._coarse(key.dumps(value))

    def whole(self) -> None:
        """Write down that any row of the section may be another."""
        if not _gather(self.name, None, self.database):
            self._coarse("")

    def losing(self, pk: Any) -> None:
        """Write down that something goes on which the row ``pk`` depends; None: any."""
        key, using = self.key, self.database
        value = None
        if pk is not None and key.names == (key.model._meta.pk.attname,):
            value = (key.fields[0].to_python(pk),)
        if not _gather(self.name, value, using):
            _Deletion.on(using).add_dependent(self, value)

    def crossed(self, keys: Sequence[KeyValue] | None) -> None:
        """Write down that rows appeared or expired; None: too many to name them."""
        rows = [Row(self.name)]
        if keys is not None:
            rows = [Row(self.name, self.key.dumps(value)) for value in keys]
        _write(self.database, rows)

    def _coarse(self, text: str) -> None:
        using = self.database
        if (self.name, text) in _marked(using):
            return

        def write(statements: _Statements) -> None:
            settled = not _is_autocommit(using)
            statements.insert([Row(self.name, text)], settled=settled)
            _mark(using, self.name, text, knows_old=False)

        _harmlessly(using, write)

    def _old(self, value: KeyValue, statements: _Statements) -> list[str] | None:
        """Return where an object is listed; None if that cannot be found out."""
        paths = None
        with self._logged(statements):
            found = lookups.lookup(self.name)
            if not found.is_proved(statements.using):
                statements.begin()
            paths = found.location(value, statements.using, statements.rows)
        return paths

    def listed(
        self, values: Sequence[KeyValue], statements: _Statements
    ) -> dict[str, list[str]]:
        """Return where objects are listed, by their keys' texts; logs what fails."""
        paths: dict[str, list[str]] = {}
        with self._logged(statements):
            statements.begin()
            paths = lookups.lookup(self.name).locations(values, statements.using)
        return paths

    @contextmanager
    def _logged(self, statements: _Statements) -> Iterator[None]:
        """Go on without what a lookup would have told."""
        try:
            yield
        except Exception as error:
            if has_ended(statements.using, error):
                raise
            statements.recover()
            logger.exception(
                "Section %r: where objects were listed before is not known.", self.name
            )


# Writing


def _is_autocommit(using: str) -> bool:
    """Tell whether each statement is committed on its own."""
    connection = _connection(using)
    return not connection.in_atomic_block and bool(connection.get_autocommit())


def _is_broken(using: str) -> bool:
    """Tell whether an error ended the transaction, as it does on PostgreSQL."""
    connection = _connection(using)
    return connection.vendor == "postgresql" and not _is_autocommit(using)


_missing: dict[str, float] = {}
_present: set[str] = set()


def can_record(using: str) -> bool:
    """
    Tell whether the table of changes is there, beside the objects.

    Known beforehand, because a statement that fails ends the user's transaction on
    PostgreSQL. A table that is missing is looked for again every minute.
    """
    if using in _present:
        return True
    if time.monotonic() - _missing.get(using, -LOOK_AGAIN) < LOOK_AGAIN:
        return False
    connection = _connection(using)
    with connection.cursor() as cursor:
        names = connection.introspection.table_names(cursor)
    if TABLE in names:
        _present.add(using)
        return True
    _missing[using] = time.monotonic()
    logger.warning(
        "Changes of the database %r are not recorded: its table %s is missing. Run "
        "'manage.py migrate sitemaps_plus --database %s'.",
        using,
        TABLE,
        using,
    )
    return False


def look_again(**kwargs: Any) -> None:
    """Look for the tables of changes again, as after a migration."""
    _missing.clear()
    _present.clear()


post_migrate.connect(look_again, dispatch_uid="django_sitemaps_plus.recording")


def _harmlessly(using: str, write: Callable[[_Statements], None]) -> None:
    """
    Run statements that must not make the user's own work fail.

    Raises only what ended the user's transaction, which must not go on by half.
    """
    try:
        if can_record(using):
            with _Statements(using) as statements:
                write(statements)
    except Exception as error:
        if has_ended(using, error):
            raise
        _present.discard(using)
        logger.exception("A change of the database %r could not be recorded.", using)


def has_ended(using: str, error: Exception) -> bool:
    """
    Tell whether the database rolled the open transaction back because of an error.

    MySQL does so after a deadlock, SQLite when the disk is full. What the project
    does next would be committed without what it did before.
    """
    connection = _connection(using)
    if not connection.in_atomic_block:
        return False
    if connection.vendor == "mysql":
        return isinstance(error, OperationalError) and error.args[:1] == (_DEADLOCK,)
    return connection.vendor == "sqlite" and not connection.connection.in_transaction


class _Statements:
    """
    Statements of ours: one that fails must not end the user's transaction.

    On PostgreSQL it would, so there they are run under a savepoint. It is set
    together with the first of them and released together with the last one, because
    each message to the server takes as long as the statement itself.
    """

    def __init__(self, using: str) -> None:
        self.using = using
        self._connection = _connection(using)
        self._is_guarded = _is_broken(using)
        self._is_set = False
        # Parameters that are sent apart from the statement allow for one only.
        self._takes_several = not getattr(
            self._connection.features, "uses_server_side_binding", False
        )

    def __enter__(self) -> _Statements:
        self._cursor = self._connection.cursor()
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        with self._cursor:
            if error is not None:
                self.recover()
            if self._is_set:
                self._cursor.execute(f"RELEASE SAVEPOINT {_SAVEPOINT}")

    def begin(self) -> None:
        """Set the savepoint, before a statement that is not known to be right."""
        if self._is_guarded and not self._is_set:
            self._cursor.execute(f"SAVEPOINT {_SAVEPOINT}")
            self._is_set = True

    def recover(self) -> None:
        """Undo what failed, so that the transaction goes on."""
        if self._is_guarded and self._has_failed():
            self._cursor.execute(f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}")
            self._is_set = True

    def _has_failed(self) -> bool:
        """Tell whether the server refuses all but a rollback, as psycopg knows."""
        return bool(self._connection.connection.info.transaction_status == _IN_ERROR)

    def rows(self, sql: str, params: Sequence[Any]) -> Sequence[tuple[Any, ...]]:
        """Return the rows of a query."""
        self._execute(sql, params)
        if self._cursor.description is None:
            # psycopg gives the savepoint's result first.
            self._cursor.nextset()
        found: Sequence[tuple[Any, ...]] = self._cursor.fetchall()
        return found

    def insert(self, rows: Sequence[Row], *, settled: bool) -> None:
        """Write rows, by one statement for each five hundred of them."""
        vendor = self._connection.vendor
        for start in range(0, len(rows), ROWS):
            some = rows[start : start + ROWS]
            is_last = len(some) == len(rows)
            found = [_params(row, settled=settled) for row in some]
            if vendor == "postgresql" and len(some) > 1:
                # psycopg spends a microsecond or three on each parameter.
                self._execute(_MANY, [json.dumps(found)], is_last=is_last)
                continue
            params = [part for params in found for part in params]
            self._execute(_insertion(vendor, len(some)), params, is_last=is_last)

    def _execute(
        self, sql: str, params: Sequence[Any], *, is_last: bool = False
    ) -> None:
        if not self._is_guarded or not self._takes_several:
            self.begin()
            self._cursor.execute(sql, params)
            return
        if not self._is_set:
            sql = f"SAVEPOINT {_SAVEPOINT}; {sql}"
        if is_last:
            sql = f"{sql}; RELEASE SAVEPOINT {_SAVEPOINT}"
        self._cursor.execute(sql, params)
        self._is_set = not is_last


#: The rows as one parameter.
_MANY = (
    f'INSERT INTO {TABLE} (section, "key", upto, old, settled, at) '  # noqa: S608
    "SELECT row ->> 0, row ->> 1, row ->> 2, row ->> 3, (row ->> 4)::boolean, "
    f"{clock_sql('postgresql')} FROM json_array_elements(%s::json) AS rows(row)"
)


@lru_cache
def _insertion(vendor: str, count: int) -> str:
    """Return the statement that writes so many rows."""
    # No column of ours needs to be quoted but one: KEY is a word of MySQL.
    quote = "`" if vendor == "mysql" else '"'
    columns = ", ".join(f"{quote}{name}{quote}" for name in (*_COLUMNS, "at"))
    values = f"(%s, %s, %s, %s, %s, {clock_sql(vendor)})"
    return (
        f"INSERT INTO {TABLE} ({columns}) "  # noqa: S608 (no value in it)
        f"VALUES {', '.join([values] * count)}"
    )


def _params(row: Row, *, settled: bool) -> tuple[Any, ...]:
    old = None if row.old is None else json.dumps(row.old)
    return row.section, row.key, row.upto, old, settled


def _marked(using: str) -> _Markers:
    return _markers.setdefault(_connection(using), WeakValueDictionary())


def _mark(using: str, section: str, text: str, *, knows_old: bool) -> None:
    if not _connection(using).in_atomic_block:
        tell()
        return
    marker = _Marker(knows_old=knows_old)
    transaction.on_commit(marker, using=using, robust=True)
    _marked(using)[section, text] = marker


def forget_marks(using: str) -> None:
    """
    Have objects recorded again that were recorded in the open transaction.

    For who took the changes within that transaction, as in a ``TestCase``.
    """
    _markers.pop(_connection(using), None)


# Updates


class _Update:
    """
    The rows of an object that is saved outside of a transaction, until its UPDATE.

    Both are committed together, which takes one write to the disk instead of two.
    """

    def __init__(self, instance: Model, using: str) -> None:
        self._instance = instance
        self._using = using
        self._rows: list[Row] = []
        quote = _connection(using).ops.quote_name
        self._start = f"UPDATE {quote(instance._meta.db_table)} "

    @classmethod
    def of(cls, instance: Model, using: str) -> _Update:
        """Return what waits for an object, which does not wait until ``add()``."""
        wrappers = _connection(using).execute_wrappers
        for wrapper in wrappers:
            if isinstance(wrapper, cls) and wrapper._instance is instance:
                wrappers.remove(wrapper)
                return wrapper
        return cls(instance, using)

    def add(self, row: Row) -> None:
        """Add a row, and wait for the next statement."""
        self._rows.append(row)
        # First of all: who leaves execute_wrapper() removes the last one.
        _connection(self._using).execute_wrappers.insert(0, self)

    def __call__(
        self, execute: Any, sql: Any, params: Any, many: bool, context: Any
    ) -> Any:
        """Write the rows, then run the statement that waits."""
        _connection(self._using).execute_wrappers.remove(self)
        if not self._is_expected(sql):
            # Another receiver's, say. The rows must not be lost over it.
            self._write(settled=False)
            return execute(sql, params, many, context)
        with transaction.atomic(using=self._using):
            self._write(settled=True)
            return execute(sql, params, many, context)

    def _is_expected(self, sql: Any) -> bool:
        """Tell whether this is the UPDATE, and can be in a transaction of ours."""
        # SQLite does not commit as long as what is returned was not fetched.
        text = str(sql)
        return text.startswith(self._start) and " RETURNING " not in text

    def _write(self, *, settled: bool) -> None:
        def write(statements: _Statements) -> None:
            statements.insert(self._rows, settled=settled)
            transaction.on_commit(tell, using=self._using, robust=True)

        _harmlessly(self._using, write)


# Deletes


@dataclass(eq=False)
class _Deletion:
    """
    Objects about to be deleted, written down before the next statement.

    Django tells of each object first, and deletes some thousand by one statement
    afterwards: so are they looked up, and written, together.
    """

    using: str
    #: By section: the recorder, and the keys of the objects.
    own: dict[str, tuple[Recorder, dict[KeyValue, None]]] = field(default_factory=dict)
    #: The same for rows that depend on something deleted; None stands for any row.
    dependent: dict[str, tuple[Recorder, dict[KeyValue | None, None]]] = field(
        default_factory=dict
    )
    #: Lives as long as the transaction, which somebody else's receiver may end.
    token: ref[_Marker] | None = None

    @classmethod
    def on(cls, using: str) -> _Deletion:
        """Return the one that waits on a connection; installed if there is none."""
        connection = _connection(using)
        for wrapper in connection.execute_wrappers:
            if isinstance(wrapper, cls) and wrapper.is_alive:
                return wrapper
        made = cls(using)
        if connection.in_atomic_block:
            token = _Marker(knows_old=False)
            transaction.on_commit(token, using=using, robust=True)
            made.token = ref(token)
        # First of all: who leaves execute_wrapper() removes the last one.
        connection.execute_wrappers.insert(0, made)
        return made

    @property
    def is_alive(self) -> bool:
        """Whether the transaction in which the objects are deleted goes on."""
        return self.token is None or self.token() is not None

    def add(self, recorder: Recorder, value: KeyValue) -> None:
        """Add an object's key."""
        found = self.own.get(recorder.name)
        if found is None:
            found = self.own[recorder.name] = (recorder, {})
        found[1][value] = None

    def add_dependent(self, recorder: Recorder, value: KeyValue | None) -> None:
        """Add the key of a row that depends on something deleted."""
        self.dependent.setdefault(recorder.name, (recorder, {}))[1][value] = None

    def __call__(self, execute: Any, sql: Any, *args: Any) -> Any:
        """Write all down, then run the statement that waits."""
        _connection(self.using).execute_wrappers.remove(self)
        if self.is_alive and not str(sql).startswith("ROLLBACK"):
            for recorder, own in self.own.values():
                self._write(recorder, list(own))
            for recorder, dependent in self.dependent.values():
                self._write_dependent(recorder, dependent)
        return execute(sql, *args)

    def _write(self, recorder: Recorder, values: list[KeyValue]) -> None:
        name, marked = recorder.name, _marked(self.using)
        new = [
            value
            for value, text in zip(values, map(recorder.key.dumps, values), strict=True)
            if (marker := marked.get((name, text))) is None or not marker.knows_old
        ]
        settled = not _is_autocommit(self.using)
        for start in range(0, len(new), ROWS):
            some = new[start : start + ROWS]
            write = partial(self._write_some, recorder, some, settled=settled)
            _harmlessly(self.using, write)
        # One marker, for the commit to be told of: the objects are gone.
        _mark(self.using, recorder.name, "deleted", knows_old=False)

    def _write_some(
        self,
        recorder: Recorder,
        values: list[KeyValue],
        statements: _Statements,
        *,
        settled: bool,
    ) -> None:
        listed = recorder.listed(values, statements)
        rows = [
            Row(recorder.name, text, old=listed.get(text))
            for text in map(recorder.key.dumps, values)
        ]
        statements.insert(rows, settled=settled)

    def _write_dependent(
        self, recorder: Recorder, values: Mapping[KeyValue | None, None]
    ) -> None:
        texts = {""}
        if None not in values and len(values) <= MOST_KEYS:
            texts = {recorder.key.dumps(value) for value in values if value}
        marked = _marked(self.using)
        new = [text for text in texts if (recorder.name, text) not in marked]
        settled = not _is_autocommit(self.using)
        rows = [Row(recorder.name, text) for text in new]

        def write(statements: _Statements) -> None:
            statements.insert(rows, settled=settled)
            _mark(self.using, recorder.name, "deleted", knows_old=False)

        _harmlessly(self.using, write)


# Bulk changes


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


def _gather(section: str, value: KeyValue | None, using: str) -> bool:
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
    if _connection(using).needs_rollback:
        # What was saved is undone, and so would be what is written of it.
        return
    rows = [Row(section)]
    if found.keys is not None:
        dumps = Recorder(section).key.dumps
        rows = [Row(section, dumps(value)) for value in found.keys]
    _write(using, rows)


def _write(using: str, rows: Sequence[Row]) -> None:
    """Write rows of changes that were made already."""

    def write(statements: _Statements) -> None:
        statements.insert(rows, settled=True)
        if rows:
            _mark(using, rows[0].section, "written", knows_old=False)

    _harmlessly(using, write)


@async_unsafe
def touch(changed: QuerySet[Any] | type[Model] | Model) -> None:
    """
    Say that rows were changed behind Django's signals.

    After ``update()``, ``bulk_create()``, ``bulk_update()`` or raw SQL::

        articles = Article.objects.filter(pk__in=keys)
        articles.update(live=False)
        touch(articles)

    ``changed`` is a queryset of the rows as they are now, an object, or a model: all
    of its rows, those that were deleted too. Of a model that a section's expressions
    or filters traverse, it concerns the whole section. Raises ``TypeError`` for
    anything else, and ``SynchronousOnlyOperation`` in a coroutine, as the ORM does.
    """
    model = _model_of(changed)
    for name in registry.sources():
        key = source(name).key
        if key is None:
            continue
        recorder = Recorder(name)
        if model not in family(key.model):
            if recorder.depends_on(model):
                _write(recorder.database, [Row(name)])
        elif isinstance(changed, Model):
            value = recorder.key_of(changed, recorder.database)
            if value is not None:
                _write(recorder.database, [Row(name, key.dumps(value))])
        elif isinstance(changed, QuerySet):
            rows = _touched(recorder, changed.using(recorder.database))
            _write(recorder.database, rows)
        else:
            _write(recorder.database, [Row(name)])


def _model_of(changed: Any) -> type[Model]:
    if isinstance(changed, QuerySet):
        return changed.model
    if isinstance(changed, Model):
        return type(changed)
    if isinstance(changed, type) and issubclass(changed, Model):
        return changed
    raise TypeError(f"touch() takes a queryset, an object or a model, not {changed!r}.")


def _touched(recorder: Recorder, queryset: QuerySet[Any]) -> list[Row]:
    name, key = recorder.name, recorder.key
    names = key.names
    if not {known.model for known in key.fields} <= _lineage(queryset.model):
        if names != (key.model._meta.pk.attname,):
            return [Row(name)]
        # A parent's rows: the same primary keys.
        names = ("pk",)
    query = queryset.query
    plain = not (query.is_sliced or query.combinator or query.distinct_fields)
    rows = queryset.order_by() if plain else queryset
    some = list(rows.values_list(*names)[: MOST_KEYS + 1])
    if len(some) <= MOST_KEYS:
        return [Row(name, key.dumps(value)) for value in some]
    if not plain:
        return [Row(name)]
    ordered = queryset.order_by(*names)
    first = ordered.values_list(*names)[0]
    last = ordered.reverse().values_list(*names)[0]
    return [Row(name, key.dumps(first), upto=key.dumps(last))]


def _lineage(model: type[Model]) -> set[type[Model]]:
    return {known.model for known in model._meta.concrete_fields}
