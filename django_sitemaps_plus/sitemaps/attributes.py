"""
The attributes of an entry that a class may declare, and what it declares.

Each is a constant, a method of the item, or an ORM expression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db.models import ExpressionWrapper, QuerySet
from django.db.models.expressions import Col
from django.utils import translation

from django_sitemaps_plus.protocol.extensions import MEDIA

from .media import Related, filler, is_composed, is_expression, slots_of
from .registry import AnySitemap
from .routes import Route

#: How many model instances are read at a time.
OBJECTS_AT_ONCE = 2_000

#: What people call an item: in no sitemap, but in feeds.
TITLE = "item_title"

_ALIAS = "sitemaps_plus_"


def tags() -> tuple[str, ...]:
    """Return the attributes without which an entry is still listed."""
    return ("lastmod", "changefreq", "priority", *MEDIA)


def is_method(value: object) -> bool:
    """Return whether a declared attribute must be called for each item."""
    return callable(value) and not isinstance(value, Route) and not is_expression(value)


def alias(name: str, part: object = None) -> str:
    """Return the name under which an attribute's value is selected."""
    return f"{_ALIAS}{name}" if part is None else f"{_ALIAS}{name}_{part}"


def is_alias(name: str) -> bool:
    """Return whether a value of an attribute is selected under a name."""
    return name.startswith(_ALIAS)


def attribute_of(alias: str) -> str:
    """Return the attribute that an alias is of, in whichever language."""
    return alias.removeprefix(_ALIAS).partition("_")[0].partition("-")[0]


def declared(sitemap: AnySitemap) -> dict[str, Any]:
    """Return what ``sitemap`` declares for each attribute of an entry."""
    return {name: getattr(sitemap, name, None) for name in ("location", *tags())}


def methods_of(sitemap: AnySitemap) -> list[str]:
    """Return which attributes of an entry must be called for each item."""
    values = declared(sitemap).items()
    return [name for name, value in values if callable(value) and is_method(value)]


def declared_media(sitemap: AnySitemap) -> dict[str, Any]:
    """Return what ``sitemap`` declares for each kind of media that it has."""
    values = {name: getattr(sitemap, name, None) for name in MEDIA}
    return {name: value for name, value in values.items() if value is not None}


def declared_expressions(
    sitemap: AnySitemap, *, titles: bool = False
) -> dict[str, Any]:
    """
    Return every declared expression, also those of routes, by its alias.

    With ``titles`` that of items' titles, too.
    """
    expressions = item_title(sitemap) if titles else {}
    for name, value in declared(sitemap).items():
        if isinstance(value, Route):
            for parameter, expression in value.expressions.items():
                expressions[alias(name, parameter)] = expression
        elif is_expression(value):
            expressions[alias(name)] = value
        elif name in MEDIA and is_composed(value):
            for index, slot in enumerate(slots_of(value)):
                if not isinstance(slot, Related):
                    expressions[alias(name, index)] = slot
    return expressions


class _InLanguage(ExpressionWrapper):  # type: ignore[type-arg]  # in the stubs only
    """A resolved expression that is compiled in a language."""

    def __init__(self, expression: Any, language: str) -> None:
        output: Any = None  # that of the expression
        super().__init__(expression, output)
        self.language = language

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        with translation.override(self.language):
            return super().as_sql(compiler, connection)

    def get_db_converters(self, connection: Any) -> Any:
        return self.expression.get_db_converters(connection)


def in_language(alias: str, language: str | None) -> str:
    """Return the alias of a value in a language, where it is another there."""
    return f"{alias}-{language}"


def annotated(
    queryset: QuerySet[Any], expressions: Mapping[str, Any], sitemap: AnySitemap
) -> QuerySet[Any]:
    """
    Annotate a queryset with expressions, which are resolved once more in each language.

    By ``in_language`` it also has those that are others there: a package may translate
    columns, an expression may ask for the language.
    """
    # Copies: django-modeltranslation puts a language's column into what it is given.
    found: QuerySet[Any] = queryset.annotate(**deepcopy(dict(expressions)))
    # The beginnings of what may be another value in each language of an item.
    names = ("location", *MEDIA, TITLE.partition("_")[0])
    spoken = {n: e for n, e in expressions.items() if attribute_of(n) in names}
    usual = {name: _sql(found, name) for name in spoken} if sitemap.i18n else {}
    for language in sitemap._languages() if usual else ():
        own = {in_language(name, language): value for name, value in spoken.items()}
        with translation.override(language):
            found = found.annotate(**deepcopy(own))
            texts = [_sql(found, name) for name in own]
        values = found.query.annotations
        for name, text, usual_text in zip(own, texts, usual.values(), strict=True):
            value = values.pop(name)
            if text != usual_text:
                is_column = type(value) is Col
                values[name] = value if is_column else _InLanguage(value, language)
    return found


def _sql(queryset: QuerySet[Any], name: str) -> Any:
    """Return the SQL of an annotation; None if it is known to be of no row."""
    compiler = queryset.query.get_compiler(queryset.db)
    try:
        sql, params = compiler.compile(queryset.query.annotations[name])
    except (EmptyResultSet, FullResultSet):
        return None
    return sql, tuple(params)


def declared_related(sitemap: AnySitemap) -> dict[str, Related]:
    """Return every declared ``Related`` by the alias of its values."""
    return {
        alias(name, index): slot
        for name, value in declared_media(sitemap).items()
        for index, slot in enumerate(slots_of(value))
        if isinstance(slot, Related)
    }


def moments(sitemap: AnySitemap) -> dict[str, Any]:
    """Return the expressions that say when an item appears and expires."""
    values = {name: getattr(sitemap, name, None) for name in ("appears", "expires")}
    return {name: value for name, value in values.items() if is_expression(value)}


def item_title(sitemap: AnySitemap) -> dict[str, Any]:
    """Return the expression of the titles of items by its alias, if it is one."""
    value = getattr(sitemap, TITLE, None)
    return {alias(TITLE): value} if is_expression(value) else {}


def has_expressions(name: str, value: object) -> bool:
    """Return whether an attribute is declared by a route or by expressions."""
    if isinstance(value, Route) or is_expression(value):
        return True
    return name in MEDIA and is_composed(value)


def getter(name: str, value: Any, language: str | None = None) -> Callable[[Any], Any]:
    """Return what gives the value of a declared route or expressions for an item."""

    def of(item: Any, part: str) -> Any:
        return getattr(item, in_language(part, language), getattr(item, part))

    if isinstance(value, Route):
        names = [alias(name, parameter) for parameter in value.expressions]
        return lambda item: value.of([of(item, part) for part in names])
    if is_expression(value):
        return lambda item: of(item, alias(name))
    places = range(len(slots_of(value)))
    fill = filler(value, iter(places), MEDIA[name])
    names = [alias(name, place) for place in places]
    return lambda item: fill([of(item, part) for part in names])
