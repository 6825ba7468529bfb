"""
The site map for people: links by section, a hundred at a time.

A section is divided as its sitemaps are, and each of those again by position within it.
So a request reads the rows of a hundred links, within the boundaries of one page of the
sitemap, however large the section is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import unquote

from django.core.paginator import EmptyPage
from django.db.models import QuerySet, Sum
from django.utils.formats import number_format
from django.utils.text import capfirst
from django.utils.translation import get_language, get_language_info

from django_sitemaps_plus.changes.titles import title_of_item
from django_sitemaps_plus.pagination.bounds import KeyRange, bounds_of, fill
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import of_sections, ordered, pages
from django_sitemaps_plus.protocol.limits import MAX_ENTRIES
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.rendering.listing import listing_of, location_of
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps.attributes import alias, item_title, section_title
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress, rendering_context

from .by_position import position_pages
from .index import all_sources
from .listed import FILL_SECONDS

#: Links of one page for people, and on the first page of all small sections together.
LINKS = 100

_ALTERNATE = re.compile(r'hreflang="([^"]*)" href="([^"]*)"')


@dataclass(frozen=True)
class Link:
    """What a person follows."""

    url: str
    text: str
    #: Its language as BCP 47 names it; empty if it is not known.
    language: str = ""
    #: The same in other languages, each with the language's own name as text.
    others: Sequence[Link] = ()


@dataclass(frozen=True)
class Heading:
    """A section on the first page, with its links if they are few."""

    name: str
    text: str
    #: How many items it has; None if they were not counted yet.
    count: int | None = None
    links: Sequence[Link] = ()

    @property
    def shown_count(self) -> str:
        """The number as it is written in the visitor's language."""
        return str(number_format(self.count or 0, force_grouping=True))


@dataclass
class LinkPage:
    """A hundred links of a section, and where they stand in it."""

    name: str
    heading: str
    #: Which page of the section's sitemap they are from, by its number; all of them.
    number: int = 1
    numbers: Sequence[int] = (1,)
    #: Which hundred of it they are, counted from 1; and how many there are.
    page: int = 1
    pages: int = 1
    links: list[Link] = field(default_factory=list)

    @property
    def part(self) -> int:
        """Which page of the sitemap it is, counted from 1 in the order of keys."""
        return self.numbers.index(self.number) + 1

    @property
    def previous(self) -> tuple[int, int] | None:
        """Number and page of what comes before; a part's last page is not counted."""
        if self.page > 1:
            return self.number, self.page - 1
        return (self.numbers[self.part - 2], 1) if self.part > 1 else None

    @property
    def following(self) -> tuple[int, int] | None:
        """Number and page of what comes next."""
        if self.page < self.pages:
            return self.number, self.page + 1
        last = self.part == len(self.numbers)
        return None if last else (self.numbers[self.part], 1)


def headings(site: SiteAddress) -> list[Heading]:
    """
    Return the sections that list anything, in the order of their registration.

    With their links while these fit one page together.
    """
    sources = all_sources()
    counts = _counts(sources)
    found, left = [], LINKS
    for source in sources:
        count = counts.get(source.name)
        links: Sequence[Link] = ()
        if count is not None and 0 < count <= left:
            page = link_page(source, site)
            links = page.links if page is not None else ()
            left -= count
        if count != 0:
            found.append(Heading(source.name, heading_of(source), count, links))
    return found


def _counts(sources: Sequence[SectionSource]) -> dict[str, int]:
    """Return how many items sections have, where that is known."""
    names = [source.name for source in sources]
    rows = pages().filter(of_sections(names), section__filled=True).order_by()
    sums = rows.values_list("section__name").annotate(count=Sum("items"))
    found = {name: count for name, count in sums if count is not None}
    for source in sources:
        if source.key is None and not source.contrib_pages:
            items = source.items()
            if isinstance(items, (list, tuple)):
                found[source.name] = len(items)
    return found


def heading_of(source: SectionSource) -> str:
    """Return what people call a section: its ``title``, or its model's in plural."""
    title = section_title(source.sitemap)
    if not title and source.key is not None:
        title = str(source.key.model._meta.verbose_name_plural)
    if not title:
        title = re.sub(r"[-_]+", " ", source.name)
    return str(capfirst(title))


def link_page(
    source: SectionSource, site: SiteAddress, number: int | None = None, page: int = 1
) -> LinkPage | None:
    """
    Return a hundred links of a section; None if it has no such page.

    ``number`` is that of a page of its sitemap, by default the first. Raises
    ``Filling`` while the boundaries of pages are being found.
    """
    own = site.with_scheme(source.sitemap.protocol)
    reader = Reader(source, own)
    found = LinkPage(source.name, heading_of(source))
    start = (page - 1) * LINKS
    if source.key is None:
        count = position_pages(source)
        found.numbers = range(1, count + 1)
    else:
        found.numbers = list(
            ordered(fill(source, FILL_SECONDS)).values_list("number", flat=True)
        )
    found.number = found.numbers[0] if number is None else number
    found.page = page
    # A page has not more rows; a database refuses numbers that are much larger.
    if not 1 <= page <= MAX_ENTRIES or found.number not in found.numbers:
        return None
    if source.key is None:
        rows, items = _by_position(reader, found.number, start)
    else:
        rows, items = _by_key(reader, found.number, start)
    found.pages = max(1, math.ceil(rows / LINKS))
    if page > found.pages:
        return None
    found.links = list(_links(reader, items))
    return found


#: An item, if there is one, and the text of its entries; None if it is a bad row.
Items = Iterable[tuple[Any, str | None]]


def _by_key(reader: Reader, number: int, start: int) -> tuple[int, Items]:
    """Return how many rows a page has, and the items of a hundred of them."""
    source = reader.source
    row = pages().get(of_sections(source.name), number=number)
    key_range = KeyRange.of(source)
    with rendering_context(reader.site):
        lower, upper = bounds_of(key_range.key, row)
        rows = key_range.key.order(key_range.rows(lower, upper))
        rows = _with_titles(rows, source.sitemap)
        items = list(rows[start : start + LINKS])
        keys = [key_range.key.of(item) for item in items]
        dumps = key_range.key.dumps
        texts = {dumps(key): text for key, text in reader.of_keys(keys)} if keys else {}
        count = _rows_of(row, key_range, start + len(items))
    pairs = zip(items, map(dumps, keys), strict=True)
    return count, [(item, texts.get(text)) for item, text in pairs]


def _rows_of(row: Page, key_range: KeyRange, least: int) -> int:
    """Return how many rows a page has, as it was built; counted if it was not."""
    if row.entries is not None:
        return max(row.items, least)
    return key_range.count(*bounds_of(key_range.key, row))


def _by_position(reader: Reader, number: int, start: int) -> tuple[int, Items]:
    source = reader.source
    with source.context(reader.site):
        if source.contrib_pages:
            # The class builds its page itself, and whole.
            try:
                batches = list(reader.by_position(number))
            except EmptyPage:
                batches = []
            texts = [text for _, some in reader.texts(batches) for text in some.each()]
            return len(texts), [(None, text) for text in texts[start : start + LINKS]]
        size = source.items_per_page
        items = source.items()
        if isinstance(items, QuerySet):
            items, total = _with_titles(items, source.sitemap), items.count()
        else:
            total = len(items)
        first = (number - 1) * size
        count = max(0, min(size, total - first))
        chunk = list(islice(items[first + start : first + count], LINKS))
        given = reader.texts(reader.objects(chunk, [""] * len(chunk)))
        texts = [text for _, some in given for text in some.each()]
    return count, list(zip(chunk, texts, strict=True))


def _links(reader: Reader, items: Items) -> Iterator[Link]:
    for item, text in items:
        if text is None:
            # A bad row, which the sitemap leaves out too.
            continue
        found = [
            _link(reader.site, location_of(written, ORIGIN_MARK), rest.decode())
            for written, rest in listing_of(text.encode()).items()
        ]
        if not found:
            continue
        # The visitor's language first, if it is among them.
        found.sort(key=lambda link: link.language.lower() != (get_language() or ""))
        first = found[0]
        others = [
            Link(link.url, _language_name(link.language) or link.text, link.language)
            for link in found[1:]
        ]
        title = _title_of(reader.sitemap, item)
        yield Link(first.url, title or first.text, first.language, others)


def _link(site: SiteAddress, location: str, rest: str) -> Link:
    """Return the link to an entry; its language is that of the alternate to itself."""
    alternates = {
        location_of(href.encode(), ORIGIN_MARK): language
        for language, href in _ALTERNATE.findall(rest)
        if language != "x-default"
    }
    return Link(
        url=site.url(location),
        text=unquote(location),
        language=alternates.get(location, ""),
    )


def _title_of(sitemap: Any, item: Any) -> str:
    if item is None:
        return ""
    if getattr(sitemap, "item_title", None) is None:
        return str(item).strip()
    return title_of_item(sitemap, item)


def _with_titles(items: Any, sitemap: Any) -> Any:
    """Return a queryset that selects the items' titles too, if it has to."""
    declared = item_title(sitemap)
    return items.annotate(**{alias(name): declared[name] for name in declared})


def _language_name(code: str) -> str:
    """Return what a language calls itself; its code if Django does not know it."""
    if not code:
        return ""
    try:
        return str(get_language_info(code)["name_local"])
    except KeyError:
        return code
