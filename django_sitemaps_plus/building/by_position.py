"""
Pages of sections that are paged by position, as contrib does: built for each request.

Nothing is known of them but what the sitemap class says now.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import Error as DatabaseError
from django.db.models import QuerySet

from django_sitemaps_plus.exceptions import ConfigurationError, TooManyBadRows
from django_sitemaps_plus.protocol.errors import PageFull
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.protocol.writers import UrlsetWriter, urlset_header
from django_sitemaps_plus.rendering.columns import epoch, latest_believed
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.rendering.serializer import describe
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import (
    PLACEHOLDER_SITE,
    SiteAddress,
    rendering_context,
)
from django_sitemaps_plus.storing.bad_rows import are_too_bad, log_bad, too_many
from django_sitemaps_plus.storing.stylesheet import stylesheet

from .page_writer import raises

logger = logging.getLogger("django_sitemaps_plus")

#: Pages of a section of which all are stored and compared; more are built on request.
MOST_PAGES = 10

_MARK = ORIGIN_MARK.encode()


def position_size(source: SectionSource, site: SiteAddress) -> tuple[int, int]:
    """Return how many items a section by position has, and on how many pages."""
    with source.context(site):
        if source.contrib_pages:
            paginator = source.sitemap.paginator
            return int(paginator.count), int(paginator.num_pages)
        items = source.items()
        count = items.count() if isinstance(items, QuerySet) else len(items)
    return count, max(1, math.ceil(count / source.items_per_page))


def position_pages(source: SectionSource) -> int:
    """Return how many pages a section has that is paged by position."""
    return position_size(source, PLACEHOLDER_SITE)[1]


@rendering_context(PLACEHOLDER_SITE)
def newest_lastmod(source: SectionSource) -> float | None:
    """
    Ask a sitemap for its newest lastmod.

    It is not known if an item's cannot be had, or is more than a day in the future.
    """
    try:
        newest = epoch(source.sitemap.get_latest_lastmod())
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
    if newest is None or newest > latest_believed().timestamp():
        return None
    return newest


@dataclass
class Entries:
    """A document of entries by position, and its sections' lastmods as declared."""

    chunks: list[bytes] = field(default_factory=list)
    lastmods: list[list[Any]] = field(default_factory=list)


def by_position(
    sources: Sequence[SectionSource], number: int, site: SiteAddress
) -> Entries:
    """
    Return page ``number`` of each source in one document, built now.

    Raises ``PageFull`` if they are more than a page may hold, ``TooManyBadRows`` if
    more of a source's rows are bad than ``MAX_BAD`` allows, or all of them.
    """
    built = Entries()
    writer = UrlsetWriter(built.chunks.append, header=_header_of(sources))
    for source in sources:
        own = site.with_scheme(source.sitemap.protocol)
        origin = str(own.origin).encode()
        reader = Reader(source, own, raises=raises())
        rows, entries, lastmods = 0, 0, list[Any]()
        with source.context(own):
            for batch, texts in reader.texts(reader.by_position(number)):
                block = texts.whole.encode().replace(_MARK, origin)
                writer.add_xml(block, texts.entries)
                rows += len(batch.labels)
                entries += texts.entries
                lastmods += batch.declared_lastmods()
        tally = reader.tally
        if are_too_bad(len(tally.bad), rows, entries):
            problem = too_many(tally.bad, rows, f"{source.name}-{number}")
            logger.error(problem)
            raise TooManyBadRows(problem)
        log_bad(source.name, tally)
        built.lastmods.append(lastmods)
    if not writer.entries:
        # Contrib's template leaves an empty line, and Django's own test wants it.
        writer.add_xml(b"\n", entries=0)
    writer.finish()
    return built


def _header_of(sources: Iterable[SectionSource]) -> bytes:
    """
    Return the beginning of a document with the entries of some sections.

    Contrib's views name no stylesheet: there may be none beside them.
    """
    given = list(sources)
    media = {name for source in given for name in source.media}
    return urlset_header(
        images="images" in media,
        videos="videos" in media,
        news="news" in media,
        stylesheet="" if any(source.is_live for source in given) else stylesheet(),
    )


def page_bytes(source: SectionSource, number: int, site: SiteAddress) -> bytes:
    """
    Return page ``number`` of a section.

    Raises ``ConfigurationError`` if that is more than a page may hold.
    """
    try:
        return b"".join(by_position([source], number, site).chunks)
    except PageFull as error:
        raise too_large(source, number) from error


def too_large(source: SectionSource, number: int) -> ConfigurationError:
    """Return the error for a page by position that is more than a file may hold."""
    return ConfigurationError(
        f"Page {number} of the section {source.name!r} is more than a sitemap may "
        "hold (50,000 URLs, 50 MB), and a section that is paged by position cannot "
        "be split: set a lower limit on its class."
    )
