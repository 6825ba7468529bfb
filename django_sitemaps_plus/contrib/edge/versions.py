"""
Which documents the site has now, and which version of each is served.

The version of a page is in the ledger. What gathers pages, an index for example, is put
together as for a request: nothing else knows what it says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from urllib.parse import quote

from django_sitemaps_plus import hooks
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.protocol.limits import MAX_INDEX_ENTRIES
from django_sitemaps_plus.serving.documents import page_or_former
from django_sitemaps_plus.serving.index import (
    address,
    document_of,
    extra_sitemaps,
    usable,
    with_ending,
)
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress

#: A document's name, and its version; None if it cannot be had now.
Version = tuple[str, str | None]


def urls_of(document: str, site: SiteAddress) -> list[str]:
    """Return the URLs of a document: its own, and that of its gzipped twin."""
    folder = address(site, "site").rpartition("/")[0]
    url = f"{folder}/{quote(document)}"
    has_twin = document.rpartition(".")[2] in ("xml", *hooks.derived(site))
    return [url, f"{url}.gz"] if has_twin else [url]


def versions(site: SiteAddress) -> Iterator[Version]:
    """Yield all documents but those that only settings change, such as robots.txt."""
    names, endings = list(registry.sources()), ("xml", *hooks.derived(site))
    counts = Counter(name for name, _, _ in _stored_pages(names))
    sources = {source.name: source for source in usable()}
    extra = len(extra_sitemaps(site, in_index=True))
    yield from _gathered("", sources.values(), site, endings, counts.total() + extra)
    for name in names:
        own = [sources[name]] if name in sources else []
        yield from _gathered(name, own, site, endings, counts[name])
    # Afterwards: pages may have been built for one file.
    for name, number, version in _stored_pages(names):
        for ending in endings:
            yield f"sitemap-{name}-{number}.{ending}", site.version_tag(version)
    for source in sources.values():
        for name, found in _built_pages(source, site) if source.key is None else ():
            for ending in endings:
                yield with_ending(name, ending), found
    for name, make in hooks.documents(site):
        yield name, make().tag


def _stored_pages(names: Collection[str]) -> Iterator[tuple[str, int, str]]:
    """Yield section, number and served version of each stored page of some sections."""
    rows = Page.objects.on_site(names).exclude(checksum="")
    yield from rows.values_list("section__name", "number", "checksum")


def _built_pages(source: SectionSource, site: SiteAddress) -> Iterator[Version]:
    """Yield the pages of a section by position, which are built for it."""
    numbers = range(1, 2)
    with suppress(Exception):  # items() may raise whatever it likes: the log says so
        numbers = range(1, source.position_pages + 1)
    for number in numbers:
        version: str | None = None
        with suppress(SitemapsPlusError):
            found = page_or_former(source, number, site)
            version = None if found is None else found.tag
        yield f"sitemap-{source.name}-{number}.xml", version


def _gathered(
    name: str,
    sources: Iterable[SectionSource],
    site: SiteAddress,
    endings: Sequence[str],
    count: int,
) -> Iterator[Version]:
    """Yield what stands at the address of a section, or of the site: of ``count``."""
    own, start = list(sources), f"sitemap-{name}" if name else "sitemap"
    for part in range(1, max(1, -(-count // MAX_INDEX_ENTRIES)) + 1):
        index = f"-index-{part}" if part > 1 else ""
        document = f"{start}{index}.xml"
        version: str | None = None
        # Otherwise answered with 503, which no cache stores.
        with suppress(SitemapsPlusError):
            found = document_of(name, own, site, part)
            if found is None:
                continue
            version = found.tag
        for ending in endings:
            yield with_ending(document, ending), version
