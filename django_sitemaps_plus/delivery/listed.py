"""
Which URLs the site lists: by the stored bytes of its pages, which are searched.

Outside of any lock, for as long as it takes: until every version of a page that is
there was read. Sections by position have no stored pages, and are built for it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence

from django.db.models import Sum

from django_sitemaps_plus.building.by_position import position_all
from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.changes.url_changes import Event
from django_sitemaps_plus.db import parts
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import pages
from django_sitemaps_plus.rendering.listing import listed_of
from django_sitemaps_plus.sitemaps.news import NewsSitemap
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import SiteAddress
from django_sitemaps_plus.storing import storage
from django_sitemaps_plus.storing.freshness import stored_pages

logger = logging.getLogger("django_sitemaps_plus")

#: Bytes, not compressed, of pages that are searched: ten million URLs. And items of a
#: section by position.
MOST_BYTES, MOST_ITEMS = 1_000_000_000, 10_000
#: Times that pages are looked for which were written while others were searched.
_ROUNDS = 20


def still_listed(
    locations: Collection[str], site: SiteAddress
) -> tuple[set[str], bool] | None:
    """
    Return those of some locations that pages list, and whether all were searched.

    Pages of registered sections but news, which never say what they list no longer.
    None where pages are written faster than they are searched.
    """
    names = [name for name in registry.sources() if _counts(name)]
    rows = pages().on_site(names).exclude(checksum="").order_by("pk")
    if (rows.aggregate(n=Sum("size"))["n"] or 0) > MOST_BYTES:
        return set(), False
    found, seen, damaged = set[str](), set[tuple[int, str]](), set[int]()
    for _ in range(_ROUNDS):
        # Those that were written while others were searched: once more.
        there = set(rows.values_list("pk", "checksum"))
        new = sorted({pk for pk, _ in there - seen} - damaged)
        if not new or found >= set(locations):
            break
        for some in parts(new, storage.PAGES_AT_ONCE):
            damaged.update(some)
            for pk, state, stored in stored_pages(some):
                if stored is not None:
                    damaged.remove(pk)
                    seen.add((pk, state.checksum))
                    found.update(stored.listed(set(locations) - found))
    else:
        return None
    if damaged & {pk for pk, _ in there}:
        # They are built again when somebody asks for them.
        return found, False
    for name in names:
        left = set(locations) - found
        some_found = _listed_by_position(name, left, site) if left else set[str]()
        if some_found is None:
            return found, False
        found |= some_found
    return found, True


def _counts(name: str) -> bool:
    """Return whether a section says what it lists no longer."""
    try:
        return not isinstance(registry.get(name), NewsSitemap)
    except Exception:
        # It cannot be used now, and its pages are served as they are.
        return True


def _listed_by_position(
    name: str, locations: Collection[str], site: SiteAddress
) -> set[str] | None:
    """Search a section if it is paged by position; None if that cannot be."""
    try:
        section = source(name)
        if section.key is not None:
            return set()
        if section.position_size(site)[0] > MOST_ITEMS:
            return None
        origin = str(site.with_scheme(section.sitemap.protocol).origin)
        bodies = (page.body for page in position_all(section, site))
        return {one for body in bodies for one in listed_of(body, locations, origin)}
    except Exception:
        # The project's own class may raise what it likes.
        logger.exception("The section %r cannot be searched.", name)
        return None


def events_of(
    found: Sequence[Page], locations: Collection[str]
) -> dict[str, dict[str, Event]]:
    """Return by section, and location, the events of locations that pages list."""
    names = [name for name in registry.sources() if _counts(name)]
    heard = [page for page in found if page.section.name in names]
    events: dict[str, dict[str, Event]] = {name: {} for name in names}
    for page, stored in storage.read_each(heard):
        if stored is not None:
            events[page.section.name] |= {
                one: Event(UrlChange.Kind.CHANGED, one, lastmod)
                for one, lastmod in stored.listed(locations).items()
            }
    return events
