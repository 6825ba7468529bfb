"""
One build of a page: read its rows, write its bytes, and what happened to its URLs.

Which changes wait is read first, then the rows. Then the page, its bytes, the events
and the end of those changes are written in one transaction, where the page is still the
one that was read. So bytes and events change together, and each URL that a page gains
or loses has an event, or the page is marked as not searched yet: it was built without a
former listing.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from django.db import connections, transaction

from django_sitemaps_plus import hooks
from django_sitemaps_plus.changes import url_changes
from django_sitemaps_plus.changes.assignment import unassign
from django_sitemaps_plus.changes.events import Taken, events_between
from django_sitemaps_plus.changes.hints import LATE
from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.changes.related import verify_states
from django_sitemaps_plus.changes.url_changes import Event
from django_sitemaps_plus.db import Stopwatch, retrying
from django_sitemaps_plus.exceptions import Busy, TooManyBadRows
from django_sitemaps_plus.pagination.bounds import (
    bounds_of,
    cuts,
    nth_key_after,
    refuse_disorder,
    split_after,
)
from django_sitemaps_plus.pagination.deploys import note_definition
from django_sitemaps_plus.pagination.models import Page, writing
from django_sitemaps_plus.pagination.queries import LEASE, lease, ledger, sections
from django_sitemaps_plus.prepared import Step, run_all
from django_sitemaps_plus.protocol.dates import LATEST
from django_sitemaps_plus.rendering.digest import Definition, version
from django_sitemaps_plus.rendering.listing import (
    Listing,
    entries_of,
    lastmod_of,
    listing_of,
    listings,
    location_of,
    written,
)
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps.keys import KeyValue
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress
from django_sitemaps_plus.storing import storage
from django_sitemaps_plus.storing.bad_rows import are_known, log_bad, note_error, shown
from django_sitemaps_plus.storing.freshness import Served, read_page, watch_of
from django_sitemaps_plus.storing.storage import StoredBytes

from .page_writer import PageWriter

logger = logging.getLogger("django_sitemaps_plus")

_Kind = UrlChange.Kind

#: Pieces into which a page is split at once. What is left over is built later; what is
#: new in so many pages is left to crawlers.
MOST_PIECES = 50


class OvertakenError(Exception):
    """Somebody else has written the page meanwhile, and taken its changes with it."""


def can_store(source: SectionSource) -> bool:
    """
    Return whether a build may be stored.

    Not inside a transaction that somebody else has opened where the rows or the pages
    are, unless both are in that one: what it read may never be committed.
    """
    rows, own = source.database, ledger()
    is_open = any(connections[alias].in_atomic_block for alias in (rows, own))
    return rows == own or not is_open


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


@dataclass
class Build:
    """
    One run that builds a page: ``run`` sets what ``__init__`` does not.

    ``_NewPages`` and ``_Joining`` use its steps, also those with an underscore.
    """

    source: SectionSource
    current: Definition
    site: SiteAddress
    page: Page
    progress: Callable[[], object] = lambda: None
    #: Whether a request waits for it.
    asked: bool = False
    #: The page's changes, which were read before its rows.
    taken: Taken = field(default_factory=Taken)
    #: What is stored of the page; None if it was never built, or its bytes are lost.
    former: StoredBytes | None = field(init=False)
    #: Since before the rows were read.
    clock: Stopwatch = field(init=False)
    #: What happened to URLs.
    events: list[Event] = field(default_factory=list)
    #: Further pages, whose entries it takes over.
    others: Sequence[Page] = ()
    #: Whether what is listed now was compared with all that was listed before.
    is_compared: bool = False

    def run(self) -> Served[Page]:
        """Read the rows, and write all of it."""
        self._begin()
        writer, overflow = self._write_range(*bounds_of(self.source, self.page))
        if overflow is not None:
            return self._split(overflow)
        if not writer.items:
            refuse_disorder(self.source, self.page)
        self._refuse_bad(writer)
        if self.former is not None:
            former, new = Listing(), Listing()
            if writer.checksum != self.page.checksum:
                former, new = listings(self.former.text_for(self.site), writer.blocks)
            self._compare(former, new, [writer])
        self._add_saved([writer])
        values = retrying(ledger(), lambda: self._commit(writer))
        self._log_done([writer])
        note(self.page, values)
        return Served(self.page, writer.stored, writer.checksum, self.page.changed_at)

    def _begin(self) -> None:
        """Read what is stored, and then what time it is: rows are read later."""
        self.former = storage.read_bytes(self.page, self.page.checksum)
        self.clock = watch_of(self.page)

    def _write_range(
        self, lower: KeyValue | None, upper: KeyValue | None
    ) -> tuple[PageWriter, int | None]:
        writer = PageWriter(
            self.source,
            self.site,
            self.progress,
            # Without former bytes there is nothing to compare them with.
            keeps_blocks=self.former is not None,
            keeps_titles=hooks.wants_titles(),
        )
        verify_states(self.source)
        overflow = writer.run(lower, upper)
        # Again: they may have changed just before the rows were read.
        verify_states(self.source)
        return writer, overflow

    def _refuse_bad(self, writer: PageWriter) -> None:
        """Raise ``TooManyBadRows``, and note it, where something larger is wrong."""
        if writer.is_too_bad:
            tally = writer.reader.tally
            kept = " The page keeps its former bytes." if self.former else ""
            error = tally.too_many(writer.items, str(self.page)) + kept
            note_error(self.page, error, tally.to_correct(writer.items))
            raise TooManyBadRows(error)

    def _log_done(self, writers: Sequence[PageWriter]) -> None:
        """Log what was seen."""
        for writer in writers:
            log_bad(self.source.name, writer.reader.tally)
        if self._is_lost(self.page):
            logger.warning(
                "The stored bytes of page %s were missing or damaged; it was rebuilt.",
                self.page,
            )

    # What happened to URLs

    def _compare(
        self,
        former: Listing,
        new: Listing,
        writers: Sequence[PageWriter],
        *,
        is_whole: bool = True,
    ) -> None:
        """Compare what was listed with what is; both may have only what differs."""
        self.is_compared = is_whole
        bad = [row for writer in writers for row in writer.bad]
        found = events_between(
            former,
            new,
            str(self.site.origin),
            same_definition=self.page.digest == self.current.digest,
            is_whole=is_whole,
            is_sure=are_known(bad, [self.page, *self.others]),
            reports_removed=not self.source.is_news,
        )
        self._add(found, writers)

    def _add_saved(self, writers: Sequence[PageWriter]) -> None:
        """
        Add what was saved, where comparing listings does not tell.

        Without a former listing, also lately: what was saved before that build read
        its rows is in its listing, and the hint may have come after several others.
        And without a lastmod an edit may change nothing in an entry.
        """
        is_known = self.is_compared and self.taken.since > self._unknown_at + LATE
        if is_known and not any(writer.undated for writer in writers):
            return
        # What is new, comparing has found, in this build or another.
        keys = {k: new for k, new in self.taken.keys.items() if not (is_known and new)}
        found = Reader(self.source, self.site).entries_by_key(keys) if keys else {}
        origin, events = str(self.site.origin), list[Event]()
        kinds = {
            written(location, origin): _Kind.ADDED if keys[key] else _Kind.CHANGED
            for key, entries in found.items()
            for location, _ in entries
        }
        for writer in writers if kinds else ():
            # The rows were read later than the page: what that does not list waits.
            listed = entries_of(writer.stored.segment.text(), kinds.keys())
            for item, rest in listed.items():
                location, lastmod = location_of(item, origin), lastmod_of(rest)
                if not (is_known and lastmod):
                    events.append(Event(kinds[item], location, lastmod))
        told = {event.location for event in self.events}
        new = [one.location for one in events if one.kind == _Kind.ADDED]
        again = set[str]()
        if self.is_compared and new:
            # What comparing has found meanwhile may have been saved since.
            again = url_changes.added_since(self.source.name, new, self._unknown_at)
        left = [
            one._replace(kind=_Kind.CHANGED) if one.location in again else one
            for one in events
            if one.location not in told
        ]
        self._add(left, writers)

    @property
    def _unknown_at(self) -> float:
        return max(page.unknown_at for page in (self.page, *self.others))

    def _add(self, events: Iterable[Event], writers: Sequence[PageWriter]) -> None:
        """Add events, with the titles of their rows where these were read."""
        origin, new = str(self.site.origin), list(events)
        texts = {written(event.location, origin) for event in new}
        titles = {k: v for writer in writers for k, v in writer.titles(texts).items()}
        self.events += [
            event._replace(title=titles.get(written(event.location, origin), ""))
            for event in new
        ]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """
        Lock the section's events, and write those of this build, in one transaction.

        And note the newest definition in it: older code must not find a page of a
        definition that it takes for no newer one.
        """
        page, name = self.page, self.source.name
        with transaction.atomic(using=ledger()):
            url_changes.lock(name)
            note_definition(page.section_id, page.section, self.current.digest)
            now = self.clock.now()
            yield
            url_changes.write_events(name, self.events, now)

    # One page

    def _commit(self, writer: PageWriter) -> dict[str, Any]:
        with self._writing():
            return self._write(self.page, writer, *self.taken.finishing())

    def _is_lost(self, page: Page) -> bool:
        """Return whether a page was stored, and not as it was written."""
        return bool(page.checksum and self.former is None)

    def _write(
        self, page: Page, writer: PageWriter, *others: Step, **more: Any
    ) -> dict[str, Any]:
        """
        Write a page, and its bytes unless they are stored; return its values.

        The ``others`` are steps that go with it, on other tables.
        """
        values = {**more, **self._values(writer, page)}
        if "checksum" in values:
            values.pop("version", None)
        version = page, writer.checksum, writer.stored
        is_same = self.former is not None and self.former.origin == self.site.base
        # A new page has no checksum.
        is_stored = is_same and writer.checksum == page.checksum
        # Of a page that was never built there is nothing to overwrite.
        is_over = page.checksum and not is_stored
        over = storage.overwriting(*version) if is_over else []
        steps = writing(page, values), *over, *others
        is_written, *done = run_all(ledger(), steps)
        if not is_written:
            raise OvertakenError
        if not (is_stored or any(done[: len(over)])):
            storage.write_all([version])
        return values

    def _values(self, writer: PageWriter, page: Page) -> dict[str, Any]:
        """Return what is to be written of a page that was built."""
        now = time.time()
        changed = writer.checksum != page.checksum
        newest = writer.reader.tally.newest
        seen = None if newest is None else newest.timestamp()
        # Bytes that only another version of this package writes differ are no change.
        observed = changed and page.checksum and page.digest.startswith(version())
        moments = [] if seen is None else [seen]
        if observed:
            moments.append(now)
        values: dict[str, Any] = {
            "digest": self.current.digest,
            "verified_at": now,
            "read_at": self.clock.started_at,
            "entries": writer.entries,
            "items": writer.items,
            "size": writer.size,
            "newest": seen,
            "unknown_at": self._unknown_at if self.is_compared else self.clock.now(),
            "bad": len(writer.bad),
            "problems": shown([*writer.bad, *writer.reader.tally.omitted.values()]),
            "error": "",
            "failures": 0,
            # The claim ends with it: another statement would be another commit.
            "claimed_by": "",
            "claimed_until": 0,
        }
        if not self.is_compared:
            values["searched"] = False
        if moments:
            values["lastmod"] = max(moments)
        if changed:
            values["checksum"] = writer.checksum
            # Last-Modified says whole seconds, rounded up. Each change has one of its
            # own, or a later 304 might be false.
            former = page.changed_at if 0 < page.changed_at < LATEST else 0.0
            values["changed_at"] = max(now, math.ceil(former) + 1.0)
        if self.asked:
            values["asked_at"] = now
        if self._is_lost(page):
            values["lost_at"] = now
        return values

    # A split

    def _split(self, fitting: int) -> Served[Page]:
        """Divide the page, all its pieces in one transaction."""
        section = self.page.section
        with lease(section) as owner:
            section.refresh_from_db(using=ledger())
            # As it stands under the lease: somebody may have split it just now.
            page = reload(self.page.pk)
            at = cuts(self.source, page, fitting, MOST_PIECES - 1)
            if not at or page.version != self.page.version:
                raise OvertakenError
            (_, first), *others = self._write_pieces(page, at, owner)
            if first is None:
                # Its rows are others by now than when they were counted.
                raise OvertakenError
            dumps = self.source.paged_by.dumps
            lowers = [dumps(start) for start, _ in others if start]
            writers = [writer for _, writer in others]
            self._compare_pieces(first, writers)
            commit = partial(self._commit_split, owner, lowers, first, writers)
            retrying(ledger(), commit)
        self._log_done([first, *filter(None, writers)])
        page = reload(self.page.pk)
        return Served(page, first.stored, first.checksum, page.changed_at)

    def _write_pieces(
        self, page: Page, at: Sequence[KeyValue], owner: str
    ) -> list[tuple[KeyValue | None, PageWriter | None]]:
        """
        Write the pieces of a page that is cut at some keys; return where each begins.

        One that is still too large, by its bytes or by rows that were added meanwhile,
        is cut again. None stands for it where there would be too many pieces: nobody
        would know what was listed in its range before.
        """
        lower, upper = bounds_of(self.source, page)
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
            cut = nth_key_after(self.source, start, rows, end)
            if cut is None or len(pieces) + len(todo) + 2 > MOST_PIECES:
                pieces.append((start, None))
            else:
                todo.extendleft([(cut, end), (start, cut)])
        return pieces

    def _compare_pieces(
        self, first: PageWriter, others: Sequence[PageWriter | None]
    ) -> None:
        """Compare what the page listed with what all pieces list together."""
        built = [first, *filter(None, others)]
        if self.former is not None:
            former, new = listing_of(self.former.text_for(self.site)), Listing()
            for writer in built:
                new.update(listing_of(writer.stored.segment.text()))
            self._compare(former, new, built, is_whole=None not in others)
        self._add_saved(built)

    def _commit_split(
        self,
        owner: str,
        lowers: Sequence[str],
        first: PageWriter,
        others: Sequence[PageWriter | None],
    ) -> None:
        with self._writing():
            taken = self.taken.finishing()
            self._write(self.page, first, *taken, version=self.page.version + 1)
            new_pages = split_after(self.page, owner, lowers)
            for page, writer in zip(new_pages, others, strict=True):
                if writer is not None:
                    self._write(page, writer)
            # Of the other changes, that came since, the pages are looked for again.
            unassign(self.source.name, self.page.number)
