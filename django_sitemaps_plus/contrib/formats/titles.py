"""``item_title``: what people call the rows that were saved, for feeds, and others."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from django.db import Error as DatabaseError

from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.protocol.errors import EntryError
from django_sitemaps_plus.protocol.markup import escape
from django_sitemaps_plus.rendering.serializer import describe, printable_label
from django_sitemaps_plus.sitemaps.attributes import alias, is_expression, is_method
from django_sitemaps_plus.sitemaps.keys import Key
from django_sitemaps_plus.sitemaps.registry import AnySitemap
from django_sitemaps_plus.sitemaps.sections import SectionSource, database_of
from django_sitemaps_plus.sitemaps.site import SiteAddress, rendering_context

logger = logging.getLogger("django_sitemaps_plus")

_LONGEST = UrlChange._meta.get_field("title").max_length
_NAME = "item_title"

#: By the key's text, the title of its entries: one, or one for each language.
Titles: TypeAlias = Mapping[str, Sequence[str]]


def titles(section: SectionSource, keys: Collection[str], site: SiteAddress) -> Titles:
    """
    Return the titles of rows by their keys, those that there are.

    One query for all of them, where the class has ``item_title``.
    A method is called in each language of the section, and gives a title for each.
    """
    declared: Any = getattr(section.sitemap, _NAME, None)
    key = section.key
    if not declared or not keys or key is None:
        return {}
    if not is_method(declared) and not is_expression(declared):
        return {text: [_clean(declared)] for text in keys}
    with rendering_context(site):
        return _read(section, key, declared, keys, site)


def _read(
    section: SectionSource,
    key: Key,
    declared: Any,
    keys: Collection[str],
    site: SiteAddress,
) -> Titles:
    items = section.sitemap.items()
    rows = items.order_by().using(database_of(items))
    rows = rows.filter(key.among([key.loads(text) for text in keys]))
    if is_expression(declared):
        found = rows.annotate(**{alias(_NAME): declared})
        values = found.values_list(*key.names, alias(_NAME))
        return {key.dumps(tuple(row[:-1])): [_clean(row[-1])] for row in values}
    objects = [(key.dumps(key.of(item)), item) for item in rows]
    asked: dict[str, list[str]] = {text: [] for text, _ in objects}
    for language in section.languages:
        with rendering_context(site, language):
            for text, item in objects:
                asked[text].append(_title_of_item(section.sitemap, item))
    return asked


def _title_of_item(sitemap: AnySitemap, item: Any) -> str:
    """
    Return an item's title; empty where it has none, or a method fails.

    An expression's value was selected with the item, by its alias.
    """
    declared: Any = getattr(sitemap, _NAME, None)
    if is_expression(declared):
        return _clean(getattr(item, alias(_NAME), None))
    if not is_method(declared):
        return _clean(declared)
    try:
        return _clean(declared(item))
    except DatabaseError:
        raise
    except Exception as error:  # the project's own method may raise what it likes
        pk = getattr(item, "pk", item)
        logger.warning("%s of %s: %s", _NAME, printable_label(pk), describe(error))
        return ""


def _clean(value: Any) -> str:
    """Return a title as one line that XML can hold; empty where there is none."""
    text = "" if value is None else " ".join(str(value).split())[:_LONGEST]
    try:
        escape(text)
    except EntryError as error:
        logger.warning("%s: %s", _NAME, error)
        return ""
    return text


def section_title(sitemap: AnySitemap) -> str:
    """Return what people call a section, if its class says it; else ""."""
    title = getattr(sitemap, "title", None)
    # A method or a column, of an item, is another package's or the project's own.
    is_none = title is None or callable(title) or is_expression(title)
    return "" if is_none else str(title)
