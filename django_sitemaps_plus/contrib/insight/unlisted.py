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

from .lookup import columns_of, keys_by, keys_of


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
    for source, key, every in _with_key():
        for value in keys_of(source, every, location, site):
            row = every.filter(key.among([value])).first()
            if row is not None:
                for why, detail in _reasons(source, key, value, site, location):
                    yield Unlisted(source.name, row, why, detail)


def rowless(location: str, site: SiteAddress) -> Iterator[tuple[str, str]]:
    """Yield the sections that look for a row of a location, and what none has."""
    for source, _, every in _with_key():
        for columns in columns_of(source, every.model, location, site):
            if not keys_by(source, every, columns):
                yield source.name, " ".join(f"{k} {v}" for k, v in columns.items())
                break


def _with_key() -> Iterator[tuple[SectionSource, Any, QuerySet[Any]]]:
    """Yield the sections that have a key, with it and all rows of their model."""
    for source in usable():
        if source.key is not None:
            manager = source.sitemap.items().model._base_manager
            yield source, source.key, manager.using(source.database)


def _reasons(
    source: SectionSource, key: Any, value: Any, site: SiteAddress, location: str
) -> Iterator[tuple[Why, str]]:
    """Yield why a row is not listed with a location, if it would have that."""
    text = key.dumps(value)
    rendered = _rendered(source, text, site)
    if rendered is not None:
        _, fault = rendered
        if fault:
            yield Why.BAD, fault
    elif _would_have(source, text, site, location):
        rows: QuerySet[Any] = source.sitemap.items().using(source.database).order_by()
        # Nothing else is left out of what items() returns.
        is_there = rows.filter(key.among([value])).exists()
        yield Why.NOT_NEWS if is_there else Why.NOT_IN_ITEMS, ""


def _rendered(
    source: SectionSource, text: str, site: SiteAddress
) -> tuple[set[str], str] | None:
    """Return what a section lists of a row, and its fault; None if it has no such."""
    reader = Reader(source, site.with_scheme(source.sitemap.protocol))
    found = reader.entries_by_key([text])
    bad = [row.reason for row in reader.tally.bad]
    if not (found or bad):
        return None
    return {location for some in found.values() for location, _ in some}, "".join(
        bad[:1]
    )


def _would_have(
    source: SectionSource, text: str, site: SiteAddress, location: str
) -> bool:
    """Return whether a row would have a location, if the section listed all rows."""
    every = source.sitemap.items().model._base_manager.all()
    sitemap = copy(source.sitemap)
    for name in ("items", "listed_items"):
        setattr(sitemap, name, lambda: every)
    with suppress(Exception):  # without what items() adds to rows they may have no URL
        loose = _rendered(replace(source, sitemap=sitemap), text, site)
        return loose is not None and location in loose[0]
    return False
