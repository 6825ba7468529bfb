"""Checks of the registered sections: what their classes declare."""

from __future__ import annotations

import datetime as dt
import re
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from inspect import getattr_static
from itertools import starmap
from typing import Any

from django.conf import settings as django_settings
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.checks import CheckMessage
from django.core.exceptions import FieldError
from django.db import Error as DatabaseError
from django.db.models import F, Model, QuerySet
from django.db.models.expressions import Col
from django.db.models.functions import Random
from django.db.models.lookups import IsNull
from django.db.models.query import RawQuerySet
from django.db.models.sql.constants import LOUTER
from django.db.models.sql.datastructures import Join
from django.db.models.sql.query import Query
from django.db.models.sql.where import AND, OR, WhereNode
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import NoQueriesError, no_queries
from django_sitemaps_plus.exceptions import ConfigurationError, RouteError, describe
from django_sitemaps_plus.protocol.dates import w3c
from django_sitemaps_plus.protocol.errors import EntryError, excerpt
from django_sitemaps_plus.protocol.limits import CHANGEFREQS, MAX_ENTRIES
from django_sitemaps_plus.protocol.writers import (
    changefreq_xml,
    lastmod_xml,
    priority_xml,
)
from django_sitemaps_plus.rendering.related_rows import statements_of
from django_sitemaps_plus.rendering.row_path import RowPlan
from django_sitemaps_plus.sitemaps.attributes import (
    alias,
    annotated,
    attribute_of,
    declared,
    declared_expressions,
    declared_related,
    has_expressions,
    is_method,
    item_title,
    moments,
)
from django_sitemaps_plus.sitemaps.classes import IMPORTED_AT, unqueryable
from django_sitemaps_plus.sitemaps.keys import Key
from django_sitemaps_plus.sitemaps.media import is_expression
from django_sitemaps_plus.sitemaps.registry import AnySitemap, ambiguous_names, registry
from django_sitemaps_plus.sitemaps.routes import Route
from django_sitemaps_plus.sitemaps.sections import (
    BY_WINDOW,
    WITH_WINDOW,
    SectionSource,
    gives_entries,
    items_of,
    source_of,
)
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, SCHEMES, Site

from .attributes import check_attributes, check_model, check_news
from .locations import check_location
from .messages import check, message, section_names
from .recording import check_database, check_recording


@check(of_each_site=True)
def check_names(**kwargs: Any) -> Iterator[CheckMessage]:
    """E004: names of sections that cannot be told apart; the dict in the settings."""
    get_settings()
    try:
        with no_queries():
            names = registry.sources()
    except ConfigurationError as error:
        hint = 'Names come from @register(name="…"), or are the keys of the dict.'
        if "['SITEMAPS']" in str(error):
            hint = (
                "Set SITEMAPS_PLUS['SITEMAPS'] to 'module.name' of a dict of sitemaps."
            )
        yield message("E004", str(error), hint)
        return
    except DatabaseError:
        return  # check_tables asks the database
    for name, other, page in ambiguous_names(names):
        yield message(
            "E004",
            f"/sitemap-{name}.xml could be the section {name!r} or page {page} of "
            f"the section {other!r}.",
            f'Rename one of them, for example @register(name="{other}{page}").',
        )


@check(of_each_site=True)
def check_sections(**kwargs: Any) -> Iterator[CheckMessage]:
    """E005 to E020, W002 to W004, W010 to W026: what classes declare."""
    seen: list[CheckMessage] = []
    for name in section_names():
        # Of a class that several sections share, once.
        new = [one for one in without_queries(name) or () if one not in seen]
        seen += new
        yield from new


def without_queries(name: str) -> list[CheckMessage] | None:
    """Check a section; None if that takes a database, as in ``check_tables``."""
    try:
        with no_queries():
            return list(check_section(name))
    except NoQueriesError:
        return None


def check_section(name: str) -> Iterator[CheckMessage]:
    """Yield what is wrong with a section."""
    try:
        sitemap = registry.get(name)
    except NoQueriesError:
        raise
    except Exception as error:  # a class of the project's may raise whatever it likes
        reason = error if isinstance(error, TypeError) else describe(error)
        text = f"The sitemap of section {name!r} cannot be created: {reason}"
        hint = "Give it no required arguments, or register an instance."
        yield message("E005", text, hint)
        return
    cls = type(sitemap)
    if not isinstance(sitemap, ContribSitemap):
        yield message(
            "E005",
            f"What is registered as section {name!r} is not a sitemap: it is of the "
            f"class {cls.__module__}.{cls.__qualname__}.",
            "Register a subclass of django_sitemaps_plus.Sitemap.",
        )
        return
    try:
        for one in _check_sitemap(name, sitemap):
            one.obj = cls
            yield one
    except NoQueriesError:
        raise
    except Exception as error:  # items() may raise whatever it likes
        yield unreadable(name, error, cls)


def unreadable(name: str, error: Exception, cls: type) -> CheckMessage:
    """Return W002 or E013: the items cannot be read."""
    text = f"The items of section {name!r} cannot be read: "
    if isinstance(error, DatabaseError):
        # items() asked the database, which may not be there yet.
        hint = "Let items() return a queryset without asking the database."
        return message("W002", f"{text}{error}", hint, cls)
    hint = "Correct items(); it is called without a request, and by commands too."
    return message("E013", f"{text}{describe(error)}", hint, cls)


def _check_sitemap(name: str, sitemap: AnySitemap) -> Iterator[CheckMessage]:
    yield from check_attributes(sitemap)
    problems = [*check_model(name, sitemap)] or [*check_news(name, sitemap)]
    if problems:
        yield from problems
        return
    try:
        source = source_of(name, sitemap)
    except ConfigurationError as error:
        hint = "Correct page_by, or remove it to page by pk."
        yield message("E006", str(error), hint)
        return
    yield from _check_route(source)
    yield from check_location(source)
    yield from _check_expressions(source)
    yield from _check_nulls(source)
    yield from _check_constants(sitemap)
    yield from _check_now(sitemap)
    yield from _check_order(source)
    yield from _check_languages(sitemap)
    if source.key is not None:
        yield from check_database(source, source.key)
        yield from check_recording(source)
    elif (model := model_of(source)) is not None:
        yield _unreported(source, model)


def model_of(source: SectionSource) -> type[Model] | None:
    """Return the model of which a section by position lists rows; None if of none."""
    items = source.sitemap.items()
    if isinstance(items, (QuerySet, RawQuerySet)):
        return items.model
    first = next(iter(items), None) if isinstance(items, (list, tuple)) else None
    return type(first) if isinstance(first, Model) else None


def _unreported(source: SectionSource, model: type[Model]) -> CheckMessage:
    """Return W009: rows of a model, of which search engines hear nothing."""
    hint = (
        "Let items() return a queryset that is not read, sliced or combined: return "
        f"{model.__name__}.objects.filter(…)."
    )
    if source.by_position == BY_WINDOW:
        hint = (
            f"Filter by a Subquery: newest = {model.__name__}.objects.filter(…=OuterRef"
            "(…)).order_by(…), and .filter(pk=Subquery(newest.values('pk')[:1]))."
        )
    if source.by_position == WITH_WINDOW:
        hint = "Annotate a Subquery in its place, which says the same on each page."
    if source.hook:
        hint = (
            "Register a class that does not override it: get_urls_for_item() gives the "
            "entries of an item, BASE_URL and protocol the address."
        )
    return message(
        "W009",
        f"Section {source.name!r} is paged by position: {source.by_position}. Its "
        "pages are built for each request, and search engines are not notified of "
        f"changes of {model._meta.label}.",
        hint,
    )


_OUR_NAMES = re.compile(rf"\b{alias('')}\w+(, |$)")


def _check_route(source: SectionSource) -> Iterator[CheckMessage]:
    location = getattr(source.sitemap, "location", None)
    if not isinstance(location, Route):
        return
    try:
        for language in source.languages:
            with PLACEHOLDER_SITE.rendering(language):
                location.compile()
    except RouteError as error:
        hint = "Use the name of a URL pattern, with its namespaces and its parameters."
        literal = 'Write a path such as "/p/{slug}/", and a value for each placeholder.'
        text = f"Section {source.name!r} has no URLs: {error}"
        yield message("E007", text, literal if location.is_literal else hint)
        return
    if location.params and not location.expressions and source.key is not None:
        param = location.params[0]
        column = f'{param}=F("{param}")' if isinstance(param, str) else 'F("slug")'
        yield message(
            "W017",
            f"Section {source.name!r} lists one URL for all items: {location!r} has no "
            "expression.",
            f"Name the column, for example {column}.",
        )


def _check_expressions(source: SectionSource) -> Iterator[CheckMessage]:
    sitemap, items = source.sitemap, items_of(source.sitemap)
    text = hint = ""
    if source.key is not None:
        try:
            RowPlan(sitemap, items, source.key)
            statements_of(sitemap, source.key)
            others = {**moments(sitemap), **item_title(sitemap)}
            items.annotate(**{alias(n): e for n, e in others.items()})
        except FieldError as error:
            # Names of our own are not for anybody to choose.
            reason = _OUR_NAMES.sub("", str(error))
            where = f"An expression of section {source.name!r}"
            text = f"{where} cannot be resolved: {reason}"
            hint = "Use the names of the model's fields, for example F('slug')."
    elif any(starmap(has_expressions, declared(sitemap).items())):
        if what := unqueryable(sitemap, items):
            does = f"declares ORM expressions, but items() returns {what}"
            text = f"Section {source.name!r} {does}."
        hint = "Let items() return an unevaluated queryset, or use methods only."
    if text:
        yield message("E008", text, hint)
    elif source.key is not None:
        query = annotated(items, declared_expressions(sitemap), sitemap).query
        yield from _check_windows(source, source.key, query)
        yield from _check_several(source, query)
        yield from _check_translated(source, query)


def _check_several(source: SectionSource, query: Query) -> Iterator[CheckMessage]:
    """W027: an expression over a relation of which a row may have several objects."""
    known = items_of(source.sitemap).query.alias_map
    for name in query.alias_map.keys() - known.keys():
        relation: Any = getattr(query.alias_map[name], "join_field", None)
        if query.group_by is None and getattr(relation, "multiple", False):
            model, shown = relation.related_model, relation.name
            path = model.__name__
            if owner := model._meta.auto_created:
                # Only Django has a name for it: the relation of "through".
                own = owner._meta.many_to_many
                [shown] = (one.name for one in own if one.remote_field.through is model)
                path = f"{owner.__name__}.{shown}.through"
            yield message(
                "W027",
                f"An expression of section {source.name!r} reads the relation "
                f"{shown!r}: once an item has two of them, its row comes "
                "twice, and its page cannot be built.",
                f"Choose one: Subquery({path}.objects.filter({relation.field.name}="
                "OuterRef('pk')).values('…')[:1]); for images use Related().",
            )


def _check_translated(source: SectionSource, query: Query) -> Iterator[CheckMessage]:
    """W064: a column of which each language has another, as its attribute knows."""
    sitemap = source.sitemap
    if not sitemap.i18n:
        return
    endings = [f"_{code}".replace("-", "_") for code in sitemap._languages()]
    for name in declared_expressions(sitemap):
        parts = query.annotations[name].flatten()
        for column in (one.target for one in parts if type(one) is Col):
            found = getattr_static(column.model, column.attname)
            others = [f"{column.name}{one}" for one in endings]
            is_plain = type(found).__module__.startswith("django.db.")
            if not is_plain and any(hasattr(column.model, one) for one in others):
                yield message(
                    "W064",
                    f"Section {source.name!r}: {attribute_of(name)} reads the column "
                    f"{column.model.__name__}.{column.name}, which is the same in all "
                    f"languages; the attribute is a {type(found).__name__}.",
                    f"Write a method, def {attribute_of(name)}(self, item), which is "
                    "called in each language.",
                )


def _check_windows(
    source: SectionSource, key: Key, query: Query
) -> Iterator[CheckMessage]:
    """E022: values that depend on which rows a page has."""
    sitemap, every = source.sitemap, key.model._base_manager.all()
    values = [(name, query.annotations[name]) for name in declared_expressions(sitemap)]
    for name, slot in declared_related(sitemap).items():
        selected = slot.rows(every, key.names).query.annotation_select
        values += [(name, value) for value in selected.values()]
    found = [attribute_of(name) for name, one in values if one.contains_over_clause]
    for name in dict.fromkeys(found):
        yield message(
            "E022",
            f"Section {source.name!r}: {name} has a window function, which sees the "
            "rows of one page only, so that its value depends on where pages begin.",
            f"Use Subquery() in its place, which sees all rows: {name} = Subquery(…).",
        )


# Columns that may be NULL


def _check_nulls(source: SectionSource) -> Iterator[CheckMessage]:
    """W010: a route's column that may be NULL, which reverse() writes as "None"."""
    location = getattr(source.sitemap, "location", None)
    items = items_of(source.sitemap)
    if not isinstance(location, Route) or not isinstance(items, QuerySet):
        return
    if items.query.combinator:
        return
    for param, expression in location.expressions.items():
        if type(expression) is not F:
            continue
        field = expression.name  # type: ignore[attr-defined]  # no stub
        selected = alias("location", param)
        try:
            query = items.annotate(**{selected: deepcopy(expression)}).query
        except FieldError:
            return  # E008 says so
        column = query.annotations[selected]
        if isinstance(column, Col) and _may_be_null(query, column.alias, column.target):
            yield message(
                "W010",
                f"Section {source.name!r}: {field} may be NULL, and the URL of its "
                "Route then contains 'None', as with reverse().",
                f"Exclude it in items(): .exclude({field}=None), or give another "
                f"value: Coalesce({field!r}, Value('…')).",
            )


def _may_be_null(query: Query, table: str, column: Any) -> bool:
    """Return whether a column of a query's rows may be NULL, for all that one sees."""
    if _excludes_null(query.where, table, column):
        return False
    if column.null:
        return True
    join: Any = query.alias_map[table]
    if join.join_type != LOUTER:
        return False
    if not isinstance(join, Join):
        return True  # a CTE's
    # No row at the other end of a relation is NULL in all its columns.
    return _may_be_null(query, join.parent_alias, join.join_field)


def _excludes_null(condition: Any, table: str, column: Any, truth: bool = True) -> bool:
    """Return whether a column is surely not NULL where a condition is ``truth``."""
    if isinstance(condition, WhereNode):
        truth = truth != condition.negated
        found = [
            _excludes_null(child, table, column, truth) for child in condition.children
        ]
        # True "and", false "or": each of the children is. Else it is one of them.
        each = condition.connector == (AND if truth else OR)
        return any(found) if each else bool(found) and all(found)
    left = getattr(condition, "lhs", None)
    if not isinstance(left, Col) or (left.alias, left.target) != (table, column):
        return False
    # NULL is neither equal nor unequal to anything: only IS NULL knows it.
    return not isinstance(condition, IsNull) or condition.rhs != truth


# Constants


def _constant_lastmod_xml(value: Any) -> str:
    return lastmod_xml(w3c(value, timezone.get_default_timezone()))


#: What writes a constant or refuses it, and the words for a refusal.
_CONSTANTS: dict[str, tuple[str, Callable[[Any], str], str, str]] = {
    "changefreq": (
        "W018",
        changefreq_xml,
        "is not one of the protocol's values, and is left out",
        f"Use one of: {', '.join(sorted(CHANGEFREQS))}.",
    ),
    "priority": (
        "W019",
        priority_xml,
        "is not a number from 0 to 1, and is left out",
        "Set priority to a number from 0.0 to 1.0, or remove it.",
    ),
    "lastmod": (
        "E012",
        _constant_lastmod_xml,
        "is not a date",
        "Set lastmod to a date, to a text such as '2026-01-31', or to F('updated'); "
        "or remove it.",
    ),
}


def _check_constants(sitemap: AnySitemap) -> Iterator[CheckMessage]:
    """E009, E012, E019, E020, W018, W019: ``limit``, and constants of all entries."""
    if not is_legal_limit(sitemap.limit):
        yield message(
            "E009",
            f"limit = {excerpt(sitemap.limit)}: a sitemap may have from 1 to "
            f"{MAX_ENTRIES:,} URLs.",
            f"Set limit to at most {MAX_ENTRIES}, or remove it.",
        )
    if sitemap.protocol and sitemap.protocol not in SCHEMES:
        text = f"protocol must be 'http' or 'https', not {excerpt(sitemap.protocol)}."
        yield message("E019", text, "Correct it, or remove it to use the site's.")
    for name, (number, xml, problem, hint) in _CONSTANTS.items():
        value = getattr(sitemap, name, None)
        # An entry leaves out None and "".
        if is_method(value) or is_expression(value) or value is None or value == "":
            continue
        try:
            xml(value)
        except EntryError:
            yield message(number, f"{name} = {excerpt(value)} {problem}.", hint)
    for name in ("appears", "expires"):
        value = getattr(sitemap, name, None)
        if value is not None and not is_expression(value):
            yield message(
                "E020",
                f"{name} = {excerpt(value)} is not an expression.",
                f'Set {name} to the date\'s field, for example F("publish_at"), or '
                "remove it.",
            )


def _check_now(sitemap: AnySitemap) -> Iterator[CheckMessage]:
    """W026: a ``lastmod`` of the time at which the class was created."""
    value = getattr(sitemap, "lastmod", None)
    if not isinstance(value, dt.datetime):
        return
    zones = (timezone.get_default_timezone(), dt.UTC)
    times = [value] if value.tzinfo else [value.replace(tzinfo=one) for one in zones]
    # Who writes a date down does so before the process starts.
    if any(IMPORTED_AT <= one.timestamp() <= time.time() for one in times):
        yield message(
            "W026",
            "lastmod is the time at which this process started, so each restart says "
            "that all entries changed.",
            "Set lastmod to the field of the date, for example F('updated'), or remove "
            "it.",
        )


def _check_order(source: SectionSource) -> Iterator[CheckMessage]:
    """W025: a random order, which is that of pages by position."""
    if source.key is not None:
        return  # its order does not matter
    items = items_of(source.sitemap)
    if isinstance(items, QuerySet) and _is_random(items.query):
        yield message(
            "W025",
            f"items() of section {source.name!r} is in random order, so its pages "
            "repeat and miss rows, and each build lists others.",
            "Order by a field, for example order_by('pk').",
        )


def _is_random(query: Query) -> bool:
    """Return whether rows are in random order, by whatever of them there is."""
    order: Any = query.order_by
    if not order and query.default_ordering and query.model is not None:
        order = query.model._meta.ordering
    names = [getattr(one, "expression", one) for one in order]
    return any(one == "?" or isinstance(one, Random) for one in names)


def is_legal_limit(limit: Any) -> bool:
    """Return whether a page may have so many entries."""
    return isinstance(limit, int) and 1 <= limit <= MAX_ENTRIES


def _check_languages(sitemap: AnySitemap) -> Iterator[CheckMessage]:
    code = Site.current().default_language
    if isinstance(sitemap.languages, str):
        text = f"languages is the text {sitemap.languages!r}, not a list."
        yield message("E017", text, f"Write languages = [{sitemap.languages!r}].")
    elif not sitemap.i18n:
        if (sitemap.alternates or sitemap.x_default) and not gives_entries(sitemap):
            text = "alternates and x_default do nothing without i18n."
            yield message("W003", text, "Set i18n = True.")
    elif sitemap.x_default and code not in sitemap._languages():
        yield message(
            "W004",
            f"x_default does nothing: LANGUAGE_CODE {django_settings.LANGUAGE_CODE!r} "
            "is not among the sitemap's languages.",
            f"Add {code!r} to languages.",
        )
