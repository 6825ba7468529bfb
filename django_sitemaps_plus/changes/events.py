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
from django_sitemaps_plus.prepared import Step
from django_sitemaps_plus.rendering.listing import Listing, lastmod_of, location_of

from .models import Change, UrlChange
from .queries import deleting, waiting_changes
from .url_changes import Event

_Kind = UrlChange.Kind


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
    return taken_of(waiting_changes(section, page, unassigned=False))


def taken_of(rows: Iterable[Change]) -> Taken:
    """Return changes of a page, as a build takes them."""
    taken = Taken()
    for row in rows:
        taken.ids.append(row.pk)
        if row.key and row.upto is None and not row.related:
            taken.keys[row.key] = row.created or taken.keys.get(row.key, False)
            taken.since = min(taken.since, row.at)
    return taken


def events_between(
    former: Listing,
    new: Listing,
    origin: str,
    *,
    same_definition: bool = True,
    is_whole: bool = True,
    is_sure: bool = True,
    reports_removed: bool = True,
) -> Iterator[Event]:
    """
    Yield what happened to URLs, in a stable order, from one listing to the next.

    Both are of a page, or of all pieces of one, and may be without the entries that are
    the same in both. ``origin`` is the scheme and host of both. Without ``is_whole``
    some pieces are yet to be built: what they list is not known. Without ``is_sure``
    rows were left out for a fault: nobody knows which URLs they have.
    ``reports_removed``: whether a URL that is listed no longer is an event.
    """
    if reports_removed:
        # Where rows were left out, or pieces are unknown, they may be there still.
        kind = _Kind.REMOVED if is_whole and is_sure else _Kind.CHANGED
        for item in sorted(former.keys() - new.keys()):
            yield Event(kind, location_of(item, origin))
    for item in sorted(new):
        before, rest = former.get(item), new[item]
        if before is None:
            # Without all pieces it was there perhaps: they are searched as new pages.
            kind, is_event = _Kind.ADDED, is_whole
        elif same_definition:
            kind, is_event = _Kind.CHANGED, before != rest
        else:
            # Another definition writes other entries for the same content.
            kind, is_event = _Kind.CHANGED, lastmod_of(before) != lastmod_of(rest)
        if is_event:
            yield Event(kind, location_of(item, origin), lastmod_of(rest))
