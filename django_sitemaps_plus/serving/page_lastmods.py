"""The rows of a page, read again, and the lastmods of the URLs that they list."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

from django_sitemaps_plus.pagination.bounds import bounds_of
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.rendering.listing import (
    lastmod_of,
    listing_of,
)
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress, rendering_context


def rows_of_page(
    source: SectionSource, page: Page, site: SiteAddress, most: int | None = None
) -> Iterator[tuple[Any, dict[str, str]]]:
    """
    Yield the key of each row of a page, and the lastmods of the URLs that it lists.

    They are read again, about ``most`` of them. A page by position has no keys: in
    their place stands what the items are called.
    """
    own = site.with_scheme(source.sitemap.protocol)
    reader = Reader(source, own)
    key, read = source.key, 0
    with rendering_context(own):
        if key is None:
            batches = reader.by_position(page.number)
        else:
            batches = reader.by_key(*bounds_of(key, page), most or source.limit)
        for batch, texts in reader.texts(batches):
            for label, text in zip(batch.labels, texts.each(), strict=True):
                body = (text or "").replace(ORIGIN_MARK, str(own.origin)).encode()
                yield label, lastmods_of(body)
            read += len(batch.labels)
            if most is not None and read >= most:
                return


def lastmods_of(body: bytes) -> dict[str, str]:
    """Return the lastmods of a page, or of the text of some entries, by URL."""
    return {
        html.unescape(url.decode()): lastmod_of(rest)
        for url, rest in listing_of(body).items()
    }
