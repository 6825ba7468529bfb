"""
Pages of sections that are paged by position, as contrib does: built for each request.

Nothing of them is stored, and search engines are not notified of their changes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.paginator import EmptyPage
from django.db import Error as DatabaseError

from django_sitemaps_plus.changes.queries import changes, related_states
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError, TooManyBadRows, describe
from django_sitemaps_plus.pagination.models import Section
from django_sitemaps_plus.pagination.queries import void
from django_sitemaps_plus.protocol.errors import PageFull
from django_sitemaps_plus.protocol.writers import UrlsetWriter, urlset_header
from django_sitemaps_plus.rendering.columns import epoch, latest_believed
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, SiteAddress
from django_sitemaps_plus.storing.bad_rows import log_bad

from .page_writer import raises

logger = logging.getLogger("django_sitemaps_plus")


@PLACEHOLDER_SITE.rendering()
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
        text = "Section %r: its newest lastmod is not known: %s"
        logger.warning(text, source.name, describe(error))
        return None
    is_believed = newest is not None and newest <= latest_believed().timestamp()
    return newest if is_believed else None


@dataclass
class Entries:
    """A document of entries by position, and its sections' lastmods as declared."""

    #: The whole document.
    body: bytes = b""
    lastmods: list[list[Any]] = field(default_factory=list)
    #: How many there are.
    entries: int = 0
    #: How many rows are left out; which, and the first that lack a tag for a reason.
    bad: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)


def by_position(
    sources: Sequence[SectionSource], number: int, site: SiteAddress
) -> Entries:
    """
    Return page ``number`` of each source in one document, built now.

    Raises ``PageFull`` if they are more than a page may hold, ``TooManyBadRows`` if
    more of a source's rows are bad than ``MAX_BAD`` allows, or all of them.
    """
    built, chunks = Entries(), list[bytes]()
    media = {name for source in sources for name in source.media}
    # Contrib's views name no stylesheet: there may be none beside them.
    is_live = any(source.is_live for source in sources)
    stylesheet = "" if is_live else get_settings().stylesheet
    header = urlset_header(media, stylesheet=stylesheet)
    writer = UrlsetWriter(chunks.append, header=header)
    for source in sources:
        own = site.with_scheme(source.sitemap.protocol)
        reader = Reader(source, own, raises=raises())
        rows, entries, lastmods = 0, 0, list[Any]()
        with source.context(own):
            for batch, texts in reader.texts(reader.by_position(number)):
                block = texts.at(str(own.origin)).encode()
                writer.add_xml(block, texts.entries)
                rows += len(batch.labels)
                entries += texts.entries
                lastmods += batch.declared_lastmods()
        tally = reader.tally
        if tally.is_too_bad(rows, entries):
            problem = tally.too_many(rows, f"{source.name}-{number}")
            logger.error(problem)
            raise TooManyBadRows(problem)
        log_bad(source.name, tally)
        built.lastmods.append(lastmods)
        built.entries += entries
        built.bad += len(tally.bad)
        faulty = *tally.bad, *tally.omitted.values()
        built.problems += [(one.label, one.reason) for one in faulty]
    if not writer.entries:
        # Contrib's template leaves an empty line, and Django's own test wants it.
        writer.add_xml(b"\n", entries=0)
    writer.finish()
    built.body = b"".join(chunks)
    return built


def position_page(
    source: SectionSource, number: int, site: SiteAddress
) -> Entries | None:
    """
    Return page ``number`` of a section, built now; None if there is no such page.

    Raises ``ConfigurationError`` if that is more than a page may hold.
    """
    if not 1 <= number <= source.position_size(site)[1]:
        return None
    try:
        return by_position([source], number, site)
    except EmptyPage:
        return None
    except PageFull as error:
        raise ConfigurationError(
            f"Page {number} of the section {source.name!r} is more than a sitemap may "
            "hold (50,000 URLs, 50 MB), and a section that is paged by position cannot "
            "be split: set a lower limit on its class."
        ) from error


def position_all(source: SectionSource, site: SiteAddress) -> Iterator[Entries]:
    """Yield all pages of a section, built now; raises as ``position_page``."""
    number = 1
    while (page := position_page(source, number, site)) is not None:
        yield page
        number += 1


def forget_stored(section: Section) -> None:
    """Delete what is stored of a section that is not paged by key any more."""
    void(section)
    changes(section.name).delete()
    related_states().filter(section=section.name).delete()
