"""
Which changes may have lost a URL: their pages are rebuilt soon, others can wait.

The report says it of a row that is not listed any more, and of a new one. Any other row
may have had another URL if its page does not list yet what was reported: that takes a
look at the page's stored bytes, once for each change and by the background only.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from django_sitemaps_plus.changes.queries import changes
from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.pagination.queries import of_sections, pages
from django_sitemaps_plus.rendering.listing import listed_of
from django_sitemaps_plus.sitemaps.attributes import entries_per_item
from django_sitemaps_plus.sitemaps.sections import SectionSource

from . import storage

#: Changes that are looked at together.
MOST = 500


class Unclear(NamedTuple):
    """A reported change of which nobody knows whether it has lost a URL."""

    pk: int
    section: str
    page: int
    reported: str


def unclear_changes(sources: Iterable[SectionSource]) -> list[Unclear]:
    """Return the first of these changes of some sections, ``MOST`` at a time."""
    names = [source.name for source in sources if source.key is not None]
    rows = changes().filter(section__in=names, loses_url=None).order_by("pk")
    reported = rows.exclude(page=None).exclude(reported_at=None)
    return [Unclear(*row) for row in reported.values_list(*Unclear._fields)[:MOST]]


def look(sources: Iterable[SectionSource], unclear: Sequence[Unclear]) -> None:
    """
    Note which of some changes may have lost a URL, and which have not.

    They were read before their pages' bytes are: a build deletes what it has seen.
    """
    per_item = {source.name: entries_per_item(source.sitemap) for source in sources}
    by_page = defaultdict[tuple[str, int], list[Unclear]](list)
    for change in unclear:
        by_page[change.section, change.page].append(change)
    names, numbers = ({*some} for some in zip(*by_page, strict=True))
    found = pages().filter(of_sections(names), number__in=numbers)
    named = {(p.section.name, p.number): p for p in found.select_related("section")}
    ids: dict[bool, list[int]] = {True: [], False: []}
    for page, stored in storage.read_each([named[n] for n in by_page if n in named]):
        text = stored.segment.text() if stored else b""
        origin = stored.start if stored else ""
        for change in by_page.pop((page.section.name, page.number)):
            locations = [entry[0] for entry in json.loads(change.reported)]
            # Where a language is missing nobody knows whether it ever was there.
            loses = len(locations) < per_item[change.section]
            loses = loses or {*locations} != listed_of(text, locations, origin)
            ids[loses].append(change.pk)
    # A page that is no more lists nothing that is known.
    ids[True] += [change.pk for some in by_page.values() for change in some]
    for loses, some in ids.items():
        rows = changes().filter(pk__in=some)
        retrying(rows.db, partial(rows.update, loses_url=loses))
