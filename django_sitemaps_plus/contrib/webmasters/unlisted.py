"""
Pages with impressions in Search Console that no sitemap lists: looked for each day.

Of a page that Django answers, the route tells its name, by which it is silenced as the
audit's A006 is. What was removed has impressions for weeks, so pages are fetched.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterator, Sequence
from urllib.parse import unquote

from django.conf import settings
from django.utils.translation import gettext

from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.delivery.engines import why_refused
from django_sitemaps_plus.engines import http
from django_sitemaps_plus.engines.base import TransportError
from django_sitemaps_plus.health.alerts import Alert
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.protocol.dates import moment
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.locations import resolve
from django_sitemaps_plus.serving.documents import documents_by_position
from django_sitemaps_plus.serving.index import why_unusable
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress
from django_sitemaps_plus.storing import storage

from .coverage import console
from .google import SearchConsole
from .quota import DAY
from .reports import reports

#: Routes that are looked at, and pages of each that are fetched.
_ROUTES, _PAGES = 10, 5
#: Pages of a route that an alert names.
_NAMED = 3
#: Days ago when impressions begin to count, and until which Google knows them whole.
_FIRST, _LAST = dt.timedelta(days=30), dt.timedelta(days=3)


def look(is_over: Callable[[], bool]) -> None:
    """Ask Search Console once a day, by one process, and store what is not listed."""
    engine, site = console(), Site.current().address()
    if engine is None or site is None or why_refused():
        return
    row = reports().filter(engine=engine.alias)
    now = database_time(row.db)
    # Moved first, so that nobody else asks.
    if row.filter(unlisted_due_at__lte=now).update(unlisted_due_at=now + DAY):
        today = moment(now).date()
        urls = engine.shown(today - _FIRST, today - _LAST)
        found = None if urls is None else _unlisted(engine, urls, site, is_over)
        # What is not known now, stays as it was.
        if found is not None:
            row.update(unlisted=found)


def alerts() -> Iterator[Alert]:
    """Yield the routes of pages that are not listed and not silenced."""
    engine = console()
    row = reports().filter(engine=engine.alias).first() if engine else None
    for name, paths in (row.unlisted if row else {}).items():
        if not _is_silenced(name):
            text = gettext(
                "Pages of the route %(name)s have impressions in Search Console and "
                "are in no sitemap, such as %(pages)s. List them, or add to "
                "SILENCED_SYSTEM_CHECKS"
            ) % {"name": name, "pages": ", ".join(paths[:_NAMED])}
            of, fix = Alert.Subject.SECTIONS, f'"{_id_of(name)}"'
            yield Alert(subject=of, level=Alert.WARNING, text=text, fix=fix)


def _id_of(name: str) -> str:
    return f"sitemaps_plus.A006.{name}"


def _is_silenced(name: str) -> bool:
    return _id_of(name) in settings.SILENCED_SYSTEM_CHECKS


def _unlisted(
    engine: SearchConsole,
    urls: Sequence[str],
    site: SiteAddress,
    is_over: Callable[[], bool],
) -> dict[str, list[str]] | None:
    """Return paths that nobody lists, by their route; None if that is not known."""
    named = {path: name for url in urls for path, name in _named(url, site)}
    # A page of a list, or a filter, is listed if the list is.
    bare = {path: path.partition("?")[0] for path in named}
    listed = _listed({*bare, *bare.values()}, site, is_over)
    if listed is None:
        return None
    some: dict[str, list[str]] = {}
    for path, name in named.items():
        if listed.isdisjoint((path, bare[path])) and not _is_silenced(name):
            some.setdefault(name, []).append(path)
    found: dict[str, list[str]] = {}
    for name, paths in [*some.items()][:_ROUTES]:
        for path in paths[:_PAGES]:
            if is_over():
                return None
            if _is_page(engine, site.url(path)):
                found.setdefault(name, []).append(path)
    return found


def _named(url: str, site: SiteAddress) -> Iterator[tuple[str, str]]:
    """Yield the path of a URL of the site, and its route, if Django answers it."""
    try:
        whole = resolve(url.partition("#")[0], None)
    except LocationError:
        return
    path = whole.removeprefix(str(site.origin))
    if path.startswith(site.folder) and path.startswith(site.prefix):
        local = unquote("/" + path.removeprefix(site.prefix).partition("?")[0])
        if (match := Site.current().resolved(local)) is not None:
            yield path, match.view_name


def _listed(
    paths: Collection[str], site: SiteAddress, is_over: Callable[[], bool]
) -> set[str] | None:
    """Return the paths that the site lists; None if not all it lists can be read."""
    names, found = list(registry.sources()), set[str]()
    rows = Page.objects.on_site(names)
    if any(map(why_unusable, names)):
        return None
    # Those that were never built have no bytes.
    for _, stored in storage.read_each(list(rows)):
        if stored is None or is_over():
            return None
        found.update(stored.listed(paths))
    for section in map(source, names):
        own = site.with_scheme(section.sitemap.protocol)
        if section.key is None:
            for document in documents_by_position(section, site):
                found.update(document.listed(paths, own))
    return found


def _is_page(engine: SearchConsole, url: str) -> bool:
    """Return whether a URL answers with a page that may be indexed."""
    try:
        page = http.send("GET", url, timeout=engine.timeout, plain=True)
    except TransportError:
        return False
    kind, tag = (page.headers.get(one, "") for one in ("content-type", "x-robots-tag"))
    is_html = page.status == 200 and "html" in kind
    return is_html and "noindex" not in f"{tag} {page.text}".lower()
