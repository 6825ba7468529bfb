"""Checks of what a class has, of names that are nearly an attribute's, and of news."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from types import CodeType, FunctionType
from typing import Any

from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.checks import CheckMessage
from django.core.exceptions import FieldError
from django.db.models import Model

from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.protocol.entries import News
from django_sitemaps_plus.protocol.errors import excerpt
from django_sitemaps_plus.protocol.extensions import is_news_language
from django_sitemaps_plus.sitemaps.attributes import is_method, tags
from django_sitemaps_plus.sitemaps.classes import Sitemap
from django_sitemaps_plus.sitemaps.media import is_expression
from django_sitemaps_plus.sitemaps.news import NewsSitemap
from django_sitemaps_plus.sitemaps.registry import AnySitemap
from django_sitemaps_plus.sitemaps.sections import overridden

from .messages import message

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
    cls, of = type(sitemap).__name__, f"of section {name!r}"
    text = hint = ""
    items = getattr(sitemap.items, "__func__", None)
    is_plain = items in _PLAIN and not any(overridden(sitemap, one) for one in _HOOKS)
    if not callable(sitemap.items):
        kind = type(sitemap.items).__name__
        text = f"{cls}.items {of} must be a method, not a {kind}."
        hint = "Write def items(self): return …, or set model = Article in its place."
    elif is_plain and model is None:
        text = f"{cls} {of} has neither model nor items(): it lists nothing."
        hint = "Set model = Article, or define items()."
    elif is_plain and not (isinstance(model, type) and issubclass(model, Model)):
        text = f"{cls}.model {of} must be a model class, not {excerpt(model)}."
        hint = "Import the class, and write model = Article."
    elif is_plain and model._meta.abstract:
        kind = f"{model.__name__}, an abstract model, which has no rows"
        text = f"{cls}.model {of} is {kind}."
        hint = (
            "Name a model that inherits from it; each needs a sitemap class of its own."
        )
    if text:
        yield message("E021", text, hint)


def check_attributes(sitemap: AnySitemap) -> Iterator[CheckMessage]:
    """W012: attributes that nothing reads, because they are misspelt."""
    classes = type(sitemap).__mro__
    own = [cls for cls in classes if not cls.__module__.startswith(_LIBRARIES)]
    known = {"location", *tags()}.union(*(vars(cls) for cls in {*classes} - {*own}))
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
    """Yield the names in the bytecode of a method or a property; else none."""
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
