"""
The addresses that gather others: the site's, and each section's.

``/sitemap.xml`` holds the entries themselves while they fit one file, an index
once there are more; once an index, it stays one until there are clearly fewer, so
that crawlers do not see it change back and forth. A section's address does the
same. An index is read off the ledger: no page is built for it, and no model is asked,
except for sections by position: their items are counted, and asked for their newest
lastmod.
"""

from __future__ import annotations

import datetime as dt
import logging
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from django.db import Error as DatabaseError
from django.urls import NoReverseMatch, reverse

from django_sitemaps_plus import hooks
from django_sitemaps_plus.building.by_position import newest_lastmod
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import (
    Busy,
    ConfigurationError,
    UnusableError,
    describe,
)
from django_sitemaps_plus.pagination.cutting import FILL
from django_sitemaps_plus.pagination.queries import pages, row_of, sections
from django_sitemaps_plus.protocol.dates import EARLIEST
from django_sitemaps_plus.protocol.limits import (
    MAX_BYTES,
    MAX_ENTRIES,
    MAX_INDEX_ENTRIES,
    MAX_NEWS,
)
from django_sitemaps_plus.protocol.locations import resolve
from django_sitemaps_plus.protocol.markup import escape
from django_sitemaps_plus.protocol.writers import index_xml, sitemap_xml
from django_sitemaps_plus.rendering.columns import latest_believed
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.news import separate_news
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource, source
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from .documents import Document, fresh_documents, joined, page_or_former, usable_source
from .listed import ListedPage, ListedPages, list_pages

logger = logging.getLogger("django_sitemaps_plus")

#: An index stays one until its entries are at most this share of what a file holds.
_FEW = 0.8
#: What a project adds to its urlpatterns.
INCLUDE = 'path("", include("django_sitemaps_plus.urls"))'


def usable(names: Iterable[str] | None = None) -> list[SectionSource]:
    """Return those sections, of some or of all, that can be used; log the others."""
    given = registry.sources() if names is None else names
    return [one for one in map(usable_source, given) if one is not None]


# Addresses


def address(site: SiteAddress, view: str, *args: Any) -> str:
    """Return the absolute address of one of this app's views."""
    with site.rendering():
        name = f"django_sitemaps_plus:{view}"
        # Of several in one URLconf, the one whose namespace has the site's name.
        path = reverse(name, args=args, current_app=Site.current().name or None)
        return f"{site.origin}{path}"


def index_places(site: SiteAddress) -> dict[str, tuple[str, int]]:
    """
    Return where the site's sitemaps are, with what ``document_of`` takes for each.

    The parts of the site's index, and each section of news. Raises
    ``ConfigurationError`` if they are in no URLconf.
    """
    found = {file_address(site, "site"): ("", 1)}
    for number in _further_parts(site):
        found[file_address(site, "site-part", number)] = "", number
    for name in _separate_news():
        found[file_address(site, "section", name)] = name, 1
    return found


def page_places(site: SiteAddress) -> dict[str, tuple[SectionSource, int]]:
    """Return the pages of the site's index by their addresses."""
    found = {}
    for item in list_pages("", usable()).indexed:
        own = site.with_scheme(item.source.sitemap.protocol)
        name = f"{item.source.name}-{item.number}"
        found[file_address(own, "page", name)] = item.place
    return found


def _separate_news() -> list[str]:
    """Return the sections of news; none while the database fails, as for robots.txt."""
    try:
        return separate_news()
    except DatabaseError as error:
        logger.warning("Sections of news are not known: %s", error)
        return []


def file_address(site: SiteAddress, name: str, *args: Any) -> str:
    """
    Return the address of a sitemap as it is published.

    Raises ``ConfigurationError`` if it is in no URLconf.
    """
    if hooks.are_packed():
        name = f"{name}-gz"
    try:
        return address(site, name, *args)
    except NoReverseMatch as error:
        raise ConfigurationError(
            "No URLconf includes the addresses of the sitemaps. Add "
            f"{INCLUDE} to urlpatterns."
        ) from error


def with_ending(address: str, ending: str) -> str:
    """Return an address with another ending than "xml", packed or not as before."""
    start, _, rest = address.rpartition(".xml")
    return f"{start}.{ending}{rest}"


def _further_parts(site: SiteAddress) -> range:
    """
    The numbers of the index files beside the first.

    None while the database fails: without robots.txt crawlers stay away from the site.
    """
    try:
        # Sections that are no longer registered are in no index.
        names = registry.sources().keys() - set(separate_news())
        count = pages().on_site(names).exclude(entries=0).count()
        count += len(extra_sitemaps(site, in_index=True))
    except DatabaseError as error:
        logger.warning("Index files beside the first cannot be counted: %s", error)
        return range(0)
    return range(2, -(-count // MAX_INDEX_ENTRIES) + 1)


def _written(
    listed_pages: Iterable[ListedPage | str], site: SiteAddress
) -> Iterator[str]:
    """Yield the XML of each page in an index; others are given by address."""
    start, name, end = "", "", ".xml.gz</loc>" if hooks.are_packed() else ".xml</loc>"
    latest = latest_believed().timestamp()
    for item in listed_pages:
        if isinstance(item, str):
            yield sitemap_xml(item)
            continue
        if item.source.name != name:
            # Once for a section: its pages' addresses differ by a number.
            name = item.source.name
            scheme = getattr(item.source.sitemap, "protocol", None)
            own = site.with_scheme(scheme)
            first = resolve(address(own, "page", f"{name}-0"), None)
            start = f"<sitemap><loc>{escape(first.removesuffix('0.xml'))}"
        seconds = newest_lastmod(item.source) if item.has_newest else item.lastmod
        lastmod = ""
        if seconds is not None and EARLIEST <= seconds <= latest:
            at = dt.datetime.fromtimestamp(math.floor(seconds), dt.UTC)
            lastmod = f"<lastmod>{at.isoformat()}</lastmod>"
        yield f"{start}{item.number}{end}{lastmod}</sitemap>\n"


# Indexes


def document_of(
    name: str,
    sources: Sequence[SectionSource],
    site: SiteAddress,
    part: int = 1,
    *,
    put: Collection[tuple[str, int]] | None = None,
    may_be_index: bool = True,
) -> Document | None:
    """
    Return what stands at the address of a section, or of the site (``name`` "").

    Its entries while they fit one file, else the ``part``-th file of its index
    (counted from 1); None if there is no such part. With ``put``, the names of pages,
    it has only these as they are stored: none is rebuilt, and ``Busy`` is raised if
    there are more by now. With ``INDEX`` the site has an index as soon as it has two
    sections, unless that is of no use (``may_be_index``).

    Raises ``Filling`` while the bounds of pages are being found, and ``UnusableError``
    where a section cannot be used and was never built, or nothing could be listed.
    """
    wanted = {name} if name else set(registry.sources())
    unusable = wanted.difference(item.name for item in sources)
    if not name and (news := set(separate_news())):
        sources = [item for item in sources if item.name not in news]
        unusable -= news
    listing = list_pages(name, sources)
    unusable |= listing.unusable
    further = _pages_of_unusable(unusable)
    if put is not None:
        if any(item.entries for item in listing.pages if item.name not in put):
            raise Busy("A page was divided.")
        listing.pages = [item for item in listing.pages if item.name in put]
        further = [item for item in further if item.name in put]
    extra = [] if name else extra_sitemaps(site, in_index=True)
    # Search engines show their figures by file: see docs/notifying.md.
    by_section = may_be_index and not name and get_settings().INDEX and len(sources) > 1
    # An index of nothing would be invalid.
    by_section = by_section and bool(listing.indexed)
    fits_one = part == 1 and not (further or extra or by_section)
    if fits_one and _entries_wanted(name, listing):
        bodies = _bodies(listing.pages, site, or_stale=put is not None)
        known = [{item.next_number, one.next_number} - {0} for item, one in bodies]
        if any(len(numbers) > 1 for numbers in known):
            # Somebody divided a page meanwhile: these are not all entries. Once more.
            return document_of(name, sources, site, put=put, may_be_index=may_be_index)
        whole = joined(bodies)
        if whole is not None:
            if unusable and not whole.entries:
                raise _nothing_of(unusable)
            return whole
        # Some were built for it.
        listing = list_pages(name, sources)
        _remember(name, listing, is_index=True)
    listed_pages: list[ListedPage | str] = [*listing.indexed, *further, *extra]
    if unusable and not listed_pages:
        raise _nothing_of(unusable)
    if not 1 <= part <= max(1, math.ceil(len(listed_pages) / MAX_INDEX_ENTRIES)):
        return None
    chosen = listed_pages[(part - 1) * MAX_INDEX_ENTRIES : part * MAX_INDEX_ENTRIES]
    # At most so many as an index may have; together they are some megabytes.
    written = list(_written(chosen, site))
    return Document.of(index_xml(written, stylesheet=get_settings().stylesheet))


def _nothing_of(unusable: Iterable[str]) -> UnusableError:
    names = ", ".join(sorted(unusable))
    return UnusableError(f"Sections that cannot be used, and have no pages: {names}.")


def _pages_of_unusable(names: Collection[str]) -> list[ListedPage]:
    """
    Return the stored pages of sections that cannot be used.

    Raises ``UnusableError`` if one of them has none: it may have any number of URLs.
    """
    if not names:
        return []
    known = registry.sources()
    columns = "section__name", "number", "lastmod", "entries", "checksum"
    every = pages().on_site(names).order_by("section", "number")
    rows = list(every.values_list(*columns))
    built = {name for name, *_, checksum in rows if checksum}
    if never_built := {*names} - built:
        raise _nothing_of(never_built)
    return [
        ListedPage(SectionSource(name, known[name], key=None), number, lastmod)
        for name, number, lastmod, entries, _ in rows
        if entries != 0
    ]


def _bodies(
    listed_pages: Sequence[ListedPage], site: SiteAddress, *, or_stale: bool
) -> list[tuple[ListedPage, Document]]:
    """
    Return the documents of some pages; ``or_stale``: as they are stored.

    Raises what one of them raises that was never built and cannot be, and
    ``UnusableError`` for one of which nothing is stored. Pages by position are built.
    """
    found = fresh_documents(listed_pages, site, or_stale=or_stale)
    missing = [item for item in listed_pages if item.name not in found]
    for item in missing:
        document = None
        if item.source.key is None or not or_stale:
            document = page_or_former(*item.place, site)
        if document is not None:
            found[item.name] = document
        elif or_stale:
            raise UnusableError(f"Nothing is stored of {item.name}.")
    if missing and len(listed_pages) > 1:
        # Of a page that was split, not what it shows to those who ask for it alone.
        found |= fresh_documents(missing, site)
    return [(item, found[item.name]) for item in listed_pages if item.name in found]


def _entries_wanted(name: str, listing: ListedPages) -> bool:
    """Decide between entries and index by what the ledger knows, and remember it."""
    wanted = _fit_one_file(listing, _FEW if listing.is_index else 1)
    _remember(name, listing, is_index=not wanted)
    return wanted


def _fit_one_file(listing: ListedPages, share: float) -> bool:
    """Return whether the entries of all pages fit this share of one file."""
    own = listing.pages
    # Most that do not fit have too many, which is quickly known.
    if _sum(own) > MAX_ENTRIES * share:
        return False
    if listing.is_index and any(item.entries is None for item in own):
        return False
    if sum(item.size for item in own) > MAX_BYTES * share:
        return False
    by_source = groupby(own, key=lambda item: item.source)
    if not all(_few(list(items), source, share) for source, items in by_source):
        return False
    # News stand with no other section's, and are not more than fit a page.
    has_news = any(item.source.is_news for item in own)
    if has_news and len({item.source.name for item in own}) > 1:
        return False
    return _sum(item for item in own if "news" in item.source.media) <= MAX_NEWS * share


def _few(items: Sequence[ListedPage], source: SectionSource, share: float) -> bool:
    """Return whether a section's entries fit one file, clearly so after an index."""
    # Those that were never counted are as full as they were divided, except the last.
    unknown = sum(item.entries is None for item in items[:-1])
    uncounted = unknown * source.limit * FILL
    return _sum(items) + uncounted <= source.most_in_one_file * share


def _sum(items: Iterable[ListedPage]) -> int:
    return sum(item.entries or 0 for item in items)


def _remember(name: str, listing: ListedPages, *, is_index: bool) -> None:
    """Write down what an address holds, unless none of its pages is the ledger's."""
    known = any(item.source.key is not None for item in listing.pages)
    if not known or is_index == listing.is_index:
        return
    row_of(name)
    sections().filter(name=name).update(is_index=is_index)


def extra_sitemaps(site: SiteAddress, *, in_index: bool) -> list[str]:
    """
    Return the addresses of ``EXTRA_SITEMAPS`` that the index lists, or robots.txt.

    An index may list sitemaps of its own host, in its folder.
    https://www.sitemaps.org/protocol.html#index
    """
    found = []
    for extra in get_settings().extra_sitemaps:
        url = resolve(extra.url, str(site.origin))
        if (extra.in_index and may_be_in_index(url, site)) is in_index:
            found.append(url)
    return found


def may_be_in_index(url: str, site: SiteAddress) -> bool:
    """Return whether the index of a site may list a sitemap."""
    return url.startswith(f"{site.origin}{site.folder}")


def why_unusable(name: str) -> str:
    """Return why a registered section cannot be used; empty if it can."""
    try:
        definition(source(name))
    except ConfigurationError as error:
        return str(error)
    except Exception as error:  # items() may raise whatever it likes
        return describe(error)
    return ""
