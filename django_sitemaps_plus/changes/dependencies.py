"""
What a section depends on: whose saves concern it, and which columns.

Read off the query itself, before it is compiled to SQL: nothing here talks to a
database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from django.apps import apps
from django.db.models import CASCADE, DO_NOTHING, PROTECT, RESTRICT, Model, QuerySet
from django.db.models.expressions import Col, F
from django.db.models.sql import Query
from django.utils.translation import get_language, override

from django_sitemaps_plus.sitemaps.as_columns import as_columns
from django_sitemaps_plus.sitemaps.attributes import (
    alias,
    declared_expressions,
    declared_related,
)
from django_sitemaps_plus.sitemaps.media import Related
from django_sitemaps_plus.sitemaps.registry import AnySitemap, instance
from django_sitemaps_plus.sitemaps.sections import SectionSource, items_of
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE

#: What becomes of rows whose foreign key's target is deleted, where they have signals
#: of their own, or it is left to the project.
_SIGNALLED = (CASCADE, PROTECT, RESTRICT, DO_NOTHING)

#: A table and one of its columns.
_Column = tuple[str, str]


@dataclass(frozen=True)
class Dependency:
    """A model that a section's expressions and filters traverse."""

    #: Its fields that they read, by attname.
    fields: frozenset[str]
    #: Its field that holds the primary key of the one row concerned, if one does.
    link: str | None = None
    #: Whether rows refer to it: a new one of it concerns none of them yet.
    is_referred_to: bool = False
    #: Whether its deletion changes rows of which no signal tells.
    deletes_matter: bool = True
    #: The look-up that leads from a row to it, ``author__country``; None: not known.
    path: str | None = None


#: By model, beside the section's own.
Dependencies = Mapping[type[Model], Dependency]


def dependencies(section: SectionSource) -> Dependencies:
    """Return on what a section depends; nothing if its items come from no model."""
    # Registered classes make a sitemap for each request.
    is_registered = section.registered is not None
    registered = section.registered if is_registered else section.sitemap
    return _dependencies(registered, _columns_read(section.sitemap))


@PLACEHOLDER_SITE.rendering()
def _columns_read(sitemap: AnySitemap) -> frozenset[F]:
    """Return the columns that are read in place of methods."""
    # Where its route does not compile, a method is called: it depends on more then.
    read = as_columns(sitemap, partial(items_of, sitemap), lambda route: [])
    if not read.expressions:
        return frozenset()
    found = declared_expressions(read.sitemap).values()
    return frozenset(one for one in found if isinstance(one, F))


@lru_cache(maxsize=1024)
@PLACEHOLDER_SITE.rendering()
def _dependencies(registered: Any, read: frozenset[F]) -> Dependencies:
    sitemap = instance(registered)
    items = items_of(sitemap)
    if not isinstance(items, QuerySet):
        return {}
    columns = _Columns(items.model)
    expressions = declared_expressions(sitemap)
    expressions |= {alias("read", index): one for index, one in enumerate(read)}
    for language in sitemap._languages() if sitemap.i18n else [get_language()]:
        # What is translated has columns of its own in each language.
        with override(language):
            columns.of_query(items.annotate(**deepcopy(expressions)).query)
            for slot in declared_related(sitemap).values():
                columns.of_related(slot)
    return columns.related()


class _Columns:
    """The columns that a query reads: of the row itself, and of others."""

    def __init__(self, model: type[Model]) -> None:
        self.model = model
        concrete = _concrete(model)
        lineage = [concrete, *concrete._meta.get_parent_list()]
        self._tables = {one._meta.db_table for one in lineage}
        self.own: set[_Column] = set()
        self.others: set[_Column] = set()
        self._links: dict[str, str | None] = {}
        #: By table, the look-up that leads to it; None where there are several.
        self._paths: dict[str, str | None] = {}
        #: By table, the columns by which it is joined.
        self._joined_by: dict[str, set[str]] = {}

    def of_query(self, query: Query, *, outermost: bool = True) -> None:
        """Add what a query joins, filters by and selects."""
        if outermost:
            self._add_paths(query)
        expressions = [query.where, *query.annotations.values()]
        for name, join in query.alias_map.items():
            relation = getattr(join, "filtered_relation", None)
            expressions.append(getattr(relation, "resolved_condition", None))
            for left, right in getattr(join, "join_cols", ()):
                parent = query.alias_map[join.parent_alias]
                self._add(query, join.parent_alias, left, outermost)
                self._add(query, name, right, outermost)
                self._link(join, parent, left, right, outermost)
        for expression in expressions:
            for column in _walk(expression):
                if isinstance(column, Query):
                    self.of_query(column, outermost=False)
                else:
                    self._add_column(query, column, outermost)

    def of_related(self, related: Related) -> None:
        """Add what the query for related rows reads."""
        table = related.model_of(self.model)._meta.db_table
        path: str | None = f"{related.relation}__"
        if self._paths.get(table, path) != path:
            path = None
        self.of_query(related.rows(self.model._base_manager.all(), ["pk"]).query)
        # Through a table without a model of its own, the joins do not tell it.
        self._paths[table] = path

    def _add_column(self, query: Query, column: Col, outermost: bool) -> None:
        target: Any = column.target
        if column.alias in query.alias_map:
            self._add(query, column.alias, target.column, outermost)
        else:
            # An outer query's, read from within a subquery.
            table = target.model._meta.db_table
            columns = self.own if table in self._tables else self.others
            columns.add((table, target.column))

    def _add(self, query: Query, name: str, column: str, outermost: bool) -> None:
        table = query.alias_map[name].table_name
        first = next(iter(query.alias_map), None)
        base = query.alias_map[first].table_name if first else None
        # The same table, joined again, is another row's.
        own = table in self._tables and (name == first or table != base)
        (self.own if own and outermost else self.others).add((table, column))

    def _add_paths(self, query: Query) -> None:
        """Note which look-up leads from a row to each joined table."""
        paths: dict[str, str | None] = {}
        for name, join in query.alias_map.items():
            relation: Any = getattr(join, "join_field", None)
            if not join.parent_alias:
                paths[name] = ""
                continue
            if not hasattr(relation, "name"):
                continue  # a joined CTE: no relation, and no dependency
            before = paths.get(join.parent_alias)
            hidden = relation.name.endswith("+")
            path = None if before is None or hidden else f"{before}{relation.name}__"
            paths[name] = path
            known = self._paths.get(join.table_name, path)
            self._paths[join.table_name] = path if known == path else None

    def _link(
        self, join: Any, parent: Any, left: str, right: str, outermost: bool
    ) -> None:
        """Note that a joined table holds the row's own primary key."""
        keys = [known.column for known in self.model._meta.pk_fields]
        straight = outermost and parent.table_name in self._tables and [left] == keys
        # A generic relation's column may hold the key of a row of any other model.
        relation = getattr(join.join_field, "field", join.join_field)
        straight = straight and not hasattr(relation, "content_type_field_name")
        table = join.table_name
        known = self._links.get(table, right)
        self._links[table] = right if straight and known == right else None
        self._joined_by.setdefault(table, set()).add(right)

    def related(self) -> dict[type[Model], Dependency]:
        """Return the other models, and which of their fields are read."""
        found = {}
        silent = self._silent_targets()
        for model in apps.get_models(include_auto_created=True):
            table = model._meta.db_table
            columns = {column for other, column in self.others if other == table}
            if model._meta.proxy or not (columns or model in silent):
                continue
            # A primary key never changes.
            keys = {known.column for known in model._meta.pk_fields}
            names = {f.column: f.attname for f in model._meta.local_concrete_fields}
            fields = frozenset(names[c] for c in columns - keys if c in names)
            by = self._joined_by.get(table, keys if model in silent else None)
            is_referred_to = by is not None and by <= keys
            if fields or not is_referred_to or model in silent:
                link = names.get(self._links.get(table) or "")
                matters = not is_referred_to or model in silent
                path = (self._paths.get(table) or "").removesuffix("__") or None
                found[model] = Dependency(fields, link, is_referred_to, matters, path)
        return found

    def _silent_targets(self) -> set[type[Model]]:
        """
        Return the models whose deletion changes a column that is read, silently.

        A foreign key is set to NULL by an UPDATE, rows of a many-to-many relation are
        deleted, and no signal tells of either.
        """
        read = self.own | self.others
        found = set()
        for model in apps.get_models(include_auto_created=True):
            for known in model._meta.local_concrete_fields:
                column = (model._meta.db_table, known.column)
                if known.is_relation and known.related_model and column in read:
                    rule = getattr(known.remote_field, "on_delete", None)
                    if rule not in _SIGNALLED or model._meta.auto_created:
                        target: Any = known.related_model
                        found.add(target._meta.concrete_model)
        return found


def _walk(expression: Any) -> Iterator[Any]:
    """Yield the columns and the subqueries of an expression."""
    if isinstance(expression, (Col, Query)):
        yield expression
        return
    parts = []
    if hasattr(expression, "get_source_expressions"):
        parts = expression.get_source_expressions()
    given = getattr(expression, "rhs", None)
    if isinstance(given, (list, tuple)):
        # ``price__range=(F("low"), F("high"))``
        parts = [*parts, *given]
    for part in parts:
        if part is not None:
            yield from _walk(part)


def related_tables(model: type[Model]) -> list[type[Model]]:
    """
    Return the models whose saves write a row of ``model``, or a part of it.

    Its proxies, the parents whose tables it extends, the children that extend it.
    """
    concrete = _concrete(model)
    chain = {concrete, *concrete._meta.get_parent_list()}
    installed = apps.get_models(include_auto_created=True)
    return [
        other
        for other in dict.fromkeys([concrete, *installed])
        if _concrete(other) in chain
        or concrete in _concrete(other)._meta.get_parent_list()
    ]


def _concrete(model: type[Model]) -> type[Model]:
    return model._meta.concrete_model or model
