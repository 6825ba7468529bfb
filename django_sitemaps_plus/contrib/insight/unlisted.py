"""Why a URL is not listed although a row has it: the row is looked up and rendered."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Model, QuerySet

from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.protocol.patterns import matcher
from django_sitemaps_plus.rendering.columns import Tally
from django_sitemaps_plus.rendering.listing import listing_of, location_of
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.serving.index import all_sources
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.leaving_out import (
    has_field,
    has_method,
    patterns_that_leave_out,
)
from django_sitemaps_plus.sitemaps.sections import SectionSource, database_of
from django_sitemaps_plus.sitemaps.site import SiteAddress, rendering_context

from .lookup import keys_of


class Why(enum.Enum):
    """Why a row is not listed."""

    #: ``items()`` does not return it.
    NOT_IN_ITEMS = "items"
    #: Its model says so: ``in_sitemap``.
    IN_SITEMAP = "in_sitemap"
    #: It is too old to be news, or was not published yet.
    NOT_NEWS = "news"
    #: It has a fault.
    BAD = "bad"
    #: A pattern of the class or of the settings leaves its URL out.
    PATTERN = "pattern"


@dataclass(frozen=True)
class Unlisted:
    """A row that has a URL and is not listed in a section."""

    section: str
    row: Model
    why: Why
    #: What the fault is, or the pattern.
    detail: str = ""


def unlisted(location: str, site: SiteAddress) -> Iterator[Unlisted]:
    """Yield the rows that have a location and are not listed, by section."""
    for source in all_sources():
        if source.key is None:
            continue
        items = source.sitemap.items()
        every = items.model._base_manager.using(database_of(items))
        values = {
            value: None
            for language in source.languages
            for value in keys_of(source, every, location, site, language)
        }
        for value in values:
            row = every.filter(source.key.among([value])).first()
            if row is not None:
                yield from _reason(_Row(source, source.key, value, row, site), location)


@dataclass(frozen=True)
class _Row:
    source: SectionSource
    key: Key
    value: KeyValue
    row: Model
    site: SiteAddress

    def rendered(self, source: SectionSource, lists_all: bool) -> _Rendered | None:
        """Return what a section would list of it; None if it does not have the row."""
        site = self.site.with_scheme(source.sitemap.protocol)
        tally = Tally()
        with rendering_context(site):
            reader = Reader(source, site, tally, lists_all=lists_all)
            read = list(reader.of_keys([self.value]))
        if not read:
            return None
        fault = tally.bad[0].reason if tally.bad else ""
        entries = listing_of((read[0][1] or "").encode())
        return _Rendered({location_of(one, ORIGIN_MARK) for one in entries}, fault)

    def __call__(self, why: Why, detail: str = "") -> Unlisted:
        return Unlisted(self.source.name, self.row, why, detail)


@dataclass(frozen=True)
class _Rendered:
    locations: set[str]
    fault: str


def _reason(row: _Row, location: str) -> Iterator[Unlisted]:
    """Yield why a row is not listed with a location, if it would have that."""
    source, model = row.source, type(row.row)
    rendered = row.rendered(source, lists_all=False)
    if rendered is None:
        if _would_have(row, location):
            yield row(_why_not_listed(row))
    elif rendered.fault:
        yield row(Why.BAD, rendered.fault)
    elif not rendered.locations and has_method(model):
        yield row(Why.IN_SITEMAP)
    elif location not in rendered.locations:
        everything = row.rendered(source, lists_all=True)
        if everything is not None and location in everything.locations:
            yield row(Why.PATTERN, _pattern(source, location))


def _why_not_listed(row: _Row) -> Why:
    """Return why a section does not have a row."""
    items = row.source.sitemap.items()
    rows: QuerySet[Any] = items.using(database_of(items)).order_by()
    if not rows.filter(row.key.among([row.value])).exists():
        return Why.NOT_IN_ITEMS
    if has_field(type(row.row)) and not getattr(row.row, "in_sitemap", True):
        return Why.IN_SITEMAP
    # Nothing else is left out of what items() returns.
    return Why.NOT_NEWS


def _would_have(row: _Row, location: str) -> bool:
    """Return whether a row would have a location, if the section listed all rows."""
    every = type(row.row)._base_manager.all()
    sitemap = copy(row.source.sitemap)
    for name in ("items", "listed_items"):
        setattr(sitemap, name, lambda: every)
    with suppress(Exception):  # without what items() adds to rows they may have no URL
        loose = row.rendered(replace(row.source, sitemap=sitemap), lists_all=True)
        return loose is not None and location in loose.locations
    return False


def _pattern(source: SectionSource, location: str) -> str:
    """Return the pattern that leaves a location out, as it was written."""
    for pattern in patterns_that_leave_out(source.sitemap):
        if matcher([pattern])(location):
            return pattern if isinstance(pattern, str) else pattern.pattern
    return ""
