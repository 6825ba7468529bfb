"""
The addresses that gather others: the site's, and each section's.

``/sitemap.xml`` holds the entries themselves while they fit one page, an index
once there are more; once an index, it stays one until there are clearly fewer, so
that crawlers do not see it change back and forth. A section's address does the
same. An index is read off the ledger: no page is built for it, and no model is asked.
"""

from __future__ import annotations

import datetime as dt
import logging
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.db import Error as DatabaseError
from django.urls import reverse
from django.utils import timezone

from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.exceptions import TooManyBadRows
from django_sitemaps_plus.pagination.bounds import fill
from django_sitemaps_plus.pagination.models import Section
from django_sitemaps_plus.pagination.queries import (
    is_filled,
    ledger,
    of_sections,
    pages,
    row_of,
    sections,
)
from django_sitemaps_plus.protocol.limits import (
    MAX_ENTRIES,
    MAX_INDEX_ENTRIES,
    MAX_NEWS,
)
from django_sitemaps_plus.protocol.writers import IndexWriter, index_header
from django_sitemaps_plus.rendering.columns import moment
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource, source
from django_sitemaps_plus.sitemaps.site import (
    SiteAddress,
    named_site,
    rendering_context,
)

from .by_position import newest_lastmod, position_pages
from .documents import (
    Document,
    as_text,
    document,
    fresh_document,
    merged,
    page_document,
)
from .extra import extra_sitemaps
from .freshness import hold
from .stylesheet import stylesheet

logger = logging.getLogger("django_sitemaps_plus")

#: An index stays one until its entries are at most this share of a page.
FEW = 0.8
#: Seconds that a request may spend on finding the bounds of pages.
FILL_SECONDS = 3.0


@dataclass(frozen=True)
class Listed:
    """A page as an index lists it."""

    source: SectionSource
    number: int
    lastmod: float | None = None
    #: None: never counted, divided since it was, or paged by position.
    entries: int | None = None
    #: Whether this code has built the page and found nothing for it.
    is_empty: bool = False

    @property
    def uncounted(self) -> bool:
        """Whether nobody knows how many entries the page has."""
        return self.entries is None and self.source.key is not None


@dataclass
class Listing:
    """The pages of one address, and whether it holds their index as yet."""

    is_index: bool
    pages: list[Listed] = field(default_factory=list)
    #: The sections that have pages in the ledger, and the sum of what their next pages
    #: will be called: another one when a page was divided.
    names: list[str] = field(default_factory=list)
    next_number: int = 0

    @property
    def indexed(self) -> list[Listed]:
        """The pages that an index lists: not those that were empty."""
        return [item for item in self.pages if not item.is_empty]


def all_sources() -> list[SectionSource]:
    """Return every registered section that can be used; the others are logged."""
    found = []
    for name in registry.sources():
        try:
            definition(name)
            found.append(source(name))
        except Exception:
            # items() may raise whatever it likes: the others are none the worse for it.
            logger.exception("The section %r cannot be used.", name)
    return found


# What there is


def listed(name: str, sources: Sequence[SectionSource]) -> Listing:
    """
    Return the pages of some sections; those known to be empty are left out.

    ``name`` is the section whose address they are for, "" for the site's. Raises
    ``Filling`` if bounds are still being found after some seconds.
    """
    rows = _filled_rows(name, sources)
    by_section = {rows[item.name].pk: item for item in sources if item.name in rows}
    found: dict[int, list[Listed]] = {}
    now = time.time()
    columns = (
        *("section", "number", "lastmod", "entries"),
        *("digest", "verified_at", "grace_until", "grace_checksum"),
    )
    every = pages().filter(section__in=by_section).order_by("number")
    for pk, number, lastmod, entries, *state in every.values_list(*columns):
        digest, verified, grace, former = state
        item = by_section[pk]
        if entries is None and item.key is None:
            # Not stored, or not yet: they are counted instead.
            continue
        found.setdefault(pk, [])
        # In its grace a page shows more than it holds; the end of that is news.
        counted = None if former and grace > now else entries
        if former and grace <= now:
            lastmod = max(lastmod or 0.0, grace)
        is_empty = counted == 0 and digest == definition(item.name).digest
        if is_empty and 0 <= now - verified < hold(definition(item.name)):
            continue
        found[pk].append(Listed(item, number, lastmod, counted, is_empty))
    listing = Listing(
        is_index=name in rows and rows[name].is_index,
        names=list(rows),
        next_number=sum(row.next_number for row in rows.values()),
    )
    for item in sources:
        row = rows.get(item.name)
        if item.key is None and (row is None or row.pk not in found):
            listing.pages += _listed_by_position(item)
        elif row is not None:
            listing.pages += found.get(row.pk, [])
    return listing


def _filled_rows(name: str, sources: Sequence[SectionSource]) -> dict[str, Section]:
    """
    Return the sections' rows by name, all filled, and the row of ``name``.

    Of a section by position only if it is stored.
    """
    names = {name, *(item.name for item in sources)}
    try:
        rows = {row.name: row for row in sections().filter(name__in=names)}
    except DatabaseError:
        if any(item.key for item in sources) or tables_exist(ledger()):
            raise
        return {}
    deadline = time.monotonic() + FILL_SECONDS
    for item in sources:
        row = rows.get(item.name)
        if item.key is None:
            if row is not None and not is_filled(row, item):
                del rows[item.name]
        elif row is None or not is_filled(row, item):
            left = max(0.0, deadline - time.monotonic())
            rows[item.name] = fill(item, left)
    return rows


def _next_number(names: Sequence[str]) -> int:
    rows = sections().filter(name__in=names)
    return sum(rows.values_list("next_number", flat=True))


def _listed_by_position(item: SectionSource) -> list[Listed]:
    newest = newest_lastmod(item)
    return [
        Listed(item, number, newest) for number in range(1, position_pages(item) + 1)
    ]


# Addresses


def address(site: SiteAddress, view: str, *args: Any) -> str:
    """Return the absolute address of one of this app's views."""
    with rendering_context(site):
        name = f"django_sitemaps_plus:{view}"
        # Of several in one URLconf, the one whose namespace has the site's name.
        path = reverse(name, args=args, current_app=named_site() or None)
        return f"{site.origin}{path}"


def addresses(site: SiteAddress, *, text: bool = False) -> list[str]:
    """
    Return where the site's sitemap is: one address, or those of several indexes.

    With ``text`` those of its text files.
    """
    prefix, ending = ("text-", ["txt"]) if text else ("", [])
    further = [[part, *ending] for part in _further_parts(site)]
    return [
        address(site, f"{prefix}site", *ending),
        *(address(site, f"{prefix}site-part", *given) for given in further),
    ]


def _further_parts(site: SiteAddress) -> range:
    """The numbers of the index files beside the first; nothing is counted for them."""
    try:
        # Sections that are no longer registered are in no index.
        found = pages().filter(of_sections(registry.sources()))
        count = found.exclude(entries=0).count()
        count += len(extra_sitemaps(site, in_index=True))
    except DatabaseError:
        if tables_exist(ledger()):
            raise
        return range(0)
    return range(2, -(-count // MAX_INDEX_ENTRIES) + 1)


def _addressed(
    found: Iterable[Listed | str], site: SiteAddress, ending: str
) -> Iterator[tuple[str, dt.datetime | None]]:
    """Yield the address and the lastmod of each page; others are given by address."""
    starts: dict[str, str] = {}
    for item in found:
        if isinstance(item, str):
            yield item, None
            continue
        name = item.source.name
        if name not in starts:
            # Reversed once for a section: its pages' addresses differ by a number.
            scheme = getattr(item.source.sitemap, "protocol", None)
            own = site.with_scheme(scheme)
            starts[name] = address(own, "page", f"{name}-0").removesuffix("0.xml")
        lastmod = None if item.lastmod is None else moment(item.lastmod)
        yield f"{starts[name]}{item.number}.{ending}", lastmod


# Indexes


def index_bytes(
    items: Iterable[tuple[str, dt.date | None]], stylesheet: str = ""
) -> bytes:
    """
    Return an index of ``(address, lastmod)``, which names a stylesheet if given.

    Raises ``PageFull`` above 50,000 addresses.
    """
    chunks: list[bytes] = []
    writer = IndexWriter(chunks.append, header=index_header(stylesheet=stylesheet))
    zone = timezone.get_default_timezone()
    for location, lastmod in items:
        writer.add(location, lastmod, zone)
    writer.finish()
    return b"".join(chunks)


def parts(found: Sequence[Listed | str]) -> int:
    """Return how many index files these pages need."""
    return max(1, math.ceil(len(found) / MAX_INDEX_ENTRIES))


def document_of(
    name: str,
    sources: Sequence[SectionSource],
    site: SiteAddress,
    part: int = 1,
    *,
    text: bool = False,
) -> Document | None:
    """
    Return what stands at the address of a section, or of the site (``name`` "").

    Its entries while they fit one page, else the ``part``-th file of its index
    (counted from 1); None if there is no such part. With ``text`` its URLs, or the
    index of its text pages. Raises ``Filling`` while the bounds of pages are being
    found.
    """
    listing = listed(name, sources)
    further = [] if name else _pages_of_unusable(sources)
    extra = [] if name else extra_sitemaps(site, in_index=True)
    if part == 1 and not (further or extra) and _entries_wanted(name, listing):
        bodies = _bodies(listing.pages, site)
        if _next_number(listing.names) != listing.next_number:
            # Somebody divided a page meanwhile: these are not all entries.
            return document_of(name, sources, site, text=text)
        whole = None if bodies is None else merged(bodies)
        if whole is not None:
            return as_text(whole) if text else whole
        # Some were built for it.
        listing = listed(name, sources)
        _remember(name, listing, is_index=True)
    found: list[Listed | str] = [*listing.indexed, *further, *extra]
    if not 1 <= part <= parts(found):
        return None
    chosen = found[(part - 1) * MAX_INDEX_ENTRIES : part * MAX_INDEX_ENTRIES]
    # sitemaps.org: an index may list text files as well.
    addressed = _addressed(chosen, site, "txt" if text else "xml")
    return document(index_bytes(addressed, stylesheet()))


def _pages_of_unusable(sources: Sequence[SectionSource]) -> list[Listed]:
    """Return the stored pages of sections that are registered, and not given."""
    usable = {item.name for item in sources}
    unusable = {
        name: SectionSource(name, sitemap, key=None)
        for name, sitemap in registry.sources().items()
        if name not in usable
    }
    if not unusable:
        return []
    found = pages().filter(of_sections(unusable)).exclude(checksum="")
    rows = found.exclude(entries=0).order_by("section", "number")
    return [
        Listed(unusable[name], number, lastmod)
        for name, number, lastmod in rows.values_list(
            "section__name", "number", "lastmod"
        )
    ]


def _bodies(
    found: Sequence[Listed], site: SiteAddress
) -> list[tuple[SectionSource, Document]] | None:
    """Return the documents of some pages; None if one of them cannot be built."""
    bodies = []
    try:
        for item in found:
            document = fresh_document(item.source.name, item.number, site)
            if document is None:
                document = page_document(item.source, item.number, site)
            if document is not None:
                bodies.append((item.source, document))
        return bodies
    except TooManyBadRows:
        # The index shows the pages that can be had; the bad one says why it cannot.
        if len(found) == 1:
            raise
        return None


def _entries_wanted(name: str, listing: Listing) -> bool:
    """Decide between entries and index by what the ledger knows, and remember it."""
    wanted = all(
        _few(list(items), source.limit, listing.is_index)
        for source, items in groupby(listing.pages, key=lambda item: item.source)
    )
    share = FEW if listing.is_index else 1
    wanted = wanted and _sum(listing.pages) <= MAX_ENTRIES * share
    # Several sections of news may each fit their page, and not one page together.
    news = (item for item in listing.pages if item.source.media["news"])
    wanted = wanted and _sum(news) <= MAX_NEWS * share
    _remember(name, listing, is_index=not wanted)
    return wanted


def _few(items: Sequence[Listed], limit: int, was_index: bool) -> bool:
    """Tell whether a section's entries fit one page, clearly so after an index."""
    if any(item.uncounted for item in items) and (was_index or len(items) > 1):
        return False
    if items[0].source.key is None:
        # Its pages have been counted already: the first is full.
        return len(items) == 1
    return _sum(items) <= limit * (FEW if was_index else 1)


def _sum(items: Iterable[Listed]) -> int:
    return sum(item.entries or 0 for item in items)


def _remember(name: str, listing: Listing, *, is_index: bool) -> None:
    """Write down what an address holds, unless none of its pages is the ledger's."""
    known = any(item.source.key is not None for item in listing.pages)
    if not known or is_index == listing.is_index:
        return
    row_of(name)
    sections().filter(name=name).update(is_index=is_index)
    listing.is_index = is_index
