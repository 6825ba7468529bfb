"""
What a build says of URLs: a page's former listing compared with its new one.

What a page listed before is what everybody knows of it. That takes no old location,
no order of commits and no window of seconds, and finds ``update()``, SQL, changed
slugs, deleted, unpublished and moved rows alike. No other page is asked: whether a URL
is listed nowhere, the gate decides (``delivery.gate``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from django_sitemaps_plus.db import parts
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.prepared import Step
from django_sitemaps_plus.rendering.listing import Listing, lastmod_of, location_of

from .models import Change, UrlChange
from .queries import deleting, waiting_changes
from .url_changes import Event

_Kind = UrlChange.Kind

#: Changes of a page that one build takes. The page waits for the rest, and is built
#: again for it.
MOST_TAKEN = 20_000


@dataclass
class Taken:
    """The changes that a build takes: it has read them before the rows."""

    ids: list[int] = field(default_factory=list)
    #: The single keys among them, and whether their rows are new.
    keys: dict[str, bool] = field(default_factory=dict)
    #: When the first of these was written, by the database's clock.
    since: float = math.inf

    def finishing(self) -> list[Step]:
        """Return the steps that delete them, in the transaction of the page."""
        return [deleting(some) for some in parts(self.ids)]


def take(section: str, page: int) -> Taken:
    """Return the changes of a page."""
    return taken_of(waiting_changes(section, page, unassigned=False, most=MOST_TAKEN))


def taken_of(rows: Iterable[Change]) -> Taken:
    """Return changes of a page, as a build takes them."""
    taken = Taken()
    for row in rows:
        taken.ids.append(row.pk)
        if row.key and row.upto is None and not row.related:
            taken.keys[row.key] = row.created or taken.keys.get(row.key, False)
            taken.since = min(taken.since, row.at)
    return taken


@dataclass(frozen=True)
class Comparison:
    """What a page, or all pieces of one, listed before and what they list now."""

    #: Both may be without the entries that are the same in both.
    former: Listing
    new: Listing
    #: Scheme and host of both listings.
    origin: str
    #: The page as it was built before, and the definition of the running code.
    page: Page
    definition: str
    #: The labels of rows that were left out for a fault: nobody knows which URLs they
    #: have. And those known to have been left out of the former listing.
    bad: frozenset[str] = frozenset()
    former_bad: frozenset[str] = frozenset()
    #: False where some pieces are yet to be built: what they list is not known.
    is_whole: bool = True
    #: Whether a URL that is listed no longer is an event.
    reports_removed: bool = True

    def events(self) -> Iterator[Event]:
        """Yield what happened to URLs, in a stable order."""
        yield from self._missing() if self.reports_removed else ()
        for item in sorted(self.new):
            former, rest = self.former.get(item), self.new[item]
            if former is None and not self.is_whole:
                # Perhaps it was there. The pieces are searched as new pages are.
                continue
            if former is None or self._differ(former, rest):
                kind = _Kind.ADDED if former is None else _Kind.CHANGED
                yield Event(kind, location_of(item, self.origin), lastmod_of(rest))

    def _missing(self) -> Iterator[Event]:
        # Where rows were left out, or pieces are unknown, they may be there still.
        is_known = self.is_whole and self.bad <= self.former_bad
        kind = _Kind.REMOVED if is_known else _Kind.CHANGED
        for item in sorted(self.former.keys() - self.new.keys()):
            yield Event(kind, location_of(item, self.origin))

    def _differ(self, former: bytes, rest: bytes) -> bool:
        """
        Return whether an entry says something else.

        Another definition writes other entries for the same content: then only the
        lastmod counts.
        """
        if self.page.digest == self.definition:
            return former != rest
        return lastmod_of(former) != lastmod_of(rest)
