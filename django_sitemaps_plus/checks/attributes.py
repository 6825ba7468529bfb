"""Checks of what a class has, of names that are nearly an attribute's, and of news."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from types import CodeType, FunctionType
from typing import Any

from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.checks import CheckMessage
from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db.models import BooleanField, Model, QuerySet

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError, RouteError
from django_sitemaps_plus.protocol.entries import News
from django_sitemaps_plus.protocol.errors import excerpt
from django_sitemaps_plus.protocol.extensions import is_news_language
from django_sitemaps_plus.protocol.locations import quote
from django_sitemaps_plus.protocol.patterns import Pattern, start_of
from django_sitemaps_plus.sitemaps.attributes import (
    ATTRIBUTES,
    is_expression,
    is_method,
)
from django_sitemaps_plus.sitemaps.classes import Sitemap
from django_sitemaps_plus.sitemaps.leaving_out import IN_SITEMAP, own_patterns
from django_sitemaps_plus.sitemaps.news import NewsSitemap
from django_sitemaps_plus.sitemaps.registry import AnySitemap
from django_sitemaps_plus.sitemaps.routes import Route
from django_sitemaps_plus.sitemaps.sections import SectionSource, overridden, source
from django_sitemaps_plus.sitemaps.site import (
    PLACEHOLDER_SITE,
    Site,
    rendering_context,
    working_for,
)

from .messages import check, message, section_names

#: How alike names are that are taken for a slip: "protocoll" and "protocol".
_ALIKE = 0.85
#: What is written for an attribute elsewhere: in generic views, in HTTP, in models.
_OTHER_WORDS = {
    "changefrequency": "changefreq",
    "lastmodified": "lastmod",
    "queryset": "items",
}
#: The methods that give the items of ``model``, and what takes their place.
_PLAIN = (ContribSitemap.items, Sitemap.items)
_HOOKS = ("get_urls", "_urls", "_items")
_LIBRARIES = ("django.contrib.sitemaps", "django_sitemaps_plus.")


def check_model(name: str, sitemap: AnySitemap) -> Iterator[CheckMessage]:
    """E021: no items, or a ``model`` without rows."""
    model: Any = getattr(sitemap, "model", None)
    cls = type(sitemap).__name__
    where = f"{cls}.model of section {name!r}"
    if not callable(sitemap.items):
        kind = type(sitemap.items).__name__
        yield message(
            "E021",
            f"{cls}.items of section {name!r} must be a method, not a {kind}.",
            "Write def items(self): return …, or set model = Article in its place.",
        )
        return
    items = getattr(sitemap.items, "__func__", None)
    if items not in _PLAIN or any(overridden(sitemap, hook) for hook in _HOOKS):
        return
    if model is None:
        yield message(
            "E021",
            f"{cls} of section {name!r} has neither model nor items(): it lists "
            "nothing.",
            "Set model = Article, or define items().",
        )
    elif not (isinstance(model, type) and issubclass(model, Model)):
        text = f"{where} must be a model class, not {excerpt(model)}."
        yield message("E021", text, "Import the class, and write model = Article.")
    elif model._meta.abstract:
        yield message(
            "E021",
            f"{where} is {model.__name__}, an abstract model, which has no rows.",
            "Name a model that inherits from it; each needs a sitemap class of its "
            "own.",
        )


def check_attributes(sitemap: AnySitemap) -> Iterator[CheckMessage]:
    """W012: attributes that nothing reads, because they are misspelt."""
    classes = type(sitemap).__mro__
    own = [cls for cls in classes if not cls.__module__.startswith(_LIBRARIES)]
    known = {*ATTRIBUTES}.union(*(vars(cls) for cls in classes if cls not in own))
    declared = {name: value for cls in own for name, value in vars(cls).items()}
    # What the class's own methods read is a helper of theirs.
    read = {name for value in declared.values() for name in _names_in(value)}
    public = {name for name in known - declared.keys() if name[0] != "_"}
    missing = {name.replace("_", ""): name for name in public}
    missing |= {s: n for s, n in _OTHER_WORDS.items() if n in public}
    for name in sorted(declared.keys() - known - read):
        short = name.replace("_", "").lower()
        if name[0] != "_" and (found := get_close_matches(short, missing, 1, _ALIKE)):
            meant = missing[found[0]]
            yield message(
                "W012",
                f"{type(sitemap).__name__}.{name} is not an attribute of sitemaps, and "
                f"is ignored. Did you mean {meant!r}?",
                f"Rename it to {meant}, or give it a name that is less alike.",
            )


def _names_in(value: Any) -> Iterator[str]:
    """Yield the names that a method or a property reads; none for anything else."""
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, FunctionType):
        value = value.__code__
    if isinstance(value, CodeType):
        yield from value.co_names
        for constant in value.co_consts:  # comprehensions and inner functions
            yield from _names_in(constant)


def check_news(name: str, sitemap: AnySitemap) -> Iterator[CheckMessage]:
    """E061: a ``NewsSitemap`` without publication date, publication name or title."""
    if not isinstance(sitemap, NewsSitemap):
        return
    problem = hint = ""
    # A class may also say itself what an entry's article is.
    news: Any = sitemap.news
    try:
        sitemap.listed_items()
    except (ConfigurationError, FieldError) as error:
        problem = str(error)
        hint = 'Set publication_date to the date\'s field, for example F("published").'
    if is_expression(sitemap.title):
        problem = "title is what people call the section, and must be a text."
        hint = "Rename it to item_title, which is the title of an article."
    elif not problem and isinstance(news, News):
        if not news.name:
            problem = "publication_name is not set, which news sitemaps require."
            hint = 'Set it, or SITEMAPS_PLUS["PUBLICATION_NAME"], to its name.'
        elif not (is_expression(news.language) or is_news_language(news.language)):
            problem = (
                f"publication_language {news.language!r} is not a code of ISO 639."
            )
            hint = "Use two or three letters such as 'en', or zh-cn or zh-tw."
        elif is_method(news.title):
            problem = "item_title is a method, and not an expression or a text."
            hint = 'Set item_title to the field of the title, such as F("headline").'
    if problem:
        yield message("E061", f"Section {name!r}: {problem}", hint)


def check_left_out(source: SectionSource) -> Iterator[CheckMessage]:
    """E060, W060 to W062: patterns, and a column ``in_sitemap``, of a section."""
    try:
        patterns = own_patterns(source.sitemap)
    except ConfigurationError as error:
        hint = "Use paths such as '/private/' or '/*/print/', or re.compile(…)."
        yield message("E060", str(error), hint)
        return
    starts = _starts(source)
    for pattern in patterns:
        where = f"{type(source.sitemap).__name__}.exclude of section {source.name!r}"
        if starts and not _may_match(pattern, starts):
            yield message(
                "W060",
                f"{where}: {pattern!r} leaves nothing out, because the URLs begin "
                f"with {starts[0]!r}.",
                "Correct it, or remove it.",
            )
        elif starts and _matches_all(pattern, starts):
            yield message(
                "W061",
                f"{where}: {pattern!r} leaves everything out.",
                "Give a longer path, or do not register the section.",
            )
    yield from _check_column(source)


def _check_column(source: SectionSource) -> Iterator[CheckMessage]:
    """W062: a column ``in_sitemap`` that is not a boolean."""
    items: Any = source.sitemap.items()
    if not isinstance(items, QuerySet):
        return
    try:
        field = items.model._meta.get_field(IN_SITEMAP)
    except FieldDoesNotExist:
        return
    if not isinstance(field, BooleanField):
        yield message(
            "W062",
            f"{items.model._meta.label}.{IN_SITEMAP} is not a BooleanField, so it is "
            f"ignored in section {source.name!r}.",
            "Make it a BooleanField, give it another name, or silence this check.",
        )


@check()
def check_settings_patterns(**kwargs: Any) -> Iterator[CheckMessage]:
    """W060 and W061 of ``EXCLUDE``: patterns that match no site's URLs, or all."""
    patterns = get_settings().EXCLUDE
    if not patterns:
        return
    each = []
    for site in Site.all():
        with working_for(site):
            each += [_starts_of(name) for name in section_names()]
    every = [start for starts in each for start in starts]
    for pattern in patterns:
        where = f"SITEMAPS_PLUS['EXCLUDE']: {pattern!r}"
        if each and all(each) and not _may_match(pattern, every):
            text = f"{where} leaves nothing out: no section has such URLs."
            yield message("W060", text, "Correct it, or remove it.")
        elif start_of(pattern) == "/" and _matches_all(pattern, ["/"]):
            text = f"{where} leaves everything out."
            yield message("W061", text, "Give a longer path.")


def _starts_of(name: str) -> list[str]:
    try:
        return _starts(source(name))
    except Exception:  # E005, E006 or E013 says so
        return []


def _starts(source: SectionSource) -> list[str]:
    """Return what a section's URLs begin with, in each language; empty if not known."""
    location = getattr(source.sitemap, "location", None)
    if not isinstance(location, Route):
        return []
    found = []
    try:
        for language in source.languages:
            with rendering_context(PLACEHOLDER_SITE, language):
                found.append(quote(location.compile().pieces[0]))
    except RouteError:
        return []  # E007 says so
    return found


def _may_match(pattern: Pattern, starts: list[str]) -> bool:
    """Return whether a pattern may match a path that begins with one of ``starts``."""
    begin = start_of(pattern)
    if begin is None:
        return True
    return any(s.startswith(begin) or begin.startswith(s) for s in starts)


def _matches_all(pattern: Pattern, starts: list[str]) -> bool:
    """Return whether a pattern matches all paths that begin with one of ``starts``."""
    if not isinstance(pattern, str) or "*" in pattern.removesuffix("*"):
        return False
    begin = quote(pattern.removesuffix("*"))
    return all(start.startswith(begin) for start in starts)
