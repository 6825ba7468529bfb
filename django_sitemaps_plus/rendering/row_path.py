"""
The row path: one query, compiled by the ORM, run on the raw cursor.

No model instance, no ``reverse()`` per row. Used when nothing that the class declares
is a Python method.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from django.conf import settings as django_settings
from django.core.exceptions import FieldError
from django.db import connections
from django.db.models import CharField, DateField, DateTimeField, Func, QuerySet
from django.utils import timezone

from django_sitemaps_plus.protocol.extensions import MEDIA
from django_sitemaps_plus.sitemaps.as_columns import is_plain
from django_sitemaps_plus.sitemaps.attributes import (
    TITLE,
    alias,
    annotated,
    attribute_of,
    declared_expressions,
    declared_media,
    declared_related,
    in_language,
    is_alias,
    tags,
)
from django_sitemaps_plus.sitemaps.compiled_routes import CompiledRoute
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue, key_of, plain
from django_sitemaps_plus.sitemaps.media import (
    Related,
    is_composed,
    is_expression,
    settled,
    slots_of,
)
from django_sitemaps_plus.sitemaps.registry import AnySitemap
from django_sitemaps_plus.sitemaps.routes import Route

from .columns import (
    Constant,
    LastmodColumn,
    Locations,
    Media,
    RouteLocations,
    RowBatch,
    TextLocations,
)
from .related_rows import filled, other_statements, related_values
from .statements import Attempt, compiled, converted, rows_of, transposed

#: By language, the section's route as it is there; None where it has no route.
Routes: TypeAlias = Mapping[str | None, CompiledRoute | None]


class _DateText(Func):
    """
    A date or a time as the database's own text, in UTC where it has a zone.

    Slicing a text is ten times as fast as building a ``datetime`` and formatting it.
    """

    output_field = CharField()
    template = "CAST(%(expressions)s AS CHAR)"

    def as_sqlite(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """The text as it is stored; a bare column would be parsed by the driver."""
        template = "CAST(%(expressions)s AS TEXT)"
        return self.as_sql(compiler, connection, template=template, **extra)

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        """
        The text of the type; a timestamp with a zone is moved to UTC first.

        Without decimals, which no entry shows: a fifth less to transfer.
        """
        value = "(%(expressions)s)"
        if isinstance(self.source_expressions[0].output_field, DateTimeField):
            if django_settings.USE_TZ:
                value = f"{value} AT TIME ZONE 'UTC'"
            value = f"date_trunc('second', {value})"
        template = f"{value}::text"
        return self.as_sql(compiler, connection, template=template, **extra)


class RowPlan:
    """
    A compiled query, and what its columns hold.

    Dates are selected as text where that is reliable; not without a ``key``, by
    position, where a view's headers need them. Raises Django's ``FieldError`` for an
    expression that cannot be resolved.
    """

    def __init__(
        self,
        sitemap: AnySitemap,
        queryset: QuerySet[Any],
        key: Key | None,
        *,
        with_titles: bool = False,
    ) -> None:
        expressions = declared_expressions(sitemap, titles=with_titles)
        lastmod = expressions.get(alias("lastmod"))
        self.lastmod_form = "python"
        if key is not None and lastmod is not None:
            self.lastmod_form = _text_form(queryset, lastmod)
        if self.lastmod_form != "python":
            expressions[alias("lastmod")] = _DateText(lastmod)
        every = annotated(queryset, expressions, sitemap)
        self.divided_by = key or key_of(queryset, "pk")
        self.key_width = len(self.divided_by.names)
        selected = every.query.annotation_select
        names = [*self.divided_by.names, *filter(is_alias, selected)]
        #: Column number of each selected alias.
        self.positions = {name: index for index, name in enumerate(names)}
        self.statement, self.converters = compiled(plain(every).values_list(*names))
        self.sitemap = sitemap
        self.using = queryset.db
        self.with_titles = with_titles
        #: The languages in which related rows have other values.
        self.others = frozenset(other_statements(sitemap, self.divided_by))

    def key(self, label: Any) -> KeyValue:
        """Convert a row's label, its key by the driver's values, to the ORM's."""
        return tuple(
            self.converters[index](part) if index in self.converters else part
            for index, part in enumerate(label if self.key_width > 1 else [label])
        )

    def batch(
        self, rows: Sequence[tuple[Any, ...]], routes: Routes, attempt: Attempt
    ) -> RowBatch:
        """Return ``rows`` column by column; ``attempt`` converts a column's values."""
        columns = transposed(rows)
        faults: dict[int, str] = {}
        for name, index in self.positions.items():
            # Keys are only compared and shown: the driver's values will do.
            if index >= self.key_width and index in self.converters:
                is_tag = attribute_of(name) in tags() or name.startswith(alias(TITLE))
                given = None if is_tag else faults
                convert = self.converters[index]
                columns[index] = converted(convert, columns[index], attempt, given)
        # Of dates without a zone: with USE_TZ ``_DateText`` gives them in UTC.
        zone = dt.UTC if django_settings.USE_TZ else timezone.get_default_timezone()
        return RowBatch(
            labels=rows_of(columns[: self.key_width]),
            locations=self._locations(columns, routes),
            lastmods=LastmodColumn(
                self._column("lastmod", columns),
                self.lastmod_form,
                zone,
                exist=connections[self.using].vendor == "postgresql",
            ),
            changefreqs=self._column("changefreq", columns),
            priorities=self._column("priority", columns),
            media=self._media(columns, routes, attempt),
            faults=faults,
            titles=[self._column(TITLE, columns, language) for language in routes]
            if self.with_titles
            else (),
        )

    def _column(
        self, name: str, columns: list[Sequence[Any]], language: str | None = None
    ) -> Sequence[Any]:
        value = getattr(self.sitemap, name, None)
        if is_expression(value):
            return self._selected(alias(name), columns, language)
        return Constant(settled(value), len(columns[0]))

    def _selected(
        self, name: str, columns: list[Sequence[Any]], language: str | None
    ) -> Sequence[Any]:
        """Return the column of an alias, or that which it has in a language."""
        own = self.positions.get(in_language(name, language))
        return columns[self.positions[name] if own is None else own]

    def _locations(
        self, columns: list[Sequence[Any]], routes: Routes
    ) -> dict[str | None, Locations]:
        location = getattr(self.sitemap, "location", None)
        given = location.expressions if isinstance(location, Route) else ()
        names = [alias("location", parameter) for parameter in given]
        found: dict[str | None, Locations] = {}
        for language, route in routes.items():
            if route is None:
                texts = self._column("location", columns, language)
                found[language] = TextLocations(texts)
            elif names:
                values = [self._selected(name, columns, language) for name in names]
                found[language] = RouteLocations(route, values)
            else:
                # A route of constants: the same text for every row.
                found[language] = TextLocations([route.exact(())] * len(columns[0]))
        return found

    def _media(
        self,
        columns: list[Sequence[Any]],
        languages: Iterable[str | None],
        attempt: Attempt,
    ) -> dict[str | None, Media]:
        usual = self._media_in(columns, None, attempt)
        spoken = [name for name in self.positions if attribute_of(name) in MEDIA]
        # What a language does not have of its own is one object, and compared as one.
        return {
            language: self._media_in(columns, language, attempt)
            if language in self.others
            or any(name.endswith(in_language("", language)) for name in spoken)
            else usual
            for language in languages
        }

    def _media_in(
        self, columns: list[Sequence[Any]], language: str | None, attempt: Attempt
    ) -> Media:
        media = {}
        keys = self._keys(columns) if declared_related(self.sitemap) else ()
        for name, value in declared_media(self.sitemap).items():
            kind = MEDIA[name]
            if not is_composed(value):
                media[name] = self._column(name, columns, language)
                continue
            parts = [
                related_values(
                    slot, kind, self.divided_by, keys, self.using, attempt, language
                )
                if isinstance(slot, Related)
                else self._selected(alias(name, index), columns, language)
                for index, slot in enumerate(slots_of(value))
            ]
            media[name] = filled(value, kind, parts, attempt)
        return media

    def _keys(self, columns: Sequence[Sequence[Any]]) -> Sequence[Any]:
        """Return the rows' keys as the ORM's values; tuples if they are several."""
        keys = list(columns[: self.key_width])
        for index, convert in self.converters.items():
            if index < self.key_width:
                keys[index] = list(map(convert, keys[index]))
        return rows_of(keys)


def _text_form(queryset: QuerySet[Any], lastmod: Any) -> str:
    """Return the ``form`` of a ``LastmodColumn``: text, where that is reliable."""
    name, connection = alias("lastmod"), connections[queryset.db]
    resolved = queryset.annotate(**{name: lastmod}).query.annotations[name]
    try:
        output = resolved.output_field
        if resolved.get_db_converters(connection) or not is_plain(output):
            return "python"  # what is stored is not what it says
    except FieldError:
        return "python"
    if not isinstance(output, DateTimeField):
        return "day" if isinstance(output, DateField) else "python"
    is_utc = connection.timezone_name == "UTC" or not django_settings.USE_TZ
    return "stamp" if is_utc or connection.vendor == "postgresql" else "python"
