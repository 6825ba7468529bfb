"""
What happened to a page's URLs: what was known of it against what it lists now.

Known is what it listed before, updated with what its changes reported since. It takes
no old location, no order of commits and no window of seconds, and finds ``update()``,
SQL, changed slugs, deleted, unpublished and moved rows alike.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.rendering.listing import (
    Listing,
    fingerprint,
    lastmod_of,
    location_of,
    written,
)

from .models import UrlChange
from .queries import changes
from .url_changes import Event, Known, last_removed, reported_by_others

Kind = UrlChange.Kind

#: Changes of a page that one build takes. The page waits for the rest, and is built
#: again for it.
MOST = 20_000


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


@dataclass
class Taken:
    """The changes that a build takes: it has read what they reported."""

    section: str
    ids: list[int] = field(default_factory=list)
    #: By location, as the last of them reported it.
    reported: dict[str, Reported] = field(default_factory=dict)
    #: Whether there are others of the pages, which were not reported yet.
    left: bool = False

    def finish(self) -> bool:
        """
        Delete them, in the transaction that writes the page.

        False where somebody else did: then that page has what they asked for.
        """
        deleted = 0
        for start in range(0, len(self.ids), 500):
            some = self.ids[start : start + 500]
            deleted += changes().filter(pk__in=some).delete()[0]
        return deleted == len(self.ids)


def take(section: str, numbers: Sequence[int]) -> Taken:
    """Return the changes of some pages that were reported."""
    taken = Taken(section)
    rows = changes(section).filter(page__in=numbers).order_by("pk")
    columns = ("pk", "reported", "reported_at", "definition")
    # Sorted here: MariaDB would read all that were reported of the section.
    every = list(rows.values_list(*columns)[:MOST])
    found = [row for row in every if row[2] is not None]
    taken.left = len(found) < len(every)
    for pk, text, at, definition in sorted(found, key=lambda row: (row[2], row[0])):
        taken.ids.append(pk)
        for location, lastmod, mark, event in json.loads(text or "[]"):
            former = taken.reported.get(location)
            first, events = at, frozenset([event])
            if former is not None:
                first, events = min(at, former.at), events | former.events
            taken.reported[location] = Reported(
                lastmod, mark, definition, first, at, events
            )
    return taken


def reported_text(entries: Sequence[tuple[str, bytes, float]], origin: str) -> str:
    """
    Return the text of ``Change.reported`` for entries.

    Each is given by its location, its rest and the time of its event.
    """
    return json.dumps(
        [
            [location, lastmod_of(rest), fingerprint(rest, origin), at]
            for location, rest, at in entries
        ]
    )


@dataclass(frozen=True)
class Comparison:
    """What was known of a page, or of all pieces of one, and what is listed now."""

    #: What was listed; None if that is not known.
    former: Listing | None
    new: Listing
    taken: Taken
    #: Scheme and host of both listings.
    origin: str
    #: The page as it was built before, when its rows were read and its events were.
    page: Page
    #: The definition of the running code.
    definition: str
    now: float
    #: How many rows were left out for a fault: nobody knows which URLs they had.
    bad: int = 0
    #: False where some pieces are yet to be built: what they list is not known.
    is_whole: bool = True
    #: Whether a URL that is listed no longer is an event.
    reports_removed: bool = True

    def events(self) -> list[Event]:
        """Return what happened to URLs: removed, added, changed, in a stable order."""
        found = [*self._missing(), *self._present()]
        return [*found, *self._relisted({event.location for event in found})]

    @cached_property
    def _reported(self) -> dict[bytes, Reported]:
        return {
            written(location, self.origin): reported
            for location, reported in self.taken.reported.items()
        }

    def _missing(self) -> Iterator[Event]:
        reported = self._reported
        known = reported.keys() | (self.former or {}).keys()
        missing = sorted(known - self.new.keys())
        if not (missing and self.reports_removed):
            return
        known_since = {
            location_of(item, self.origin): self._known(item, reported.get(item))
            for item in missing
        }
        # Another row may have taken the URL: then whoever is notified shall look.
        taken_over = reported_by_others(known_since)
        for index, location in enumerate(known_since):
            sure = self.is_whole and index >= self.bad and location not in taken_over
            yield self._event(Kind.REMOVED if sure else Kind.CHANGED, location)

    def _known(self, item: bytes, reported: Reported | None) -> Known:
        # Events of this page about URLs that it does not list belong to another piece.
        own = {self.page.events_at} if item in (self.former or {}) else set()
        if reported is None:
            return Known(self.page.read_at, frozenset(own))
        return Known(min(self.page.read_at, reported.at), reported.events | own)

    def _event(self, kind: UrlChange.Kind, location: str) -> Event:
        rest = self.new.get(written(location, self.origin), b"")
        return Event(kind, location, self.now, lastmod_of(rest))

    def _present(self) -> Iterator[Event]:
        reported, former = self._reported, self.former
        for item in sorted(reported.keys() & self.new.keys()):
            if self._differs_from(reported[item], self.new[item]) or (
                self._is_overtaken(item, reported[item])
            ):
                yield self._event(Kind.CHANGED, location_of(item, self.origin))
        if former is None:
            # First built, or its bytes were lost: nobody knows what is new.
            return
        if self.is_whole:
            for item in sorted(self.new.keys() - former.keys() - reported.keys()):
                yield self._event(Kind.ADDED, location_of(item, self.origin))
        for item, rest in sorted(self.new.items() - former.items()):
            known = item in former and item not in reported
            if known and self._differ(former[item], rest):
                yield self._event(Kind.CHANGED, location_of(item, self.origin))

    def _relisted(self, known: set[str]) -> Iterator[Event]:
        """Return what is listed, though the last word on it was "removed"."""
        since = min([self.page.read_at, *(r.at for r in self.taken.reported.values())])
        for location in sorted(last_removed(self.taken.section, since) - known):
            if written(location, self.origin) in self.new:
                yield self._event(Kind.CHANGED, location)

    def _differ(self, former: bytes, rest: bytes) -> bool:
        """
        Tell whether an entry says something else.

        Another definition writes other entries for the same content: then only the
        lastmod counts.
        """
        if self.page.digest == self.definition:
            return former != rest
        return lastmod_of(former) != lastmod_of(rest)

    def _is_overtaken(self, item: bytes, reported: Reported) -> bool:
        """Tell whether the page was read, perhaps later, and listed something else."""
        if reported.last_at > self.page.events_at:
            return False
        rest = (self.former or {}).get(item)
        return rest is None or self._differs_from(reported, rest)

    def _differs_from(self, reported: Reported, rest: bytes) -> bool:
        if reported.definition == self.definition:
            return reported.fingerprint != fingerprint(rest, self.origin)
        return reported.lastmod != lastmod_of(rest)
