"""
What somebody asks to be submitted: some URLs, recent changes, or all that is listed.

It is read piecemeal, so that memory does not grow with the site. A plan says what would
be submitted to whom now, and writes nothing.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from django_sitemaps_plus.changes.queries import url_changes
from django_sitemaps_plus.protocol.locations import local_path
from django_sitemaps_plus.publishing import index
from django_sitemaps_plus.publishing.compression import unpack
from django_sitemaps_plus.rendering.listing import locations_of
from django_sitemaps_plus.sitemaps.site import SiteAddress

from . import outbox
from .engines import engines
from .models import Submission
from .outbox import Kind, Notice

#: Changes of URLs that are read at a time.
ROWS = 500
#: URLs that a plan names as examples.
SHOWN = 3


def given(urls: Iterable[str], site: SiteAddress) -> list[tuple[str, str]]:
    """
    Return URLs or paths of the site as locations, without a section.

    Raises ``LocationError`` for a URL of another host, and for what is no URL.
    """
    return [(local_path(url, site.origin), "") for url in urls]


def since(moment: float, sections: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the URLs to which something happened since a time, as far as stored."""
    last = 0
    while True:
        rows = url_changes().filter(pk__gt=last, at__gte=moment, on_hold=False)
        if sections:
            rows = rows.filter(section__in=sections)
        some = list(rows.order_by("pk")[:ROWS])
        for row in some:
            yield row.location, row.section
        if not some:
            return
        last = some[-1].pk


def everything(sections: Sequence[str], site: SiteAddress) -> Iterator[tuple[str, str]]:
    """Yield all URLs that some sections list, or all that can be used."""
    for source in index.all_sources():
        if sections and source.name not in sections:
            continue
        for item in index.listed(source.name, [source]).pages:
            document = index.page_document(source, item.number, site)
            body = unpack(document.packed) if document else b""
            for found in locations_of(body):
                yield html.unescape(found.decode()), source.name


@dataclass
class Plan:
    """What would be submitted to one engine, of one host."""

    engine: str
    host: str
    urls: int = 0
    requests: int = 0
    examples: list[str] = field(default_factory=list)


def plan(
    asked: Iterable[tuple[str, str]],
    site: SiteAddress,
    aliases: Sequence[str],
    sections: Sequence[str],
) -> list[Plan]:
    """
    Return what would be submitted: what is asked for, what waits, what happened.

    A URL that is in several of these is counted in each, but submitted once.
    """
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], list[str]] = {}

    def count(alias: str, host: str, url: str) -> None:
        counts[alias, host] += 1
        some = examples.setdefault((alias, host), [])
        if len(some) < SHOWN and url not in some:
            some.append(url)

    for item in _notices(asked, site, sections):
        for alias in aliases:
            if outbox.takes(engines()[alias], item.kind):
                count(alias, item.host, item.url)
    for row in _waiting(aliases, sections):
        count(row.engine, row.host, row.url)
    return [
        Plan(alias, host, urls, -(-urls // engines()[alias].max_urls), examples[key])
        for key, urls in sorted(counts.items())
        for alias, host in [key]
    ]


def _notices(
    asked: Iterable[tuple[str, str]], site: SiteAddress, sections: Sequence[str]
) -> Iterator[Notice]:
    for location, section in asked:
        yield outbox.notice(location, site, Kind.REQUESTED, section)
    changes = outbox.unqueued()
    if sections:
        changes = changes.filter(section__in=sections)
    happened = False
    for change in changes.iterator():
        happened = True
        yield outbox.notice_of(change, site)
    if happened and not sections:
        yield from outbox.sitemap_notices(site)


def _waiting(aliases: Sequence[str], sections: Sequence[str]) -> Iterator[Submission]:
    for _, rows in outbox.queues(aliases):
        found = rows.filter(section__in=sections) if sections else rows
        yield from found.order_by("due_at").iterator()
