"""
What somebody asks to be submitted: some URLs, recent changes, or all that is listed.

It is read piecemeal, so that memory does not grow with the site. A plan says what would
be submitted to whom now, and writes nothing.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from django.db.models import Q

from django_sitemaps_plus.changes.queries import location_digest, url_changes
from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.protocol.locations import local_path
from django_sitemaps_plus.publishing import index
from django_sitemaps_plus.publishing.documents import page_document
from django_sitemaps_plus.publishing.forecast import forecast
from django_sitemaps_plus.publishing.listed import listed
from django_sitemaps_plus.rendering.listing import locations_of
from django_sitemaps_plus.sitemaps.site import SiteAddress

from . import outbox
from .engines import engines
from .models import digest_of
from .outbox import Kind, Notice
from .queries import states, submissions

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
    """Yield each URL to which something happened since a time, as far as stored."""
    last = 0
    known = set[str]()
    while True:
        rows = url_changes().filter(pk__gt=last, at__gte=moment, on_hold=False)
        if sections:
            rows = rows.filter(section__in=sections)
        some = list(rows.order_by("pk")[:ROWS])
        for row in some:
            digest = location_digest(row.location)
            if digest not in known:
                known.add(digest)
                yield row.location, row.section
        if not some:
            return
        last = some[-1].pk


def everything(sections: Sequence[str], site: SiteAddress) -> Iterator[tuple[str, str]]:
    """Yield all URLs that some sections list, or all that can be used."""
    for source in index.all_sources():
        if sections and source.name not in sections:
            continue
        for item in listed(source.name, [source]).pages:
            document = page_document(source, item.number, site)
            body = document.body if document else b""
            for found in locations_of(body):
                yield html.unescape(found.decode()), source.name


@dataclass
class Plan:
    """What would be submitted to one engine, of one host."""

    engine: str
    host: str
    #: What would be sent now, and in how many requests.
    urls: int = 0
    requests: int = 0
    #: What would wait: for the engine's interval or its quota, or because it is paused.
    postponed: int = 0
    #: Some of all these.
    examples: list[str] = field(default_factory=list)


def plan(
    asked: Iterable[tuple[str, str]],
    site: SiteAddress,
    aliases: Sequence[str],
    sections: Sequence[str],
    progress: Callable[[int], object] = lambda pages: None,
) -> list[Plan]:
    """
    Return what would be submitted: what is asked for, what waits, what happened.

    Each URL is counted once, however often it is among these; but what ``asked`` yields
    twice is counted twice unless it is a list, so that memory does not grow with it.
    """
    found = _Plans(aliases)
    found.add_waiting(sections)
    is_list = isinstance(asked, list)
    if is_list:
        found.add(_requested(asked, site))
    found.add(_happened(site, sections, progress))
    if not is_list:
        found.add(_requested(asked, site), remember=False)
    return [found.plans[key] for key in sorted(found.plans)]


class _Plans:
    """The plans for some engines, and what is in them already."""

    def __init__(self, aliases: Sequence[str]) -> None:
        self.plans: dict[tuple[str, str], Plan] = {}
        self._aliases = aliases
        self._known = set[tuple[str, str]]()
        self._now = database_time(submissions().db)
        self._paused = {
            (state.engine, state.host)
            for state in states().filter(
                Q(paused_until__gt=self._now, problem="")
                | Q(exhausted_until__gt=self._now)
            )
        }

    def add_waiting(self, sections: Sequence[str]) -> None:
        """Add what is in the outbox."""
        for _, rows in outbox.queues(self._aliases):
            found = rows.filter(section__in=sections) if sections else rows
            for row in found.order_by("due_at").iterator():
                self._known.add((row.engine, row.digest))
                self._count(row.engine, row.host, row.url, row.due_at or 0.0)

    def add(self, notices: Iterable[Notice], *, remember: bool = True) -> None:
        """Add what would be queued."""
        rest = iter(notices)
        while some := list(islice(rest, ROWS)):
            for alias in self._aliases:
                engine = engines()[alias]
                own = [item for item in some if outbox.takes(engine, item)]
                new = {digest_of(item.url): item for item in own}
                for digest in [d for d in new if (alias, d) in self._known]:
                    del new[digest]
                due_at = outbox.due_times(alias, engine, new, self._now)
                for digest, item in new.items():
                    self._count(alias, item.host, item.url, due_at[digest])
                if remember:
                    self._known.update((alias, digest) for digest in new)

    def _count(self, alias: str, host: str, url: str, due_at: float) -> None:
        plan = self.plans.setdefault((alias, host), Plan(alias, host))
        if due_at > self._now or (alias, host) in self._paused:
            plan.postponed += 1
        else:
            plan.urls += 1
            plan.requests = -(-plan.urls // engines()[alias].max_urls)
        if len(plan.examples) < SHOWN:
            plan.examples.append(url)


def _requested(found: Iterable[tuple[str, str]], site: SiteAddress) -> Iterator[Notice]:
    for location, section in found:
        yield outbox.notice(location, site, Kind.REQUESTED, section)


def _happened(
    site: SiteAddress, sections: Sequence[str], progress: Callable[[int], object]
) -> Iterator[Notice]:
    """Yield what happened to URLs, and what is about to be found out."""
    changes = outbox.unqueued()
    if sections:
        changes = changes.filter(section__in=sections)
    happened = False
    for change in changes.iterator():
        happened = True
        yield outbox.notice_of(change, site)
    for source in index.all_sources():
        if not sections or source.name in sections:
            for location in forecast(source, site, progress):
                happened = True
                yield outbox.notice(location, site, Kind.CHANGED, source.name)
    if happened and not sections:
        yield from outbox.sitemap_notices(site)
