"""
Images, videos and news by expressions: of the row itself, or of related rows.

What a class declares for them may hold expressions anywhere, in a ``Video`` as in a
list. Each of them, and each ``Related``, is a **slot**: the rows' values are read for
all slots, and ``filler`` puts them where the slots are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from operator import is_, itemgetter
from os import PathLike
from typing import Any

from django.core.exceptions import FieldDoesNotExist, FieldError
from django.core.files.storage import FileSystemStorage, InMemoryStorage
from django.db.models import F, FileField, Model, OrderBy, Q, QuerySet
from django.utils.functional import Promise

from django_sitemaps_plus.protocol.entries import Record
from django_sitemaps_plus.protocol.extensions import MediaKind

from .keys import plain

Values = Sequence[Any]

#: Names of files whose address is the storage's base address and the name.
_SAFE_NAMES = re.compile(r"[A-Za-z0-9_.~!*()'/\n-]*")
#: What urljoin() might change, in names with a line break before and after each.
_CHANGED = ("//", "/.", "/\n", "\n/", "\n.")
_PLAIN_STORAGES = (FileSystemStorage.url, InMemoryStorage.url)


@dataclass(frozen=True)
class Related:
    """
    What an entry has of related rows: one image or video for each of them.

    ``relation`` is the relation's name in queries, and all else is said from the
    related row's point of view::

        images = Related("photos", F("file"), order_by="position")
        videos = Related("clips", Video(title=F("title"), …), filter=Q(public=True))

    ``order_by`` is a name or several, by default the ``ordering`` of the related
    model; rows that are equal in it are in the order of their primary keys. Related
    rows are read by one query for some hundreds of items.
    """

    relation: str
    value: Any
    filter: Q | None = None
    order_by: str | Sequence[Any] | None = None

    def rows(
        self, items: QuerySet[Any], names: Sequence[str], condition: Q | None = None
    ) -> QuerySet[Any]:
        """
        Return the related rows of ``items``, with the columns ``names`` of the item.

        After these each row has a value for each slot. The rows of an item follow one
        another. Raises ``FieldError`` for names that the models do not have, and for
        expressions that cannot be moved.
        """
        start = f"{self.relation}__"
        # All in one filter(): so it is one join, which the columns then use.
        wanted = Q(**{f"{start}isnull": False})
        if condition is not None:
            wanted = condition & wanted
        if self.filter is not None:
            wanted &= _moved(self.filter, start)
        order = [_moved(part, start) for part in self._order(items.model)]
        if any(isinstance(slot, Related) for slot in slots_of(self.value)):
            raise FieldError(f"Related({self.relation!r}) has another Related in it")
        columns = {
            f"sitemaps_plus_slot_{index}": _moved(slot, start)
            for index, slot in enumerate(slots_of(self.value))
        }
        # Annotated, so that whoever looks at the query sees what it is ordered by.
        sorted_by = {
            f"sitemaps_plus_order_{index}": part.expression
            for index, part in enumerate(order)
        }
        for name, part in zip(sorted_by, order, strict=True):
            part.set_source_expressions([F(name)])
        rows: QuerySet[Any] = items.filter(wanted).annotate(**columns, **sorted_by)
        return plain(rows).order_by(*names, *order).values_list(*names, *columns)

    def _order(self, model: type[Model]) -> Iterator[OrderBy]:
        given: Any = self.order_by
        if given is None:
            given = self.model_of(model)._meta.ordering or ()
        for part in [given] if isinstance(given, str) else given:
            if not isinstance(part, str):
                yield part if isinstance(part, OrderBy) else part.asc()
            elif part.startswith("-"):
                yield F(part[1:]).desc()
            else:
                yield F(part).asc()
        yield F("pk").asc()

    def model_of(self, model: type[Model]) -> type[Model]:
        """Return the related model; ``FieldError`` if there is no such relation."""
        for name in self.relation.split("__"):
            try:
                related: Any = model._meta.get_field(name).related_model
            except FieldDoesNotExist as error:
                raise FieldError(f"Related({self.relation!r}): {error}") from error
            if related is None:
                text = f"Related({self.relation!r}): {name!r} is not a relation"
                raise FieldError(text)
            model = related
        return model


def _moved(expression: Any, start: str) -> Any:
    """Return an expression of a related row as one of the row that it belongs to."""
    if isinstance(expression, Q):
        children = [
            (f"{start}{child[0]}", _moved(child[1], start))
            if isinstance(child, tuple)
            else _moved(child, start)
            for child in expression.children
        ]
        return Q.create(
            children=children,
            connector=expression.connector,
            negated=expression.negated,
        )
    if type(expression) is F:
        return F(f"{start}{expression.name}")  # type: ignore[attr-defined]  # no stub
    if isinstance(expression, (F, QuerySet)) or hasattr(expression, "query"):
        msg = f"Related() cannot read {expression!r}: use F() and database functions"
        raise FieldError(msg)
    if not hasattr(expression, "get_source_expressions"):
        return expression
    moved = expression.copy()
    moved.set_source_expressions(
        [
            None if part is None else _moved(part, start)
            for part in expression.get_source_expressions()
        ]
    )
    return moved


# Slots


def is_expression(value: object) -> bool:
    """Return whether ``value`` is an ORM expression."""
    return hasattr(value, "resolve_expression") and not isinstance(value, type)


def is_slot(value: object) -> bool:
    """Return whether ``value`` stands for values that are read."""
    return isinstance(value, Related) or is_expression(value)


def slots_of(declared: Any) -> list[Any]:
    """Return the expressions and the ``Related`` in what a class declares."""
    if is_slot(declared):
        return [declared]
    parts = declared if isinstance(declared, (list, tuple)) else ()
    named = _named_parts(declared) or {}
    return [slot for part in (*parts, *named.values()) for slot in slots_of(part)]


def is_composed(declared: Any) -> bool:
    """Return whether ``declared`` has slots, and is not an expression itself."""
    return not is_expression(declared) and bool(slots_of(declared))


def _named_parts(declared: Any) -> Mapping[str, Any] | None:
    """Return what a record or a dict has by name; None for anything else."""
    if is_dataclass(declared) and not isinstance(declared, type):
        return {part.name: getattr(declared, part.name) for part in fields(declared)}
    return declared if isinstance(declared, Mapping) else None


def settled(value: Any) -> Any:
    """
    Return what a class gives with its lazy texts, wherever they are in it, as texts.

    They are those of the active language, URLconf and script prefix.
    """
    if isinstance(value, (Promise, PathLike)):
        return str(value)
    if isinstance(value, (list, tuple)):
        parts = [settled(part) for part in value]
        return value if all(map(is_, parts, value)) else parts
    if isinstance(value, Mapping):
        return {name: settled(part) for name, part in value.items()}
    if not isinstance(value, Record):
        return value
    given = {part.name: getattr(value, part.name) for part in fields(value)}
    # A subclass may have a constructor of its own: only what has to be replaced is.
    new = {name: settled(part) for name, part in given.items()}
    new = {name: part for name, part in new.items() if part is not given[name]}
    return replace(value, **new) if new else value


def filler(
    declared: Any, places: Iterator[int], kind: MediaKind
) -> Callable[[Values], Any]:
    """
    Return what puts a row's values for the slots into ``declared``.

    ``places`` counts the slots: each takes the next. A dict is read as a ``kind``. The
    result is None for a row that has none.
    """
    declared = kind.address(settled(declared))
    if is_slot(declared):
        return itemgetter(next(places))
    named = _named_parts(declared)
    if named is not None:
        given = kind.record if isinstance(declared, Mapping) else type(declared)
        return _record(given, named, places, kind)
    if isinstance(declared, (list, tuple)) and slots_of(declared):
        parts = [filler(part, places, kind) for part in declared]
        return lambda row: _flat(part(row) for part in parts)
    return lambda row: declared


def _record(
    cls: type[Any], declared: Mapping[str, Any], places: Iterator[int], kind: MediaKind
) -> Callable[[Values], Any]:
    constants = {name: value for name, value in declared.items() if not slots_of(value)}
    parts = {
        name: filler(value, places, kind)
        for name, value in declared.items()
        if name not in constants
    }
    needed = getattr(cls, "needs_one_of", ())

    def fill(row: Values) -> Any:
        values = {name: part(row) for name, part in parts.items()}
        # An empty text is how most columns say that there is none.
        values = {name: None if v == "" else v for name, v in values.items()}
        record = cls(**constants, **values)
        is_missing = needed and all(getattr(record, name) is None for name in needed)
        return None if is_missing else record

    return fill


def _flat(values: Iterator[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            flat += value
        elif value is not None and value != "":
            flat.append(value)
    return flat


# Files


@dataclass(frozen=True)
class FileUrl:
    """Turns the names of stored files into their addresses."""

    field: FileField

    def __call__(self, name: str | None) -> str | None:
        """Return the address of one file, None if there is none."""
        return self.field.storage.url(name) if name else None

    def many(self, names: Sequence[Any]) -> list[Any] | None:
        """
        Return the addresses of many; None if they have to be asked for one by one.

        Those of Django's own storages are a base address and the name, unless
        something in a name has to be quoted.
        """
        storage: Any = self.field.storage
        given = [name for name in names if name]
        if getattr(storage.url, "__func__", None) not in _PLAIN_STORAGES or not given:
            return None
        joined = "\n".join(["", *given, ""])
        if joined.count("\n") != len(given) + 1 or not _SAFE_NAMES.fullmatch(joined):
            return None
        if any(changed in joined for changed in _CHANGED):
            return None
        base = storage.base_url
        if base is None or storage.url(given[0]) != f"{base}{given[0]}":
            return None
        return [f"{base}{name}" if name else None for name in names]
