"""
What was saved becomes events, seconds later: one query for the changed keys.

No page is built for it. What was reported is noted on the change, so that the page's
next build knows what the world knows. If the page is built before that, the build
reports the saved rows itself, in the transaction that writes the page.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from django.db import transaction
from django.db.models import F, FloatField, Value
from django.db.models.functions import Coalesce, Greatest, NullIf

from django_sitemaps_plus import hooks
from django_sitemaps_plus.db import DatabaseTime, Stopwatch, retrying
from django_sitemaps_plus.pagination.deploys import is_outdated, note_definition
from django_sitemaps_plus.pagination.models import Page, Section
from django_sitemaps_plus.pagination.queries import (
    ledger,
)
from django_sitemaps_plus.prepared import (
    Prepared,
    Slot,
    Step,
    listed,
    run_all,
    select,
    slots,
    update,
)
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.rendering.listing import (
    fingerprint,
    lastmod_of,
    listing_of,
    location_of,
)
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps.attributes import (
    entries_per_item,
    is_expression,
    is_method,
)
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress, rendering_context

from .assignment import Bounds, assign_to_pages
from .events import Reported, Taken, reported_entries, reported_text
from .models import Change, UrlChange
from .queries import CHANGE_COLUMNS, changes, deleting
from .url_changes import (
    FEW_ROWS,
    Event,
    Known,
    lock,
    said_listed,
    told_since,
    write_events,
)

#: Changes that are reported at a time.
CHANGES_AT_ONCE = 500
#: How often changes that another process has reported meanwhile are looked for again.
_TRIES = 5

#: By the key's text, the entries of its row: locations, and the rest of each entry.
EntriesByKey = Mapping[str, Sequence[tuple[str, bytes]]]
#: The same with the time of each entry's event.
_Timed = Mapping[str, Sequence[tuple[str, bytes, float]]]


@dataclass(frozen=True)
class Stored:
    """What is stored of a page."""

    #: When it was read, and when its own events were.
    known: Known
    #: The fingerprints of what it lists of some locations.
    marks: Mapping[str, str]


#: Reads what pages list, by a definition: lastmods by page and location are given.
ReadStored = Callable[
    [Section, str, Mapping[int, Mapping[str, str]]], Mapping[int, Stored]
]


class _TakenError(Exception):
    """Another process has reported some of the changes, or divided a page."""


@dataclass(frozen=True)
class Saved:
    """Changes that were not reported yet, and the entries that their rows have now."""

    changes: Sequence[Change] = ()
    #: Before the rows were read: what another row reports later is newer.
    looked_at: float = 0.0
    entries: EntriesByKey = field(default_factory=dict)
    titles: Mapping[str, Sequence[str]] = field(default_factory=dict)
    #: Of rows that were created: what the section lists already, as it said last. A
    #: build was faster than the signal, or the URL was another row's.
    known: Collection[str] = ()

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
                mark, is_added = fingerprint(rest, origin), self.adds(key, location)
                lastmod, own = lastmod_of(rest), frozenset[float]()
                entry = Reported(lastmod, mark, digest, at, at, own, is_added)
                taken.add(location, entry)

    def adds(self, key: str, location: str) -> bool:
        """Return whether a row's URL is reported as added, not as changed."""
        return key in self.created and location not in self.known

    def with_known(self, section: str) -> Saved:
        """Look up what the section lists already of what was created."""
        added = {x for key in self.created for x, _ in self.entries.get(key, ())}
        return replace(self, known=said_listed(added, [section]))

    def without(self, keys: Collection[str]) -> Saved:
        """Return the same, without some rows, which are not reported."""
        entries = {k: some for k, some in self.entries.items() if k not in keys}
        return replace(self, entries=entries)

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
    for start in range(0, len(keys), CHANGES_AT_ONCE):
        entries.update(look_up(section, keys[start : start + CHANGES_AT_ONCE], site))
    return saved_of(section, changes, site, looked_at, entries)


def saved_of(
    section: SectionSource,
    changes: Sequence[Change],
    site: SiteAddress,
    looked_at: float,
    entries: EntriesByKey,
) -> Saved:
    """Return changes that were not reported yet, with the entries of their rows."""
    titles: dict[str, Sequence[str]] = {}
    keys = list(entries)
    for start in range(0, len(keys), CHANGES_AT_ONCE):
        titles.update(
            hooks.titles(section, keys[start : start + CHANGES_AT_ONCE], site)
        )
    return Saved(changes, looked_at, entries, titles).with_known(section.name)


def report_changes(
    section: SectionSource, row: Section, site: SiteAddress, read_stored: ReadStored
) -> int:
    """
    Report what was saved and deleted of a section; returns how many changes.

    Only what a page for ``site`` would list. Nothing is reported by outdated code.
    ``row`` is the section's, read before the changes are: a page that is divided
    meanwhile has them assigned anew. ``read_stored`` reads what pages list, given their
    numbers with what is looked for.
    """
    digest = definition(section).digest
    if is_outdated(row, digest):
        return 0
    done, tries = 0, 0
    while tries < _TRIES:
        some, clock = _waiting(row)
        if not some:
            break
        run = _prepare(section, row, site, some, clock, read_stored)
        try:
            retrying(ledger(), run)
        except _TakenError:
            tries += 1
            time.sleep(0.01 * tries)
            row.refresh_from_db()
        else:
            done += len(some)
            if len(some) < CHANGES_AT_ONCE:
                break
    return done


def _prepare(
    section: SectionSource,
    row: Section,
    site: SiteAddress,
    some: Sequence[Change],
    clock: Stopwatch,
    read_stored: ReadStored,
) -> Callable[[], None]:
    """Look up what is to be reported; return what writes it."""
    # An event says whose it is: the page that has the key.
    digest, bounds = definition(section).digest, assign_to_pages(section, row, some)
    saved = look_up_saved(section, some, site, clock.started_at)
    dated = unmoved(section, saved)
    stored = read_stored(row, digest, dated)
    origin = str(site.origin)
    return partial(_write, row, digest, saved, origin, clock, dated, stored, bounds)


def _waiting(section: Section) -> tuple[list[Change], Stopwatch]:
    """Return changes that were not reported yet, and the time when they were read."""
    using = ledger()
    values = {"site": section.site, "section": section.name}
    rows, clock = Stopwatch.of_rows(using, lambda: _WAITING.rows(using, **values))
    return [Change.from_db(using, CHANGE_COLUMNS, row[:-1]) for row in rows], clock


def _waiting_query() -> Any:
    rows = Change.objects.of_all_sites().filter(
        site=Slot("site"), section=Slot("section")
    )
    rows = rows.filter(reported_at=None, upto=None, related="").exclude(key="")
    dated = rows.order_by("pk").annotate(clock=DatabaseTime())
    return select(dated.values_list(*CHANGE_COLUMNS, "clock")[:CHANGES_AT_ONCE])


_WAITING = Prepared(_waiting_query)


def look_up(
    section: SectionSource, texts: Iterable[str], site: SiteAddress
) -> EntriesByKey:
    """Return the entries of rows as a page for ``site`` would list them now, by key."""
    key = section.key
    assert key is not None  # noqa: S101 (for the type checker: asked by the caller)
    keys = [value for text in sorted(texts) if (value := key.read(text)) is not None]
    own = site.with_scheme(section.sitemap.protocol)
    found: dict[str, Sequence[tuple[str, bytes]]] = {}
    with rendering_context(own):
        for value, text in Reader(section, own).of_keys(keys):
            if text is not None:
                # A bad row is left out of its page.
                found[key.dumps(value)] = entries_in(text)
    return found


def entries_in(text: str) -> Sequence[tuple[str, bytes]]:
    """Return the entries of a row, by its text without an address of the site."""
    listing = listing_of(text.encode())
    return [(location_of(item, ORIGIN_MARK), rest) for item, rest in listing.items()]


def unmoved(section: SectionSource, saved: Saved) -> dict[int, dict[str, str]]:
    """
    Return what may be as its page lists it: lastmods by page and location.

    Only where each entry says when its row changed last, and of rows that were there.
    """
    declared: Any = getattr(section.sitemap, "lastmod", None)
    found: dict[int, dict[str, str]] = {}
    if not (is_method(declared) or is_expression(declared)):
        return found
    for change in saved.changes:
        entries = saved.entries.get(change.key, ())
        dates = {location: lastmod_of(rest) for location, rest in entries}
        is_whole = len(entries) == entries_per_item(section.sitemap)
        is_old = change.page is not None and change.key not in saved.created
        if is_whole and is_old and all(dates.values()):
            found.setdefault(change.page or 0, {}).update(dates)
    return found


def unchanged(
    section: str, saved: Saved, stored: Mapping[int, Stored], origin: str
) -> set[str]:
    """
    Return the keys whose entries are as their pages list them, and as they were told.

    With the section locked. Not if anybody told of the URL since the page was read, or
    if the row was looked up since, and perhaps not listed.
    """
    known: dict[str, Known] = {}
    keys: dict[str, list[str]] = {}
    for change in saved.changes:
        page, entries = stored.get(change.page or 0), saved.entries.get(change.key, ())
        if page is not None and entries and change.key not in saved.created:
            marks = {text: fingerprint(rest, origin) for text, rest in entries}
            if marks.items() <= page.marks.items():
                known.update(dict.fromkeys(marks, page.known))
                keys[change.key] = list(marks)
    if not keys:
        return set()
    told = told_since(known)
    before = changes(section).filter(page__in=list(stored), key__in=list(keys))
    # What was as listed then, too, is no reason.
    before = before.exclude(reported_at=None).exclude(loses_url=False)
    others = set(before.values_list("key", flat=True))
    return {key for key, own in keys.items() if told.isdisjoint(own)} - others


def _said_already(
    section: str,
    saved: Saved,
    dated: Mapping[int, Collection[str]],
    origin: str,
    digest: str,
) -> set[str]:
    """
    Return the keys whose entries are as they were told last, their pages not built.

    With the section locked. Not if anybody else told of the URL since.
    """
    keys = {
        change.key: {text: fingerprint(rest, origin) for text, rest in entries}
        for change in saved.changes
        if (entries := saved.entries.get(change.key))
        and dict(entries).keys() <= set(dated.get(change.page or 0, ()))
    }
    if not keys:
        return set()
    said: dict[str, tuple[str | None, float]] = {}
    pages, numbers = listed("page", dated)
    count, texts = listed("key", keys)
    values = {"site": Site.current().key, "section": section, "definition": digest}
    rows = _SAID.rows(ledger(), pages, count, **values, **numbers, **texts)
    for key, text, at, loses_url in rows:
        # One that said nothing new; others that are empty found no row to list.
        if text != "[]" or loses_url is not False:
            said[key] = text, at
    same: set[str] = set()
    known: dict[str, Known] = {}
    for key, (text, at) in said.items():
        reported = reported_entries(text)
        if {location: mark for location, _, mark, *_ in reported} == keys[key]:
            same.add(key)
            known |= {x[0]: Known(at, frozenset([x[3]])) for x in reported}
    told = told_since(known)
    return {key for key in same if told.isdisjoint(keys[key])}


def _said_query(pages: int, keys: int) -> Any:
    rows = Change.objects.of_all_sites().filter(
        site=Slot("site"), section=Slot("section")
    )
    rows = rows.filter(definition=Slot("definition"), reported_at__isnull=False)
    rows = rows.filter(page__in=slots("page", pages), key__in=slots("key", keys))
    columns = "key", "reported", "reported_at", "loses_url"
    return select(rows.order_by("reported_at", "pk").values_list(*columns))


_SAID = Prepared(_said_query)


def _write(
    section: Section,
    digest: str,
    saved: Saved,
    origin: str,
    clock: Stopwatch,
    dated: Mapping[int, Collection[str]],
    stored: Mapping[int, Stored],
    bounds: Bounds | None,
) -> None:
    """Write the events of some changes, and note what was reported."""
    newest = {change.key: change for change in saved.changes}
    with transaction.atomic(using=ledger()):
        if not lock(section.name, section.next_number):
            raise _TakenError
        note_definition(section.pk, section, digest)
        now = clock.now()
        saved = saved.with_known(section.name)
        same = unchanged(section.name, saved, stored, origin)
        same |= _said_already(section.name, saved, dated, origin, digest)
        saved = saved.without(same)
        current = [change for change in saved.changes if newest[change.key] is change]
        timed = _timed([change.key for change in current], saved.entries, now)
        _note_reported(current, saved, timed, origin, same, digest)
        if bounds is not None:
            bounds.end_errors({change.page for change in current if change.page})
        _note_pages(section, [c for c in current if timed[c.key]], now)
        write_events(section.name, _events(timed, saved), now)


def _timed(keys: Sequence[str], entries: EntriesByKey, now: float) -> _Timed:
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
    found: Sequence[Change],
    saved: Saved,
    timed: _Timed,
    origin: str,
    same: Collection[str],
    digest: str,
) -> None:
    """Note on changes what was reported, and delete older ones of the same keys."""
    oldest = {change.key: change for change in reversed(saved.changes)}
    for change in found:
        entries, key = timed[change.key], change.key
        added = {location for location, *_ in entries if saved.adds(key, location)}
        change.reported = reported_text(entries, origin, added)
        is_same = key in same
        change.loses_url = False if is_same else _loses_url(oldest[key], entries)
        change.reported_at, change.definition = saved.looked_at, digest
    older = {change.pk for change in saved.changes} - {change.pk for change in found}
    steps = [Step(_REPORT, (), _reported(change)) for change in found[:FEW_ROWS]]
    steps += [deleting(older, older)] if older else []
    if len(found) > FEW_ROWS:
        rest = found[FEW_ROWS:]
        claimed = changes().filter(pk__in=[x.pk for x in rest], reported_at=None)
        if claimed.update(reported_at=saved.looked_at) != len(rest):
            raise _TakenError
        changes().bulk_update(rest, _REPORTED, batch_size=CHANGES_AT_ONCE)
    if sum(run_all(ledger(), steps)) != min(len(found), FEW_ROWS) + len(older):
        raise _TakenError


#: What is noted on a change that is reported.
_REPORTED = ("page", "reported", "reported_at", "definition", "loses_url")


def _reported(change: Change) -> dict[str, Any]:
    return {"pk": change.pk, **{name: getattr(change, name) for name in _REPORTED}}


def _report_query() -> Any:
    fields = {name: Change._meta.get_field(name) for name in _REPORTED}
    rows = Change.objects.of_all_sites().filter(pk=Slot("pk"), reported_at=None)
    return update(rows, **{name: Slot(name, field) for name, field in fields.items()})


_REPORT = Prepared(_report_query)


def _loses_url(oldest: Change, entries: Sequence[object]) -> bool | None:
    """Return whether a row may have lost a URL, as far as no page is read for that."""
    # A new one had none before.
    return False if oldest.created and entries else None


def _note_pages(section: Section, found: Iterable[Change], now: float) -> None:
    """Let the index say that pages changed, before they are built."""
    numbers = {change.page for change in found if change.page is not None}
    if numbers:
        count, values = listed("number", numbers)
        _NOTE.run(ledger(), count, section=section.pk, now=now, **values)


def _note_query(numbers: int) -> Any:
    rows = Page.objects.filter(section_id=Slot("section"))
    now = Slot("now", FloatField())
    return update(
        rows.filter(number__in=slots("number", numbers)),
        lastmod=Greatest(Coalesce(F("lastmod"), Value(0.0)), now),
        # One that was empty is not any more.
        entries=NullIf("entries", Value(0)),
    )


_NOTE = Prepared(_note_query)


def _title_of(titles: Sequence[str], index: int, entries: int) -> str:
    """Return the title of one of a row's entries: its language's, if each has one."""
    if not titles:
        return ""
    return titles[index if len(titles) == entries else 0]


def _events(timed: _Timed, saved: Saved) -> list[Event]:
    kinds = UrlChange.Kind
    numbers = {change.key: change.page for change in saved.changes}
    return [
        Event(
            kinds.ADDED if saved.adds(key, location) else kinds.CHANGED,
            location,
            at,
            lastmod_of(rest),
            _title_of(saved.titles.get(key, ()), index, len(entries)),
            page=numbers[key],
        )
        for key, entries in timed.items()
        for index, (location, rest, at) in enumerate(entries)
    ]
