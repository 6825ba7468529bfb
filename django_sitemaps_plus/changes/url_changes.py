"""What happened to URLs, row by row: written, put on hold, confirmed, deleted."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet

from django_sitemaps_plus import hooks
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import delete_old
from django_sitemaps_plus.pagination.models import Section
from django_sitemaps_plus.pagination.queries import (
    ledger,
    of_sections,
    pages,
    sections,
)
from django_sitemaps_plus.prepared import (
    Prepared,
    Slot,
    insert,
    listed,
    select,
    slots,
    update,
)
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site

from .models import Change, UrlChange
from .queries import (
    location_digest,
    url_changes,
)

_Kind = UrlChange.Kind

#: Seconds within which more than ``MAX_REMOVED`` removed URLs are put on hold.
_WITHIN = 3600
#: Removed URLs from which on it counts that a section lists fewer than it lost.
FEW = 10
#: Rows of one INSERT, and those whose INSERT is compiled once.
ROWS, FEW_ROWS = 500, 8
#: Seconds for which a transaction may have had its time before it is committed: what
#: another section removed may have been written later than its time says.
_MARGIN = 60.0
#: Removals that the build of a page looks through.
_MOST_REMOVALS = 20_000
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
    #: The number of the page that says so.
    page: int | None = None
    #: Of a URL that is missing: when the page itself told of it, and before when it
    #: may have. None: no page of the section is known to list it.
    own: frozenset[float] | None = None
    read_at: float = 0.0


def stored_for() -> float:
    """Return for how many seconds the rows are stored: longer where an app asks."""
    return max(KEEP, hooks.looks_back())


def lock(section: str, next_number: int | None = None) -> bool:
    """
    Keep others from writing events of a section until the transaction ends.

    To be called first in it, before the time is taken and events are read: what
    another transaction is about to say would not be seen. Return whether its
    ``next_number`` is the given one: no page was divided.
    """
    is_given = next_number is not None
    values = {"site": Site.current().key, "name": section, "number": next_number}
    return bool(_LOCK.run(ledger(), is_given, **values))


def _lock_query(is_given: bool) -> Any:
    rows = Section.objects.of_all_sites().filter(site=Slot("site"), name=Slot("name"))
    if is_given:
        rows = rows.filter(next_number=Slot("number"))
    # Not by SELECT: SQLite locks for writing only, and best before anything is read.
    return update(rows, next_number=F("next_number"))


_LOCK = Prepared(_lock_query)


def write_events(section: str, events: Sequence[Event], now: float) -> None:
    """
    Write what happened to URLs of a section; in the transaction that found it out.

    After the pages of which they were found out. Where more than ``MAX_REMOVED`` are
    removed from it within an hour, or more than it still lists, these are put on hold.
    Where no engine is configured, or nobody listens to ``urls_changed``, nothing waits
    for one that is added later.
    """
    if not events:
        return
    removed = sum(event.kind == _Kind.REMOVED for event in events)
    is_too_much = _is_too_much(section, removed, now)
    on_hold = [is_too_much and event.kind == _Kind.REMOVED for event in events]
    queued_at = None if get_settings().ENGINES else now
    announce_at = now if urls_changed.has_listeners() else None
    site = Site.current().key
    rows = [
        UrlChange(
            site=site,
            section=section,
            kind=event.kind,
            location=event.location,
            digest=location_digest(event.location),
            lastmod=event.lastmod,
            title=event.title,
            at=event.at,
            page=event.page,
            late=event.late,
            missing=event.missing,
            on_hold=waits,
            queued_at=queued_at,
            announce_at=None if waits else announce_at,
        )
        for event, waits in zip(events, on_hold, strict=True)
    ]
    if len(rows) <= FEW_ROWS:
        _insert(rows)
    else:
        url_changes().bulk_create(rows, batch_size=ROWS)
    _take_back(section, events)


def _insert(rows: Sequence[UrlChange]) -> None:
    """Insert a few rows, by a statement that is compiled once for each count."""
    values = {
        f"{field.attname}{number}": getattr(row, field.attname)
        for number, row in enumerate(rows)
        for field in UrlChange._meta.concrete_fields
    }
    _INSERT.run(ledger(), len(rows), **values)


_INSERT = Prepared(partial(insert, UrlChange))


def _take_back(section: str, events: Iterable[Event]) -> None:
    """Note of earlier events of missing URLs that they are true no longer."""
    missing = {e.location: e for e in events if e.missing or e.kind == _Kind.REMOVED}
    for some in _by_digest(missing):
        said = _of_listed().filter(section=section, digest__in=list(some)).order_by()
        ids = [
            pk
            for pk, digest, at, page in said.values_list("pk", "digest", "at", "page")
            if (own := (event := missing[some[digest]]).own) is None
            or at in own
            or (page == event.page and at < event.read_at)
        ]
        for start in range(0, len(ids), ROWS):
            rows = url_changes().filter(pk__in=ids[start : start + ROWS])
            rows.update(missing=True)


def hand_on(section: str, former: int, page: int, locations: Iterable[str]) -> None:
    """Note that a new page says what another one did before it was split."""
    for some in _by_digest(locations):
        rows = _of_listed().filter(section=section, digest__in=list(some))
        rows.filter(page=former).update(page=page)


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
    since = max(now - _WITHIN, confirmed_at)
    lately = url_changes().filter(section=section, kind=_Kind.REMOVED, at__gt=since)
    removed += lately.count()
    if removed <= get_settings().MAX_REMOVED and not _are_most(section, removed):
        return False
    lately.filter(queued_at=None).update(on_hold=True, announce_at=None)
    return True


def _are_most(section: str, removed: int) -> bool:
    """Return whether a section lists fewer URLs than were removed from it."""
    if removed < FEW:
        return False
    # No more pages than that are read: each of them lists one URL at least.
    rows = pages().filter(of_sections(section)).exclude(entries=0).order_by()
    counts = list(rows.values_list("entries", flat=True)[:removed])
    # Nobody knows what a page lists that was never built.
    return None not in counts and sum(filter(None, counts)) < removed


@dataclass(frozen=True, slots=True)
class Known:
    """Since when a page knows a location, and the events that it wrote itself."""

    since: float
    own: frozenset[float]
    #: Its number, and when its events were: it knew what was told of its rows by then,
    #: though that be after it was read.
    page: int | None = None
    events_at: float = 0.0


def reported_by_others(section: str, locations: Mapping[str, Known]) -> set[str]:
    """Return those locations that other pages of the section have listed since."""
    return told_since(locations, _of_listed().filter(section=section))


def added_since(section: str, locations: Iterable[str], since: float) -> set[str]:
    """Return those locations that a section has reported as added after some time."""
    known = dict.fromkeys(locations, Known(since, frozenset()))
    return told_since(known, _of_listed().filter(section=section, kind=_Kind.ADDED))


def told_since(
    locations: Mapping[str, Known], events: QuerySet[UrlChange] | None = None
) -> set[str]:
    """Return those locations with a newer event of another page."""
    found: set[str] = set()
    for some in _by_digest(locations):
        since = min(locations[name].since for name in some.values())
        rows = url_changes() if events is None else events
        rows = rows.filter(digest__in=list(some), at__gt=since)
        for digest, at, page in rows.order_by().values_list("digest", "at", "page"):
            known = locations[some[digest]]
            is_own = page is not None and page == known.page and at <= known.events_at
            if at > known.since and at not in known.own and not is_own:
                found.add(some[digest])
    return found


def said_listed(locations: Iterable[str], sections: Collection[str]) -> set[str]:
    """Return those locations that one of some sections lists, by its last events."""
    found: set[str] = set()
    for some in _by_digest(locations) if sections else ():
        rows = _of_listed().filter(digest__in=list(some), section__in=list(sections))
        # Of a URL that changes all day one row is enough.
        said = rows.order_by().values_list("digest", flat=True).distinct()
        found.update(some[digest] for digest in said)
    return found


def _of_listed() -> QuerySet[UrlChange]:
    """Return the events of pages that list the URL, as far as is known."""
    return url_changes().exclude(kind=_Kind.REMOVED).filter(missing=False)


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
    names = list(registry.sources())
    if not names:
        return set()
    count, given = listed("name", names)
    given |= {"site": Site.current().key, "since": since - _MARGIN}
    return {location for (location,) in _REMOVED.rows(ledger(), count, **given)}


def _removed_query(sections: int) -> Any:
    names = slots("name", sections)
    rows = UrlChange.objects.of_all_sites().filter(site=Slot("site"), section__in=names)
    later = rows.filter(digest=OuterRef("digest"), pk__gt=OuterRef("pk"))
    rows = rows.filter(
        ~Exists(later.exclude(kind=_Kind.REMOVED)),
        kind=_Kind.REMOVED,
        at__gte=Slot("since"),
    )
    return select(rows.order_by("-at").values_list("location")[:_MOST_REMOVALS])


_REMOVED = Prepared(_removed_query)


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
        some.update(kind=_Kind.CHANGED)
    announce_at = now if urls_changed.has_listeners() else None
    return waiting.update(on_hold=False, announce_at=announce_at)


def prune_url_changes() -> int:
    """
    Delete what is older than ``stored_for()``, of all sites; return how many.

    Also old changes of Sites of which no process takes care: every save is recorded for
    them too, as long as they have sections.
    """
    if Site.default().may_share_database:
        described = [site.key for site in Site.all()]
        others = Change.objects.of_all_sites().exclude(site__in=described)
        delete_old(others, "at", time.time() - KEEP)
    if (seconds := stored_for()) == math.inf:
        # An app cannot say how far it looks back.
        return 0
    return delete_old(UrlChange.objects.of_all_sites(), "at", time.time() - seconds)
