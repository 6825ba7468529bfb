"""
What was saved and deleted: remembered in the transaction, written after its commit.

Nothing here runs inside the user's transaction but Python: no statement, no savepoint,
no lock. What an ``atomic()`` rolls back is forgotten with it. What is written is a
hint, "look at this key again". Where one is lost, because the process was killed
between the commit and the INSERT, the next comparison of its page with the rows finds
what happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import ref

from django.db import connections, transaction
from django.db.models import Model

from django_sitemaps_plus.pagination.queries import ledger
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue, plain
from django_sitemaps_plus.sitemaps.site import Site

from .hints import MOST_KEYS, Hint, write_hints


@dataclass
class Keys:
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
            self._widen(value)
            return
        self.singles[value] = created or self.singles.get(value, False)
        if len(self.singles) <= MOST_KEYS:
            return
        # Only whole numbers have the same order here and in every database.
        if self.key.is_whole:
            self._widen()
        else:
            self.whole = True
            self.singles.clear()

    def add_instance(self, instance: Model, *, created: bool = False) -> None:
        """
        Add the key of an instance, of a parent or a child model too.

        Its primary key where the key was not loaded: nothing is asked of the database.
        """
        key, state = self.key, instance.__dict__
        if key.is_whole and type(state.get(key.names[0])) is int:
            self.add((state[key.names[0]],), created=created)
            return
        is_loaded = all(name in state for name in key.names)
        value = key.of(instance) if is_loaded else key.of_pk(instance.pk)
        if value is not None and None not in value:
            parts = zip(key.fields, value, strict=True)
            known = tuple(column.to_python(part) for column, part in parts)
            self.add(known, created=created)
        elif instance.pk is not None:
            self.unloaded[instance.pk] = None

    def add_pk(self, pk: Any) -> None:
        """Add the key of a row by its primary key."""
        value = self.key.of_pk(pk)
        if value is not None:
            self.add(value)
        else:
            self.unloaded[pk] = None

    def _widen(self, *values: KeyValue) -> None:
        """Have one range hold what is known so far, and more."""
        every = [*self.singles, *(self.span or ()), *values]
        self.span = min(every), max(every)
        self.singles.clear()

    def update(self, other: Keys) -> None:
        """Add the keys of a savepoint within."""
        self.unloaded.update(other.unloaded)
        self.related.update(other.related)
        self.whole = self.whole or other.whole
        if other.span is not None:
            self._widen(*other.span)
        for value, created in other.singles.items():
            self.add(value, created=created)

    def hints(self, section: str, site: str) -> Iterator[Hint]:
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
        found = plain(rows.filter(pk__in=list(self.unloaded)))
        keys = list(found.values_list(*self.key.names))
        # Where an object was deleted, its key is unknown.
        self.whole = len(keys) < len(self.unloaded)
        for value in keys:
            self.add(value)


class Bag:
    """
    What was changed within some open savepoints, and not within any inside them.

    Only ``connection.run_on_commit`` holds it, so it goes with the savepoint or the
    transaction that is rolled back.
    """

    def __init__(self, connection: Any, savepoints: list[str] | None = None) -> None:
        self.connection = connection
        #: The savepoints that are open around it; None: it serves none at the moment.
        self.savepoints = savepoints
        #: By the tenant's key, the name of the site, empty for the one without, and the
        #: name of the section.
        self.sections: dict[tuple[str, str, str], Keys] = {}
        #: Where it stood among the callbacks.
        self._at = len(connection.run_on_commit)
        #: Whether it was called: in a ``TestCase`` the transaction goes on then.
        self.is_over = False

    def __enter__(self) -> Bag:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        # Where no transaction is open, no commit would write it down.
        if self.savepoints is None and kind is None:
            self()

    @property
    def is_waiting(self) -> bool:
        """
        Whether it will be called when the open transaction is committed.

        An error that somebody keeps, with its traceback, may hold a bag whose
        transaction is over.
        """
        if self.is_over:
            return False
        callbacks = self.connection.run_on_commit
        if self._at < len(callbacks) and callbacks[self._at][1] is self:
            return True
        # A savepoint that was rolled back has taken its callbacks away.
        for index, (_, callback, _) in enumerate(callbacks):
            if callback is self:
                self._at = index
                return True
        return False

    def keys(self, site: str, section: str, key: Key) -> Keys:
        """Return the keys of a section."""
        name = tenants.current_tenant_key(), site, section
        found = self.sections.get(name)
        if found is None:
            found = self.sections[name] = Keys(key, self.connection.alias)
        return found

    def take(self, other: Bag) -> None:
        """Take over what another bag has."""
        for name, keys in other.sections.items():
            mine = self.sections.setdefault(name, keys)
            if mine is not keys:
                mine.update(keys)
        other.sections = {}

    def serve(self, savepoints: list[str]) -> None:
        """Have an empty bag that waits among the callbacks go with other savepoints."""
        self.savepoints = savepoints
        within: set[str] = self.connection.run_on_commit[self._at][0]
        within.clear()
        within.update(savepoints)

    def __call__(self) -> None:
        """Write down what the whole transaction changed, once."""
        self.is_over = True
        committed = self.connection.alias
        _drain(self.connection, self, to=partial(_record, committed=committed))


#: What a connection has as an attribute: references to the bags of its open
#: transaction, those of inner savepoints last. A dictionary with weak keys takes three
#: times as long to ask, for each deleted object.
_OPEN = "_sitemaps_plus_open"


def remembering(using: str) -> Bag:
    """
    Return what remembers the open transaction's changes, for a ``with`` statement.

    Where no transaction is open, they are written at its end: they are committed
    already. No generator, which takes as long as all the rest, for each deleted object.
    """
    connection: Any = connections[using]
    if not connection.in_atomic_block:
        return Bag(connection)
    # None stands for a block without a savepoint of its own.
    savepoints = [one for one in connection.savepoint_ids if one is not None]
    known = vars(connection).get(_OPEN)
    bag = known[-1]() if known else None
    if bag is None or bag.savepoints != savepoints or not bag.is_waiting:
        bag = _bag_within(connection, savepoints)
    return bag


def _bag_within(connection: Any, savepoints: list[str]) -> Bag:
    """
    Return the bag of the open savepoints, where others were open the last time.

    What a savepoint that was released has changed belongs to the one around it by now.
    Its bag serves the next one: there are no more bags than savepoints were ever open
    at a time, however many there are in a transaction.
    """
    idle: list[Bag] = []
    used: list[Bag] = []
    for bag in _bags(connection):
        if not bag.is_waiting:
            continue
        if bag.savepoints is None:
            idle.append(bag)
            continue
        bag.savepoints = [one for one in bag.savepoints if one in savepoints]
        if used and used[-1].savepoints == bag.savepoints:
            used[-1].take(bag)
            bag.savepoints = None
            idle.append(bag)
        else:
            used.append(bag)
    if not used or used[-1].savepoints != savepoints:
        if idle and not _is_in_test_case(connection):
            idle[-1].serve(savepoints)
            used.append(idle.pop())
        else:
            used.append(Bag(connection, savepoints))
            transaction.on_commit(used[-1], using=connection.alias, robust=True)
    vars(connection)[_OPEN] = [ref(bag) for bag in (*idle, *used)]
    return used[-1]


def _is_in_test_case(connection: Any) -> bool:
    """
    Return whether a ``TestCase`` of Django has begun the open transaction.

    There ``captureOnCommitCallbacks`` runs only what was registered within it, so a bag
    of an earlier savepoint would not be asked.
    """
    blocks = connection.atomic_blocks
    return bool(blocks) and getattr(blocks[0], "_from_testcase", False)


def _bags(connection: Any) -> list[Bag]:
    known: list[ref[Bag]] = vars(connection).get(_OPEN, [])
    return [bag for found in known if (bag := found()) is not None]


def _drain(connection: Any, *bags: Bag, to: Callable[[Sequence[Hint]], object]) -> None:
    """Hand on what all bags of a connection have, and some more, by tenant."""
    whole = Bag(connection)
    for bag in (*_bags(connection), *bags):
        whole.take(bag)
    for tenant in tenants.existing(tenant for tenant, _, _ in whole.sections):
        with tenants.active(tenant):
            hints = [
                hint
                for (of, site, name), keys in whole.sections.items()
                if of == tenant
                for hint in keys.hints(name, site)
            ]
            to(hints)


def remembers(using: str, section: str) -> bool:
    """Return whether the open transaction of a connection changed a section."""
    bags = _bags(connections[using])
    if not bags:
        return False
    key = tenants.current_tenant_key(), Site.current().name, section
    return any(key in bag.sections and bag.is_waiting for bag in bags)


def write_remembered(using: str) -> None:
    """
    Write down what the open transaction of a connection changed so far.

    For whoever reads inside the same transaction, as in a ``TestCase``.
    """
    _drain(connections[using], to=write_hints)


def _record(hints: Sequence[Hint], committed: str) -> None:
    """
    Write hints of what was ``committed`` in a database.

    Where the ledger is in another one whose transaction is open, they are written when
    that is committed. Within transactions managed by hand, of whose end nobody is
    told, they are written at once, in a savepoint.
    """
    using = ledger()
    if connections[using].in_atomic_block and using != committed:
        later = tenants.in_this_tenant(partial(write_hints, hints, committed=using))
        transaction.on_commit(later, using=using, robust=True)
    else:
        write_hints(hints, committed=committed)
