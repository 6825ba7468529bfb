"""
One build of a page: read its rows, write its bytes, and what happened to its URLs.

Which changes wait is read first, then the rows. Then the page, its bytes, the events
and the end of those changes are written in one transaction, where the page is still the
one that was read and nobody else has taken the changes. Changes that nobody has
reported yet are reported by these events.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from django.db import connections, transaction

from django_sitemaps_plus.changes import url_changes
from django_sitemaps_plus.changes.assignment import unassign
from django_sitemaps_plus.changes.events import Comparison, Taken, take
from django_sitemaps_plus.changes.models import Change
from django_sitemaps_plus.changes.related import verify_states
from django_sitemaps_plus.changes.reporting import (
    Saved,
    entries_in,
    look_up_saved,
    saved_of,
    unchanged,
    unmoved,
)
from django_sitemaps_plus.changes.url_changes import last_removed
from django_sitemaps_plus.db import Stopwatch, retrying
from django_sitemaps_plus.exceptions import Busy, TooManyBadRows
from django_sitemaps_plus.pagination.bounds import (
    KeyRange,
    bounds_of,
    cuts,
    refuse_disorder,
    split_after,
)
from django_sitemaps_plus.pagination.deploys import note_definition
from django_sitemaps_plus.pagination.models import Page, writing
from django_sitemaps_plus.pagination.queries import (
    LEASE,
    lease,
    ledger,
    pages,
    sections,
)
from django_sitemaps_plus.prepared import run_all
from django_sitemaps_plus.protocol.dates import LATEST
from django_sitemaps_plus.rendering.digest import Definition, definition, version
from django_sitemaps_plus.rendering.listing import (
    Listing,
    listed_of,
    listing_of,
    listings,
    location_of,
    written,
)
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress
from django_sitemaps_plus.storing import storage
from django_sitemaps_plus.storing.bad_rows import (
    formerly_bad,
    labels_of,
    log_bad,
    note_error,
    shown,
    to_correct,
)
from django_sitemaps_plus.storing.freshness import (
    Served,
    read_page,
    watch_of,
    what_waits,
)
from django_sitemaps_plus.storing.storage import StoredBytes
from django_sitemaps_plus.storing.unmoved import stored_of

from .elsewhere import with_others
from .page_writer import PageWriter

logger = logging.getLogger("django_sitemaps_plus")

#: Pieces into which a page is split at once. What is left over is built later; what is
#: new in so many pages is left to crawlers.
MOST_PIECES = 50


class OvertakenError(Exception):
    """Somebody else has written the page, or taken its changes, meanwhile."""


def can_store(source: SectionSource) -> bool:
    """
    Return whether a build may be stored.

    Not inside a transaction that somebody else has opened where the rows or the pages
    are, unless both are in that one: what it read may never be committed.
    """
    rows, own = definition(source).database, ledger()
    if rows == own:
        return True
    return not any(connections[alias].in_atomic_block for alias in (rows, own))


def note(page: Page, values: Mapping[str, Any]) -> None:
    """Copy to a page what was written of it, except what the database computes."""
    for name, value in values.items():
        if name != "lastmod":
            setattr(page, name, value)


def reload(pk: int) -> Page:
    """
    Look at a page again: return it as it stands now.

    Raises ``Busy`` if another key divides the section by now.
    """
    page = read_page(pk=pk)
    if page is None:
        raise Busy("The section is being divided anew.")
    return page


def _labels(key: Key, waiting: Sequence[Change]) -> frozenset[Any] | None:
    """
    Return by which labels the rows of saved keys pass by when a page is read.

    None where keys have no such labels: then they are looked up by themselves.
    """
    if not waiting:
        return frozenset()
    if not key.is_whole:
        return None
    values = {value[0] for change in waiting if (value := key.read(change.key))}
    # A field of somebody's own may make something else of them.
    return frozenset(values) if {type(one) for one in values} <= {int} else None


@dataclass
class Build:
    """One run that builds a page."""

    source: SectionSource
    current: Definition
    site: SiteAddress
    page: Page
    progress: Callable[[], object]
    asked: bool
    #: The page's changes, if they were read with the page.
    given: Taken | None = None
    taken: Taken = field(init=False)
    #: The pages that are built as far as there were any, and what is stored of each,
    #: by its primary key: None if it was never built, or its bytes are lost.
    rows: Sequence[Page] = field(init=False)
    stored: dict[int, StoredBytes | None] = field(init=False)
    clock: Stopwatch = field(init=False)
    read_at: float = field(init=False)
    #: When the rows had been read.
    events_at: float = field(init=False)
    #: What the build reports itself: the changes that nobody has reported yet.
    saved: Saved = field(default_factory=Saved)
    #: What was known against what is listed now, where that may differ.
    comparison: Comparison | None = None
    #: Whether something happened to URLs.
    happened: bool = False
    #: Pages that were stored, and not as they were written.
    lost: set[str] = field(default_factory=set)

    def run(self) -> Served[Page]:
        """Read what waits, then the rows; write all of it."""
        key = KeyRange.of(self.source).key
        waits, name = what_waits(self.page)[0], self.source.name
        taken = self.given
        if taken is None:
            taken = take(name, self.page.number) if waits else Taken(name)
        self._begin(taken, [self.page])
        wanted = _labels(key, taken.waiting)
        if wanted is None:
            self._look_up_saved()
        lower, upper = bounds_of(key, self.page)
        writer, overflow = self._write_range(
            lower,
            upper,
            # Without former bytes there is nothing to compare them with.
            keeps_blocks=self.former is not None,
            wanted=wanted or frozenset(),
        )
        if overflow is not None:
            if wanted:
                self._look_up_saved()
            return self._split(overflow)
        if not writer.items:
            refuse_disorder(KeyRange.of(self.source), self.page)
        self._refuse_bad(writer)
        if wanted:
            texts = {key.dumps((label,)): text for label, text in writer.texts.items()}
            entries = {k: entries_in(text) for k, text in texts.items() if text}
            self._note_saved(
                saved_of(self.source, taken.waiting, self.site, self.read_at, entries)
            )
        same = self.former is None or writer.checksum == self.page.checksum
        if not same or self.taken.reported:
            self._compare_blocks(writer)
        values = retrying(ledger(), lambda: self._commit(writer))
        self._log_done([writer])
        note(self.page, values)
        return self._built(self.page, writer)

    def _look_up_saved(self) -> None:
        """Look up the rows of what was saved, by themselves."""
        waiting = self.taken.waiting
        self._note_saved(look_up_saved(self.source, waiting, self.site, self.read_at))

    def _note_saved(self, saved: Saved) -> None:
        """Note what the build reports itself."""
        self.saved = saved
        saved.note(self.taken, str(self.site.origin), self.current.digest)

    def _begin(self, taken: Taken, rows: Sequence[Page]) -> None:
        """Read what is stored, and then what time it is: rows are read later."""
        self.taken, self.rows = taken, rows
        self.stored = {
            row.pk: storage.read_bytes(row, row.checksum) if row.checksum else None
            for row in rows
        }
        self.clock = watch_of(self.page)
        self.read_at = self.clock.started_at

    @property
    def former(self) -> StoredBytes | None:
        """What is stored of the page."""
        return self.stored.get(self.page.pk)

    def _write_range(
        self,
        lower: KeyValue | None,
        upper: KeyValue | None,
        *,
        keeps_blocks: bool = False,
        wanted: frozenset[Any] = frozenset(),
    ) -> tuple[PageWriter, int | None]:
        writer = PageWriter(
            self.source,
            self.site,
            self.progress,
            keeps_blocks=keeps_blocks,
            wanted=wanted,
        )
        verify_states(self.source)
        overflow = writer.run(lower, upper)
        # Again: they may have changed just before the rows were read.
        verify_states(self.source)
        return writer, overflow

    def _refuse_bad(self, writer: PageWriter, name: str = "") -> None:
        """Raise ``TooManyBadRows`` and note it; ``name`` is another page's."""
        try:
            writer.refuse_bad(name or str(self.page))
        except TooManyBadRows as error:
            faulty = to_correct(writer.bad, writer.items)
            note_error(self.page, str(error), faulty)
            raise

    def _log_done(self, writers: Sequence[PageWriter]) -> None:
        """Log what was seen."""
        for writer in writers:
            log_bad(self.source.name, writer.reader.tally)
        for page in sorted(self.lost):
            logger.warning(
                "The stored bytes of page %s were missing or damaged; it was rebuilt.",
                page,
            )

    # One page

    def _commit(self, writer: PageWriter) -> dict[str, Any]:
        with transaction.atomic(using=ledger()):
            self._lock()
            values = self._values(writer, self.page)
            version = self.page, writer.checksum, writer.stored
            is_stored = self._is_stored(writer, self.page)
            over = [] if is_stored else storage.overwriting(*version)
            page, *rest = run_all(
                ledger(),
                [writing(self.page, values), *over, *self.taken.finishing()],
            )
            if not page or sum(rest[len(over) :]) != self.taken.count:
                raise OvertakenError
            if not (is_stored or any(rest[: len(over)])):
                storage.write_bytes(*version)
            self._write_events([writer])
        return values

    def _is_stored(self, writer: PageWriter, page: Page) -> bool:
        """Return whether what was written is stored, with the site's address."""
        former = self.stored.get(page.pk)
        same = former is not None and former.origin == storage.address_of(self.site)
        return same and writer.checksum == page.checksum

    def _lock(self) -> None:
        """
        Lock the section's events, and note the time of those of this build.

        And the newest definition, in the same transaction: older code must not find a
        page of a definition that it takes for no newer one.
        """
        url_changes.lock(self.source.name)
        note_definition(self.page.section_id, self.page.section, self.current.digest)
        self.events_at = self.clock.now()
        if same := self._unchanged():
            self.saved = self.saved.without(same)
            if self.comparison is not None:
                saved = self.saved.locations
                self.comparison = replace(self.comparison, saved=saved)

    def _unchanged(self) -> set[str]:
        """Return the keys of rows that were saved, and are as they were listed."""
        wanted = unmoved(self.source, self.saved).get(self.page.number)
        if not wanted or self.former is None:
            return set()
        if self.page.digest != self.current.digest:
            return set()
        stored = {self.page.number: stored_of(self.page, self.former, wanted)}
        name, origin = self.source.name, str(self.site.origin)
        return unchanged(name, self.saved, stored, origin)

    def _write(self, page: Page, writer: PageWriter, **more: Any) -> dict[str, Any]:
        """Write a page, and its bytes unless they are stored; return its values."""
        values = {**more, **self._values(writer, page)}
        if "checksum" in values:
            values.pop("version", None)
        if not pages().write(page, **values):
            raise OvertakenError
        if not self._is_stored(writer, page):
            storage.write_bytes(page, writer.checksum, writer.stored)
        return values

    def _built(self, page: Page, writer: PageWriter) -> Served[Page]:
        """Return what is served of a page that was built."""
        return Served(page, writer.stored, writer.checksum, page.changed_at)

    def _values(self, writer: PageWriter, page: Page) -> dict[str, Any]:
        """Return what is to be written of a page that was built."""
        now = time.time()
        changed = writer.checksum != page.checksum
        newest = writer.reader.tally.newest
        seen = None if newest is None else newest.timestamp()
        # Bytes that only another version of this package writes differ are no change.
        observed = changed and page.checksum and page.digest.startswith(version())
        # As whoever reports saved objects notes.
        reported = page.pk == self.page.pk and any(self.saved.entries.values())
        moments = [seen, now if observed or reported else None]
        latest = max((at for at in moments if at is not None), default=None)
        values: dict[str, Any] = {
            "digest": self.current.digest,
            "verified_at": now,
            "read_at": self.read_at,
            "events_at": self.events_at,
            "entries": writer.entries,
            "items": writer.items,
            "size": writer.size,
            "newest": seen,
            "bad": len(writer.bad),
            "problems": shown([*writer.bad, *writer.omitted]),
            "error": "",
            "failures": 0,
            # The claim ends with it: another statement would be another commit.
            "claimed_by": "",
            "claimed_until": 0,
        }
        if latest is not None:
            values["lastmod"] = latest
        if changed:
            values["checksum"] = writer.checksum
            # Last-Modified says whole seconds, rounded up. Each change has one of its
            # own, or a later 304 might be false.
            former = page.changed_at if 0 < page.changed_at < LATEST else 0.0
            values["changed_at"] = max(now, math.ceil(former) + 1.0)
        if self.asked:
            values["asked_at"] = now
        if page.checksum and self.stored.get(page.pk) is None:
            values["lost_at"] = now
            self.lost.add(str(page))
        return values

    def _compare_blocks(self, writer: PageWriter) -> None:
        """Compare what was known with a page's text, as far as that differs."""
        if self.former is None:
            self._compare(listing_of(writer.stored.segment.text()), [writer])
            return
        text = b"".join(writer.blocks)
        origin = str(self.site.origin)
        reported = [written(location, origin) for location in self.taken.reported]
        former, new = listings(self.former.text_for(self.site), writer.blocks, reported)
        self._compare(new, [writer], former=former, text=text)

    def _compare(
        self,
        new: Listing,
        writers: Sequence[PageWriter],
        *,
        former: Listing | None = None,
        text: bytes = b"",
        is_whole: bool = True,
    ) -> None:
        """
        Compare what was known with a listing, before the transaction begins.

        ``former`` and ``new`` may have only what differs, with the ``text`` of all.
        """
        comparison = Comparison(
            former=self._former_listing() if former is None else former,
            new=new,
            text=text,
            taken=self.taken,
            origin=str(self.site.origin),
            page=self.page,
            definition=self.current.digest,
            read_at=self.read_at,
            bad=labels_of([row for writer in writers for row in writer.bad]),
            former_bad=formerly_bad(self.rows),
            is_whole=is_whole,
            reports_removed=not self.source.is_news,
            saved=self.saved.locations,
        )
        self.comparison = with_others(comparison)

    def _write_events(self, writers: Sequence[PageWriter]) -> None:
        """Write what happened to URLs, in the transaction that locks the section."""
        if self.comparison is None:
            self._look_for_removed(writers)
        events = self.saved.events(self.events_at)
        if self.comparison is not None:
            events += self.comparison.events(self.events_at)
        url_changes.write_events(self.source.name, events, self.events_at)
        self.happened = bool(events)

    def _look_for_removed(self, writers: Sequence[PageWriter]) -> None:
        """Compare pages that are as they were, if they list what was removed since."""
        removed = last_removed(self.page.read_at)
        origin = str(self.site.origin)
        new: Listing = {}
        for writer in writers if removed else ():
            body = writer.stored.segment.text()
            # Of many pages, few list any of that.
            if listed_of(body, removed, origin):
                new.update(listing_of(body))
        if new:
            self._compare(new, writers)

    def _former_listing(self) -> Listing | None:
        """Return what all pages listed; None if it is not known of one of them."""
        former = Listing()
        for stored in self.stored.values():
            if stored is None:
                return None
            former.update(listing_of(stored.text_for(self.site)))
        return former

    # A split

    def _split(self, fitting: int) -> Served[Page]:
        """Divide the page, all its pieces in one transaction."""
        key_range = KeyRange.of(self.source)
        section = self.page.section
        with lease(section) as owner:
            section.refresh_from_db(using=ledger())
            # As it stands under the lease: somebody may have split it just now.
            page = reload(self.page.pk)
            at = cuts(key_range, page, fitting, MOST_PIECES - 1)
            if not at or page.version != self.page.version:
                raise OvertakenError
            pieces = self._write_pieces(key_range, page, at, owner)
            (_, first), *others = pieces
            if first is None:
                # Its rows are others by now than when they were counted.
                raise OvertakenError
            lowers = [key_range.key.dumps(start) for start, _ in others if start]
            writers = [writer for _, writer in others]
            retrying(
                ledger(), lambda: self._commit_split(owner, lowers, first, writers)
            )
        self._log_done([writer for _, writer in pieces if writer is not None])
        return self._built(reload(self.page.pk), first)

    def _write_pieces(
        self, key_range: KeyRange, page: Page, at: Sequence[KeyValue], owner: str
    ) -> list[tuple[KeyValue | None, PageWriter | None]]:
        """
        Write the pieces of a page that is cut at some keys; return where each begins.

        One that is still too large, by its bytes or by rows that were added meanwhile,
        is cut again. None stands for it where there would be too many pieces: nobody
        would know what was listed in its range before.
        """
        lower, upper = bounds_of(key_range.key, page)
        pieces: list[tuple[KeyValue | None, PageWriter | None]] = []
        todo = deque(pairwise([lower, *at, upper]))
        while todo:
            start, end = todo.popleft()
            writer, overflow = self._write_range(start, end)
            sections().filter(pk=page.section_id).take(owner, LEASE)
            if overflow is None:
                self._refuse_bad(writer)
                pieces.append((start, writer))
                continue
            rows = max(1, overflow if end is None else overflow // 2)
            cut = key_range.nth_key_after(start, rows, end)
            if cut is None or len(pieces) + len(todo) + 2 > MOST_PIECES:
                pieces.append((start, None))
            else:
                todo.extendleft([(cut, end), (start, cut)])
        return pieces

    def _commit_split(
        self,
        owner: str,
        lowers: Sequence[str],
        first: PageWriter,
        others: Sequence[PageWriter | None],
    ) -> None:
        listings = [self._listing(writer) for writer in others]
        is_whole = None not in others
        built = [first, *(writer for writer in others if writer is not None)]
        new = Listing()
        for listing in (*listings, self._listing(first)):
            new.update(listing)
        self._compare(new, built, is_whole=is_whole)
        with transaction.atomic(using=ledger()):
            self._lock()
            self._write(self.page, first, version=self.page.version + 1)
            new_pages = split_after(self.page, owner, lowers)
            for page, writer in zip(new_pages, others, strict=True):
                if writer is not None:
                    self._write(page, writer)
            if sum(run_all(ledger(), self.taken.finishing())) != self.taken.count:
                raise OvertakenError
            # Of the others, that came since, the pages are looked for again.
            unassign(self.source.name, self.page.number)
            self._write_events(built)
            for page, listing in zip(new_pages, listings, strict=True):
                url_changes.hand_on(
                    *(self.source.name, self.page.number, page.number),
                    [location_of(item, str(self.site.origin)) for item in listing],
                )

    def _listing(self, writer: PageWriter | None) -> Listing:
        """Return what a piece lists, if there is anything to compare it with."""
        if writer is None or not (self.former or self.taken.reported):
            return {}
        return listing_of(writer.stored.segment.text())
