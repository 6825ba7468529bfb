"""
The attributes of an entry that a class may declare, and what it declares.

Each is a constant, a method of the item, or an ORM expression.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from django_sitemaps_plus.protocol.entries import Image, News, Video

from .media import Related, filler, is_composed, slots_of
from .registry import AnySitemap
from .routes import Route

#: The attributes of an entry that a class may declare.
ATTRIBUTES = (
    "location",
    "lastmod",
    "changefreq",
    "priority",
    "images",
    "videos",
    "news",
)

#: How many model instances are read at a time.
OBJECTS_AT_ONCE = 2_000

#: The attributes that are records, and their kinds.
MEDIA = {"images": Image, "videos": Video, "news": News}

#: The attributes without which an entry is still listed.
TAGS = ("changefreq", "priority", *MEDIA)

_ALIAS = "sitemaps_plus_"


def is_expression(value: object) -> bool:
    """Return whether ``value`` is an ORM expression."""
    return hasattr(value, "resolve_expression") and not isinstance(value, type)


def is_method(value: object) -> bool:
    """Return whether a declared attribute must be called for each item."""
    return callable(value) and not isinstance(value, Route) and not is_expression(value)


def alias(name: str, part: object = None) -> str:
    """Return the name under which an attribute's value is selected."""
    return f"{_ALIAS}{name}" if part is None else f"{_ALIAS}{name}_{part}"


def attribute_of(alias: str) -> str:
    """Return the attribute that an alias is of."""
    return alias.removeprefix(_ALIAS).partition("_")[0]


def declared(sitemap: AnySitemap) -> dict[str, Any]:
    """Return what ``sitemap`` declares for each attribute of an entry."""
    return {name: getattr(sitemap, name, None) for name in ATTRIBUTES}


def declared_expressions(sitemap: AnySitemap) -> dict[str, Any]:
    """Return every declared expression, also those of routes, by its alias."""
    expressions: dict[str, Any] = {}
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


def declared_related(sitemap: AnySitemap) -> dict[str, Related]:
    """Return every declared ``Related`` by the alias of its values."""
    return {
        alias(name, index): slot
        for name in MEDIA
        for index, slot in enumerate(slots_of(getattr(sitemap, name, None)))
        if isinstance(slot, Related)
    }


def moments(sitemap: AnySitemap) -> dict[str, Any]:
    """Return the expressions that say when an item appears and expires."""
    values = {name: getattr(sitemap, name, None) for name in ("appears", "expires")}
    return {name: value for name, value in values.items() if is_expression(value)}


def item_title(sitemap: AnySitemap) -> dict[str, Any]:
    """Return the expression of the titles of items, if it is one."""
    value = getattr(sitemap, "item_title", None)
    return {"item_title": value} if is_expression(value) else {}


def has_expressions(name: str, value: object) -> bool:
    """Return whether an attribute is declared by a route or by expressions."""
    if isinstance(value, Route) or is_expression(value):
        return True
    return name in MEDIA and is_composed(value)


def getter(name: str, value: Any) -> Callable[[Any], Any]:
    """Return what gives the value of a declared route or expressions for an item."""
    if isinstance(value, Route):
        names = [alias(name, parameter) for parameter in value.expressions]
        return lambda item: value.of([getattr(item, part) for part in names])
    if is_expression(value):
        return attrgetter(alias(name))
    places = range(len(slots_of(value)))
    fill = filler(value, iter(places), MEDIA[name])
    names = [alias(name, place) for place in places]
    return lambda item: fill([getattr(item, part) for part in names])


def entries_per_item(sitemap: AnySitemap) -> int:
    """Return how many entries an item has at most: one, or one per language."""
    return max(1, len(sitemap._languages())) if sitemap.i18n else 1
