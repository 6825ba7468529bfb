"""
The addresses that gather others: the site's, and each section's.

``/sitemap.xml`` holds the entries themselves while they fit one file, an index
once there are more; once an index, it stays one until there are clearly fewer, so
that crawlers do not see it change back and forth. A section's address does the
same. An index is read off the ledger: no page is built for it, and no model is asked,
except to count sections by position that are not stored.
"""

from __future__ import annotations

import datetime as dt
import logging
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby, starmap
from typing import Any

from django.db import Error as DatabaseError
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import (
    Busy,
    ConfigurationError,
    TooManyBadRows,
)
from django_sitemaps_plus.pagination.bounds import FILL
from django_sitemaps_plus.pagination.queries import (
    of_sections,
    pages,
    row_of,
    sections,
)
from django_sitemaps_plus.protocol.limits import (
    MAX_BYTES,
    MAX_ENTRIES,
    MAX_INDEX_ENTRIES,
    MAX_NEWS,
)
from django_sitemaps_plus.protocol.locations import resolve
from django_sitemaps_plus.protocol.writers import IndexWriter, index_header
from django_sitemaps_plus.rendering.columns import moment
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource, source
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress, rendering_context

from .documents import (
    Document,
    UnusableError,
    as_text,
    document,
    fresh_documents,
    joined,
    page_or_former,
)
from .extra import extra_sitemaps
from .listed import Listed, Listing, listed
from .stylesheet import stylesheet

logger = logging.getLogger("django_sitemaps_plus")

#: An index stays one until its entries are at most this share of what a file holds.
FEW = 0.8
#: What a project adds to its urlpatterns.
INCLUDE = 'path("", include("django_sitemaps_plus.urls"))'


def all_sources() -> list[SectionSource]:
    """Return every registered section that can be used; the others are logged."""
    return usable(registry.sources())


def usable(names: Iterable[str]) -> list[SectionSource]:
    """Return those of some sections that can be used; the others are logged."""
    usable_sections = []
    for name in names:
        try:
            section = source(name)
            definition(section)
            usable_sections.append(section)
        except Exception:
            # items() may raise whatever it likes: the other sections are unaffected.
            logger.exception("The section %r cannot be used.", name)
    return usable_sections


# Addresses


def address(site: SiteAddress, view: str, *args: Any) -> str:
    """Return the absolute address of one of this app's views."""
    with rendering_context(site):
        name = f"django_sitemaps_plus:{view}"
        # Of several in one URLconf, the one whose namespace has the site's name.
        path = reverse(name, args=args, current_app=Site.current().name or None)
        return f"{site.origin}{path}"


def addresses(site: SiteAddress, *, text: bool = False) -> list[str]:
    """
    Return where the site's sitemap is: one address, or those of several indexes.

    With ``text`` those of its text files. Raises ``ConfigurationError`` if they are in
    no URLconf.
    """
    first = file_address(site, "site", text=text)
    parts = _further_parts(site)
    return [first, *(file_address(site, "site-part", n, text=text) for n in parts)]


def file_address(site: SiteAddress, view: str, *args: Any, text: bool = False) -> str:
    """
    Return the address of a sitemap, or of its text file, as it is published.

    Raises ``ConfigurationError`` if it is in no URLconf.
    """
    name, ending = (f"text-{view}", ["txt"]) if text else (view, [])
    publish = get_settings().publish
    if publish is not None and publish.gzip == "file":
        name = f"{name}-gz"
    try:
        return address(site, name, *args, *ending)
    except NoReverseMatch as error:
        raise ConfigurationError(
            "No URLconf includes the addresses of the sitemaps. Add "
            f"{INCLUDE} to urlpatterns."
        ) from error


def _further_parts(site: SiteAddress) -> range:
    """
    The numbers of the index files beside the first.

    None while the database fails: without robots.txt crawlers stay away from the site.
    """
    try:
        # Sections that are no longer registered are in no index.
        found = pages().filter(of_sections(registry.sources()))
        count = found.exclude(entries=0).count()
        count += len(extra_sitemaps(site, in_index=True))
    except DatabaseError as error:
        logger.warning("Index files beside the first cannot be counted: %s", error)
        return range(0)
    return range(2, -(-count // MAX_INDEX_ENTRIES) + 1)


def _addressed(
    listed_pages: Iterable[Listed | str], site: SiteAddress, ending: str
) -> Iterator[tuple[str, dt.datetime | None]]:
    """Yield the address and the lastmod of each page; others are given by address."""
    starts: dict[str, str] = {}
    if (publish := get_settings().publish) is not None and publish.gzip == "file":
        ending = f"{ending}.gz"
    for item in listed_pages:
        if isinstance(item, str):
            yield item, None
            continue
        name = item.source.name
        if name not in starts:
            # Once for a section: its pages' addresses differ by a number.
            scheme = getattr(item.source.sitemap, "protocol", None)
            own = site.with_scheme(scheme)
            first = resolve(address(own, "page", f"{name}-0"), None)
            starts[name] = first.removesuffix("0.xml")
        lastmod = None if item.lastmod is None else moment(item.lastmod)
        yield f"{starts[name]}{item.number}.{ending}", lastmod


# Indexes


def index_bytes(
    items: Iterable[tuple[str, dt.date | None]], stylesheet: str = ""
) -> bytes:
    """
    Return an index of ``(address, lastmod)``, which names a stylesheet if given.

    The addresses are as ``locations.resolve`` returns them.

    Raises ``PageFull`` above 50,000 addresses.
    """
    chunks: list[bytes] = []
    writer = IndexWriter(chunks.append, header=index_header(stylesheet=stylesheet))
    zone = timezone.get_default_timezone()
    for location, lastmod in items:
        writer.add_resolved(location, lastmod, zone)
    writer.finish()
    return b"".join(chunks)


def parts(listed_pages: Sequence[Listed | str]) -> int:
    """Return how many index files these pages need."""
    return max(1, math.ceil(len(listed_pages) / MAX_INDEX_ENTRIES))


def document_of(
    name: str,
    sources: Sequence[SectionSource],
    site: SiteAddress,
    part: int = 1,
    *,
    text: bool = False,
    put: Collection[tuple[str, int]] | None = None,
) -> Document | None:
    """
    Return what stands at the address of a section, or of the site (``name`` "").

    Its entries while they fit one file, else the ``part``-th file of its index
    (counted from 1); None if there is no such part. With ``text`` its URLs, or the
    index of its text pages. With ``put``, the names of pages, it has only these as they
    are stored: none is built, and ``Busy`` is raised if there are more by now.

    Raises ``Filling`` while the bounds of pages are being found, and ``UnusableError``
    where nothing could be listed although a section cannot be used.
    """
    listing = listed(name, sources)
    unusable = _unusable(name, sources) | listing.unusable
    further = _pages_of_unusable(unusable)
    if put is not None:
        if any(item.entries for item in listing.pages if item.name not in put):
            raise Busy("A page was divided.")
        listing.pages = [item for item in listing.pages if item.name in put]
        further = [item for item in further if item.name in put]
    extra = [] if name else extra_sitemaps(site, in_index=True)
    if part == 1 and not (further or extra) and _entries_wanted(name, listing):
        if put is None:
            bodies = _bodies(listing.pages, site, text=text)
        else:
            bodies = _stored_bodies(listing.pages, site, text=text)
        if bodies is not None and any(starmap(_is_divided, bodies)):
            # Somebody divided a page meanwhile: these are not all entries.
            return document_of(name, sources, site, text=text, put=put)
        whole = None if bodies is None else joined(bodies, text=text)
        if whole is not None:
            if unusable and not whole.entries:
                raise _nothing_of(unusable)
            return whole
        # Some were built for it.
        listing = listed(name, sources)
        _remember(name, listing, is_index=True)
    listed_pages: list[Listed | str] = [*listing.indexed, *further, *extra]
    if unusable and not listed_pages:
        raise _nothing_of(unusable)
    if not 1 <= part <= parts(listed_pages):
        return None
    chosen = listed_pages[(part - 1) * MAX_INDEX_ENTRIES : part * MAX_INDEX_ENTRIES]
    # sitemaps.org: an index may list text files as well.
    addressed = _addressed(chosen, site, "txt" if text else "xml")
    return document(index_bytes(addressed, stylesheet()))


def _is_divided(item: Listed, document: Document) -> bool:
    """Return whether a page of the section was divided since its pages were listed."""
    return len({item.next_number, document.next_number} - {0}) > 1


def _unusable(name: str, sources: Sequence[SectionSource]) -> set[str]:
    """Return the sections of an address that are not among those given."""
    wanted = {name} if name else set(registry.sources())
    return wanted.difference(item.name for item in sources)


def _nothing_of(unusable: Iterable[str]) -> UnusableError:
    names = ", ".join(sorted(unusable))
    return UnusableError(f"Sections that cannot be used, and have no pages: {names}.")


def _pages_of_unusable(names: Iterable[str]) -> list[Listed]:
    """Return the stored pages of sections that cannot be used."""
    if not names:
        return []
    known = registry.sources()
    stored = pages().filter(of_sections(names)).exclude(checksum="")
    rows = stored.exclude(entries=0).order_by("section", "number")
    return [
        Listed(SectionSource(name, known[name], key=None), number, lastmod)
        for name, number, lastmod in rows.values_list(
            "section__name", "number", "lastmod"
        )
    ]


def _bodies(
    listed_pages: Sequence[Listed], site: SiteAddress, *, text: bool
) -> list[tuple[Listed, Document]] | None:
    """Return the documents of some pages; None if one of them cannot be built."""
    bodies = []
    try:
        fresh = fresh_documents(listed_pages, site, text=text)
        stale = [item for item in listed_pages if item.name not in fresh]
        built = {item.name: page_or_former(*item.place, site) for item in stale}
        if stale and len(listed_pages) > 1:
            # Of a page that was split, not what it shows to those who ask for it alone.
            fresh |= fresh_documents(stale, site, text=text)
        for item in listed_pages:
            document = fresh.get(item.name)
            if document is None and (document := built.get(item.name)) is not None:
                document = as_text(document) if text else document
            if document is not None:
                bodies.append((item, document))
        return bodies
    except (TooManyBadRows, UnusableError):
        # The index lists the pages that can be had, and the one that cannot.
        if len(listed_pages) == 1:
            raise
        return None


def _stored_bodies(
    listed_pages: Sequence[Listed], site: SiteAddress, *, text: bool
) -> list[tuple[Listed, Document]]:
    """Return the documents of some pages as they are stored, whether fresh or not."""
    found = fresh_documents(listed_pages, site, text=False, or_stale=True)
    if missing := [item for item in listed_pages if item.name not in found]:
        raise UnusableError(f"Nothing is stored of {missing[0].name}.")
    return [
        (item, as_text(found[item.name]) if text else found[item.name])
        for item in listed_pages
    ]


def _entries_wanted(name: str, listing: Listing) -> bool:
    """Decide between entries and index by what the ledger knows, and remember it."""
    share = FEW if listing.is_index else 1
    wanted = not (listing.is_index and any(item.uncounted for item in listing.pages))
    wanted = wanted and all(
        _few(list(items), source, share)
        for source, items in groupby(listing.pages, key=lambda item: item.source)
    )
    wanted = wanted and _sum(listing.pages) <= MAX_ENTRIES * share
    wanted = wanted and sum(item.size for item in listing.pages) <= MAX_BYTES * share
    # Several sections of news may each fit their page, and not one page together.
    news = (item for item in listing.pages if "news" in item.source.media)
    wanted = wanted and _sum(news) <= MAX_NEWS * share
    _remember(name, listing, is_index=not wanted)
    return wanted


def _few(items: Sequence[Listed], source: SectionSource, share: float) -> bool:
    """Return whether a section's entries fit one file, clearly so after an index."""
    if source.key is None:
        # Its pages have been counted already: the first is full.
        return len(items) == 1
    # Those that nobody has counted are as full as they were divided, but for the last.
    uncounted = sum(item.uncounted for item in items[:-1]) * source.limit * FILL
    return _sum(items) + uncounted <= source.most_in_one_file * share


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
