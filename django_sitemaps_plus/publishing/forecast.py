"""
What would be reported of a section if its changes were dealt with now.

Nothing is written: rows are read, and pages are built in memory, as reports and builds
do it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django_sitemaps_plus.changes import url_changes
from django_sitemaps_plus.changes.assignment import concerned
from django_sitemaps_plus.changes.events import Comparison, take
from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.changes.reporting import foresee
from django_sitemaps_plus.changes.url_changes import Event
from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.exceptions import TooManyBadRows
from django_sitemaps_plus.pagination.bounds import KeyRange, bounds_of, cuts
from django_sitemaps_plus.pagination.deploys import is_outdated
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import ledger, ordered, pages, sections
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.rendering.listing import Listing, listing_of
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress, stored_address

from . import storage
from .bad_rows import formerly_bad, labels_of, refuse_bad
from .elsewhere import with_others
from .page_build import MOST_PIECES
from .page_writer import PageWriter

Kind = UrlChange.Kind

#: Called after each page, with how many were read.
Progress = Callable[[int], object]


def forecast(
    source: SectionSource, site: SiteAddress, progress: Progress = lambda pages: None
) -> Iterator[str]:
    """
    Yield the locations of which something would be reported, each once.

    None of a section that is in error, and no removals that would be put on hold.
    """
    row = sections().filter(name=source.name).first()
    if source.key is None or (row and is_outdated(row, definition(source.name).digest)):
        return
    if row and ordered(row).exclude(error="").exists():
        return
    events: list[Event] = []
    try:
        for number, page in enumerate(_pages(source), 1):
            events += _events(source, page, site)
            progress(number)
    except TooManyBadRows:
        return
    removed = sum(event.kind == Kind.REMOVED for event in events)
    if url_changes.would_be_on_hold(source.name, removed):
        events = [event for event in events if event.kind != Kind.REMOVED]
    known = dict.fromkeys(event.location for event in events)
    yield from known
    for location in foresee(source, site):
        if location not in known:
            known[location] = None
            yield location


def _pages(source: SectionSource) -> Iterator[Page]:
    """Yield the pages that would be rebuilt."""
    key = source.key.signature if source.key else ""
    row = sections().filter(name=source.name, key=key, filled=True).first()
    if row is None:
        return
    marked = ordered(row).filter(verified_at=0).exclude(checksum="")
    numbers = concerned(source, row) | set(marked.values_list("number", flat=True))
    for number in sorted(numbers):
        rows = pages().select_related("section").filter(section=row, number=number)
        page = rows.first()
        if page is not None:
            yield page


def _events(source: SectionSource, page: Page, site: SiteAddress) -> list[Event]:
    """Return what the next build of a page would find out."""
    own = stored_address(site).with_scheme(source.sitemap.protocol)
    former = storage.read(page, page.checksum) if page.checksum else None
    new, bad, is_whole = _listed(source, page, own)
    comparison = Comparison(
        former=listing_of(former.text_for(own)) if former else None,
        new=new,
        taken=take(source.name, [page.number]),
        origin=str(own.origin),
        page=page,
        definition=definition(source.name).digest,
        bad=bad,
        former_bad=formerly_bad([page]),
        is_whole=is_whole,
        reports_removed=source.reports_removed,
    )
    found = with_others(comparison).events(database_time(ledger()))
    # Late ones have been reported before.
    return [event for event in found if not event.late]


def _listed(
    source: SectionSource, page: Page, site: SiteAddress
) -> tuple[Listing, frozenset[str], bool]:
    """Return what a page, or its pieces, would list; bad rows; whether that is all."""
    key_range = KeyRange.of(source)
    lower, upper = bounds_of(key_range.key, page)
    writer = PageWriter(source, site)
    fitting = writer.run(lower, upper)
    if fitting is None:
        refuse_bad(writer, page)
        return listing_of(writer.stored.segment.text()), labels_of(writer.bad), True
    at = cuts(key_range, page, fitting, MOST_PIECES - 1)
    found, bad, is_whole = Listing(), frozenset[str](), True
    for start, end in zip([lower, *at], [*at, upper], strict=True):
        writer = PageWriter(source, site)
        if writer.run(start, end) is not None:
            is_whole = False
            continue
        refuse_bad(writer, page)
        found.update(listing_of(writer.stored.segment.text()))
        bad |= labels_of(writer.bad)
    return found, bad, is_whole
