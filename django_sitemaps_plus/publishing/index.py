"""
The addresses that gather others: the site's, and each section's.

``/sitemap.xml`` holds the entries themselves while they fit one page, an index
once there are more; once an index, it stays one until there are clearly fewer, so
that crawlers do not see it change back and forth. A section's address does the
same. Indexes are read off the ledger: no model is asked.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.db import Error as DatabaseError
from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone

from django_sitemaps_plus.exceptions import ConfigurationError, TooManyBadRows
from django_sitemaps_plus.models import tables_exist
from django_sitemaps_plus.pagination import ledger
from django_sitemaps_plus.pagination.models import Page, Section
from django_sitemaps_plus.protocol.entries import IndexItem
from django_sitemaps_plus.protocol.errors import PageFull
from django_sitemaps_plus.protocol.limits import (
    MAX_ENTRIES,
    MAX_INDEX_ENTRIES,
    MAX_NEWS,
)
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.protocol.writers import (
    URLSET_FOOTER,
    IndexWriter,
    UrlsetWriter,
    urlset_header,
)
from django_sitemaps_plus.rendering.columns import Tally
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.rendering.serializer import describe
from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import (
    PLACEHOLDER_SITE,
    SiteAddress,
    rendering_context,
)

from . import compression, pages, refresh, storage
from .page_writer import allowed_bad, raises, too_many

logger = logging.getLogger("django_sitemaps_plus")

#: An index stays one until its entries are at most this share of a page.
FEW = 0.8
#: Seconds that a request may spend on finding the bounds of pages.
FILL_SECONDS = 3.0

#: How many empty pages a request looks into, whether they have rows again.
LOOKS = 20

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MARK = ORIGIN_MARK.encode()


@dataclass(frozen=True)
class Document:
    """Gzipped bytes to send, and the tag of what they say."""

    tag: str
    packed: bytes
    #: When the bytes changed, in seconds since the epoch; None if not known.
    changed_at: float | None = None
    #: Of the page whose bytes these are; None for what was put together.
    version: int | None = None


@dataclass(frozen=True)
class Listed:
    """A page as an index lists it."""

    source: SectionSource
    number: int
    lastmod: float | None = None
    #: None: never counted, divided since it was, or paged by position.
    entries: int | None = None
    version: int | None = None

    @property
    def uncounted(self) -> bool:
        """Whether the ledger does not know how many entries the page has."""
        return self.entries is None and self.source.key is not None


@dataclass
class Listing:
    """The pages of one address, and whether it holds their index as yet."""

    is_index: bool
    pages: list[Listed] = field(default_factory=list)

    @property
    def numbers(self) -> list[tuple[str, int]]:
        """What the pages are called."""
        return [(item.source.name, item.number) for item in self.pages]


def all_sources() -> list[SectionSource]:
    """Return every registered section."""
    return [sections.source(name) for name in registry.sources()]


def _document(body: bytes) -> Document:
    packer = compression.compressor()
    tag = hashlib.blake2b(body, digest_size=12).hexdigest()
    return Document(tag, packer.compress(body) + packer.flush())


# What there is


@rendering_context(PLACEHOLDER_SITE)
def position_pages(source: SectionSource) -> int:
    """Return how many pages a section has that is paged by position."""
    if source.contrib_pages:
        return int(source.sitemap.paginator.num_pages)
    items = source.items()
    count = items.count() if isinstance(items, QuerySet) else len(items)
    return max(1, math.ceil(count / source.items_per_page))


def listed(name: str, sources: Sequence[SectionSource], place: SiteAddress) -> Listing:
    """
    Return the pages of some sections; those known to be empty are left out.

    ``name`` is the section whose address they are for, "" for the site's. Raises
    ``Filling`` if bounds are still being found after some seconds.
    """
    keyed = [source for source in sources if source.key is not None]
    rows = _filled_rows(name, keyed) if keyed else {}
    refresh.hurry([(source, rows[source.name]) for source in keyed], place)
    numbers: dict[int, list[Listed]] = {}
    looks = 0
    by_section = {rows[source.name].pk: source for source in keyed}
    found = ledger.pages().filter(section__in=by_section).order_by("number")
    if keyed:
        found = found.exclude(pages.known_empty(source.name for source in keyed))
    columns = ("section", "number", "lastmod", "entries", "grace_until", "version")
    for pk, number, lastmod, entries, grace, version in found.values_list(*columns):
        if entries == 0:
            looks += 1
            if looks > LOOKS or pages.still_empty(by_section[pk], number, place):
                continue
        # A page that was split keeps its bytes: they are not what it holds.
        known = None if grace else entries or None
        page = Listed(by_section[pk], number, lastmod, known, version)
        numbers.setdefault(pk, []).append(page)
    listing = Listing(is_index=name in rows and rows[name].is_index)
    for source in sources:
        if source.key is None:
            listing.pages += _listed_by_position(source)
        else:
            listing.pages += numbers.get(rows[source.name].pk, [])
    return listing


def _filled_rows(name: str, sources: Sequence[SectionSource]) -> dict[str, Section]:
    """Return the sections' rows by name, all filled, and the row of ``name``."""
    names = {name, *(source.name for source in sources)}
    rows = {row.name: row for row in ledger.sections().filter(name__in=names)}
    deadline = time.monotonic() + FILL_SECONDS
    for source in sources:
        row = rows.get(source.name)
        if row is None or not ledger.is_filled(row, source):
            left = max(0.0, deadline - time.monotonic())
            rows[source.name] = ledger.fill(source, left)
    return rows


@rendering_context(PLACEHOLDER_SITE)
def _listed_by_position(source: SectionSource) -> list[Listed]:
    newest = _newest(source)
    return [
        Listed(source, number, newest)
        for number in range(1, position_pages(source) + 1)
    ]


def _newest(source: SectionSource) -> float | None:
    """Ask a sitemap for its newest lastmod; not known if an item's cannot be had."""
    try:
        return pages.epoch(source.sitemap.get_latest_lastmod())
    except DatabaseError:
        raise
    except Exception as error:
        if raises():
            raise
        logger.warning(
            "Section %r: its newest lastmod is not known: %s",
            source.name,
            describe(error),
        )
        return None


# Entries


@dataclass
class Entries:
    """A document of entries by position, and its sections' lastmods as declared."""

    chunks: list[bytes] = field(default_factory=list)
    lastmods: list[list[Any]] = field(default_factory=list)


def by_position(
    sources: Sequence[SectionSource], number: int, place: SiteAddress
) -> Entries:
    """
    Return page ``number`` of each source in one document, made now.

    Raises ``PageFull`` if they are more than a page may hold, ``TooManyBadRows`` if
    more of a source's rows are bad than ``MAX_BAD`` allows, or all of them.
    """
    made = Entries()
    writer = UrlsetWriter(
        made.chunks.append,
        origin=place.origin,
        zone=timezone.get_default_timezone(),
        header=_header(sources),
    )
    for source in sources:
        own = place.with_scheme(source.sitemap.protocol)
        origin = str(own.origin).encode()
        tally = Tally(lastmods=[])
        reader = Reader(source, own, tally, raises=raises())
        rows = 0
        with rendering_context(own):
            for batch, texts in reader.texts(reader.by_position(number)):
                block = texts.whole.encode().replace(_MARK, origin)
                writer.add_xml(block, texts.good * len(batch.locations))
                rows += len(batch.labels)
        if len(tally.bad) > allowed_bad(rows) or 0 < rows == len(tally.bad):
            # There are no former bytes, and an empty page would be a lie.
            problem = too_many(tally.bad, rows, f"{source.name}-{number}")
            logger.error(problem)
            raise TooManyBadRows(problem)
        pages.report(source.name, tally.bad)
        made.lastmods.append(tally.lastmods or [])
    if not writer.entries:
        # Contrib's template leaves an empty line, and Django's own test wants it.
        writer.add_xml(b"\n", entries=0)
    writer.finish()
    return made


def _header(sources: Iterable[SectionSource]) -> bytes:
    chosen = [source.media for source in sources]
    return urlset_header(
        images=any(media["images"] for media in chosen),
        videos=any(media["videos"] for media in chosen),
        news=any(media["news"] for media in chosen),
    )


def page_document(
    source: SectionSource, number: int, place: SiteAddress
) -> Document | None:
    """Return a page's bytes; None if the section has no such page."""
    if source.key is None:
        if not 1 <= number <= position_pages(source):
            return None
        return _document(_position_bytes(source, number, place))
    page = pages.find(source, number)
    if page is None:
        return None
    return _served(pages.serve(source, page, place), place)


def _kept(item: Listed, place: SiteAddress) -> Document | None:
    """Return a fresh page's bytes, by one query; None if it must be looked into."""
    name, number = item.source.name, item.number
    state = pages.fresh_state(name, number)
    if state is None:
        return None
    data = storage.read(storage.file_name(name, number, state.checksum, place))
    if data is None:
        return None
    return Document(page_tag(state, place), data, state.changed_at, state.version)


def _position_bytes(source: SectionSource, number: int, place: SiteAddress) -> bytes:
    try:
        return b"".join(by_position([source], number, place).chunks)
    except PageFull as error:
        raise ConfigurationError(
            f"Page {number} of the section {source.name!r} is more than a sitemap may "
            "hold (50,000 URLs, 50 MB), and a section that is paged by position cannot "
            "be split: set a lower limit on its class."
        ) from error


def _served(served: pages.Served, place: SiteAddress) -> Document:
    page = served.page
    tag = page_tag(page, place)
    return Document(tag, served.data, page.changed_at, page.version)


def page_tag(page: Page | pages.PageState, place: SiteAddress) -> str:
    """Return the tag of what a page says at ``place``."""
    return f"{page.checksum[:24]}-{place.tag}"


def _merged(
    name: str, bodies: Sequence[tuple[SectionSource, Document]], place: SiteAddress
) -> Document | None:
    """
    Return the entries of several pages as one document; None if they do not fit.

    ``name`` is the section at whose address they stand, "" for the site.
    """
    if len(bodies) == 1:
        return bodies[0][1]
    tags = "\n".join(f"{source.name}:{document.tag}" for source, document in bodies)
    tag = hashlib.blake2b(tags.encode(), digest_size=12).hexdigest()
    # No section can be called "index".
    folder = f"{name or 'index'}/merged-{place.tag}"
    file = f"{tag}.xml.gz"
    packed = storage.read(f"{folder}/{file}")
    if packed is None:
        try:
            packed = _merge(bodies, place)
        except PageFull:
            return None
        storage.keep(f"{folder}/{file}", packed)
        storage.tidy(folder, lambda other: other == file)
    return Document(tag, packed)


def _merge(
    bodies: Sequence[tuple[SectionSource, Document]], place: SiteAddress
) -> bytes:
    packer = compression.compressor()
    packed: list[bytes] = []
    writer = UrlsetWriter(
        lambda block: packed.append(packer.compress(block)),
        origin=place.origin,
        zone=dt.UTC,
        header=_header(source for source, _ in bodies),
    )
    for source, document in bodies:
        body = compression.unpack(document.packed)
        entries = body[len(_header([source])) : -len(URLSET_FOOTER)]
        writer.add_xml(entries, entries.count(b"<url>"))
    writer.finish()
    packed.append(packer.flush())
    return b"".join(packed)


# Addresses


def address(place: SiteAddress, view: str, *args: Any) -> str:
    """Return the absolute address of one of this app's views."""
    with rendering_context(place):
        return f"{place.origin}{reverse(f'django_sitemaps_plus:{view}', args=args)}"


def addresses(place: SiteAddress) -> list[str]:
    """Return where the site's sitemap is: one address, or those of several indexes."""
    further = (address(place, "site-part", part) for part in _further_parts())
    return [address(place, "site"), *further]


def _further_parts() -> range:
    """The numbers of the index files beside the first; nothing is counted for them."""
    try:
        # Sections that are no longer registered are in no index.
        found = ledger.pages().filter(section__name__in=list(registry.sources()))
        count = found.exclude(entries=0).count()
    except DatabaseError:
        if tables_exist(ledger.pages().db):
            raise
        return range(0)
    return range(2, -(-count // MAX_INDEX_ENTRIES) + 1)


def _addressed(
    found: Iterable[Listed], place: SiteAddress
) -> Iterator[tuple[str, dt.datetime | None]]:
    """Yield the address and the lastmod of each page."""
    starts: dict[str, str] = {}
    for item in found:
        name = item.source.name
        if name not in starts:
            # Reversed once for a section: its pages' addresses differ by a number.
            own = place.with_scheme(item.source.sitemap.protocol)
            starts[name] = address(own, "page", f"{name}-0").removesuffix("0.xml")
        yield f"{starts[name]}{item.number}.xml", _moment(item.lastmod)


# Indexes


def index_bytes(items: Iterable[tuple[str, dt.date | None]]) -> bytes:
    """
    Return an index of ``(address, lastmod)``.

    Raises ``PageFull`` above 50,000 addresses.
    """
    chunks: list[bytes] = []
    writer = IndexWriter(chunks.append)
    zone = timezone.get_default_timezone()
    for location, lastmod in items:
        writer.add(IndexItem(loc=location, lastmod=lastmod), zone)
    writer.finish()
    return b"".join(chunks)


def _moment(seconds: float | None) -> dt.datetime | None:
    return None if seconds is None else _EPOCH + dt.timedelta(seconds=seconds)


def parts(found: Sequence[Listed]) -> int:
    """Return how many index files these pages need."""
    return max(1, math.ceil(len(found) / MAX_INDEX_ENTRIES))


def document_of(
    name: str, sources: Sequence[SectionSource], place: SiteAddress, part: int = 1
) -> Document | None:
    """
    Return what stands at the address of a section, or of the site (``name`` "").

    Its entries while they fit one page, else the ``part``-th file of its index
    (counted from 1); None if there is no such part. Raises ``Filling`` while the
    bounds of pages are being found.
    """
    listing = listed(name, sources, place)
    if part == 1 and _entries_wanted(name, listing):
        bodies = _bodies(listing.pages, place)
        if _outdated(listing, bodies):
            again = listed(name, sources, place)
            if again.numbers != listing.numbers:
                # A page was divided while it was made: these are not all entries.
                return document_of(name, sources, place)
        document = None if bodies is None else _merged(name, bodies, place)
        if document is not None:
            return document
        _remember(name, listing, is_index=True)
    found = listing.pages
    if not 1 <= part <= parts(found):
        return None
    chosen = found[(part - 1) * MAX_INDEX_ENTRIES : part * MAX_INDEX_ENTRIES]
    return _document(index_bytes(_addressed(chosen, place)))


def _bodies(
    found: Sequence[Listed], place: SiteAddress
) -> list[tuple[SectionSource, Document]] | None:
    """Return the documents of some pages; None if one of them cannot be made."""
    bodies = []
    try:
        for item in found:
            document = _kept(item, place) or page_document(
                item.source, item.number, place
            )
            if document is not None:
                bodies.append((item.source, document))
        return bodies
    except TooManyBadRows:
        # The index shows the pages that can be had; the bad one says why it cannot.
        if len(found) == 1:
            raise
        return None


def _outdated(
    listing: Listing, bodies: Sequence[tuple[SectionSource, Document]] | None
) -> bool:
    """Tell whether some page is not the one that was listed."""
    versions = None if bodies is None else [body.version for _, body in bodies]
    return versions != [item.version for item in listing.pages]


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
    ledger.row_of(name)
    ledger.sections().filter(name=name).update(is_index=is_index)
    listing.is_index = is_index
