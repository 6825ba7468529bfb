"""
Which changes may have lost a URL: their pages are rebuilt soon, others can wait.

The report says it of a new row. Another row that is listed may have had another URL if
its page does not list yet what was reported: that takes a look at the page's stored
bytes, once for each change and by the background only.

A row that is not listed may never have been: a draft, or a row of another of many
sections of one model. Nobody knows its former URL, but the page knows of how many rows
it was built: where all of them are accounted for, such a row concerns the page no more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from django.db import transaction
from django.db.models import F

from django_sitemaps_plus.changes.events import reported_entries
from django_sitemaps_plus.changes.queries import changes
from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.pagination.bounds import KeyRange, bounds_of
from django_sitemaps_plus.pagination.deploys import is_outdated
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import (
    ledger,
    of_sections,
    pages,
    with_uppers,
)
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.rendering.listing import listed_of
from django_sitemaps_plus.sitemaps.attributes import entries_per_item
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, rendering_context

from . import storage
from .storage import StoredBytes

#: Changes that are looked at together; a page with more is rebuilt without a look.
_MOST = 500
#: What is reported of a row that is not listed.
NOTHING = "[]"


class Unclear(NamedTuple):
    """A reported change of which nobody knows whether it has lost a URL."""

    pk: int
    section: str
    page: int
    reported: str


def unclear_changes(sources: Iterable[SectionSource]) -> list[Unclear]:
    """Return the first of these changes of some sections, ``_MOST`` at a time."""
    names = [source.name for source in sources if source.key is not None]
    rows = changes().filter(section__in=names, loses_url=None).order_by("pk")
    reported = rows.exclude(page=None).exclude(reported_at=None)
    return [Unclear(*row) for row in reported.values_list(*Unclear._fields)[:_MOST]]


def look_for_lost(sources: Iterable[SectionSource], unclear: Sequence[Unclear]) -> None:
    """
    Note which of some changes may have lost a URL, and which have not.

    They were read before their pages' bytes are: a build deletes what it has seen.
    Those of rows that were listed neither before nor now are deleted.
    """
    by_name = {source.name: source for source in sources}
    by_page = defaultdict[tuple[str, int], list[Unclear]](list)
    for change in unclear:
        by_page[change.section, change.page].append(change)
    names, numbers = ({*some} for some in zip(*by_page, strict=True))
    found = with_uppers(pages().filter(of_sections(names), number__in=numbers))
    named = {(p.section.name, p.number): p for p in found.select_related("section")}
    ids: dict[bool, list[int]] = {True: [], False: []}
    never: dict[Page, list[int]] = {}
    for place, some in by_page.items():
        unlisted = [change.pk for change in some if change.reported == NOTHING]
        page = named.get(place)
        if unlisted and page is not None and _lists_all(by_name[place[0]], page):
            never[page] = unlisted
        else:
            # A page that is no more lists nothing that is known.
            ids[True] += unlisted if page else [change.pk for change in some]
    listed = {
        place: [change for change in some if change.reported != NOTHING]
        for place, some in by_page.items()
        if place in named
    }
    wanted = [named[place] for place, some in listed.items() if some]
    for page, stored in storage.read_each(wanted):
        per_item = entries_per_item(by_name[page.section.name].sitemap)
        some = listed[page.section.name, page.number]
        shown = _listed(stored, [change.reported for change in some])
        for change in some:
            locations = _locations(change.reported)
            # Where a language is missing nobody knows whether it ever was there.
            loses = len(locations) < per_item or locations not in shown
            ids[loses].append(change.pk)
    for loses, some_ids in ids.items():
        rows = changes().filter(pk__in=some_ids)
        retrying(rows.db, partial(rows.update, loses_url=loses))
    if never:
        retrying(ledger(), partial(_forget, never))


def _locations(reported: str) -> tuple[str, ...]:
    return tuple(entry[0] for entry in reported_entries(reported))


def _listed(
    stored: StoredBytes | None, reported: Iterable[str]
) -> set[tuple[str, ...]]:
    """Return the locations of each row, of some, all of which stored bytes list."""
    if stored is None:
        return set()
    text, origin = stored.segment.text(), stored.start
    every = {_locations(one) for one in reported}
    # What was reported and cannot be read may be anything.
    return {some for some in every if {*some} == listed_of(text, some, origin) != set()}


@rendering_context(PLACEHOLDER_SITE)
def _lists_all(source: SectionSource, page: Page) -> bool:
    """
    Return whether every URL of a page's stored bytes is listed still.

    That is so if the rows for which no change waits, and the URLs that others have
    still, are as many as the rows of which the page was built. What bypassed the
    signals may say otherwise: the next comparison finds that anyway.
    """
    current = definition(source)
    is_current = page.digest == current.digest and source.key is not None
    if not is_current or is_outdated(page.section, current.digest):
        return False
    rows = changes(source.name).filter(page=page.number).order_by("pk")
    waiting = list(rows.values_list("key", "reported")[: _MOST + 1])
    if len(waiting) > _MOST:
        return False
    last = dict(waiting)
    told = [key for key, said in waiting if said not in (None, NOTHING)]
    if any(last[key] == NOTHING for key in told):
        # Somebody knows its URL.
        return False
    still = [said for key in told if (said := last[key]) is not None]
    kept = _listed(storage.read_bytes(page, page.checksum), still) if still else ()
    key_range = KeyRange.of(source)
    key = key_range.key
    try:
        others = key_range.rows(*bounds_of(key, page))
        others = others.exclude(key.among([key.loads(text) for text in last]))
        return page.items == others.count() + len(kept)
    except Exception:
        # items() may raise whatever it likes: the build says so.
        return False


def _forget(unlisted: Mapping[Page, Sequence[int]]) -> None:
    """Delete changes of pages, unless these were built since they were read."""
    read = {page.pk: (page.version + 1, page.read_at) for page in unlisted}
    own = pages().filter(pk__in=read)
    with transaction.atomic(using=own.db):
        # Whoever is building one of them may have read a row when it was listed.
        own.update(version=F("version") + 1)
        rows = own.values_list("pk", "version", "read_at")
        same = {pk for pk, *state in rows if tuple(state) == read[pk]}
        ids = [pk for page, some in unlisted.items() if page.pk in same for pk in some]
        changes().filter(pk__in=ids).delete()
