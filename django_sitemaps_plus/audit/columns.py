"""
The columns that the values of a model's methods could come from.

Those of its own table, those within two foreign keys, and year, month and day of
dates: what an ORM expression can say in a word.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

from django.conf import settings as django_settings
from django.db.models import (
    BinaryField,
    CharField,
    DateField,
    DateTimeField,
    F,
    Field,
    FileField,
    Model,
    QuerySet,
    Value,
)
from django.db.models.functions import (
    Cast,
    ExtractDay,
    ExtractMonth,
    ExtractYear,
    LPad,
)

#: The names of fields, one after the other, as ``F("category__slug")`` joins them.
Path: TypeAlias = tuple[str, ...]
#: A module, and a name of it.
Import: TypeAlias = tuple[str, str]

#: How many foreign keys are followed, one behind the other.
HOPS = 2
#: How many tables are looked into at most.
TABLES = 50

_MODELS, _FUNCTIONS = "django.db.models", "django.db.models.functions"
_EXTRACT = {"year": ExtractYear, "month": ExtractMonth, "day": ExtractDay}
#: Files have another value on the row path; bytes are nobody's text.
_LEFT_OUT = (BinaryField, FileField)


@dataclass(frozen=True)
class Column:
    """An expression that gives a value of each item, and how it is written."""

    path: Path
    code: str
    expression: Any = field(compare=False, repr=False)
    imports: frozenset[Import] = frozenset({(_MODELS, "F")})
    #: The column itself: "pk" and "id" are two paths to one.
    place: Path = ()
    #: The zone in which a part of a date is meant: "", "own" (TIME_ZONE) or "utc".
    zone: str = ""
    #: Whether it is a part of a date.
    is_part: bool = False

    @property
    def fields(self) -> Path:
        """The fields of the path, without the part of a date."""
        return self.path[:-1] if self.is_part else self.path


def relations(model: type[Model], hops: int) -> list[Path]:
    """Return the paths from ``model`` over exactly ``hops`` foreign keys."""
    if not hops:
        return [()]
    return [
        (key.name, *rest)
        for key in _foreign_keys(model)
        for rest in relations(_related(key), hops - 1)
    ]


def _foreign_keys(model: type[Model]) -> list[Field[Any, Any]]:
    return [
        key
        for key in model._meta.concrete_fields
        if key.is_relation and key.related_model is not None
    ]


def _related(key: Field[Any, Any]) -> type[Model]:
    return cast(type[Model], key.related_model)


def columns(queryset: QuerySet[Any], relation: Path) -> list[Column]:
    """Return the columns of the table that is reached over ``relation``."""
    model = queryset.model
    for name in relation:
        model = _related(model._meta.get_field(name))
    found: list[Column] = []
    for item in model._meta.concrete_fields:
        if isinstance(item, _LEFT_OUT):
            continue
        path = (*relation, item.attname)
        found.append(_column(path, path))
        if item.primary_key:
            found.append(_column((*relation, "pk"), path))
        if isinstance(item, DateField):
            found += _parts(path, isinstance(item, DateTimeField))
    if not relation:
        found += [_column((name,), (name,)) for name in queryset.query.annotations]
    return found


def _column(path: Path, place: Path) -> Column:
    joined = "__".join(path)
    return Column(path=path, code=f'F("{joined}")', expression=F(joined), place=place)


def _parts(path: Path, has_time: bool) -> Iterator[Column]:
    """Yield year, month and day: of ``TIME_ZONE``, then of UTC; as number, padded."""
    joined = "__".join(path)
    moves = has_time and django_settings.USE_TZ and django_settings.TIME_ZONE != "UTC"
    for part, extract in _EXTRACT.items():
        lookup = f"{joined}__{part}"
        plain = Column(
            path=(*path, part),
            code=f'F("{lookup}")',
            expression=F(lookup),
            place=(*path, part),
            zone="own" if moves else "",
            is_part=True,
        )
        yield plain
        if part != "year":
            yield _padded(plain, f'"{lookup}"')
        if moves:
            name = extract.__name__
            in_utc = replace(
                plain,
                code=f'{name}("{joined}", tzinfo=UTC)',
                expression=extract(joined, tzinfo=dt.UTC),
                imports=frozenset({("datetime", "UTC"), (_FUNCTIONS, name)}),
                zone="utc",
            )
            yield in_utc
            if part != "year":
                yield _padded(in_utc, in_utc.code)


def _padded(column: Column, code: str) -> Column:
    """Return a month or a day with two digits."""
    return replace(
        column,
        code=f'LPad(Cast({code}, CharField()), 2, Value("0"))',
        expression=LPad(Cast(column.expression, CharField()), 2, Value("0")),
        imports=frozenset(
            {(_FUNCTIONS, "LPad"), (_FUNCTIONS, "Cast")}
            | {(_MODELS, "CharField"), (_MODELS, "Value")}
            | (column.imports - {(_MODELS, "F")})
        ),
    )


def values(
    queryset: QuerySet[Any], keys: Iterable[Any], wanted: Sequence[Column]
) -> dict[Any, tuple[Any, ...]]:
    """Return what ``wanted`` give for the items of these primary keys."""
    named = {
        f"sitemaps_plus_column_{index}": column.expression
        for index, column in enumerate(wanted)
    }
    rows = (
        queryset.order_by()
        .filter(pk__in=list(keys))
        .annotate(**named)
        .values_list("pk", *named)
    )
    return {row[0]: row[1:] for row in rows}
