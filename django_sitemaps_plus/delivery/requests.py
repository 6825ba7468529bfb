"""
Submissions that somebody requests: some URLs, recent changes, or all URLs.

It is read piecemeal, so that memory does not grow with the site. A plan says what would
be submitted to whom now.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from django_sitemaps_plus.changes.queries import url_changes
from django_sitemaps_plus.db import ROWS, database_time, digest_of, parts
from django_sitemaps_plus.pagination.queries import ledger
from django_sitemaps_plus.rendering.listing import locations_of
from django_sitemaps_plus.serving import index
from django_sitemaps_plus.serving.documents import page_document
from django_sitemaps_plus.serving.listed import list_pages
from django_sitemaps_plus.sitemaps.site import SiteAddress

from . import outbox
from .engines import engines
from .models import engine_states, submissions
from .outbox import Kind

#: URLs that a plan names as examples.
_SHOWN = 3


def given(urls: Iterable[str], site: SiteAddress) -> list[tuple[str, str]]:
    """
    Return URLs or paths of the site as locations, each once, without a section.

    Raises ``LocationError`` for a URL of another host, and for an invalid one.
    """
    locations = dict.fromkeys(site.origin.local_path(url) for url in urls)
    return [(location, "") for location in locations]


def since(moment: float, sections: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each URL to which something happened since a time, as far as stored."""
    last, seen = 0, set[str]()
    rows = url_changes().filter(at__gte=moment).exclude(queued_at=None).order_by("pk")
    if sections:
        rows = rows.filter(section__in=sections)
    while some := list(rows.filter(pk__gt=last)[:ROWS]):
        for row in some:
            digest = digest_of(row.location)
            if digest not in seen:
                seen.add(digest)
                yield row.location, row.section
        last = some[-1].pk


def everything(sections: Sequence[str], site: SiteAddress) -> Iterator[tuple[str, str]]:
    """Yield all URLs that some sections list, or all that can be used."""
    for source in index.usable():
        if sections and source.name not in sections:
            continue
        for item in list_pages(source.name, [source]).pages:
            document = page_document(source, item.number, site)
            body = document.body if document else b""
            for location in locations_of(body):
                yield html.unescape(location.decode()), source.name


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
) -> list[Plan]:
    """
    Return what would be submitted: what waits in the outbox, and what is asked for.

    What is asked for is not put into the outbox. What ``asked`` yields twice may be
    counted twice, so that memory does not grow with it.
    """
    now = database_time(ledger())
    plans: dict[tuple[str, str], Plan] = {}
    paused = set[tuple[str, str]]()
    waits = submissions().filter(due_at__isnull=False)
    for state in engine_states().filter(engine__in=aliases):
        place = state.engine, state.host
        rows = waits.filter(engine=state.engine, host=state.host)
        if not state.problem and max(state.paused_until, state.exhausted_until) > now:
            paused.add(place)
        waiting = rows.filter(section__in=sections) if sections else rows
        count = waiting.count()
        due = 0 if place in paused else waiting.filter(due_at__lte=now).count()
        urls = waiting.order_by("due_at").values_list("url", flat=True)
        plans[place] = Plan(
            *place, urls=due, postponed=count - due, examples=list(urls[:_SHOWN])
        )
    rest = (outbox.notice(url, site, Kind.REQUESTED, section) for url, section in asked)
    for some in parts(rest):
        for alias in aliases:
            for item, due_at in outbox.new_of(engines()[alias], some, now):
                place = alias, item.host
                of_place = plans.setdefault(place, Plan(*place))
                is_due = due_at <= now and place not in paused
                of_place.urls += is_due
                of_place.postponed += not is_due
                if len(of_place.examples) < _SHOWN:
                    of_place.examples.append(item.url)
    for of_place in plans.values():
        of_place.requests = -(-of_place.urls // engines()[of_place.engine].max_urls)
    return [plan for _, plan in sorted(plans.items()) if plan.examples]
