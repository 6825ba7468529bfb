"""Checks that ask a database: the tables, and how many items there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.checks import CheckMessage, Tags, register

from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.pagination.queries import pages
from django_sitemaps_plus.publishing.by_position import position_pages
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource, source_of

from .messages import message, section_names
from .sections import is_legal_limit, unreadable


@register(Tags.database, "sitemaps_plus")
def check_tables(
    databases: Sequence[str] | None = None, **kwargs: Any
) -> list[CheckMessage]:
    """W008 and W009: the tables, and long sections that are paged by position."""
    using = pages().db
    if not databases or using not in databases:
        return []
    if not tables_exist(using):
        text = "The tables of django_sitemaps_plus are missing."
        return [message("W008", text, "Run: manage.py migrate sitemaps_plus")]
    sources = filter(None, map(_sound_source, section_names()))
    return [
        one
        for source in sources
        if source.key is None
        for one in _check_position(source)
    ]


def _sound_source(name: str) -> SectionSource | None:
    """Return a section; None if ``check_sections`` says what is wrong with it."""
    try:
        source = source_of(name, registry.get(name))
    except Exception:  # W002, or one of E005, E006 and E013, says so
        return None
    return source if is_legal_limit(source.sitemap.limit) else None  # E009


def _check_position(source: SectionSource) -> Iterator[CheckMessage]:
    cls = type(source.sitemap)
    try:
        is_long = position_pages(source) > 1
    except ConfigurationError:
        return  # E008 says so
    except Exception as error:  # items may raise whatever they like
        yield unreadable(source.name, error, cls)
        return
    if is_long:
        yield message(
            "W009",
            f"Section {source.name!r} has more than one page, and is paged by "
            f"position: {source.by_position}. Late pages are slow, and entries move "
            "between pages.",
            "Let items() return a plain queryset, or shorten the list.",
            cls,
        )
