"""
Where a URL is listed: its section, its row and its page.

There is no table of all URLs. A URL resolves to a pattern; the values in its path are
looked up in indexed columns of the rows, which gives a key, and the key its page.
Where that leads nowhere, stored pages are searched for some seconds at most, and then
the rows of the page."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from django.core.exceptions import FieldDoesNotExist
from django.db.models import F, Field, Model, QuerySet
from django.urls import Resolver404, resolve

from django_sitemaps_plus.changes.assignment import pages_of
from django_sitemaps_plus.changes.reporting import look_up
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import (
    of_sections,
    ordered,
    pages,
    sections,
)
from django_sitemaps_plus.rendering.listing import (
    lastmod_of,
    listed_of,
    listing_of,
    written,
)
from django_sitemaps_plus.serving.index import all_sources
from django_sitemaps_plus.serving.page_lastmods import rows_of_page
from django_sitemaps_plus.sitemaps.routes import Route
from django_sitemaps_plus.sitemaps.sections import SectionSource, database_of
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress
from django_sitemaps_plus.storing import storage

#: Seconds for which stored pages are searched.
SECONDS = 2.0


#: Rows that may have one URL and are looked at.
_ROWS = 5


@dataclass
class RowPlace:
    """A row that has the URL, or a page that lists it."""

    section: str
    #: The page that owns the row's key; None if it is not known.
    page: Page | None = None
    #: Whether the page lists the URL as it is stored now.
    is_listed: bool = False
    #: The entry's lastmod there; empty if it has none.
    lastmod: str = ""
    #: Whether no row of the page has the URL any more.
    is_left: bool = False
    #: The row, and its key as the ledger writes it; None if it was not looked up.
    row: Model | None = None
    key: str = ""


@dataclass
class FoundPlaces:
    """Where a URL was found, and how far it was searched for."""

    found: list[RowPlace] = field(default_factory=list)
    #: Stored pages that were searched, and that were not.
    searched: int = 0
    left: int = 0


def places(
    location: str, site: SiteAddress, hints: Collection[str] = ()
) -> FoundPlaces:
    """
    Return where a location, a path of the site or a whole URL, is listed.

    ``hints`` are sections whose pages are searched first.
    """
    result = FoundPlaces()
    sources = {source.name: source for source in all_sources()}
    for source in sources.values():
        result.found += _rows(source, location, site)
    if any(place.is_listed for place in result.found):
        return result
    for page, _ in _search([location], hints, result):
        owner = sources.get(page.section.name)
        rows = [] if owner is None else list(_rows_on(owner, page, location, site))
        if not rows:
            is_left = owner is not None and owner.key is not None
            rows = [RowPlace(page.section.name, page, is_left=is_left)]
            _read(rows[0], storage.read_bytes(page, page.checksum), location)
        result.found += rows
    return result


def listed_among(locations: Sequence[str], site: SiteAddress) -> list[str]:
    """Return those of some locations that rows have, or else that pages list."""
    by_row = [
        location
        for location in locations
        if any(any(_rows(source, location, site)) for source in all_sources())
    ]
    if by_row:
        return by_row
    return [one for _, some in _search(locations, (), FoundPlaces()) for one in some]


def _rows(
    source: SectionSource, location: str, site: SiteAddress
) -> Iterator[RowPlace]:
    """Yield the rows of a section that have the URL now."""
    key = source.key
    if key is None:
        return
    texts = {
        key.dumps(value): None
        for language in source.languages
        for value in keys_of(source, source.sitemap.items(), location, site, language)
    }
    if not texts:
        return
    with_url = [
        text
        for text, entries in look_up(source, texts, site).items()
        if any(listed == location for listed, _ in entries)
    ]
    numbers = pages_of(source, with_url)
    own = pages().filter(of_sections(source.name)).select_related("section")
    for text in with_url:
        page = own.filter(number=numbers.get(text, 0)).first()
        yield _place(source, page, text, location)


def _rows_on(
    source: SectionSource, page: Page, location: str, site: SiteAddress
) -> Iterator[RowPlace]:
    """Yield the rows of a page that have the URL now."""
    key = source.key
    if key is None:
        return
    origin = site.with_scheme(source.sitemap.protocol).origin
    url = f"{origin}{location}" if location.startswith("/") else location
    for label, lastmods in rows_of_page(source, page, site):
        if url in lastmods:
            value = label if isinstance(label, tuple) else (label,)
            yield _place(source, page, key.dumps(value), location)


def _place(
    source: SectionSource, page: Page | None, text: str, location: str
) -> RowPlace:
    """Return where a row that has the URL is listed."""
    place = RowPlace(source.name, page, row=_row(source, text), key=text)
    if page is not None:
        _read(place, storage.read_bytes(page, page.checksum), location)
    return place


def keys_of(
    source: SectionSource,
    items: QuerySet[Any],
    location: str,
    site: SiteAddress,
    language: str | None,
) -> list[Any]:
    """Return the keys of those rows whose columns have the values of a path."""
    if source.key is None:
        return []
    with source.context(site, language):
        columns = _columns(source, unquote(location.partition("?")[0]), site)
    rows = items.using(database_of(items)).order_by()
    if not any(_is_indexed(items.model, name) for name in columns):
        # Whoever searches must not have a large table read from end to end.
        return []
    try:
        rows = rows.filter(**columns) if columns else rows.none()
        return list(rows.values_list(*source.key.names)[:_ROWS])
    except Exception:
        # A value that the column cannot have, a router of the project's own.
        return []


def _columns(source: SectionSource, path: str, site: SiteAddress) -> Mapping[str, Any]:
    """Return values by column: those of the section's route, or of equal names."""
    route = getattr(source.sitemap, "location", None)
    if isinstance(route, Route) and route.is_literal:
        return _of_columns(route, route.values_of(path))
    if not path.startswith(site.prefix):
        return {}
    try:
        match: Any = resolve(f"/{path[len(site.prefix) :]}", Site.current().urlconf)
    except Resolver404:
        return {}
    if isinstance(route, Route):
        given = match.kwargs or dict(enumerate(match.args))
        return _of_columns(route, given) if match.view_name == route.viewname else {}
    return {
        name: value
        for name, value in match.kwargs.items()
        if _field(source.sitemap.items().model, name) is not None
    }


def _of_columns(route: Route, given: Mapping[Any, Any]) -> dict[str, Any]:
    """Return those of a route's values that are of columns, by column."""
    names = {
        param: str(getattr(expression, "name", ""))
        for param, expression in route.expressions.items()
        if isinstance(expression, F)
    }
    return {name: given[param] for param, name in names.items() if param in given}


def _field(model: type[Model], name: str) -> Field[Any, Any] | None:
    """Return the column of a name; None if there is none."""
    if name == "pk":
        return model._meta.pk
    try:
        found = model._meta.get_field(name)
    except FieldDoesNotExist:
        return None
    return found if isinstance(found, Field) else None


def _is_indexed(model: type[Model], name: str) -> bool:
    """Return whether rows are found by a column without reading all of them."""
    column: Any = _field(model, name)
    if column is None:
        return False
    firsts = [
        index.fields[0].lstrip("-") for index in model._meta.indexes if index.fields
    ]
    firsts += [one.fields[0] for one in model._meta.total_unique_constraints]
    firsts += [fields[0] for fields in model._meta.unique_together]
    is_own = column.primary_key or column.unique or column.db_index
    return bool(is_own) or name in firsts


def _row(source: SectionSource, text: str) -> Model | None:
    """Return the object of a key."""
    key, items = source.key, source.sitemap.items()
    if key is None:
        return None
    found: Model | None = (
        items.order_by()
        .using(database_of(items))
        .filter(key.among([key.loads(text)]))
        .first()
    )
    return found


def _read(place: RowPlace, stored: storage.StoredBytes | None, location: str) -> bool:
    """Look for a location in a page's stored bytes; note what its entry says."""
    if stored is None:
        return False
    body = stored.segment.text()
    if not listed_of(body, [location], stored.start):
        return False
    place.is_listed = True
    text = written(location, stored.start)
    place.lastmod = lastmod_of(listing_of(body).get(text, b""))
    return True


def _search(
    locations: Sequence[str], hints: Collection[str], result: FoundPlaces
) -> Iterator[tuple[Page, list[str]]]:
    """Yield the first page that lists some locations, and which; hinted ones first."""
    end = time.monotonic() + SECONDS
    rows = [
        page
        for section in sections().exclude(name="")
        for page in ordered(section).exclude(checksum="").select_related("section")
    ]
    rows.sort(key=lambda page: page.section.name not in hints)
    for page, stored in storage.read_each(rows):
        if time.monotonic() > end:
            result.left = len(rows) - result.searched
            return
        result.searched += 1
        if stored is None:
            continue
        listed = listed_of(stored.segment.text(), locations, stored.start)
        if listed:
            yield page, [one for one in locations if one in listed]
            return
