"""
What is written down when objects are saved and deleted.

A ``Change`` row says "look at this key again". Whatever goes wrong here is logged, and
the user's own statement goes on.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from typing import Any
from weakref import ref

from django.db import connections, transaction
from django.db.models import Model

from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.registry import registry

from .dependencies import Watched, family, watched
from .formers import CHUNK
from .gathering import MOST_KEYS, gather, is_gathering, write_rows
from .marks import Marker, Markers, mark, marked
from .reporting import Lookup, lookup
from .statements import Harmless, Row, Statements, can_record, harmlessly, is_autocommit
from .updates import Entry, Update, without_former


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
        return lookup(self.name).key

    @property
    def database(self) -> str:
        """The database in which the section's rows are written."""
        return lookup(self.name).database

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
        return _key_of(self.key, instance, using)

    def _wanted(self, instance: Model, using: str) -> tuple[Lookup, KeyValue] | None:
        """Return the key that is to be written now, if one is, and its lookup."""
        found = lookup(self.name)
        if using != found.database:
            # The section's rows are elsewhere: nobody would ever look at it there.
            return None
        value = _key_of(found.key, instance, using)
        if value is None or gather(self.name, value, using):
            return None
        return found, value

    def updating(
        self, instance: Model, using: str, update_fields: Iterable[str] | None
    ) -> None:
        """Write down that an object is about to be saved again."""
        wanted = self._wanted(instance, using)
        if wanted is None:
            return
        found, value = wanted
        text = found.key.dumps(value)
        needs_old = self.watched is None or self.watched.concerns(update_fields)
        connection = connections[using]
        marker = marked(connection).get((self.name, text))
        if marker is not None and (marker.knows_old or not needs_old):
            return
        update = Update.of(instance, connection)
        update.add(Entry(found, value, text, needs_old=needs_old))
        if not update.is_worth_waiting_for:
            update.write(settled=True)
        elif can_record(using):
            update.wait()

    def saved(self, instance: Model, using: str, *, created: bool) -> None:
        """Write down that an object was created, or saved over one not loaded."""
        wanted = self._wanted(instance, using)
        if wanted is None:
            return
        found, value = wanted
        text, connection = found.key.dumps(value), connections[using]
        if (self.name, text) in marked(connection):
            return

        def write(statements: Statements) -> None:
            row = Row(self.name, text, old="[]" if created else None)
            statements.insert([row], settled=True)
            mark(connection, self.name, text, knows_old=True)

        harmlessly(connection, write)

    def of_key(self, pk: Any) -> None:
        """Write down that something happened on which the row ``pk`` depends."""
        key = self.key
        if key.names != (key.model._meta.pk.attname,):
            self.whole()
            return
        value = (key.fields[0].to_python(pk),)
        if not gather(self.name, value, self.database):
            self._coarse(key.dumps(value))

    def whole(self) -> None:
        """Write down that any row of the section may be another."""
        if not gather(self.name, None, self.database):
            self._coarse("")

    def losing(self, pk: Any) -> None:
        """Write down that something goes on which the row ``pk`` depends; None: any."""
        key, using = self.key, self.database
        value = None
        if pk is not None and key.names == (key.model._meta.pk.attname,):
            value = (key.fields[0].to_python(pk),)
        if not gather(self.name, value, using):
            Deletion.on(using).add_dependent(self, value)

    def crossed(self, keys: Sequence[KeyValue] | None) -> None:
        """Write down that rows appeared or expired; None: too many to name them."""
        rows = [Row(self.name)]
        if keys is not None:
            rows = [Row(self.name, self.key.dumps(value)) for value in keys]
        write_rows(self.database, rows)

    def _coarse(self, text: str) -> None:
        connection = connections[self.database]
        if (self.name, text) in marked(connection):
            return

        def write(statements: Statements) -> None:
            settled = not is_autocommit(connection)
            statements.insert([Row(self.name, text)], settled=settled)
            mark(connection, self.name, text, knows_old=False)

        harmlessly(connection, write)


def _key_of(key: Key, instance: Model, using: str) -> KeyValue | None:
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


# Deletes

#: Of each thread, whose connections are its own: the last ``deletion``.
_last = threading.local()


@dataclass(eq=False)
class Deletion:
    """
    Objects about to be deleted, written down before the next statement.

    Django tells of each object first, and deletes some thousand by one statement
    afterwards: so are they looked up, and written, together.
    """

    using: str
    #: By section: the objects.
    own: dict[str, list[Model]] = field(default_factory=partial(defaultdict, list))
    #: By section: the keys of rows that depend on something deleted; None: any row.
    dependent: dict[str, dict[KeyValue | None, None]] = field(default_factory=dict)
    #: Lives as long as the transaction, which somebody else's receiver may end.
    token: ref[Marker] | None = None
    #: Whether the next statement is still to come.
    is_waiting: bool = True

    @classmethod
    def waiting(cls, using: str) -> Deletion | None:
        """Return the one that this thread made last, if it waits on a connection."""
        # To look up a connection takes longer than all else that one object costs.
        found: Deletion | None = getattr(_last, "deletion", None)
        if found is None or found.using != using or not found.is_waiting:
            return None
        return found if found.is_alive else None

    @classmethod
    def on(cls, using: str) -> Deletion:
        """Return the one that waits on a connection; installed if there is none."""
        connection = connections[using]
        for wrapper in connection.execute_wrappers:
            if isinstance(wrapper, cls) and wrapper.is_alive:
                return wrapper
        made = _last.deletion = cls(using)
        if connection.in_atomic_block:
            token = Marker(knows_old=False)
            transaction.on_commit(token, using=using, robust=True)
            made.token = ref(token)
        # First of all: who leaves execute_wrapper() removes the last one.
        connection.execute_wrappers.insert(0, made)
        return made

    @property
    def is_alive(self) -> bool:
        """Whether the transaction in which the objects are deleted goes on."""
        return self.token is None or self.token() is not None

    def add_dependent(self, recorder: Recorder, value: KeyValue | None) -> None:
        """Add the key of a row that depends on something deleted."""
        self.dependent.setdefault(recorder.name, {})[value] = None

    def __call__(self, execute: Any, sql: Any, *args: Any) -> Any:
        """Write all down, then run the statement that waits."""
        connection = connections[self.using]
        connection.execute_wrappers.remove(self)
        self.is_waiting = False
        if self.is_alive and not str(sql).startswith("ROLLBACK"):
            for name, instances in self.own.items():
                with self._harmless(name):
                    _write_deleted(connection, name, instances)
            for name, keys in self.dependent.items():
                with self._harmless(name):
                    _write_dependent(connection, name, keys)
        return execute(sql, *args)

    def _harmless(self, name: str) -> Harmless:
        text = "Section %r: deletes could not be recorded."
        return Harmless(self.using, text, name)


def _write_deleted(connection: Any, name: str, instances: list[Model]) -> None:
    found, marks, using = lookup(name), marked(connection), connection.alias
    if using != found.database:
        # The section's rows are elsewhere: nobody would ever look at it there.
        return
    wanted = _keys_of(found.key, instances, using)
    if marks or is_gathering():
        wanted = (
            value
            for value in wanted
            if not gather(name, value, using) and not _knows_old(marks, found, value)
        )
    settled = not is_autocommit(connection)
    is_any = False
    while some := list(islice(wanted, CHUNK)):
        is_any = True
        harmlessly(
            connection, partial(_write_some_deleted, found, some, settled=settled)
        )
    if is_any:
        # One marker, for the commit to be told of: the objects are gone.
        mark(connection, name, "deleted", knows_old=False)


def _keys_of(key: Key, instances: Sequence[Model], using: str) -> Iterator[KeyValue]:
    """Yield the keys of those objects that have one, each once."""
    # Django tells of a child, and of its parent. Whole numbers are kept bare: with
    # thousands of tuples Python would look through all objects for garbage.
    seen = set[Any]()
    for instance in instances:
        value = _key_of(key, instance, using)
        if value is None:
            continue
        known = value[0] if len(value) == 1 else value
        if known not in seen:
            seen.add(known)
            yield value


def _knows_old(marks: Markers, found: Lookup, value: KeyValue) -> bool:
    marker = marks.get((found.source.name, found.key.dumps(value)))
    return marker is not None and marker.knows_old


def _write_some_deleted(
    found: Lookup, values: Sequence[KeyValue], statements: Statements, *, settled: bool
) -> None:
    name, using = found.source.name, statements.using
    old: Mapping[str, list[str]] | None = None
    with without_former(found, statements):
        statements.begin()
        copied = None
        if statements.copies and found.formers is not None:
            copied = found.formers.of_keys(values, using)
        if copied is not None:
            count = statements.insert_formers(
                name, copied, found.digest, settled=settled
            )
            if count == len(values):
                return
            # Of the others nothing was copied: they are not listed.
            listed = found.listed(values, using)
            values = [value for value in values if value not in listed]
            old = {}
        else:
            old = found.locations(values, using, whole=False)
    rows = []
    for text in map(found.key.dumps, values):
        paths = None if old is None else json.dumps(old.get(text, []))
        rows.append(Row(name, text, old=paths))
    statements.insert(rows, settled=settled)


def _write_dependent(
    connection: Any, name: str, values: Mapping[KeyValue | None, None]
) -> None:
    found, marks = lookup(name), marked(connection)
    texts = {""}
    if None not in values and len(values) <= MOST_KEYS:
        texts = {found.key.dumps(value) for value in values if value}
    rows = [Row(name, text) for text in texts if (name, text) not in marks]
    settled = not is_autocommit(connection)

    def write(statements: Statements) -> None:
        statements.insert(rows, settled=settled)
        mark(connection, name, "deleted", knows_old=False)

    harmlessly(connection, write)
