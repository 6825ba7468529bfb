"""
Which changes may have lost a URL: their pages are rebuilt soon, others can wait.

The report says it of a row that is not listed any more, and of a new one. Any other row
may have had another URL if its page does not list yet what was reported: that takes a
look at the page's stored bytes, once for each change and by the background only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from django.db.models import Min, QuerySet

from django_sitemaps_plus.changes.events import MOST
from django_sitemaps_plus.changes.models import Change
from django_sitemaps_plus.changes.queries import changes
from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.pagination.queries import of_sections, pages
from django_sitemaps_plus.rendering.listing import listed_of
from django_sitemaps_plus.sitemaps.attributes import entries_per_item
from django_sitemaps_plus.sitemaps.sections import SectionSource

from . import storage

#: Pages that one statement reads.
_PAGES = 16
#: Changes that one statement writes.
_CHANGES = 500

#: A page, by its section's name and its number.
Place = tuple[str, int]


class _Unknown(NamedTuple):
    """A change of which it is not known."""

    pk: int
    section: str
    page: int
    reported: str


def _unknown(names: Iterable[str]) -> QuerySet[Change]:
    rows = changes().filter(section__in=list(names), loses_url=None)
    return rows.exclude(page=None).exclude(reported_at=None)


def places_to_look_at(sources: Iterable[SectionSource], most: int) -> list[Place]:
    """Return the pages, ``most`` at a time, with changes of which it is not known."""
    rows = _unknown(source.name for source in sources if source.key is not None)
    grouped = rows.order_by().values_list("section", "page").annotate(first=Min("pk"))
    return [(name, number) for name, number, _ in grouped.order_by("first")[:most]]


def look(sources: Iterable[SectionSource], places: Sequence[Place]) -> None:
    """Note which changes of some pages may have lost a URL, and which have not."""
    per_item = {source.name: entries_per_item(source.sitemap) for source in sources}
    for start in range(0, len(places), _PAGES):
        some = set(places[start : start + _PAGES])
        found: dict[bool, list[int]] = {True: [], False: []}
        for place, waiting, stored in _read(some):
            text = stored.segment.text() if stored else b""
            origin = stored.start if stored else ""
            for change in waiting:
                locations = [entry[0] for entry in json.loads(change.reported)]
                # Where a language is missing nobody knows whether it ever was there.
                loses = len(locations) < per_item[place[0]]
                loses = loses or {*locations} != listed_of(text, locations, origin)
                found[loses].append(change.pk)
        for loses, ids in found.items():
            for first in range(0, len(ids), _CHANGES):
                rows = changes().filter(pk__in=ids[first : first + _CHANGES])
                retrying(rows.db, partial(rows.update, loses_url=loses))


def _read(
    places: set[Place],
) -> Iterator[tuple[Place, list[_Unknown], storage.StoredBytes | None]]:
    """Yield some pages with the changes in question, and with what they list."""
    names = {name for name, _ in places}
    numbers = {number for _, number in places}
    # Before the bytes are read: a build deletes the changes that it has seen.
    by_place: dict[Place, list[_Unknown]] = {}
    rows = _unknown(names).filter(page__in=numbers).order_by("pk")
    # The rest of very many is looked at next.
    for values in rows.values_list(*_Unknown._fields)[:MOST]:
        change = _Unknown(*values)
        by_place.setdefault((change.section, change.page), []).append(change)
    found = pages().filter(of_sections(names), number__in=numbers)
    by_name = {
        (page.section.name, page.number): page
        for page in found.select_related("section")
    }
    known = [by_name[place] for place in places if place in by_name]
    stored = storage.read_all(known)
    for place in places & by_place.keys():
        page = by_name.get(place)
        # A page without bytes, or that is no more, lists nothing that is known.
        yield place, by_place[place], None if page is None else stored.get(page.pk)
