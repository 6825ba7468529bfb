"""
The attributes of an entry that a class may declare, and what it declares.

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

#: How many model instances are read at a time.
CHUNK = 2_000

_ALIAS = "sitemaps_plus_"


def is_expression(value: object) -> bool:
    """Tell whether ``value`` is an ORM expression."""
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
    """Return every declared expression, also those of routes, by its alias."""
    found: dict[str, Any] = {}
    for name, value in declared(sitemap).items():
        if isinstance(value, Route):
            for parameter, expression in value.expressions.items():
                found[alias(name, parameter)] = expression
        elif is_expression(value):
            found[alias(name)] = value
    return found


def moments(sitemap: AnySitemap) -> dict[str, Any]:
    """Return the expressions that say when an item appears and expires."""
    found = {name: getattr(sitemap, name, None) for name in ("appears", "expires")}
    return {name: value for name, value in found.items() if is_expression(value)}


def feed_title(sitemap: AnySitemap) -> dict[str, Any]:
    """Return the expression of the titles that feeds show, if it is one."""
    value = getattr(sitemap, "feed_title", None)
    return {"feed_title": value} if is_expression(value) else {}


def value_of(name: str, value: Any, item: Any) -> Any:
    """Return the value of a declared route or expression for an annotated item."""
    if not isinstance(value, Route):
        return getattr(item, alias(name))
    return value.of(
        [getattr(item, alias(name, parameter)) for parameter in value.expressions]
    )


def entries_per_item(sitemap: AnySitemap) -> int:
    """Return how many entries an item has at most: one, or one per language."""
    return max(1, len(sitemap._languages())) if sitemap.i18n else 1


MEDIA = ("images", "videos", "news")
