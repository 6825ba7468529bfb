"""
What happened to URLs, as one stream: added, changed, moved, gone.

Two sources are put together when a page is written: the changes that were recorded
for its keys, and the difference between the page's former bytes and the new ones,
which also shows what nobody recorded.
"""

from __future__ import annotations

import html
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from django.db import router
from django.db.models import QuerySet

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.delivery.models import (
    Submission,
    SubmissionQuerySet,
    digest_of,
)
from django_sitemaps_plus.pagination.ledger import sections
from django_sitemaps_plus.pagination.models import Section
from django_sitemaps_plus.protocol.markup import escape
from django_sitemaps_plus.publishing import compression
from django_sitemaps_plus.sitemaps.site import SiteAddress, configured

from .assignment import Claim
from .models import UrlChange
from .reporting import lookup

Kind = UrlChange.Kind

#: Seconds within which more than MAX_GONE that go are held.
WITHIN = 3600
#: Rows of one INSERT.
ROWS = 500
#: Seconds for which the stream is kept: long enough to see in the admin what happened
#: last weekend, and to tell an engine that did not answer for days. What was not told
#: by then, crawlers have found in the sitemap.
KEEP = 7 * 86_400

#: The location of an entry, in the line that is its own.
LOC = re.compile(rb"<loc>([^<]*)</loc>")
_LASTMOD = re.compile(rb"<lastmod>[^<]*</lastmod>")


@dataclass(frozen=True, slots=True)
class Event:
    """What happened to one URL."""

    kind: UrlChange.Kind
    location: str
    former: str = ""


@dataclass(frozen=True)
class Difference:
    """The entries that a page's former bytes and its new ones do not share."""

    #: The new bytes, gzipped, and where they are.
    new: bytes
    place: SiteAddress
    gone: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    changed: frozenset[str] = frozenset()
    #: Whether what was listed before is known.
    is_known: bool = False

    @property
    def all(self) -> frozenset[str]:
        """The locations that differ."""
        return self.gone | self.added | self.changed

    def lists(self, location: str) -> bool:
        """Tell whether the new page lists a location; they are read if one is asked."""
        return written(location, self.place) in self._listed

    @cached_property
    def _listed(self) -> frozenset[bytes]:
        return frozenset(listed(self.new))

    @classmethod
    def of(
        cls, former: bytes, new: bytes, place: SiteAddress, *, same_definition: bool
    ) -> Difference:
        """
        Compare two versions of a page, gzipped, of the same place.

        Another definition writes other entries for the same content: then an entry
        has changed only where its lastmod has.
        """
        before = set(compression.unpack(former).splitlines())
        after = set(compression.unpack(new).splitlines())
        old = dict(_entries(before - after, place))
        now = dict(_entries(after - before, place))
        return cls(
            gone=frozenset(old.keys() - now.keys()),
            added=frozenset(now.keys() - old.keys()),
            changed=frozenset(
                location
                for location in old.keys() & now.keys()
                if same_definition or _lastmod(old[location]) != _lastmod(now[location])
            ),
            new=new,
            place=place,
            is_known=True,
        )


def _entries(lines: Iterable[bytes], place: SiteAddress) -> Iterator[tuple[str, bytes]]:
    """Yield the location of each entry, as a path, and its line."""
    origin = str(place.origin)
    for line in lines:
        found = LOC.search(line)
        if found:
            location = html.unescape(found[1].decode())
            path = location.removeprefix(origin)
            yield (path if path.startswith("/") else location), line


def _lastmod(line: bytes) -> bytes:
    found = _LASTMOD.search(line)
    return found[0] if found else b""


def listed(packed: bytes) -> list[bytes]:
    """Return what gzipped bytes list, as it is written there."""
    return LOC.findall(compression.unpack(packed))


def written(location: str, place: SiteAddress) -> bytes:
    """Return a location as a page lists it."""
    return escape(address(location, place)).encode()


def compare(
    former: bytes | None, new: bytes, place: SiteAddress, *, same_definition: bool
) -> Difference:
    """Compare gzipped versions of a page; without a former one nothing differs."""
    if former is None:
        return Difference(new=new, place=place)
    return Difference.of(former, new, place, same_definition=same_definition)


def events(
    claim: Claim, difference: Difference, since: Callable[[], Claim]
) -> list[Event]:
    """
    Return what happened to the URLs of a page.

    What a recorded change tells, the difference does not tell again: not now, and
    not while the change must wait because its object may not be committed yet, or
    because it came after the claim. ``since`` returns the changes that did.
    """
    found: dict[str, Event] = {}
    # Saved again since the page was read: its next version tells of that.
    now = {
        key: list(filter(difference.lists, paths))
        for key, paths in _locations(claim).items()
    }
    listed = {path for key in claim.old for path in now.get(key, [])}
    for key, old in claim.old.items():
        for event in _pairs(old, now.get(key, []), difference):
            is_told = difference.is_known and key not in claim.waited
            kept_event = _without_taken(event, listed, difference, is_told=is_told)
            if kept_event is not None:
                found.setdefault(event.location, kept_event)
    told = set(found) | {event.former for event in found.values()}
    for key, old in claim.later.items():
        told.update(old or [], now.get(key, []))
    if difference.all <= told:
        return list(found.values())
    told |= _told_next(since())
    for kind, locations in (
        (Kind.ADDED, difference.added),
        (Kind.CHANGED, difference.changed),
        (Kind.GONE, difference.gone),
    ):
        for location in sorted(locations - told):
            found[location] = Event(kind, location)
    return list(found.values())


def _told_next(claim: Claim) -> set[str]:
    """
    Return the locations of which a claim will tell, and not the difference.

    Not where its objects were: of several that wait for each other the last to commit
    knows least about that, and what goes unsaid now nobody would say later.
    """
    return set[str]().union(*_locations(claim).values())


def _locations(claim: Claim) -> dict[str, list[str]]:
    """Return where the objects of a page's changes are listed now."""
    texts = {**claim.later, **claim.old}
    if not texts:
        return {}
    found = lookup(claim.name)
    return found.locations([found.key.loads(text) for text in texts], found.database)


def _without_taken(
    event: Event, listed: set[str], difference: Difference, *, is_told: bool
) -> Event | None:
    """
    Return what is left of an event where the former location needs no word.

    Another row has it now; or it was not listed any more, which was told before.
    """
    former = event.location if event.kind == Kind.GONE else event.former
    if not former or former in difference.gone:
        return event
    if not is_told and former not in listed and not difference.lists(former):
        return event
    return None if event.kind == Kind.GONE else Event(Kind.ADDED, event.location)


def _pairs(
    old: Sequence[str] | None, new: Sequence[str], difference: Difference
) -> Iterator[Event]:
    """Compare where an object was listed with where it is, language by language."""
    if old is None:
        # What was listed, and is not any more, the difference shows.
        for location in new:
            kind = Kind.ADDED if location in difference.added else Kind.CHANGED
            yield Event(kind, location)
        return
    gone = [location for location in old if location not in new]
    for location in new:
        if location in old:
            yield Event(Kind.CHANGED, location)
        elif gone and len(old) == len(new):
            yield Event(Kind.MOVED, location, former=gone.pop(0))
        else:
            yield Event(Kind.ADDED, location)
    for location in gone:
        yield Event(Kind.GONE, location)


# The stream


def address(location: str, place: SiteAddress) -> str:
    """Return the URL of a location: of a path of the site, or of a whole URL."""
    return f"{place.origin}{location}" if location.startswith("/") else location


def url_changes() -> QuerySet[UrlChange]:
    """Return the stream, of the database where it is written."""
    found: QuerySet[UrlChange] = UrlChange.objects.using(router.db_for_write(UrlChange))
    return found


def submissions() -> SubmissionQuerySet:
    """Return what engines are told, of the database where it is written."""
    using = router.db_for_write(Submission)
    found: SubmissionQuerySet = Submission.objects.using(using).all()
    return found


def write(section: Section, found: Sequence[Event]) -> None:
    """
    Add to the stream; in the transaction in which the page is written.

    Where more than ``MAX_GONE`` go from a section within an hour, these are held.
    Where nobody is to be told, nothing waits for an engine that is named later.
    """
    now = time.time()
    held = _is_too_much(section, sum(e.kind == Kind.GONE for e in found), now)
    queued_at = None if get_settings().ENGINES else now
    url_changes().bulk_create(
        (
            UrlChange(
                section=section.name,
                kind=event.kind,
                location=event.location,
                former=event.former,
                at=now,
                held=held and event.kind == Kind.GONE,
                queued_at=queued_at,
            )
            for event in found
        ),
        batch_size=ROWS,
    )


def _is_too_much(section: Section, gone: int, now: float) -> bool:
    """
    Tell whether too many URLs go; those of the last hour are held with them.

    What of these is queued and was not sent yet is taken back.
    """
    if not gone:
        return False
    # Locked: two pages that are written at once must both be counted.
    locked = sections().select_for_update().filter(pk=section.pk)
    confirmed_at = locked.values_list("confirmed_at", flat=True).first() or 0.0
    lately = url_changes().filter(
        section=section.name, kind=Kind.GONE, at__gt=max(now - WITHIN, confirmed_at)
    )
    if lately.count() + gone <= get_settings().MAX_GONE:
        return False
    _take_back(lately.filter(held=False))
    return True


def _take_back(rows: QuerySet[UrlChange]) -> None:
    """
    Hold changes, and take back what was queued of them and was not sent yet.

    Only of these: what a move left behind, what went earlier and what was confirmed
    shall be told, and nothing would queue it again.
    """
    place = configured()
    found = list(rows.values_list("pk", "location"))
    for start in range(0, len(found), ROWS):
        some = found[start : start + ROWS]
        url_changes().filter(pk__in=[pk for pk, _ in some]).update(
            held=True, queued_at=None
        )
        if place is None:
            continue
        digests = [digest_of(address(location, place)) for _, location in some]
        waiting = submissions().filter(digest__in=digests, live=True)
        waiting.filter(kind=Kind.GONE, state=Submission.State.PENDING).delete()


def confirm(name: str) -> int:
    """Let what is held of a section be told; returns how many URLs that are."""
    sections().filter(name=name).update(confirmed_at=time.time())
    return url_changes().filter(section=name, held=True).update(held=False)


def prune() -> int:
    """Delete what is older than ``KEEP``; returns how many rows."""
    deleted = 0
    while True:
        first = list(url_changes().order_by("pk").values_list("pk", "at")[:ROWS])
        old = [pk for pk, at in first if at < time.time() - KEEP]
        if not old:
            return deleted
        deleted += url_changes().filter(pk__in=old).delete()[0]
