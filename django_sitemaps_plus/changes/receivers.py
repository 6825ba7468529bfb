"""
Signals: what Django tells of objects that are saved and deleted.

Connected to each model whose rows a section lists or reads, and to no other: a
receiver for deletes takes a model off Django's fast path.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connections
from django.db.models import Model
from django.db.models.signals import (
    m2m_changed,
    post_save,
    pre_delete,
    pre_save,
)

from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import source

from .dependencies import Related, family
from .recorder import Deletion, Recorder
from .statements import Harmless

logger = logging.getLogger("django_sitemaps_plus")

_UID = "django_sitemaps_plus"
#: On the state of an object that is being created: its pre_save was seen.
_ADDING = "_sitemaps_plus_adding"


@dataclass
class _Watchers:
    """Who wants to know of one model's objects."""

    own: list[Recorder] = field(default_factory=list)
    related: list[tuple[Recorder, Related]] = field(default_factory=list)
    #: Those that want to know of deletes.
    own_deletes: list[Recorder] = field(default_factory=list)
    related_deletes: list[tuple[Recorder, Related]] = field(default_factory=list)


_watchers: dict[type[Model], _Watchers] = {}
#: Sections whose items could not be asked for at startup, and why.
unwatched: dict[str, str] = {}


class _NoQueriesError(Exception):
    """A query at startup, when none may be made."""


@contextmanager
def _no_queries() -> Iterator[None]:
    """Refuse every query; a connection that was opened for one is closed again."""

    def refuse(*args: Any) -> None:
        raise _NoQueriesError("items() runs a query when it is called")

    opened = {alias for alias in connections if connections[alias].connection}
    # A refused UPDATE has harmed no transaction that is open.
    broken = {alias: connections[alias].needs_rollback for alias in connections}
    for alias in connections:
        connections[alias].execute_wrappers.append(refuse)
    try:
        yield
    finally:
        for alias in connections:
            connections[alias].execute_wrappers.remove(refuse)
            connections[alias].needs_rollback = broken[alias]
            if alias not in opened and connections[alias].connection:
                connections[alias].close()


def connect() -> None:
    """Listen to the models of every registered section, and to no others."""
    disconnect()
    unwatched.clear()
    try:
        names = list(registry.sources())
    except ConfigurationError:
        # The system checks report it.
        return
    for name in names:
        try:
            with _no_queries():
                _watch(name)
        except Exception as error:
            unwatched[name] = f"{type(error).__name__}: {error}"
    for model, watchers in _watchers.items():
        _connect(model, watchers)


def disconnect() -> None:
    """Listen to no model any more."""
    for model in _watchers:
        for signal, receiver in _receivers():
            signal.disconnect(receiver, sender=model, dispatch_uid=_UID)
    _watchers.clear()


def _watch(name: str) -> None:
    found = source(name)
    if found.key is None:
        return
    recorder = Recorder(name)
    watched = recorder.watched
    if watched is None:
        return
    deletes = bool(getattr(found.sitemap, "record_deletes", True))
    kin = family(watched.model)
    for model in kin:
        watchers = _watchers.setdefault(model, _Watchers())
        watchers.own.append(recorder)
        if deletes:
            watchers.own_deletes.append(recorder)
    for model, related in watched.related.items():
        if model in kin and related.link == model._meta.pk.attname:
            # A child's table: the same row, of which its own save tells.
            continue
        for other in family(model):
            watchers = _watchers.setdefault(other, _Watchers())
            watchers.related.append((recorder, related))
            if deletes and related.deletes_matter:
                watchers.related_deletes.append((recorder, related))


def _receivers() -> list[tuple[Any, Callable[..., None]]]:
    return [
        (pre_save, _pre_save),
        (post_save, _post_save),
        (pre_delete, _pre_delete),
        (m2m_changed, _m2m_changed),
    ]


def _connect(model: type[Model], watchers: _Watchers) -> None:
    for signal, receiver in _receivers():
        if signal is pre_delete and not _wants_deletes(model, watchers):
            # A receiver would take the model off the fast path.
            continue
        signal.connect(receiver, sender=model, weak=False, dispatch_uid=_UID)


def _wants_deletes(model: type[Model], watchers: _Watchers) -> bool:
    # Django never tells of rows of a many-to-many relation without a model.
    wanted = watchers.own_deletes or watchers.related_deletes
    return bool(wanted) and not model._meta.auto_created


def _harmless(sender: type[Model], using: str) -> Harmless:
    return Harmless(using, "A change of %r could not be recorded.", sender)


def _pre_save(
    sender: type[Model],
    instance: Any,
    *,
    raw: bool = False,
    using: str = "",
    update_fields: frozenset[str] | None = None,
    **kwargs: Any,
) -> None:
    watchers = _watchers.get(sender)
    if raw or watchers is None:
        return
    if instance._state.adding:
        setattr(instance._state, _ADDING, True)
    with _harmless(sender, using):
        for recorder, related in watchers.related:
            _related(recorder, related, instance, using, update_fields)
        # Last: outside of a transaction this waits for the UPDATE to be next.
        if not instance._state.adding:
            for recorder in watchers.own:
                recorder.updating(instance, using, update_fields)


def _related(
    recorder: Recorder,
    related: Related,
    instance: Any,
    using: str,
    update_fields: frozenset[str] | None,
) -> None:
    """Record that an object is saved which rows of a section refer to."""
    adding = instance._state.adding
    if adding and related.is_referred_to:
        return
    former = None if adding else _differing(related, instance, using, update_fields)
    if not adding and former is None:
        return
    _record_related(recorder, related, instance)
    link = related.link or ""
    if former and former.get(link) is not None:
        field = instance._meta.get_field(link)
        if not _is_same(field, former[link], getattr(instance, link)):
            recorder.of_key(former[link])


def _differing(
    related: Related,
    instance: Any,
    using: str,
    update_fields: frozenset[str] | None,
) -> dict[str, Any] | None:
    """Return the former values of the fields that matter; None if they stay."""
    names = _touched(related, instance, update_fields)
    if not names:
        return None
    rows = type(instance)._base_manager.using(using).filter(pk=instance.pk)
    former = rows.values(*names).first()
    if former is None:
        return {}
    fields = {known.attname: known for known in instance._meta.concrete_fields}
    same = all(
        _is_same(fields[name], former[name], getattr(instance, name)) for name in names
    )
    return None if same else former


def _is_same(known: Any, former: Any, value: Any) -> bool:
    """Tell whether a value, or what it will be in the database, is the former one."""
    if hasattr(value, "resolve_expression"):
        return False
    try:
        return bool(former == known.to_python(value))
    except ValidationError:
        return False


def _touched(
    related: Related, instance: Any, update_fields: frozenset[str] | None
) -> list[str]:
    """Return the fields that matter among those that are saved."""
    return [
        known.attname
        for known in instance._meta.concrete_fields
        if known.attname in related.fields
        and (update_fields is None or {known.name, known.attname} & update_fields)
    ]


def _record_related(recorder: Recorder, related: Related, instance: Any) -> None:
    if not related.link:
        recorder.whole()
    elif (key := getattr(instance, related.link)) is not None:
        recorder.of_key(key)


def _post_save(
    sender: type[Model],
    instance: Any,
    *,
    created: bool = False,
    raw: bool = False,
    using: str = "",
    **kwargs: Any,
) -> None:
    watchers = _watchers.get(sender)
    adding = instance._state.__dict__.pop(_ADDING, False)
    if raw or watchers is None or not (adding or created):
        return
    with _harmless(sender, using):
        for recorder in watchers.own:
            recorder.saved(instance, using, created=created)


def _pre_delete(
    sender: type[Model], instance: Any, *, using: str = "", **kwargs: Any
) -> None:
    watchers = _watchers.get(sender)
    if watchers is None:
        return
    deletion = Deletion.waiting(using)
    if deletion is not None and not watchers.related_deletes:
        # Thousands of objects are deleted at once: nothing can go wrong here, and what
        # keeps it from doing harm would take as long again.
        for recorder in watchers.own_deletes:
            deletion.own[recorder.name].append(instance)
        return
    with _harmless(sender, using):
        if watchers.own_deletes:
            deletion = deletion or Deletion.on(using)
            for recorder in watchers.own_deletes:
                deletion.own[recorder.name].append(instance)
        for recorder, related in watchers.related_deletes:
            if not related.link:
                recorder.losing(None)
            elif (key := getattr(instance, related.link)) is not None:
                recorder.losing(key)


def _m2m_changed(
    sender: type[Model],
    instance: Any,
    *,
    action: str = "",
    model: type[Model] = Model,
    pk_set: set[Any] | None = None,
    using: str = "",
    **kwargs: Any,
) -> None:
    watchers = _watchers.get(sender)
    if watchers is None or action not in ("pre_add", "pre_remove", "pre_clear"):
        return
    with _harmless(sender, using):
        for recorder, related in watchers.related:
            kin = family(recorder.key.model)
            here, there = type(instance) in kin, model in kin
            if related.link is None or here == there:
                recorder.whole()
            elif here:
                recorder.of_key(instance.pk)
            elif pk_set is None:
                recorder.whole()
            else:
                for key in pk_set:
                    recorder.of_key(key)
