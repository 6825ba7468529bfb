"""
The attributes of an entry that a class may declare, and what is declared.

Each is a constant, a method of the item, or an ORM expression.
"""

from __future__ import annotations

from typing import Any

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

#: Model instances read at a time where items are walked one by one.
CHUNK = 2_000

_ALIAS = "sitemaps_plus_"


def is_expression(value: object) -> bool:
    """Tell whether ``value`` is something that the ORM can resolve."""
    return hasattr(value, "resolve_expression") and not isinstance(value, type)


def is_method(value: object) -> bool:
    """Tell whether a declared attribute must be called for each item."""
    return callable(value) and not isinstance(value, Route) and not is_expression(value)


def alias(name: str, part: object = None) -> str:
    """Return the name under which an attribute's value is selected."""
    return f"{_ALIAS}{name}" if part is None else f"{_ALIAS}{name}_{part}"


def declared(sitemap: AnySitemap) -> dict[str, Any]:
    """Return what ``sitemap`` declares for each attribute of an entry."""
    return {name: getattr(sitemap, name, None) for name in ATTRIBUTES}


def declared_expressions(sitemap: AnySitemap) -> dict[str, Any]:
    """Return every declared expression, a route's included, by its alias."""
    found: dict[str, Any] = {}
    for name, value in declared(sitemap).items():
        if isinstance(value, Route):
            for parameter, expression in value.expressions.items():
                found[alias(name, parameter)] = expression
        elif is_expression(value):
            found[alias(name)] = value
    return found


def locating_expressions(sitemap: AnySitemap) -> dict[str, Any]:
    """Return those of them that make an item's location."""
    location = getattr(sitemap, "location", None)
    names = (
        [alias("location", parameter) for parameter in location.expressions]
        if isinstance(location, Route)
        else [alias("location")]
    )
    expressions = declared_expressions(sitemap)
    return {name: expressions[name] for name in names if name in expressions}


def moments(sitemap: AnySitemap) -> dict[str, Any]:
    """Return the expressions that say when an item appears and expires."""
    found = {name: getattr(sitemap, name, None) for name in ("appears", "expires")}
    return {name: value for name, value in found.items() if is_expression(value)}


def value_of(name: str, value: Any, item: Any) -> Any:
    """Return what a declared route or expression gives for an annotated item."""
    if not isinstance(value, Route):
        return getattr(item, alias(name))
    return value.of(
        [getattr(item, alias(name, parameter)) for parameter in value.expressions]
    )


def entries_per_item(sitemap: AnySitemap) -> int:
    """Return how many entries an item has at most: one, or one a language."""
    return max(1, len(sitemap._languages())) if sitemap.i18n else 1


MEDIA = ("images", "videos", "news")
