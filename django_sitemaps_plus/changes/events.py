"""
What happened to a page's URLs: its former listing compared with the new one.

Known is what it listed before, updated with what its changes reported since. It takes
no old location, no order of commits and no window of seconds, and finds ``update()``,
SQL, changed slugs, deleted, unpublished and moved rows alike.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import Any

from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.prepared import Step
from django_sitemaps_plus.rendering.listing import (
    Listing,
    entries_of,
    fingerprint,
    lastmod_of,
    location_of,
    written,
)

from .models import Change, UrlChange
from .queries import deleting, waiting_changes
from .url_changes import (
    Event,
    Known,
    added_since,
    last_removed,
    reported_by_others,
    said_listed,
)

_Kind = UrlChange.Kind

#: Changes of a page that one build takes. The page waits for the rest, and is built
#: again for it.
MOST_COMPARED = 20_000


@dataclass(frozen=True, slots=True)
class Reported:
    """An entry as it was reported when its row was saved."""

    lastmod: str
    fingerprint: str
    #: The definition it was rendered by.
    definition: str
    #: Before its row was first read for that, of the reports that a build takes.
    at: float
    #: The same of the last of them.
    last_at: float
    #: When the events of these reports were.
    events: frozenset[float]
    #: Whether one of these was "added".
    is_added: bool


@dataclass
class Taken:
    """The changes that a build takes: it has read what they reported."""

    section: str
    ids: list[int] = field(default_factory=list)
    #: By location, as the last of them reported it.
    reported: dict[str, Reported] = field(default_factory=dict)
    #: Those that were not reported yet: the build reports them itself.
    waiting: list[Change] = field(default_factory=list)

    def add(self, location: str, reported: Reported) -> None:
        """Note what was reported of a location, later than all that is noted of it."""
        former = self.reported.get(location)
        if former is not None:
            reported = replace(
                reported,
                at=min(reported.at, former.at),
                events=reported.events | former.events,
                is_added=reported.is_added or former.is_added,
            )
        self.reported[location] = reported

    def finishing(self) -> list[Step]:
        """
        Return the steps that delete them, in the transaction that writes the page.

        Where they concern fewer rows than ``count`` somebody else did, or has reported
        one that was waiting: the page is to be built again.
        """
        waiting = {change.pk for change in self.waiting}
        ids = [*self.ids, *waiting]
        parts = [ids[start : start + 500] for start in range(0, len(ids), 500)]
        return [deleting(some, waiting.intersection(some)) for some in parts]

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.ids) + len(self.waiting)


def take(section: str, page: int) -> Taken:
    """Return the changes of a page."""
    rows = waiting_changes(section, page, unassigned=False, most=MOST_COMPARED)
    return taken_of(section, rows)


def taken_of(section: str, rows: Iterable[Change]) -> Taken:
    """Return changes of a page, as a build takes them."""
    taken = Taken(section)
    # Sorted here: MariaDB would read all that were reported of the section.
    every = list(rows)
    taken.waiting = [row for row in every if row.reported_at is None]
    found = [(row.reported_at, row.pk, row) for row in every if row.reported_at]
    for at, pk, row in sorted(found):
        taken.ids.append(pk)
        for location, lastmod, mark, event, is_added in reported_entries(row.reported):
            events = frozenset([event])
            entry = Reported(lastmod, mark, row.definition, at, at, events, is_added)
            taken.add(location, entry)
    return taken


def reported_entries(text: str | None) -> list[Any]:
    """Return what ``reported_text`` wrote, as far as it can be read."""
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return []
    entries = found if isinstance(found, list) else []
    return [one for one in entries if isinstance(one, list) and _is_entry(*one)]


def _is_entry(*parts: object) -> bool:
    kinds: tuple[Any, ...] = (str, str, str, (int, float), bool)
    return len(parts) == len(kinds) and all(map(isinstance, parts, kinds))


def reported_text(
    entries: Sequence[tuple[str, bytes, float]], origin: str, added: Collection[str]
) -> str:
    """
    Return the text of ``Change.reported`` for entries, those added or changed.

    Each is given by its location, its rest and the time of its event. It becomes
    ``[location, lastmod, fingerprint, time, is added]``.
    """
    return json.dumps(
        [
            [
                location,
                lastmod_of(rest),
                fingerprint(rest, origin),
                at,
                location in added,
            ]
            for location, rest, at in entries
        ]
    )


@dataclass(frozen=True)
class Comparison:
    """What was known of a page, or of all pieces of one, and what is listed now."""

    #: What was listed; None if that is not known. Both listings may be without what is
    #: the same in both, and was not reported.
    former: Listing | None
    new: Listing
    taken: Taken
    #: Scheme and host of both listings.
    origin: str
    #: The page as it was built before, when its rows were read and its events were.
    page: Page
    #: The definition of the running code, and when it has read the rows.
    definition: str
    read_at: float
    #: The labels of rows that were left out for a fault: nobody knows which URLs they
    #: have. And those known to have been left out of the former listing.
    bad: frozenset[str] = frozenset()
    former_bad: frozenset[str] = frozenset()
    #: Other sections that say which URLs they remove, and the missing locations that
    #: their pages list: see ``building.elsewhere``.
    others: Collection[str] = ()
    elsewhere: Collection[str] = ()
    #: The text of all that is listed now, where ``new`` has not all of it.
    text: bytes = b""
    #: False where some pieces are yet to be built: what they list is not known.
    is_whole: bool = True
    #: Whether a URL that is listed no longer is an event.
    reports_removed: bool = True
    #: The locations that the build itself reports, with these events.
    saved: Collection[str] = ()

    def events(self, now: float) -> list[Event]:
        """
        Return what happened to URLs: removed, added, changed, in a stable order.

        ``now`` is the time of these events, taken with the section locked.
        """
        removed = self._last_removed().difference(self.saved)
        found = [*self._missing(now), *self._present(now, removed)]
        others = removed.difference(event.location for event in found)
        items = {written(location, self.origin) for location in others}
        listed = entries_of(self.text, items) if self.text else self.new
        # The last word on a URL must not be "removed" while it is listed.
        return [
            *found,
            *(
                self._event(_Kind.CHANGED, item, listed[item], now)
                for item in sorted(items & listed.keys())
            ),
        ]

    @cached_property
    def _reported(self) -> dict[bytes, Reported]:
        return {
            written(location, self.origin): reported
            for location, reported in self.taken.reported.items()
        }

    @cached_property
    def missing(self) -> Mapping[str, Known]:
        """What was known and is not listed, if that is an event, by location."""
        reported = self._reported
        known = reported.keys() | (self.former or {}).keys()
        if not self.reports_removed:
            return {}
        return {
            location_of(item, self.origin): self._known(item, reported.get(item))
            for item in sorted(known - self.new.keys())
        }

    def _missing(self, now: float) -> Iterator[Event]:
        # Another row may have taken the URL: then whoever is notified shall look.
        here = reported_by_others(self.taken.section, self.missing)
        rest = self.missing.keys() - here if self.is_whole else set()
        elsewhere = {*self.elsewhere} | said_listed(rest, self.others)
        for location, known in self.missing.items():
            event = Event(_Kind.CHANGED, location, now, page=self.page.number)
            if not self.is_whole or self._may_be_bad(location):
                # Perhaps it is still there.
                yield event
            elif location in here:
                own, read_at = known.own | {now}, self.read_at
                yield replace(event, missing=True, own=own, read_at=read_at)
            elif location in elsewhere:
                yield replace(event, missing=True)
            else:
                yield replace(event, kind=_Kind.REMOVED)

    def _may_be_bad(self, location: str) -> bool:
        """Return whether a location may be that of a row left out for a fault."""
        if location in self.taken.reported:
            return bool(self.bad)
        # What was left out before was not in the former listing.
        return not self.bad <= self.former_bad

    def _known(self, item: bytes, reported: Reported | None) -> Known:
        page = self.page
        since, own = page.read_at, frozenset[float]()
        if reported is not None:
            since, own = min(since, reported.at), reported.events
        if item not in (self.former or {}):
            # Events of this page about it belong to another piece.
            return Known(since, own)
        return Known(since, own | {page.events_at}, page.number, page.events_at)

    def _event(
        self,
        kind: UrlChange.Kind,
        item: bytes,
        rest: bytes,
        now: float,
        *,
        late: bool = False,
    ) -> Event:
        """Return the event of an entry that is listed now."""
        location = location_of(item, self.origin)
        lastmod, page = lastmod_of(rest), self.page.number
        return Event(kind, location, now, lastmod, late=late, page=page)

    def _present(self, now: float, removed: Collection[str]) -> Iterator[Event]:
        reported, former = self._reported, self.former
        for item in sorted(reported.keys() & self.new.keys()):
            rest, own = self.new[item], reported[item]
            is_due = location_of(item, self.origin) in removed
            is_due = is_due or self._is_overtaken(item, own)
            is_due = is_due or self._differs_from(own, rest)
            if former is not None and item not in former and not own.is_added:
                # Reported as changed, because its row was there before.
                yield self._event(_Kind.ADDED, item, rest, now, late=not is_due)
            elif is_due:
                yield self._event(_Kind.CHANGED, item, rest, now)
        if former is None:
            # First built, or its bytes were lost: nobody knows what is new.
            return
        if self.is_whole:
            added = self.new.keys() - former.keys() - reported.keys()
            names = {location_of(item, self.origin): item for item in added}
            # Their rows were saved, and reported, while this page was built.
            told = added_since(self.taken.section, names, self.page.read_at)
            for name, item in sorted(names.items(), key=itemgetter(1)):
                kind = _Kind.CHANGED if name in told else _Kind.ADDED
                yield self._event(kind, item, self.new[item], now)
        for item, rest in sorted(self.new.items() - former.items()):
            known = item in former and item not in reported
            if known and self._differ(former[item], rest):
                yield self._event(_Kind.CHANGED, item, rest, now)

    def _last_removed(self) -> set[str]:
        since = min([self.page.read_at, *(r.at for r in self.taken.reported.values())])
        return last_removed(since)

    def _differ(self, former: bytes, rest: bytes) -> bool:
        """
        Return whether an entry says something else.

        Another definition writes other entries for the same content: then only the
        lastmod counts.
        """
        if self.page.digest == self.definition:
            return former != rest
        return lastmod_of(former) != lastmod_of(rest)

    def _is_overtaken(self, item: bytes, reported: Reported) -> bool:
        """Return whether the page, perhaps read later, listed something else."""
        if reported.last_at > self.page.events_at:
            return False
        rest = (self.former or {}).get(item)
        return rest is None or self._differs_from(reported, rest)

    def _differs_from(self, reported: Reported, rest: bytes) -> bool:
        if reported.definition == self.definition:
            return reported.fingerprint != fingerprint(rest, self.origin)
        return reported.lastmod != lastmod_of(rest)
