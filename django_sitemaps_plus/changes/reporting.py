"""
What was saved becomes events, seconds later: one query for the changed keys.

No page is built for it. What was reported is noted on the change, so that the page's
next build knows what the world knows.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Coalesce, Greatest, NullIf

from django_sitemaps_plus.db import Stopwatch, retrying
from django_sitemaps_plus.pagination.deploys import is_outdated, note_definition
from django_sitemaps_plus.pagination.models import Page, Section
from django_sitemaps_plus.pagination.queries import pages, row_of, sections
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.rendering.listing import lastmod_of, listing_of, location_of
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress, rendering_context

from .events import reported_text
from .models import Change, UrlChange
from .queries import changes
from .schedule import crossed
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


class _Waiting(NamedTuple):
    """A change that was not reported yet."""

    pk: int
    key: str
    created: bool
    page: int | None


class _TakenError(Exception):
    """Another process has reported some of the changes."""


def report(section: SectionSource, site: SiteAddress, page: Page | None = None) -> int:
    """
    Report what was saved and deleted of a section, or of one page; returns how many.

    Only what a page for ``site`` would list. Nothing is reported by outdated code.
    """
    number = None if page is None else page.number
    some = _waiting(section.name, number)
    if section.key is None or not some:
        return 0
    row = page.section if page else row_of(section.name, key=section.key.signature)
    digest = definition(section.name).digest
    if is_outdated(row, digest):
        return 0
    note_definition(row.pk, row, digest)
    using, done, tries = changes().db, 0, 0
    while tries < _TRIES and some:
        # Before the rows are read: what another row reports later is newer.
        clock = Stopwatch(using)
        entries = look_up(section, {change.key for change in some}, site)
        known = titles(section, entries, site)
        origin = str(site.origin)
        run = partial(_write, row, digest, some, entries, known, origin, clock)
        try:
            retrying(using, run)
        except _TakenError:
            tries += 1
            time.sleep(0.01 * tries)
        else:
            done += len(some)
            if len(some) < CHUNK:
                break
        some = _waiting(section.name, number)
    return done


def foresee(section: SectionSource, site: SiteAddress) -> Iterator[str]:
    """Yield the locations that ``report`` would report now; write nothing."""
    if section.key is None:
        return
    row = sections().filter(name=section.name).first()
    hints = (crossed(section, row, time.time()) if row else None) or ()
    rows = _unreported(section.name).order_by("pk").values_list("key", flat=True)
    keys = list(dict.fromkeys([*(hint.key for hint in hints if hint.key), *rows]))
    for start in range(0, len(keys), CHUNK):
        some = keys[start : start + CHUNK]
        for entries in look_up(section, some, site).values():
            yield from (location for location, _ in entries)


def _unreported(name: str) -> QuerySet[Change]:
    found = changes(name).filter(reported_at=None, upto=None, related="")
    return found.exclude(key="")


def _waiting(name: str, page: int | None) -> list[_Waiting]:
    rows = _unreported(name)
    if page is not None:
        rows = rows.filter(page=page)
    columns = rows.order_by("pk").values_list(*_Waiting._fields)
    return [_Waiting(*values) for values in columns[:CHUNK]]


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
    section: Section,
    digest: str,
    found: Sequence[_Waiting],
    entries: Entries,
    titles: Titles,
    origin: str,
    clock: Stopwatch,
) -> None:
    """Write the events of some changes, and note what was reported."""
    using = changes().db
    newest = {change.key: change for change in found}
    new = {change.key for change in found if change.created}
    with transaction.atomic(using=using):
        lock(section.name)
        now = clock.now()
        ids = [change.pk for change in found]
        claimed = changes().filter(pk__in=ids, reported_at=None)
        if claimed.update(reported_at=clock.started_at, definition=digest) != len(ids):
            raise _TakenError
        current = [change for change in found if newest[change.key] is change]
        older = set(ids) - {change.pk for change in current}
        if older:
            changes().filter(pk__in=older).delete()
        timed = _timed([change.key for change in current], entries, now)
        oldest = {change.key: change for change in reversed(found)}
        _note_reported(current, oldest, timed, new, origin)
        _note_pages(section, [c for c in current if timed[c.key]], now)
        write(section.name, _events(timed, new, titles), now)


def _timed(keys: Sequence[str], entries: Entries, now: float) -> _Timed:
    """
    Give each entry's event a time of its own, a microsecond after the one before.

    By that a page tells the events of its own rows from those of others.
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
    found: Iterable[_Waiting],
    oldest: Mapping[str, _Waiting],
    timed: _Timed,
    new: Collection[str],
    origin: str,
) -> None:
    rows = [
        Change(
            pk=change.pk,
            reported=reported_text(timed[change.key], origin, change.key in new),
            loses_url=_loses_url(oldest[change.key], timed[change.key]),
        )
        for change in found
    ]
    changes().bulk_update(rows, ["reported", "loses_url"], batch_size=CHUNK)


def _loses_url(oldest: _Waiting, entries: Sequence[object]) -> bool | None:
    """Tell whether a row may have lost a URL, as far as no page is read for that."""
    if oldest.created:
        # It had none before.
        return False
    return None if entries else True


def _note_pages(section: Section, found: Iterable[_Waiting], now: float) -> None:
    """Let the index say that pages changed, before they are built."""
    numbers = {change.page for change in found if change.page is not None}
    if numbers:
        pages().filter(section=section, number__in=numbers).update(
            lastmod=Greatest(Coalesce(F("lastmod"), Value(0.0)), Value(now)),
            # One that was empty is not any more.
            entries=NullIf("entries", Value(0)),
        )


def _events(timed: _Timed, new: set[str], titles: Titles) -> list[Event]:
    kinds = UrlChange.Kind
    return [
        Event(
            kinds.ADDED if key in new else kinds.CHANGED,
            location,
            at,
            lastmod_of(rest),
            title_of(titles.get(key, ()), index, len(entries)),
        )
        for key, entries in timed.items()
        for index, (location, rest, at) in enumerate(entries)
    ]
