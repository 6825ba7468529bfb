"""What happened to URLs, row by row: written, put on hold, confirmed, deleted."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db.models import Exists, F, Max, OuterRef, QuerySet

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import delete_old
from django_sitemaps_plus.pagination.queries import sections
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site

from .models import Change, UrlChange
from .queries import (
    location_digest,
    url_changes,
)

Kind = UrlChange.Kind

#: Seconds within which more than ``MAX_REMOVED`` removed URLs are put on hold.
WITHIN = 3600
#: Rows of one INSERT.
ROWS = 500
#: Seconds for which a transaction may have had its time before it is committed: what
#: another section removed may have been written later than its time says.
MARGIN = 60.0
#: Removals that the build of a page looks through.
MOST_REMOVALS = 20_000
#: Seconds for which the rows are stored at least: long enough to see in the admin what
#: happened last weekend, and to notify an engine that did not answer for days. What was
#: not submitted by then, crawlers have found in the sitemap.
KEEP = 7 * 86_400


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to one URL: a path on the site, or a whole URL of another."""

    kind: UrlChange.Kind
    location: str
    #: Seconds since the epoch, by the database's clock; whoever writes an event
    #: recognizes it by that.
    at: float
    #: What the entry says, where it is known: a W3C Datetime, and a title for feeds.
    lastmod: str = ""
    title: str = ""
    #: As in ``UrlChange``.
    late: bool = False
    missing: bool = False


def stored_for() -> float:
    """Return for how many seconds the rows are stored: as ``FORMATS`` needs them."""
    formats = get_settings().formats.values()
    return max([KEEP, *(item.days * 86_400 for item in formats)])


def lock(section: str) -> None:
    """
    Keep others from writing events of a section until the transaction ends.

    To be called first in it, before the time is taken and events are read: what
    another transaction is about to say would not be seen.
    """
    # Not by SELECT: SQLite locks for writing only, and best before anything is read.
    sections().filter(name=section).update(next_number=F("next_number"))


def write(section: str, events: Sequence[Event], now: float) -> None:
    """
    Write what happened to URLs of a section; in the transaction that found it out.

    Where more than ``MAX_REMOVED`` are removed from it within an hour, these are put
    on hold. Where no engine is configured, or nobody listens to ``urls_changed``,
    nothing waits for one that is added later.
    """
    if not events:
        return
    removed = sum(event.kind == Kind.REMOVED for event in events)
    is_too_much = _is_too_much(section, removed, now)
    on_hold = [is_too_much and event.kind == Kind.REMOVED for event in events]
    queued_at = None if get_settings().ENGINES else now
    announce_at = now if urls_changed.has_listeners() else None
    url_changes().bulk_create(
        (
            UrlChange(
                section=section,
                kind=event.kind,
                location=event.location,
                digest=location_digest(event.location),
                lastmod=event.lastmod,
                title=event.title,
                at=event.at,
                late=event.late,
                missing=event.missing,
                on_hold=waits,
                queued_at=queued_at,
                announce_at=None if waits else announce_at,
            )
            for event, waits in zip(events, on_hold, strict=True)
        ),
        batch_size=ROWS,
    )


def _is_too_much(section: str, removed: int, now: float) -> bool:
    """
    Return whether too many URLs are removed, and put those of the last hour on hold.

    Removals that somebody confirmed do not count. Those in the outbox already are not
    put on hold: from there they are sent within seconds.
    """
    if not removed:
        return False
    # Locked: two pages that are written at once must both be counted.
    rows = sections().select_for_update().filter(name=section)
    confirmed_at = rows.values_list("confirmed_at", flat=True).first() or 0.0
    since = max(now - WITHIN, confirmed_at)
    lately = url_changes().filter(section=section, kind=Kind.REMOVED, at__gt=since)
    if lately.count() + removed <= get_settings().MAX_REMOVED:
        return False
    lately.filter(queued_at=None).update(on_hold=True, announce_at=None)
    return True


@dataclass(frozen=True, slots=True)
class Known:
    """Since when a page knows a location, and the events that it wrote itself."""

    since: float
    own: frozenset[float]


def reported_by_others(section: str, locations: Mapping[str, Known]) -> set[str]:
    """
    Return those locations of which somebody else's event of the section is newer.

    Removals do not count: they do not say that anybody lists the URL.
    """
    found: set[str] = set()
    for some in _by_digest(locations):
        since = min(locations[name].since for name in some.values())
        rows = _of_listed().filter(section=section, digest__in=list(some), at__gt=since)
        for digest, at in rows.order_by().values_list("digest", "at"):
            known = locations[some[digest]]
            if at > known.since and at not in known.own:
                found.add(some[digest])
    return found


def listed_by_others(locations: Iterable[str], sections: Collection[str]) -> set[str]:
    """Return those locations that one of some sections lists, as it said last."""
    found: set[str] = set()
    for some in _by_digest(locations) if sections else ():
        rows = url_changes().filter(digest__in=list(some), section__in=list(sections))
        # Of a URL that changes all day only the last is read.
        last = rows.order_by().values("digest", "section").annotate(last=Max("pk"))
        ids = list(last.values_list("last", flat=True))
        for start in range(0, len(ids), ROWS):
            said = _of_listed().filter(pk__in=ids[start : start + ROWS])
            found.update(some[one] for one in said.values_list("digest", flat=True))
    return found


def _of_listed() -> QuerySet[UrlChange]:
    """Return the events that say that their section lists the URL."""
    return url_changes().exclude(kind=Kind.REMOVED).filter(missing=False)


def _by_digest(locations: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield locations by their digests, as many as one statement takes."""
    names = iter(locations)
    while some := list(islice(names, ROWS)):
        yield {location_digest(name): name for name in some}


def last_removed(since: float) -> set[str]:
    """
    Return the locations of which the last event is a removal, not before a time.

    Of all sections: what one of them removed another may list. The newest removals
    only: where a site lost very many, nobody waits for all.
    """
    rows = url_changes().filter(section__in=list(registry.sources()))
    removed = rows.filter(kind=Kind.REMOVED, at__gte=since - MARGIN).order_by("-at")
    last: dict[str, int] = {}
    for location, pk in removed.values_list("location", "pk")[:MOST_REMOVALS]:
        last.setdefault(location, pk)
    for some in _by_digest(list(last)):
        others = rows.filter(digest__in=list(some)).exclude(kind=Kind.REMOVED)
        for digest, pk in others.values_list("digest", "pk"):
            if pk > last.get(some[digest], pk):
                last.pop(some[digest])
    return set(last)


def confirm(section: str, now: float) -> int:
    """
    Let what is on hold of a section be submitted; returns how many URLs.

    What is listed again by now is submitted as changed.
    """
    sections().filter(name=section).update(confirmed_at=now)
    waiting = url_changes().filter(section=section, on_hold=True)
    same = _of_listed().filter(digest=OuterRef("digest"))
    since = same.filter(pk__gt=OuterRef("pk"))
    again = list(waiting.filter(Exists(since)).values_list("pk", flat=True))
    for start in range(0, len(again), ROWS):
        some = url_changes().filter(pk__in=again[start : start + ROWS])
        some.update(kind=Kind.CHANGED)
    announce_at = now if urls_changed.has_listeners() else None
    return waiting.update(on_hold=False, announce_at=announce_at)


def prune() -> int:
    """
    Delete what is older than ``stored_for()``, of all sites; return how many.

    Also old changes of Sites of which no process takes care: every save is recorded for
    them too, as long as they have sections.
    """
    if Site.default().may_share_database:
        described = [site.key for site in Site.all()]
        others = Change.objects.of_all_sites().exclude(site__in=described)
        delete_old(others, "at", time.time() - KEEP)
    rows = UrlChange.objects.of_all_sites()
    return delete_old(rows, "at", time.time() - stored_for())
