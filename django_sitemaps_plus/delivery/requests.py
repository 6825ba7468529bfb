"""
What somebody asks to be told: some URLs, what happened since, or all that is listed.

Read bit by bit, so that memory does not grow with the site. A plan says what would be
told to whom, if it were done now: nothing is written.
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
from django_sitemaps_plus.sitemaps import sections as declared_sections
from django_sitemaps_plus.sitemaps.site import SiteAddress

from . import outbox
from .engines import engines
from .models import Submission
from .outbox import Kind, Wanted
from .queries import submissions

#: Rows of the stream that are read at a time.
ROWS = 500


def given(urls: Iterable[str], place: SiteAddress) -> list[tuple[str, str]]:
    """
    Return URLs, or paths, of the site, each with its section, which is not known.

    Raises ``LocationError`` for what is on another host, or no URL.
    """
    return [(local_path(url, place.origin), "") for url in urls]


def since(moment: float, sections: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what happened to URLs since a time, as long as the stream is kept."""
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


def everything(
    sections: Iterable[str], place: SiteAddress
) -> Iterator[tuple[str, str]]:
    """Yield all URLs that sections list."""
    for name in sections:
        source = declared_sections.source(name)
        for item in index.listed(name, [source]).pages:
            document = index.page_document(source, item.number, place)
            body = unpack(document.packed) if document else b""
            for found in locations_of(body):
                yield html.unescape(found.decode()), name


#: URLs that are named as examples.
SHOWN = 3


@dataclass
class Plan:
    """What one engine would be told of one host."""

    engine: str
    host: str
    urls: int = 0
    requests: int = 0
    examples: list[str] = field(default_factory=list)


def plan(
    asked: Iterable[tuple[str, str]],
    place: SiteAddress,
    aliases: Sequence[str],
    sections: Sequence[str],
) -> list[Plan]:
    """
    Return what would be told: what is asked for, what waits, what happened to URLs.

    A URL that is in several of these is counted in each, but told once.
    """
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], list[str]] = {}

    def count(alias: str, host: str, url: str) -> None:
        counts[alias, host] += 1
        some = examples.setdefault((alias, host), [])
        if len(some) < SHOWN and url not in some:
            some.append(url)

    for item in _wanted(asked, place, sections):
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


def _wanted(
    asked: Iterable[tuple[str, str]], place: SiteAddress, sections: Sequence[str]
) -> Iterable[Wanted]:
    for location, section in asked:
        yield outbox.wanted_at(location, place, Kind.REQUESTED, section)
    changes = url_changes().filter(queued_at=None, on_hold=False).order_by("pk")
    if sections:
        changes = changes.filter(section__in=sections)
    happened = False
    for change in changes.iterator():
        happened = True
        yield outbox.url_of(change, place)
    if happened and not sections:
        yield from outbox.sitemaps_of(place)


def _waiting(aliases: Sequence[str], sections: Sequence[str]) -> Iterable[Submission]:
    found = submissions().filter(engine__in=aliases, live=True).order_by("pk")
    return (found.filter(section__in=sections) if sections else found).iterator()
