"""
What was saved becomes events, seconds later: one query for the changed keys.

No page is built for it. What was reported is noted on the change, so that the page's
next build knows what the world knows. A build that comes first reports what was saved
of its page itself, in the transaction that writes the page.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce, Greatest, NullIf

from django_sitemaps_plus.db import Stopwatch, retrying
from django_sitemaps_plus.pagination.deploys import is_outdated, note_definition
from django_sitemaps_plus.pagination.models import Section
from django_sitemaps_plus.pagination.queries import pages, row_of
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.rendering.listing import (
    fingerprint,
    lastmod_of,
    listing_of,
    location_of,
)
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress, rendering_context

from .events import Reported, Taken, reported_text
from .models import Change, UrlChange
from .queries import changes
from .titles import Titles, title_of, titles
from .url_changes import Event, lock, write

#: Changes that are reported at a time.
CHUNK = 500
#: How often changes that another process has reported meanwhile are looked for again.
_TRIES = 5

#: By the key's text, the entries of its row: locations, and the rest of each entry.
Entries = Mapping[str, Sequence[tuple[str, bytes]]]
#: The same with the time of each entry's event.
_Timed = Mapping[str, Sequence[tuple[str, bytes, float]]]


class _TakenError(Exception):
    """Another process has reported some of the changes."""


@dataclass(frozen=True)
class Saved:
    """Changes that were not reported yet, and the entries that their rows have now."""

    changes: Sequence[Change] = ()
    #: Before the rows were read: what another row reports later is newer.
    looked_at: float = 0.0
    entries: Entries = field(default_factory=dict)
    titles: Titles = field(default_factory=dict)

    @cached_property
    def created(self) -> frozenset[str]:
        """The keys that were created, as far as signals tell."""
        return frozenset(change.key for change in self.changes if change.created)

    @property
    def locations(self) -> set[str]:
        """What is reported."""
        return {location for some in self.entries.values() for location, _ in some}

    def note(self, taken: Taken, origin: str, digest: str) -> None:
        """Let the build that takes the changes know what is reported."""
        at = self.looked_at
        for key, entries in self.entries.items():
            for location, rest in entries:
                mark, is_added = fingerprint(rest, origin), key in self.created
                lastmod, own = lastmod_of(rest), frozenset[float]()
                entry = Reported(lastmod, mark, digest, at, at, own, is_added)
                taken.add(location, entry)

    def events(self, at: float) -> list[Event]:
        """Return the events of a build that reports the changes, all of one time."""
        timed = {
            key: [(location, rest, at) for location, rest in entries]
            for key, entries in self.entries.items()
        }
        return _events(timed, self)


def look_up_saved(
    section: SectionSource,
    changes: Sequence[Change],
    site: SiteAddress,
    looked_at: float,
) -> Saved:
    """Look up the rows of changes that were not reported yet, as pages list them."""
    keys = sorted({change.key for change in changes})
    entries: dict[str, Sequence[tuple[str, bytes]]] = {}
    known: dict[str, Sequence[str]] = {}
    for start in range(0, len(keys), CHUNK):
        some = look_up(section, keys[start : start + CHUNK], site)
        entries.update(some)
        known.update(titles(section, some, site))
    return Saved(changes, looked_at, entries, known)


def report(section: SectionSource, site: SiteAddress) -> int:
    """
    Report what was saved and deleted of a section; returns how many changes.

    Only what a page for ``site`` would list. Nothing is reported by outdated code.
    """
    some = _waiting(section.name)
    if section.key is None or not some:
        return 0
    row = row_of(section.name, key=section.key.signature)
    digest = definition(section).digest
    if is_outdated(row, digest):
        return 0
    note_definition(row.pk, row, digest)
    using, done, tries = changes().db, 0, 0
    while tries < _TRIES and some:
        clock = Stopwatch(using)
        saved = look_up_saved(section, some, site, clock.started_at)
        run = partial(_write, row, digest, saved, str(site.origin), clock)
        try:
            retrying(using, run)
        except _TakenError:
            tries += 1
            time.sleep(0.01 * tries)
        else:
            done += len(some)
            if len(some) < CHUNK:
                break
        some = _waiting(section.name)
    return done


def _waiting(name: str) -> list[Change]:
    rows = changes(name).filter(reported_at=None, upto=None, related="").exclude(key="")
    return list(rows.order_by("pk")[:CHUNK])


def look_up(section: SectionSource, texts: Iterable[str], site: SiteAddress) -> Entries:
    """Return the entries of rows as a page for ``site`` would list them now, by key."""
    key = section.key
    assert key is not None  # noqa: S101 (for the type checker: asked by the caller)
    keys = [
        value for text in sorted(texts) if (value := _loaded(key, text)) is not None
    ]
    own = site.with_scheme(section.sitemap.protocol)
    found: dict[str, Sequence[tuple[str, bytes]]] = {}
    with rendering_context(own):
        for value, text in Reader(section, own).of_keys(keys):
            if text is not None:
                # A bad row is left out of its page.
                found[key.dumps(value)] = [
                    (location_of(item, ORIGIN_MARK), rest)
                    for item, rest in listing_of(text.encode()).items()
                ]
    return found


def _loaded(key: Key, text: str) -> KeyValue | None:
    """Read a key; None for one of another kind, which older code has written."""
    try:
        return key.loads(text)
    except (ValueError, TypeError, ArithmeticError, ValidationError):
        return None


def _write(
    section: Section, digest: str, saved: Saved, origin: str, clock: Stopwatch
) -> None:
    """Write the events of some changes, and note what was reported."""
    using, found = changes().db, saved.changes
    newest = {change.key: change for change in found}
    with transaction.atomic(using=using):
        lock(section.name)
        now = clock.now()
        ids = [change.pk for change in found]
        claimed = changes().filter(pk__in=ids, reported_at=None)
        if claimed.update(reported_at=saved.looked_at, definition=digest) != len(ids):
            raise _TakenError
        current = [change for change in found if newest[change.key] is change]
        older = set(ids) - {change.pk for change in current}
        if older:
            changes().filter(pk__in=older).delete()
        timed = _timed([change.key for change in current], saved.entries, now)
        _note_reported(current, saved, timed, origin)
        _note_pages(section, [c for c in current if timed[c.key]], now)
        write(section.name, _events(timed, saved), now)


def _timed(keys: Sequence[str], entries: Entries, now: float) -> _Timed:
    """
    Give each entry's event a time of its own, a microsecond after the one before.

    So a page can recognize the events of its own rows.
    """
    times = itertools.count()
    return {
        key: [
            (location, rest, now + next(times) * 1e-6)
            for location, rest in entries.get(key, ())
        ]
        for key in keys
    }


def _note_reported(
    found: Iterable[Change], saved: Saved, timed: _Timed, origin: str
) -> None:
    oldest = {change.key: change for change in reversed(saved.changes)}
    for change in found:
        entries, is_new = timed[change.key], change.key in saved.created
        change.reported = reported_text(entries, origin, is_new)
        change.loses_url = _loses_url(oldest[change.key], entries)
    changes().bulk_update(found, ["reported", "loses_url"], batch_size=CHUNK)


def _loses_url(oldest: Change, entries: Sequence[object]) -> bool | None:
    """Return whether a row may have lost a URL, as far as no page is read for that."""
    if oldest.created:
        # It had none before.
        return False
    return None if entries else True


def _note_pages(section: Section, found: Iterable[Change], now: float) -> None:
    """Let the index say that pages changed, before they are built."""
    numbers = {change.page for change in found if change.page is not None}
    if numbers:
        pages().filter(section=section, number__in=numbers).update(
            lastmod=Greatest(Coalesce(F("lastmod"), Value(0.0)), Value(now)),
            # One that was empty is not any more.
            entries=NullIf("entries", Value(0)),
        )


def _events(timed: _Timed, saved: Saved) -> list[Event]:
    kinds = UrlChange.Kind
    return [
        Event(
            kinds.ADDED if key in saved.created else kinds.CHANGED,
            location,
            at,
            lastmod_of(rest),
            title_of(saved.titles.get(key, ()), index, len(entries)),
        )
        for key, entries in timed.items()
        for index, (location, rest, at) in enumerate(entries)
    ]
