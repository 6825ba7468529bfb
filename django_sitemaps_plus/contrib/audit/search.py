"""
Expressions that could replace a method, found on the first and the last rows.

A URL is resolved as Django does it for a request. Its parameters, and what other
methods give, are looked for among the columns of the model and of those up to two
foreign keys away, parts of dates, and one column where another is empty.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote

from django.conf import settings as django_settings
from django.core.exceptions import FieldDoesNotExist
from django.db import Error as DatabaseError
from django.db import models
from django.db.models import CharField, F, Value, functions
from django.urls import Resolver404, resolve
from django.utils.translation import get_language, override

from django_sitemaps_plus.protocol.locations import local_path
from django_sitemaps_plus.rendering.serializer import describe
from django_sitemaps_plus.sitemaps.classes import Sitemap
from django_sitemaps_plus.sitemaps.routes import Route
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress, rendering_context

#: How many foreign keys are followed, one behind the other.
_HOPS = 2
#: Rows that are looked at, from either end.
_SAMPLED = 50
#: How many columns are read by one query: each may need two joins.
_READ = 25
_TEXT = (CharField, models.TextField)
#: What suggested code may name.
_NAMES = {"F": F, "Value": Value, "CharField": CharField, "Sitemap": Sitemap}
_NAMES |= {"Route": Route, **vars(functions)}


def evaluated(code: str) -> Any:
    """Return what suggested code is."""
    return eval(code, dict(_NAMES))  # noqa: S307 (this package wrote it)


class NothingToSuggest(Exception):
    """There is nothing to suggest; the message says why."""


def literal(value: Any) -> str:
    """Write a constant as Python code, texts in double quotes where that is plain."""
    code = repr(value)
    return f'"{value}"' if code == f"'{value}'" and '"' not in code else code


@dataclass
class Search:
    """Looks for the line that gives what a method gives."""

    source: SectionSource
    site: SiteAddress
    #: What to look at before the lines are used, by attribute.
    notes: dict[str, list[str]] = field(default_factory=dict)

    def code(self, name: str) -> str:
        """Return Python code for an attribute; raises ``NothingToSuggest`` without."""
        self.notes[name] = []
        sitemap, is_location = self.source.sitemap, name == "location"
        method, site = getattr(sitemap, name), self.site.with_scheme(sitemap.protocol)

        values: dict[int, Any] = {}

        def given(item: Any) -> Any:
            if id(item) in values:
                return values[id(item)]
            value = method(item)
            return local_path(value, site.origin) if is_location else value

        with rendering_context(site, self.source.languages[0]):
            items = self._items(name, given, values)
            if is_location:
                return self._route(items, given)
            return self._column(name, name, items, given, f"{name}() gives")

    def _items(self, name: str, given: Any, values: dict[int, Any]) -> list[Any]:
        """Return some items for which a method gives something; note what that is."""
        items, why = [], "there is no row, so nothing can be proved"
        rows = self.source.sitemap.items().order_by("pk")
        ends = [*rows[:_SAMPLED], *rows.reverse()[:_SAMPLED]]
        for item in {item.pk: item for item in ends}.values():
            try:
                values[id(item)] = given(item)
            except DatabaseError:
                raise
            except Exception as error:  # a project's method may raise anything
                why = f"row {item.pk}: {name}() fails: {describe(error)}"
            else:
                items.append(item)
        if not items:
            raise NothingToSuggest(why)
        return items

    def _column(
        self, attribute: str, name: str, items: list[Any], wanted: Any, what: str
    ) -> str:
        """Return the code of what gives ``wanted(item)``; ``name`` is what has it."""
        rows, notes = self.source.sitemap.items(), self.notes[attribute]
        values = [wanted(item) for item in items]
        texts = {item.pk: str(value) for item, value in zip(items, values, strict=True)}
        columns = columns_that_give(rows, name, texts)
        if {*texts.values()} == {str(values[0])} and (len(items) > 1 or not values[0]):
            is_plain = type(values[0]) in (str, int, float, type(None))
            is_today = name == "lastmod" and values[0] is not None  # perhaps
            if is_plain and not is_today and not (columns and name in columns[0].path):
                code = literal(values[0])
                notes.append(f"{what} {code} on every row. It must always do so.")
                return code
        if not columns:
            raise NothingToSuggest(
                f"row {items[0].pk}: {what} {str(values[0])!r}, and no column within "
                f"two foreign keys of {rows.model.__name__} has it on every row checked"
            )
        replaced = [self._replaced(items[0], column, wanted) for column in columns[:4]]
        if all(replaced):
            raise NothingToSuggest(f"{what} {replaced[0]}")
        codes = [one.code for one, by in zip(columns, replaced, strict=False) if not by]
        if len(codes) > 1:
            notes.append(
                f"{attribute}: {' and '.join(codes)} gave the same on every row "
                "checked. Use the one you mean."
            )
        return codes[0]

    @staticmethod
    def _replaced(item: Any, column: ColumnCode, wanted: Callable[[Any], Any]) -> str:
        """Say what a method gives where something that a column needs is empty."""
        for depth, name in enumerate(column.path if column.kind else ()):
            changed = at = copy(item)
            for one in column.path[:depth]:
                setattr(at, one, copy(getattr(at, one)))
                at = getattr(at, one)
            with suppress(AttributeError, FieldDoesNotExist):  # None; an annotation
                needed = at._meta.get_field(name)
                for empty in [None] * needed.null + [""] * isinstance(needed, _TEXT):
                    setattr(at, name, empty)
                    with suppress(Exception):  # nothing takes the place of the column
                        if (value := wanted(changed)) not in (None, ""):
                            where = "__".join(column.path[: depth + 1])
                            return (
                                f"{str(value)!r} where {where!r} is empty: use "
                                "Coalesce() with that column, or keep the method"
                            )
        return ""

    def _route(self, items: list[Any], given: Any) -> str:
        """Return a route to the one URL pattern that all paths are of."""
        shapes = dict[str, Any]()
        for item in items:
            view, names = self._resolved(item, given)
            shape = f"the URL pattern {view!r} ({', '.join(map(str, names))})"
            shapes.setdefault(shape, f"row {item.pk} has {shape}")
        if len(shapes) > 1:
            raise NothingToSuggest(
                f"{', '.join([*shapes.values()][:2])}; a Route is of one"
            )
        parts = [literal(view)]
        for name in names:
            code = self._column(
                *("location", str(name), items),
                lambda item, name=name: self._resolved(item, given)[1][name],
                f"the URL pattern {view!r} takes {name}",
            )
            is_reserved = keyword.iskeyword(str(name))
            named = f'**{{"{name}": {code}}}' if is_reserved else f"{name}={code}"
            parts.append(code if isinstance(name, int) else named)
        return f"Route({', '.join(parts)})"

    def _resolved(self, item: Any, given: Any) -> tuple[str, dict[Any, Any]]:
        """Return the name of an item's URL pattern, and what its view is given."""
        if "?" in (path := given(item)):
            raise NothingToSuggest(
                f"row {item.pk}: {path!r} has a query, which no Route writes"
            )
        address = "/" + unquote(path.removeprefix(self.site.prefix))
        # The method may activate another language.
        for language in (get_language(), *dict(django_settings.LANGUAGES)):
            with override(language), suppress(Resolver404):
                match = resolve(address)
                break
        else:
            raise NothingToSuggest(f"row {item.pk}: no URL pattern matches {path!r}")
        if not match.url_name:
            raise NothingToSuggest(
                f"row {item.pk}: the URL pattern of {path!r} has no name"
            )
        return match.view_name, dict(enumerate(match.args)) or match.kwargs


@dataclass(frozen=True)
class ColumnCode:
    """Python code of an expression, what ``F()`` joins, and texts for some rows."""

    code: str
    path: tuple[str, ...]
    #: What can stand in for it: columns of the same kind; "" for nothing.
    kind: str = ""
    texts: tuple[str, ...] = ()


def columns_that_give(rows: Any, name: str, texts: dict[Any, str]) -> list[ColumnCode]:
    """Return what gives these texts, by primary key; first what is called ``name``."""
    wanted, tried = tuple(texts.values()), list[ColumnCode]()
    for hops in range(_HOPS + 1):
        columns = list(_columns(rows.model, hops))
        if not hops:
            columns += [
                ColumnCode(f'F("{one}")', (one,)) for one in rows.query.annotations
            ]
        for start in range(0, len(columns), _READ):
            some = columns[start : start + _READ]
            named = {f"column_{at}": evaluated(one.code) for at, one in enumerate(some)}
            read = rows.order_by().filter(pk__in=list(texts)).annotate(**named)
            by_key = {key: values for key, *values in read.values_list("pk", *named)}
            for at, column in enumerate(some):
                given = [str(by_key[key][at]) for key in texts if key in by_key]
                tried.append(replace(column, texts=tuple(given)))
        matching = [column for column in tried if column.texts == wanted]
        if matching:
            return sorted(matching, key=lambda column: name not in column.path)
    return list(_fallbacks(tried, wanted))


def _columns(
    model: Any, hops: int, relation: tuple[str, ...] = ()
) -> Iterator[ColumnCode]:
    """Yield the columns of the tables that are ``hops`` foreign keys away."""
    for one in model._meta.concrete_fields:
        if hops:
            if isinstance(one.related_model, type):
                yield from _columns(one.related_model, hops - 1, (*relation, one.name))
            continue
        is_key = one is model._meta.pk and not relation
        path = (*relation, "pk" if is_key else one.attname)
        joined = "__".join(path)
        kind = "text" if isinstance(one, _TEXT) else one.get_internal_type()
        yield ColumnCode(f'F("{joined}")', path, kind)
        # Those of a time depend on a zone: no row tells which one a method means.
        in_utc = not django_settings.USE_TZ or django_settings.TIME_ZONE == "UTC"
        if kind == "DateField" or (kind == "DateTimeField" and in_utc):
            for part in ("year", "month", "day"):
                code = f'F("{joined}__{part}")'
                padded = f'LPad(Cast({code}, CharField()), 2, Value("0"))'
                yield from (ColumnCode(one, (*path, part)) for one in (code, padded))


def _fallbacks(
    columns: list[ColumnCode], wanted: tuple[str, ...]
) -> Iterator[ColumnCode]:
    """Yield what gives one column and, where that is empty, another."""
    for first in columns:
        is_text = first.kind == "text"
        options = ", output_field=CharField()" if is_text else ""
        alike = [one for one in columns if one.kind == first.kind != ""]
        # Of the two, "or" is what most methods have.
        for empty in ({"None", ""}, {"None"}) if is_text else ({"None"},):
            given = f'NullIf({first.code}, Value(""))' if "" in empty else first.code
            for other in () if empty.isdisjoint(first.texts) else alike:
                pairs = zip(first.texts, other.texts, strict=False)
                if wanted == tuple(two if one in empty else one for one, two in pairs):
                    code = f"Coalesce({given}, {other.code}{options})"
                    yield ColumnCode(code, first.path)
