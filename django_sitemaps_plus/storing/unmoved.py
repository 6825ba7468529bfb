"""
Finds saved rows whose entries did not change, of which nothing is reported.

A page's bytes are read for it, but only if it lists a lastmod as late as the row has
now: what a save has dated is in none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django_sitemaps_plus.changes.reporting import Stored
from django_sitemaps_plus.changes.url_changes import Known
from django_sitemaps_plus.pagination.models import Page, Section
from django_sitemaps_plus.pagination.queries import ledger
from django_sitemaps_plus.prepared import Prepared, Slot, listed, select, slots
from django_sitemaps_plus.protocol.dates import parse_w3c
from django_sitemaps_plus.rendering.listing import entries_of, fingerprint, written

from . import storage
from .storage import StoredBytes


def read_stored(
    section: Section, digest: str, wanted: Mapping[int, Mapping[str, str]]
) -> dict[int, Stored]:
    """
    Return what pages of a definition list, given lastmods by page and location.

    Not of one that is being built: it may have been read before the rows were written.
    """
    if not wanted:
        return {}
    count, values = listed("number", wanted)
    values |= {"section": section.pk, "digest": digest}
    rows = (
        Page.from_db(ledger(), _COLUMNS, row)
        for row in _READ.rows(ledger(), count, **values)
    )
    chosen = [page for page in rows if _is_as_late(page, wanted[page.number])]
    return {
        page.number: stored_of(page, stored, wanted[page.number])
        for page, stored in storage.read_each(chosen)
        if stored is not None
    }


_COLUMNS = ["id", "number", "checksum", "newest", "read_at", "events_at"]


def _read_query(numbers: int) -> Any:
    rows = Page.objects.filter(section_id=Slot("section"), digest=Slot("digest"))
    rows = rows.filter(number__in=slots("number", numbers), claimed_by="")
    return select(rows.values_list(*_COLUMNS))


_READ = Prepared(_read_query)


def stored_of(page: Page, stored: StoredBytes, wanted: Mapping[str, str]) -> Stored:
    """Return what a page lists of some locations."""
    texts = {written(location, stored.start): location for location in wanted}
    listing = entries_of(stored.segment.text(), texts.keys())
    return Stored(
        Known(page.read_at, frozenset({page.events_at}), page.number, page.events_at),
        {
            texts[item]: fingerprint(rest, stored.start)
            for item, rest in listing.items()
        },
    )


def _is_as_late(page: Page, wanted: Mapping[str, str]) -> bool:
    """Return whether a page lists a lastmod as late as one of these, to the second."""
    first = min(parse_w3c(lastmod).timestamp() for lastmod in wanted.values())
    return page.newest is not None and first <= page.newest + 1
