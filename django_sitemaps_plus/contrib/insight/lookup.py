"""
Where a URL is listed: its section, its row and its page.

There is no table of all URLs. A URL resolves to a pattern; the values in its path are
looked up in indexed columns of the rows, which gives a key, and the key its page.
Where that leads nowhere, stored pages are searched for some seconds at most, and then
the rows of the page. Pages by position are built.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from django.core.exceptions import FieldDoesNotExist
from django.db.models import F, Field, Model, QuerySet
from django.urls import Resolver404, resolve

from django_sitemaps_plus import Route
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.serving.documents import (
    Document,
    documents_by_position,
    pages_of,
    rows_of_page,
)
from django_sitemaps_plus.serving.index import usable
from django_sitemaps_plus.sitemaps.sections import SectionSource
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
    #: Of a section by position, which of its pages lists the URL: nothing is stored.
    number: int = 0
    #: Whether the page lists the URL as it is stored now.
    is_listed: bool = False
    #: The entry's lastmod there; empty if it has none.
    lastmod: str = ""
    #: Whether no row of the page has the URL any more.
    is_left: bool = False
    #: The row, and its key as the ledger writes it; None if it was not looked up.
    row: Model | None = None
    key: str = ""

    @property
    def page_name(self) -> str:
        """What the page is called."""
        return str(self.page) if self.page else f"{self.section}-{self.number}"


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
    sources = {source.name: source for source in usable()}
    for source in sources.values():
        result.found += _rows(source, location, site)
    if any(place.is_listed for place in result.found):
        return result
    for page, _ in _search([location], hints, result):
        owner = sources.get(page.section.name)
        rows = [] if owner is None else list(_rows_on(owner, page, location, site))
        if not rows:
            rows = [RowPlace(page.section.name, page, is_left=owner is not None)]
            _read(rows[0], page, location)
        result.found += rows
    for source, number, built, own in _by_position(site):
        place = RowPlace(source.name, number=number)
        if _note(place, built.listed([location], own)):
            result.found.append(place)
    return result


def listed_among(locations: Sequence[str], site: SiteAddress) -> list[str]:
    """Return those of some locations that rows have, or else that pages list."""
    by_row = [
        location
        for location in locations
        if any(any(_rows(source, location, site)) for source in usable())
    ]
    if by_row:
        return by_row
    for _, some in _search(locations, (), FoundPlaces()):
        return some
    for _, _, built, own in _by_position(site):
        if listed := built.listed(locations, own):
            return [one for one in locations if one in listed]
    return []


def _rows(
    source: SectionSource, location: str, site: SiteAddress
) -> Iterator[RowPlace]:
    """Yield the rows of a section that have the URL now."""
    key = source.key
    if key is None:
        return
    values = keys_of(source, source.sitemap.items(), location, site)
    if not values:
        return
    texts = dict.fromkeys(map(key.dumps, values))
    own = site.with_scheme(source.sitemap.protocol)
    with_url = [
        text
        for text, entries in Reader(source, own).entries_by_key(texts).items()
        if any(listed == location for listed, _ in entries)
    ]
    numbers = pages_of(source, with_url)
    rows = Page.objects.on_site(source.name).select_related("section")
    for text in with_url:
        page = rows.filter(number=numbers.get(text, 0)).first()
        yield _place(source, key, page, text, location)


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
            yield _place(source, key, page, key.dumps(value), location)


def _place(
    source: SectionSource, key: Any, page: Page | None, text: str, location: str
) -> RowPlace:
    """Return where a row that has the URL is listed."""
    items: Any = source.sitemap.items().order_by().using(source.database)
    row = items.filter(key.among([key.loads(text)])).first()
    place = RowPlace(source.name, page, row=row, key=text)
    if page is not None:
        _read(place, page, location)
    return place


def keys_of(
    source: SectionSource, items: QuerySet[Any], location: str, site: SiteAddress
) -> list[Any]:
    """Return the keys of those rows whose columns have the values of a path."""
    every = columns_of(source, items.model, location, site)
    return list(
        dict.fromkeys(key for one in every for key in keys_by(source, items, one))
    )


def keys_by(
    source: SectionSource, items: QuerySet[Any], columns: Mapping[str, Any]
) -> list[Any]:
    """Return the keys of some rows of a section that has keys, by their columns."""
    key: Any = source.key
    try:
        rows = items.using(source.database).order_by().filter(**columns)
        return list(key.values(rows)[:_ROWS])
    except Exception:
        # A value that the column cannot have, a router of the project's own.
        return []


def columns_of(
    source: SectionSource, model: type[Model], location: str, site: SiteAddress
) -> Iterator[Mapping[str, Any]]:
    """Yield values by column, by which rows of a location are found, by language."""
    for language in source.languages:
        with source.context(site, language):
            columns = _columns(source, unquote(location.partition("?")[0]), site)
        # Whoever searches must not have a large table read from end to end.
        if any(_is_indexed(model, name) for name in columns):
            yield columns


def view_of(location: str, site: SiteAddress) -> str:
    """Return the name of the view that answers a location; empty if there is none."""
    path = unquote(location.partition("?")[0])
    if not path.startswith(site.prefix):
        return ""
    match = Site.current().resolved(f"/{path[len(site.prefix) :]}")
    return str(match.view_name) if match else ""


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


def _read(place: RowPlace, page: Page, location: str) -> bool:
    """Look for a location in a page's stored bytes; note what its entry says."""
    [(_, stored)] = storage.read_each([page])
    return stored is not None and _note(place, stored.listed([location]))


def _note(place: RowPlace, listed: Mapping[str, str]) -> bool:
    """Note what a page says of the one location that it was searched for."""
    for lastmod in listed.values():
        place.is_listed, place.lastmod = True, lastmod
    return place.is_listed


def _search(
    locations: Sequence[str], hints: Collection[str], result: FoundPlaces
) -> Iterator[tuple[Page, list[str]]]:
    """Yield the first page that lists some locations, and which; hinted ones first."""
    end = time.monotonic() + SECONDS
    every = Page.objects.exclude(checksum="").select_related("section")
    # Section by section: no index is in the order of all.
    rows = [
        page
        for section in Section.objects.on_site().exclude(name="")
        for page in every.filter(section=section).order_by("position")
    ]
    rows.sort(key=lambda page: page.section.name not in hints)
    for page, stored in storage.read_each(rows):
        if time.monotonic() > end:
            result.left = len(rows) - result.searched
            return
        result.searched += 1
        if stored is not None and (listed := stored.listed(locations)):
            yield page, [one for one in locations if one in listed]
            return


def _by_position(
    site: SiteAddress,
) -> Iterator[tuple[SectionSource, int, Document, SiteAddress]]:
    """Yield pages by position, built now, for some seconds; and their address."""
    end = time.monotonic() + SECONDS
    for source in usable():
        if source.key is not None:
            continue
        own = site.with_scheme(source.sitemap.protocol)
        with suppress(SitemapsPlusError):
            for number, built in enumerate(documents_by_position(source, site), 1):
                yield source, number, built, own
                if time.monotonic() > end:
                    return
