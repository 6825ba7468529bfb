"""
Signals: Django says that objects were saved and deleted.

Connected to each model whose rows a section lists or reads, and to no other: a
receiver for deletes takes a model off Django's fast path. The receivers only remember.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db import DatabaseError, router
from django.db.models import Model
from django.db.models.signals import m2m_changed, post_save, pre_delete

from django_sitemaps_plus.db import aliases_of, locks_late, no_queries, refusing_queries
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.keys import Key
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import database_of, overridden, source
from django_sitemaps_plus.sitemaps.site import Site, working_for

from .dependencies import Dependency, dependencies, related_tables
from .recorder import Bag, Keys, remembering

logger = logging.getLogger("django_sitemaps_plus")

_UID = "django_sitemaps_plus"


@dataclass(frozen=True)
class _Recorder:
    """Remembers what happens to the objects of one section."""

    name: str
    key: Key
    #: The database in which the section's rows are written.
    database: str
    #: All aliases of it.
    aliases: frozenset[str]
    #: Whether it wants to know of deletes.
    deletes: bool
    #: Which of ``SITES`` it belongs to; empty for the site without a name.
    site: str = ""
    #: ``Sitemap.records``, where the project's class defines it.
    records: Callable[..., bool] | None = None

    def concerns(self, using: str) -> bool:
        """Return whether the section's rows are written in a database."""
        if using in self.aliases:
            return True
        # At startup a router that chooses by tenant did not know of which one.
        is_routed = tenants.configured() is not None
        return is_routed and using == router.db_for_write(self.key.model)

    def keys(self, bag: Bag) -> Keys:
        """Return the section's keys in a bag."""
        return bag.keys(self.site, self.name, self.key)


# Who listens to what


@dataclass
class _Listeners:
    """Who wants to know of one model's objects."""

    own: list[_Recorder] = field(default_factory=list)
    related: list[tuple[_Recorder, Dependency]] = field(default_factory=list)

    @property
    def of_deletes(self) -> list[_Recorder]:
        """Those that want to know of deletes."""
        related = (one for one, known in self.related if known.deletes_matter)
        return [one for one in (*self.own, *related) if one.deletes]


_listeners: dict[type[Model], _Listeners] = {}
#: Sections whose items could not be asked for at startup, and why, by site and name.
unwatched: dict[tuple[str, str], str] = {}


def connect(*, at_startup: bool = False) -> None:
    """
    Listen to the models of every registered section, and to no others.

    Sections that only the database knows are listened to once they are known.
    """
    guard = no_queries if at_startup else refusing_queries
    _disconnect()
    unwatched.clear()
    try:
        sites = Site.all()
    except ConfigurationError:
        # The system checks report it.
        return
    for site in sites:
        with working_for(site.unasked()):
            _listen_to_site(guard)
    for model, listeners in _listeners.items():
        receivers: dict[Any, Callable[..., None]] = {post_save: _remember_saved}
        # A receiver makes Django read which rows are there before it adds some.
        if not any(locks_late(one.database) for one, _ in listeners.related):
            receivers[m2m_changed] = _remember_relation
        # Django never tells of rows of a many-to-many relation without a model.
        if listeners.of_deletes and not model._meta.auto_created:
            receivers[pre_delete] = _remember_deleted
        for signal, remember in receivers.items():
            receiver = partial(_receive, remember, listeners)
            signal.connect(receiver, sender=model, weak=False, dispatch_uid=_UID)


def _listen_to_site(guard: Callable[[], Any]) -> None:
    try:
        with guard():
            names = list(registry.sources())
    except (ConfigurationError, DatabaseError):
        # The system checks report it.
        names = list(registry.known())
    for name in names:
        try:
            with guard():
                _listen(name)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            unwatched[Site.current().name, name] = reason


def _disconnect() -> None:
    """Listen to no model any more."""
    for model in _listeners:
        for signal in (post_save, pre_delete, m2m_changed):
            signal.disconnect(sender=model, dispatch_uid=_UID)
    _listeners.clear()


def _listen(name: str) -> None:
    found = source(name)
    if found.key is None:
        return
    sitemap = found.sitemap
    records = getattr(sitemap, "records", None)
    own_rule = records if records and overridden(sitemap, "records") else None
    database = database_of(sitemap.items())
    deletes, site = bool(getattr(sitemap, "record_deletes", True)), Site.current().name
    recorder = _Recorder(
        name, found.key, database, aliases_of(database), deletes, site, own_rule
    )
    kin = related_tables(found.key.model)
    for model in kin:
        _listeners.setdefault(model, _Listeners()).own.append(recorder)
    for model, related in dependencies(found).items():
        if model in kin and related.link == model._meta.pk.attname:
            # A child's table: the same row, of which its own save tells.
            continue
        for other in related_tables(model):
            listeners = _listeners.setdefault(other, _Listeners())
            listeners.related.append((recorder, related))


def contended() -> set[str]:
    """
    Return databases where recording has its price under concurrent writes.

    Django reads what it deletes first, because of a receiver; see ``db.locks_late``.
    """
    recorders = [
        recorder
        for model, of in _listeners.items()
        for recorder in (
            *of.of_deletes,
            *(one for one, _ in of.related if model._meta.auto_created),
        )
    ]
    return {one.database for one in recorders if locks_late(one.database)}


# The receivers


def _receive(
    remember: Callable[..., None],
    listeners: _Listeners,
    sender: type[Model],
    instance: Model,
    *,
    using: str = "",
    **given: Any,
) -> None:
    """Remember what a signal says; where that fails, the user's own work goes on."""
    try:
        with remembering(using) as bag:
            remember(bag, listeners, instance, using, **given)
    except Exception:
        logger.exception("A change of %s could not be recorded.", sender._meta.label)


def _remember_saved(
    bag: Bag,
    listeners: _Listeners,
    instance: Model,
    using: str,
    *,
    created: bool = False,
    raw: bool = False,
    update_fields: Iterable[str] | None = None,
    **kwargs: Any,
) -> None:
    for recorder in listeners.own:
        # A raw instance may lack what records() asks it for.
        if recorder.concerns(using) and (
            raw
            or recorder.records is None
            or recorder.records(instance, created=created, update_fields=update_fields)
        ):
            recorder.keys(bag).add_instance(instance, created=created)
    named = None if update_fields is None else set(update_fields)
    for recorder, related in listeners.related:
        # No row refers to a new one yet.
        if not recorder.concerns(using) or (created and related.is_referred_to):
            continue
        if any(
            known.attname in related.fields
            and (named is None or bool({known.name, known.attname} & named))
            for known in instance._meta.concrete_fields
        ):
            keys = recorder.keys(bag)
            key = instance.__dict__.get(related.link) if related.link else None
            if key is not None:
                keys.add_pk(key)
            # Where the former row is known, or whose entries have to be built again.
            model = instance._meta.concrete_model or type(instance)
            keys.related[model._meta.label, str(instance.pk)] = None


def _remember_deleted(
    bag: Bag, listeners: _Listeners, instance: Model, using: str, **kwargs: Any
) -> None:
    for recorder in listeners.own:
        if recorder.deletes and recorder.concerns(using):
            recorder.keys(bag).add_instance(instance)
    for recorder, related in listeners.related:
        is_wanted = recorder.deletes and related.deletes_matter
        if is_wanted and recorder.concerns(using):
            link = related.link
            if link is None or link not in instance.__dict__:
                recorder.keys(bag).whole = True
            elif (key := instance.__dict__[link]) is not None:
                recorder.keys(bag).add_pk(key)


def _remember_relation(
    bag: Bag,
    listeners: _Listeners,
    instance: Model,
    using: str,
    *,
    action: str = "",
    model: type[Model] = Model,
    pk_set: set[Any] | None = None,
    **kwargs: Any,
) -> None:
    if action not in ("post_add", "post_remove", "pre_clear"):
        return
    for recorder, related in listeners.related:
        if recorder.concerns(using):
            kin = related_tables(recorder.key.model)
            here, there = type(instance) in kin, model in kin
            if related.link is None or here == there or (there and pk_set is None):
                # It may be the relation of any row.
                recorder.keys(bag).whole = True
                continue
            for pk in [instance.pk] if here else pk_set or ():
                recorder.keys(bag).add_pk(pk)
