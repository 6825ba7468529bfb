"""
What a section leaves out of its items: by ``in_sitemap``, and by patterns of URLs.

A boolean field ``in_sitemap`` of the model is a condition of the query. A method of
that name, and the patterns, are asked of each item and of each URL: what they leave
out counts where pages are divided, so that a page may list fewer entries than it could.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db.models import BooleanField, Model, QuerySet

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.protocol.patterns import Pattern, problem_of

from .registry import AnySitemap

IN_SITEMAP = "in_sitemap"


# Items


def is_evaluated(items: Any) -> bool:
    """
    Return whether a queryset has been read.

    What was put into its objects is lost in every query that is made of it.
    """
    return isinstance(items, QuerySet) and items._result_cache is not None


def flagged_items(items: Any) -> Any:
    """Return those of some items of which a boolean field says that they are listed."""
    if not isinstance(items, QuerySet) or is_evaluated(items):
        return items
    query = items.query
    if query.is_sliced or query.combinator or not has_field(items.model):
        return items
    return items.filter(**{IN_SITEMAP: True})


def has_field(model: type[Model]) -> bool:
    """Return whether a model has a boolean column ``in_sitemap``."""
    return isinstance(_field(model), BooleanField)


def has_method(model: type[Model]) -> bool:
    """Return whether a model has a method or a property ``in_sitemap``."""
    return _field(model) is None and hasattr(model, IN_SITEMAP)


def _field(model: type[Model]) -> Any:
    try:
        return model._meta.get_field(IN_SITEMAP)
    except FieldDoesNotExist:
        return None


def left_out(
    items: Sequence[Any],
    attempt: Callable[[Callable[[Any], bool], Sequence[Any]], Sequence[bool]],
) -> frozenset[int]:
    """
    Return which items, by index, their models do not want to be listed.

    ``attempt`` calls a function with each of them.
    """
    kinds = {type(item) for item in items}
    models = [kind for kind in kinds if issubclass(kind, Model)]
    if not any(has_field(model) or has_method(model) for model in models):
        return frozenset()
    listed = attempt(_is_listed, items)
    return frozenset(index for index, is_in in enumerate(listed) if not is_in)


def _is_listed(item: Any) -> bool:
    is_in = getattr(item, IN_SITEMAP, True)
    return bool(is_in() if callable(is_in) else is_in)


# URLs


def patterns_that_leave_out(sitemap: AnySitemap) -> tuple[Pattern, ...]:
    """
    Return the patterns of the settings and of a section.

    Raises ``ConfigurationError`` for an invalid pattern.
    """
    return (*get_settings().EXCLUDE, *own_patterns(sitemap))


def own_patterns(sitemap: AnySitemap) -> tuple[Pattern, ...]:
    """Return a class's own patterns; raises as ``patterns_that_leave_out``."""
    given: Any = getattr(sitemap, "exclude", ())
    where = f"{type(sitemap).__qualname__}.exclude"
    if not isinstance(given, (list, tuple)):
        raise ConfigurationError(f"{where} must be a list, not {given!r}.")
    for pattern in given:
        if problem := problem_of(pattern):
            raise ConfigurationError(f"{where}: {pattern!r} {problem}.")
    return tuple(given)
