"""
The gate: the one step that passes on what happened to URLs, and decides what that is.

Pages say what they list newly, with other contents or no longer, each of itself. Of a
URL that one lists no longer, the gate asks whether any page lists it (see ``listed``),
after the events were read. What happens to a page later writes an event of its own,
which is passed on later. So once all is rebuilt, the last that an engine heard of a URL
is what pages list, in whatever order sections were written.

Nobody else writes ``queued_at`` and ``on_hold``, or says that ``urls_changed`` is due.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from django.db import connections
from django.db.models import Min, Q, QuerySet, Sum, Value

from django_sitemaps_plus.changes import url_changes as happened
from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.changes.queries import url_changes
from django_sitemaps_plus.changes.url_changes import Event
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import ROWS, parts
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import pages, sections
from django_sitemaps_plus.protocol.locations import is_location
from django_sitemaps_plus.signals import changes_written, urls_changed
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from . import outbox
from .engines import engines
from .listed import events_of, still_listed

_ADDED, _CHANGED, _REMOVED = UrlChange.Kind

#: Seconds within which a section that loses too many URLs has them put on hold.
_WITHIN = 3600
#: Removed URLs from which on it counts that a section lists fewer than it lost.
FEW = 10
#: Removals for which pages are searched once, and those that are read at a time for
#: pages without a former listing.
_SEARCHED, _READ = 5_000, 50_000
#: Pages without a former listing that are searched at a time.
_PAGES = 500


def pass_on() -> None:
    """
    Pass on what happened to URLs: to the outbox, and to ``urls_changed``.

    Nothing is done while the site's address is not known. Several processes may call it
    at the same time.
    """
    pass_listed()
    search = Search()
    while search.waits() and search.do():
        pass


def pass_listed() -> None:
    """Pass on what pages list: what they list no longer waits for a ``Search``."""
    site = Site.current().address()
    if site is None or not _is_any(unqueued()):
        return
    # All of them: asked for some, databases would read other indexes, or the table.
    lost = set(_removals().values_list("digest", flat=True))
    left, passing = 0, _Passing(site)
    while some := list(_waiting().exclude(kind=_REMOVED)[left : left + ROWS]):
        listed = [one for one in some if one.digest not in lost]
        left += len(some) - len(listed)
        passing.queue(listed)


class Search:
    """The part that searches pages: for URLs that others list no longer."""

    def waits(self) -> bool:
        """Return whether there is something to search for, and the address is known."""
        if Site.current().address() is None:
            return False
        if _unsearched().exists():
            return True
        # Which sections are in error is asked only if there may be any.
        return _is_any(unqueued().filter(_IS_REMOVED)) and _is_any(_removals())

    def do(self) -> bool:
        """
        Search pages without a former listing, then all for the next removals.

        Return False where the search did not end, and is to be done later.
        """
        _search_new()
        pass_listed()
        site = Site.current().address()
        return site is None or _pass_removed(site)


# What waits


#: The order of the index of what is not queued. By the number alone PostgreSQL, where
#: it expects all rows to match, reads the table from its start, each time; MariaDB does
#: not see that the other columns are constant, and sorts.
_WHOLE = ("queued_at", "on_hold", "pk")
_ORDER = {"mysql": ("pk",)}
#: Where no URL was removed for long, PostgreSQL would expect none, read the table and
#: sort. Of what an expression gives it knows nothing.
_IS_REMOVED = Q(kind__iexact=_REMOVED)


def unqueued(*, on_hold: bool = False) -> QuerySet[UrlChange]:
    """Return the events that nobody has passed on: not on hold, or those that are."""
    # As an expression, which gives "on_hold = false": NOT is looked up in no index
    # where there is no boolean type, and IN is sorted.
    rows = url_changes().filter(queued_at=None, on_hold=Value(on_hold))
    return rows.order_by(*_ORDER.get(connections[rows.db].vendor, _WHOLE))


#: Returns the removals that are on hold.
_held = partial(unqueued, on_hold=True)


def _waiting() -> QuerySet[UrlChange]:
    """Return what is to be passed on: not of sections in error."""
    broken = pages().on_site().exclude(error="").order_by()
    names = list(broken.values_list("section__name", flat=True).distinct())
    return unqueued().exclude(section__in=names) if names else unqueued()


def _removals() -> QuerySet[UrlChange]:
    return _waiting().filter(_IS_REMOVED)


def _is_any(rows: QuerySet[UrlChange]) -> bool:
    """Return whether there are rows; in their order, by whose index they are found."""
    return bool(rows.values_list("pk")[:1])


def _by_number(numbers: Iterable[int]) -> Iterator[QuerySet[UrlChange]]:
    """Yield rows by their numbers, as many as one statement takes."""
    for some in parts(numbers):
        yield url_changes().filter(pk__in=some)


def _update(rows: Iterable[UrlChange], **values: object) -> None:
    for some in _by_number([row.pk for row in rows]):
        some.update(**values)


def _left(rows: Iterable[UrlChange]) -> list[UrlChange]:
    """Return those rows that nobody has passed on or put on hold by now."""
    found = (unqueued() & some for some in _by_number([row.pk for row in rows]))
    return sorted((row for some in found for row in some), key=lambda row: row.pk)


# Passing on


class _Passing:
    """Puts events into the outbox, in transactions of some hundred."""

    def __init__(self, site: SiteAddress) -> None:
        self._site = site
        self._sitemaps = outbox.sitemap_notices(site) if engines() else []

    def queue(self, rows: Iterable[UrlChange]) -> None:
        """Put events there, as far as nobody else has."""
        for some in parts(rows):
            outbox.run_locked(partial(self._queue, some))

    def _queue(self, rows: Sequence[UrlChange], now: float) -> None:
        mine = _left(rows)
        listed = [one for one in mine if one.kind != _REMOVED]
        if _is_any(_held()):
            # No engine heard that these were removed: they were there before.
            held = _held().filter(digest__in=[one.digest for one in listed])
            _list_again(listed, set(held.values_list("digest", flat=True)))
            held.delete()
        notices = [
            outbox.notice(one.location, self._site, outbox.Kind(one.kind), one.section)
            for one in mine
            if is_location(one.location)
        ]
        if notices and engines():
            outbox.put([*notices, *self._sitemaps], now)
        announce_at = now if urls_changed.has_listeners() else None
        _update(mine, queued_at=now, announce_at=announce_at)


def _list_again(listed: Iterable[UrlChange], digests: Collection[str]) -> None:
    """Have URLs that were somewhere before be changed, where they are added."""
    again = [one for one in listed if one.kind == _ADDED and one.digest in digests]
    for one in again:
        one.kind = _CHANGED
    _update(again, kind=_CHANGED)


# What pages list no longer


def _pass_removed(site: SiteAddress) -> bool:
    """Decide about the next removals, and queue what is true of them."""
    lost = list(_removals()[:_SEARCHED])
    if not lost:
        return True
    # With what else waits of these URLs, read before pages are searched.
    digests = {one.digest for one in lost}
    rest = _waiting().exclude(kind=_REMOVED)
    some = [*lost, *(one for one in rest if one.digest in digests)]
    found = still_listed({one.location for one in lost}, site)
    if found is None:
        return False
    outbox.run_locked(partial(_decide, some, *found))
    _Passing(site).queue(some)
    changes_written.send(None)
    return True


def _decide(
    some: Sequence[UrlChange], listed: Collection[str], is_known: bool, now: float
) -> None:
    """Note what is true of some URLs that are listed no longer; with the lock."""
    lost, others = list[UrlChange](), list[UrlChange]()
    for one in _left(some):
        (lost if one.kind == _REMOVED else others).append(one)
    untrue = [one for one in lost if one.location in listed]
    true = [one for one in lost if one.location not in listed]
    for rows in _by_number([one.pk for one in untrue]):
        rows.delete()
    _list_again(others, {one.digest for one in untrue})
    if not is_known:
        _update(true, kind=_CHANGED)
        return
    # The last word on a URL that is listed nowhere is that.
    digests = {one.digest for one in true}
    _update([one for one in others if one.digest in digests], queued_at=now)
    _put_on_hold(digests, {one.section for one in true}, now)


def _put_on_hold(digests: Iterable[str], names: Iterable[str], now: float) -> None:
    """Put URLs on hold of which some sections lost too many; whoever else lost them."""
    lost = url_changes().filter(kind=_REMOVED, queued_at=None).order_by()
    over = [name for name in names if _loses_too_many(name, now)]
    too_many = set(lost.filter(section__in=over).values_list("digest", flat=True))
    for some in parts(digests) if _is_any(_held()) else ():
        held = _held().filter(digest__in=some)
        too_many.update(held.values_list("digest", flat=True))
    for some in parts(too_many):
        lost.filter(digest__in=some).update(on_hold=True)


def _loses_too_many(section: str, now: float) -> bool:
    """
    Return whether a section lost too many URLs within an hour.

    The net loss counts: URLs that it listed before and does not now, less those that it
    did not list and does. Too many are more than ``MAX_REMOVED``, or more than it still
    lists. What somebody confirmed does not count.
    """
    confirmed = sections().filter(name=section).values_list("confirmed_at", flat=True)
    # As long ago as the first that waits, if nobody passed it on for long.
    waits = unqueued().filter(section=section, kind=_REMOVED).order_by()
    first = waits.aggregate(first=Min("at"))["first"]
    since = max(min(now - _WITHIN, first - 1), confirmed.first() or 0.0)
    rows = url_changes().filter(section=section, at__gt=since)
    most = _most_removed(section)
    if rows.filter(kind=_REMOVED).count() <= most:
        return False
    was_listed, is_listed = dict[str, bool](), dict[str, bool]()
    for digest, kind in rows.order_by("pk").values_list("digest", "kind").iterator():
        was_listed.setdefault(digest, kind != _ADDED)
        is_listed[digest] = kind != _REMOVED
    return sum(was_listed.values()) - sum(is_listed.values()) > most


def _most_removed(section: str) -> int:
    """Return how many URLs a section may lose within an hour."""
    options = get_settings()
    rows = pages().on_site(section).order_by()
    # Nobody knows what a page lists that was never built.
    if not options.HOLD_MOST or rows.filter(entries=None).exists():
        return options.MAX_REMOVED
    listed = rows.aggregate(n=Sum("entries"))["n"] or 0
    return min(options.MAX_REMOVED, max(FEW - 1, listed))


def confirm(section: str) -> int:
    """
    Let what is on hold of a section be passed on; returns how many URLs.

    Not what is listed again by then.
    """
    with outbox.locked() as now:
        sections().filter(name=section).update(confirmed_at=now)
        digests = set(_held().filter(section=section).values_list("digest", flat=True))
        for some in parts(digests):
            _held().filter(digest__in=some).update(on_hold=False)
        return len(digests)


# Pages without a former listing


def _unsearched() -> QuerySet[Page]:
    rows: QuerySet[Page] = pages().on_site().filter(searched=False)
    return rows


def _search_new() -> None:
    """
    Note which URLs that were reported as removed pages without a former listing list.

    Nobody knows what such a page lists newly: it may be all of it.
    """
    while some := list(_unsearched().select_related("section")[:_PAGES]):
        # Read after the pages: in these, whatever is removed later is searched for.
        found = defaultdict[str, dict[str, Event]](dict)
        for locations in _removed():
            for name, events in events_of(some, locations).items():
                found[name] |= events
        outbox.run_locked(partial(_note_new, some, found))


def _removed() -> Iterator[set[str]]:
    """Yield the locations of all stored removals, some at a time."""
    rows, last = url_changes().filter(kind=_REMOVED).order_by("pk"), 0
    while some := list(rows.filter(pk__gt=last).values_list("pk", "location")[:_READ]):
        last = some[-1][0]
        yield {location for _, location in some}


def _note_new(
    some: Sequence[Page], found: dict[str, dict[str, Event]], now: float
) -> None:
    for name, events in found.items() if any(found.values()) else ():
        happened.lock(name)
        happened.write_events(name, list(events.values()), now)
    # What was written since is searched once more.
    same = pages().filter(pk__in=[page.pk for page in some])
    same.filter(checksum__in={page.checksum for page in some}).update(searched=True)
