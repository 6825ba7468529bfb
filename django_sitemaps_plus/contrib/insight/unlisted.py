"""Why a URL is not listed although a row has it: the row is looked up and rendered."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Model, QuerySet

from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.serving.index import usable
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress

from .lookup import columns_of, keys_of


class Why(enum.Enum):
    """Why a row is not listed."""

    #: ``items()`` does not return it.
    NOT_IN_ITEMS = "items"
    #: It is too old to be news, or was not published yet.
    NOT_NEWS = "news"
    #: It has a fault.
    BAD = "bad"


@dataclass(frozen=True)
class Unlisted:
    """A row that has a URL and is not listed in a section."""

    section: str
    row: Model
    why: Why
    #: What the fault is.
    detail: str = ""


def unlisted(location: str, site: SiteAddress) -> Iterator[Unlisted]:
    """Yield the rows that have a location and are not listed, by section."""
    for source in usable():
        if source.key is None:
            continue
        items = source.sitemap.items()
        every = items.model._base_manager.using(source.database)
        values = {
            value: None
            for language in source.languages
            for value in keys_of(source, every, location, site, language)
        }
        for value in values:
            row = every.filter(source.key.among([value])).first()
            if row is not None:
                yield from _reason(_Row(source, source.key, value, row, site), location)


def rowless(location: str, site: SiteAddress) -> Iterator[tuple[str, str]]:
    """Yield the sections that look for a row of a location, and what none has."""
    for source in usable():
        if source.key is None:
            continue
        items = source.sitemap.items()
        every = items.model._base_manager.using(source.database)
        for language in source.languages:
            columns = columns_of(source, items.model, location, site, language)
            if columns and not keys_of(source, every, location, site, language):
                yield source.name, " ".join(f"{k} {v}" for k, v in columns.items())
                break


@dataclass(frozen=True)
class _Row:
    source: SectionSource
    #: Of the section, which has one, and of the row.
    key: Any
    value: Any
    row: Model
    site: SiteAddress

    def rendered(self, source: SectionSource) -> _Rendered | None:
        """Return what a section would list of it; None if it does not have the row."""
        reader = Reader(source, self.site.with_scheme(source.sitemap.protocol))
        found = reader.entries_by_key([self.key.dumps(self.value)])
        bad = [row.reason for row in reader.tally.bad]
        if not (found or bad):
            return None
        listed = {location for some in found.values() for location, _ in some}
        return _Rendered(listed, "".join(bad[:1]))

    def __call__(self, why: Why, detail: str = "") -> Unlisted:
        return Unlisted(self.source.name, self.row, why, detail)


@dataclass(frozen=True)
class _Rendered:
    locations: set[str]
    fault: str


def _reason(row: _Row, location: str) -> Iterator[Unlisted]:
    """Yield why a row is not listed with a location, if it would have that."""
    rendered = row.rendered(row.source)
    if rendered is None:
        if _would_have(row, location):
            yield row(_why_not_listed(row))
    elif rendered.fault:
        yield row(Why.BAD, rendered.fault)


def _why_not_listed(row: _Row) -> Why:
    """Return why a section does not have a row."""
    items = row.source.sitemap.items()
    rows: QuerySet[Any] = items.using(row.source.database).order_by()
    if not rows.filter(row.key.among([row.value])).exists():
        return Why.NOT_IN_ITEMS
    # Nothing else is left out of what items() returns.
    return Why.NOT_NEWS


def _would_have(row: _Row, location: str) -> bool:
    """Return whether a row would have a location, if the section listed all rows."""
    every = type(row.row)._base_manager.all()
    sitemap = copy(row.source.sitemap)
    for name in ("items", "listed_items"):
        setattr(sitemap, name, lambda: every)
    with suppress(Exception):  # without what items() adds to rows they may have no URL
        loose = row.rendered(replace(row.source, sitemap=sitemap))
        return loose is not None and location in loose.locations
    return False
