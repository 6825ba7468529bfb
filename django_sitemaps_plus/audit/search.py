"""
What could stand in the place of a method: found on the first and the last rows.

A URL is resolved as Django does it for a request. Each of its parameters, and what
other methods give, is looked for among the columns: those of the model's own table and
of tables up to two foreign keys away, year, month and day of dates, and one column
where another is empty.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import unquote

from django.conf import settings as django_settings
from django.core.exceptions import FieldDoesNotExist
from django.db import Error as DatabaseError
from django.db import models
from django.urls import Resolver404, resolve

from django_sitemaps_plus.protocol.locations import local_path
from django_sitemaps_plus.rendering.serializer import describe
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress, rendering_context
from django_sitemaps_plus.sitemaps.url_patterns import Param

from .proof import evaluated

Rows: TypeAlias = models.QuerySet[Any]

#: How many foreign keys are followed, one behind the other.
HOPS = 2

#: How many columns are read by one query: each may need two joins.
_READ = 25
_TEXT = (models.CharField, models.TextField)
#: Rows that are looked at, from either end.
SAMPLED = 50


class Refused(Exception):
    """There is nothing to suggest; the message says why."""


class Unresolved(Refused):
    """No URL pattern of the language matches."""


def literal(value: Any) -> str:
    """Write a constant as Python code, texts in double quotes where that is plain."""
    code = repr(value)
    return f'"{value}"' if code == f"'{value}'" and '"' not in code else code


def _constant(given: dict[Any, Any]) -> str:
    """Return the value of several rows as code, if it is one that can be written."""
    first, *others = given.values()
    is_one = (others or first is None) and all(other == first for other in others)
    is_plain = type(first) in (str, int, float, type(None))
    return literal(first) if is_one and is_plain else ""


@dataclass
class Search:
    """Looks for the line that gives what a method gives."""

    source: SectionSource
    site: SiteAddress
    #: What to look at before the lines are used, by attribute.
    notes: dict[str, list[str]] = field(default_factory=dict)

    def code(self, name: str, languages: Iterable[str]) -> str:
        """
        Return Python code for an attribute; raises ``Refused`` if there is none.

        URLs are resolved in the section's language, or else in one of ``languages``.
        """
        self.notes[name], unresolved = [], list[Unresolved]()
        own = self.source.languages[0]
        with rendering_context(self.site, own):
            given = self._given(name)
            if name != "location":
                return self._column(name, name, given, f"{name}() gives")
        for language in (own, *languages):
            try:
                with rendering_context(self.site, language):
                    return self._route(given)
            except Unresolved as error:  # the method may activate another language
                unresolved.append(error)
        raise unresolved[0]

    def _given(self, name: str) -> dict[Any, Any]:
        """Return what a method gives for some rows, by primary key."""
        found, why = {}, "there is no row, so nothing can be proved"
        rows = self.source.sitemap.items().order_by("pk")
        ends = [*rows[:SAMPLED], *rows.reverse()[:SAMPLED]]
        for item in {item.pk: item for item in ends}.values():
            try:
                value = getattr(self.source.sitemap, name)(item)
                if name == "location":
                    value = local_path(value, self.site.origin)
            except DatabaseError:
                raise
            except Exception as error:  # a project's method may raise anything
                why = f"row {item.pk}: {name}() gives nothing legal: {describe(error)}"
            else:
                found[item.pk] = value
        if not found:
            raise Refused(why)
        return found

    def _column(
        self, attribute: str, name: str, given: dict[Any, Any], what: str
    ) -> str:
        """Return the code of what gives these values, by primary key."""
        rows, notes = self.source.sitemap.items(), self.notes[attribute]
        texts = {key: str(value) for key, value in given.items()}
        found = find(rows, name, texts)
        constant = _constant(given)
        if name == "lastmod" and constant != "None":
            # A date that all rows have may be that of today.
            constant = ""
        if constant and not (found and name in found[0].path):
            notes.append(f"{what} {constant} on every row. It must always do so.")
            return constant
        if not found:
            key, text = next(iter(texts.items()))
            raise Refused(
                f"row {key}: {what} {text!r}, and no column of {rows.model.__name__}, "
                "or of a model up to two foreign keys away, has the value on every row "
                "that was checked"
            )
        codes = [column.code for column in found[:4]]
        if len(codes) > 1:
            notes.append(
                f"{attribute}: {' and '.join(codes)} gave the same on all rows that "
                "were looked at. Use the one that is meant."
            )
        if empty := untried(rows, found[0]):
            notes.append(
                f"{attribute}: no row has an empty {empty!r}. If the method then gives "
                "another value, as 'or' does, this line does not: use Coalesce()."
            )
        return codes[0]

    def _route(self, paths: dict[Any, str]) -> str:
        """Return a route to the one URL pattern that all paths are of."""
        found = {key: self._resolved(key, path) for key, path in paths.items()}
        shapes = {
            key: f"{view!r} ({', '.join(map(str, given))})"
            for key, (view, given) in found.items()
        }
        first = next(iter(found))
        for key, shape in shapes.items():
            if shape != shapes[first]:
                raise Refused(
                    f"row {first} has the URL pattern {shapes[first]}, row {key} has "
                    f"{shape}; a Route is of one"
                )
        view, names = found[first]
        parts = [literal(view)]
        for name in names:
            values = {key: given[name] for key, (_, given) in found.items()}
            what = f"the URL pattern {view!r} takes {name}"
            code = self._column("location", str(name), values, what)
            keyword_of_python = keyword.iskeyword(str(name))
            named = f'**{{"{name}": {code}}}' if keyword_of_python else f"{name}={code}"
            parts.append(code if isinstance(name, int) else named)
        return f"Route({', '.join(parts)})"

    def _resolved(self, key: Any, path: str) -> tuple[str, dict[Param, Any]]:
        """Return the name of a path's URL pattern, and what its view is given."""
        if "?" in path:
            raise Refused(f"row {key}: {path!r} has a query, which no Route writes")
        try:
            match = resolve("/" + unquote(path.removeprefix(self.site.prefix)))
        except Resolver404:
            raise Unresolved(f"row {key}: no URL pattern matches {path!r}") from None
        if not match.url_name:
            raise Refused(f"row {key}: the URL pattern of {path!r} has no name")
        given: Iterable[tuple[Param, Any]] = (
            enumerate(match.args) if match.args else match.kwargs.items()
        )
        return match.view_name, dict(given)


# Columns


@dataclass(frozen=True)
class Column:
    """Python code of an expression, and its values for some rows, as text."""

    code: str
    #: The names that ``F()`` joins: ("category", "slug").
    path: tuple[str, ...]
    #: What can stand in for it: columns of the same kind; "" for nothing.
    kind: str = ""
    texts: tuple[str, ...] = ()


def find(rows: Rows, name: str, texts: dict[Any, str]) -> list[Column]:
    """
    Return what gives these texts (by primary key), the likeliest first.

    ``name`` is that of the parameter or attribute which has them.
    """
    wanted, known = tuple(texts.values()), list[Column]()
    for hops in range(HOPS + 1):
        columns = list(_columns(rows.model, hops))
        if not hops:
            columns += [Column(f'F("{one}")', (one,)) for one in rows.query.annotations]
        for start in range(0, len(columns), _READ):
            known += _read(rows, list(texts), columns[start : start + _READ])
        found = [column for column in known if column.texts == wanted]
        if found:
            return sorted(found, key=lambda column: name not in column.path)
    return list(_fallbacks(known, wanted))


def _columns(model: Any, hops: int, relation: tuple[str, ...] = ()) -> Iterator[Column]:
    """Yield the columns of the tables that are ``hops`` foreign keys away."""
    # The parts of a time depend on a zone, and no row tells which one a method means.
    in_utc = not django_settings.USE_TZ or django_settings.TIME_ZONE == "UTC"
    for one in model._meta.concrete_fields:
        if hops:
            if isinstance(one.related_model, type):
                further = (*relation, one.name)
                yield from _columns(one.related_model, hops - 1, further)
            continue
        is_key = one is model._meta.pk and not relation
        path = (*relation, "pk" if is_key else one.attname)
        joined = "__".join(path)
        kind = "text" if isinstance(one, _TEXT) else one.get_internal_type()
        yield Column(f'F("{joined}")', path, kind)
        is_time = isinstance(one, models.DateTimeField)
        if isinstance(one, models.DateField) and (in_utc or not is_time):
            for part in ("year", "month", "day"):
                code = f'F("{joined}__{part}")'
                yield Column(code, (*path, part))
                code = f'LPad(Cast({code}, CharField()), 2, Value("0"))'
                yield Column(code, (*path, part))


def _read(rows: Rows, keys: list[Any], columns: list[Column]) -> list[Column]:
    """Return columns with their values for the rows of some primary keys."""
    named = {f"column_{at}": evaluated(one.code) for at, one in enumerate(columns)}
    rows = rows.order_by().filter(pk__in=keys).annotate(**named)
    by_key = {key: values for key, *values in rows.values_list("pk", *named)}
    found = zip(*(by_key.get(key, [None] * len(columns)) for key in keys), strict=True)
    return [
        replace(column, texts=tuple(map(str, values)))
        for column, values in zip(columns, found, strict=True)
    ]


def _fallbacks(known: list[Column], wanted: tuple[str, ...]) -> Iterator[Column]:
    """Yield what gives one column and, where that is empty, another."""
    for first in known:
        is_text = first.kind == "text"
        options = ", output_field=CharField()" if is_text else ""
        alike = [one for one in known if one.kind == first.kind != ""]
        # Of the two, "or" is what most methods have.
        for empty in ({"None", ""}, {"None"}) if is_text else ({"None"},):
            given = f'NullIf({first.code}, Value(""))' if "" in empty else first.code
            for other in () if empty.isdisjoint(first.texts) else alike:
                pairs = zip(first.texts, other.texts, strict=True)
                if wanted == tuple(two if one in empty else one for one, two in pairs):
                    code = f"Coalesce({given}, {other.code}{options})"
                    yield Column(code, first.path)


def untried(rows: Rows, column: Column) -> str:
    """Return the field of a column that may be empty but never is; "" if none."""
    model: Any = rows.model
    for length, name in enumerate(column.path, 1):
        try:
            one = model._meta.get_field(name)
        except (AttributeError, FieldDoesNotExist):
            return ""
        joined = "__".join(column.path[:length])
        empty = [models.Q(**{f"{joined}__isnull": True})] * one.null
        empty += [models.Q(**{joined: ""})] * (one.blank and isinstance(one, _TEXT))
        if not all(rows.filter(condition).exists() for condition in empty):
            return joined
        model = one.related_model
    return ""
