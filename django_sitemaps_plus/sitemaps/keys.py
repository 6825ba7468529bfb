"""
The column that divides a section into pages, compared by its own database.

Collations, MariaDB's order of UUIDs, the precision of a numeric type: Python's order
is not the database's. So keys are compared in SQL only, as parameters against their
column, and stored as text in the form of Django's serializers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import django
from django.core.exceptions import ValidationError
from django.db import connections
from django.db.models import (
    BooleanField,
    Field,
    Func,
    IntegerField,
    Model,
    Q,
    QuerySet,
    Value,
)

from django_sitemaps_plus.exceptions import ConfigurationError

KeyValue = tuple[Any, ...]

_OPERATORS = {"gte": ">=", "gt": ">", "lt": "<"}
#: A row as SQL writes it, or two that are compared. Of several numbers it is none.
_row = partial(Func, template="(%(expressions)s)", output_field=BooleanField())


#: Created once: json.dumps() creates an encoder whenever it is called with options.
_encode = json.JSONEncoder(ensure_ascii=False).encode

#: The maximum length of a signature: that of the ledger's column.
_SIGNATURE = 255


#: A whole number as ``Key.dumps`` writes it.
_WHOLE = re.compile(r'\["(-?[0-9]{1,20})"\]', re.ASCII)


@dataclass(frozen=True)
class Key:
    """The column (or the columns of a composite primary key) that orders a section."""

    model: type[Model]
    fields: tuple[Field[Any, Any], ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns' names, as ``order_by`` and ``values_list`` take them."""
        return tuple(field.attname for field in self.fields)

    @cached_property
    def is_whole(self) -> bool:
        """Whether this is one whole number, as most keys are, and Python's own."""
        own = getattr(type(self.fields[0]), "to_python", None)
        return len(self.fields) == 1 and own is IntegerField.to_python

    def order(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return ``queryset`` ordered by key, whatever order it had."""
        # Django's own method: a project's may have something come first.
        ordered = QuerySet.order_by(queryset, *self.names)
        # An earlier reverse() would reverse this order too.
        ordered.query.standard_ordering = True
        return ordered

    def values(self, rows: QuerySet[Any]) -> QuerySet[Any, Any]:
        """Return the keys of rows."""
        return plain(rows).values_list(*self.names)

    @cached_property
    def signature(self) -> str:
        """What the stored bounds depend on: with another signature they are invalid."""
        text = ",".join(_described(field) for field in self.fields)
        if len(text) <= _SIGNATURE:
            return text
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def of(self, item: Model) -> KeyValue:
        """Return the key of an instance."""
        return tuple(getattr(item, name) for name in self.names)

    def of_pk(self, pk: Any) -> KeyValue | None:
        """Return the key of a row by its primary key; None if that is another."""
        if self.names != (self.model._meta.pk.attname,):
            return None
        return (self.fields[0].to_python(pk),)

    def labels(self, items: Iterable[Model]) -> list[Any]:
        """Return the keys of instances, as plain values if the key is one column."""
        return list(map(attrgetter(*self.names), items))

    def dumps(self, value: KeyValue) -> str:
        """Return ``value`` as text for the ledger: a JSON list of texts."""
        if self.is_whole and type(value[0]) is int:
            return f'["{value[0]}"]'
        return _encode(
            [_text(field, part) for field, part in zip(self.fields, value, strict=True)]
        )

    def loads(self, text: str) -> KeyValue:
        """Return the value for which ``dumps`` returned ``text``."""
        parts = json.loads(text)
        return tuple(
            field.to_python(part)
            for field, part in zip(self.fields, parts, strict=True)
        )

    def read(self, text: str) -> KeyValue | None:
        """Return the same; None for what ``dumps`` did not write for such a key."""
        if self.is_whole and (match := _WHOLE.fullmatch(text)):
            return (int(match[1]),)
        try:
            value = self.loads(text)
        except (ValueError, TypeError, ArithmeticError, ValidationError):
            return None
        return None if None in value else value

    def among(self, values: Iterable[KeyValue]) -> Q:
        """Rows that have one of these keys."""
        if len(self.names) == 1:
            return Q(**{f"{self.names[0]}__in": [part for (part,) in values]})
        condition = Q(pk__in=[])
        for value in values:
            # As pairs: keywords of a Q are sorted, and keys are to keep their order.
            condition |= Q(*zip(self.names, value, strict=True))
        return condition

    def where(
        self, rows: QuerySet[Any], operator: str, value: KeyValue
    ) -> QuerySet[Any]:
        """Return the rows at a value or after it: "gte"; "gt" after it, "lt" before."""
        return rows.filter(self._compare(operator, value, connections[rows.db].vendor))

    def _compare(self, operator: str, value: KeyValue, vendor: str) -> Q:
        """
        Compare row by row where the database plans that well, else expanded.

        MySQL and MariaDB read the whole index for ``(a, b) >= (1, 2)``; the
        leading ``a >= 1`` of the expanded form gives them a range.
        """
        if len(self.fields) == 1:
            return Q(**{f"{self.names[0]}__{operator}": value[0]})
        if vendor == "sqlite" and django.VERSION < (6, 0):
            # Its own lookup writes OR, for which SQLite reads the whole index.
            parts = [
                Value(part, output_field=field)
                for field, part in zip(self.fields, value, strict=True)
            ]
            joiner = f" {_OPERATORS[operator]} "
            return Q(_row(_row(*self.names), _row(*parts), arg_joiner=joiner))
        if vendor != "mysql":
            return Q(**{f"pk__{operator}": value})
        strict = operator.removesuffix("e")
        condition = Q(**{f"{self.names[-1]}__{operator}": value[-1]})
        for name, part in reversed(list(zip(self.names[:-1], value[:-1], strict=True))):
            condition = Q(**{f"{name}__{strict}": part}) | Q(**{name: part}) & condition
        return Q(**{f"{self.names[0]}__{strict}e": value[0]}) & condition


def plain(queryset: QuerySet[Any]) -> QuerySet[Any]:
    """
    Return a project's queryset as one of Django's own class.

    Of a project's own only the objects are what Django's are: django-modeltranslation
    selects columns in any order, and for a large table ``count()`` may be an estimate.
    """
    found: Any = queryset
    return QuerySet(found.model, found.query.chain(), found._db, found._hints)


def _text(field: Field[Any, Any], value: Any) -> str:
    """Return a column's value as Django's serializers write it."""
    holder: Any = SimpleNamespace(**{field.attname: value})
    return str(field.value_to_string(holder))


def _described(field: Field[Any, Any]) -> str:
    """Describe a column and what its order depends on."""
    text = f"{field.model._meta.label_lower}.{field.attname}"
    collation = getattr(field, "db_collation", None)
    order = f"/{collation}" if collation else ""
    # All whole numbers have one order: a primary key may become a BigAutoField.
    whole = isinstance(field, IntegerField)
    return f"{text}:{'integer' if whole else field.get_internal_type()}{order}"


def key_of(queryset: QuerySet[Any], page_by: str) -> Key:
    """
    Return the key by which ``queryset`` is paged.

    Raises ``ConfigurationError`` if ``page_by`` is not a unique column without NULLs:
    every row has to belong to exactly one page.
    """
    model = queryset.model
    fields = _fields(model, page_by)
    if len(fields) == 1 and not (fields[0].unique and not fields[0].null):
        raise ConfigurationError(
            f"page_by = {page_by!r}: the column {model._meta.label}.{fields[0].name} "
            "may repeat or be NULL. Page by a column that is unique, NOT NULL and "
            "never changes, or leave page_by out to use the primary key."
        )
    return Key(model=model, fields=fields)


def _fields(model: type[Model], page_by: str) -> tuple[Field[Any, Any], ...]:
    if page_by == "pk":
        return tuple(model._meta.pk_fields)
    columns = model._meta.concrete_fields
    fields = {name: one for one in columns for name in (one.name, one.attname)}
    if page_by not in fields:
        able = [one.name for one in columns if one.unique and not one.null]
        raise ConfigurationError(
            f"page_by = {page_by!r}: {model._meta.label} has no such column. Columns "
            f"that it can be paged by: {', '.join(able) or 'none'}."
        )
    return (fields[page_by],)
