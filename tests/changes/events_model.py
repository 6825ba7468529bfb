"""
The algorithm that tells what happened to URLs, as a model that runs.

Users, reports and builds are generators. Each ``yield`` is a moment at which any of
the others may go on, so that every order of their steps can be tried. There is no
database and no Django: transactions are what ``World.transaction()`` says. Each method
stands for a part of the code, and both change together:

- ``commit`` and ``hint``: a project's transaction, and the INSERT that follows it
  (``changes/recorder``);
- ``report``, ``look_up`` and ``write_report``: ``changes/reporting``;
- ``build`` and ``write``: ``building/pages.build``, a split included;
- ``known`` and ``difference``: ``changes/events.take`` and ``Comparison``;
- ``may_be_here``: ``changes/url_changes.reported_by_others``;
- ``is_elsewhere``: ``changes/url_changes.said_listed``;
- ``take_back``: ``changes/url_changes._take_back``;
- ``was_added``: ``changes/url_changes.added_since``;
- ``search``: ``building/elsewhere``;
- ``unchanged``: ``changes/reporting.unchanged``, in worlds where entries have dates.

A second section has keys from ``SECTION`` on, and may list what the first one lists.

``Rules`` names what the algorithm relies on. Break a rule, and the worlds that go wrong
say what it is for.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

ADDED, CHANGED, REMOVED = "added", "changed", "removed"

#: The moments at which others may go on.
Steps: TypeAlias = Generator[str, None, None]
#: Moments that a transaction takes at most from its time to its end.
MARGIN = 60
#: The keys from the first to below the second.
Range: TypeAlias = tuple[int, int]
EVERYTHING: Range = (0, 10**9)
#: The first key of the second section.
SECTION = 1000
#: A row as users write it: its location, its entry's hash, and whether it has a fault,
#: for which it is left out. None: it is not listed.
Row: TypeAlias = tuple[str, int] | tuple[str, int, bool] | None


@dataclass(frozen=True)
class Rules:
    """What the algorithm relies on."""

    #: A build reads the changes before it reads the rows.
    claims_first: bool = True
    #: What a build did not read before the rows, it neither counts nor deletes.
    keeps_to_its_claim: bool = True
    #: A build deletes no change that it has not read, as reported or to report it.
    awaits_reports: bool = True
    #: A page that somebody else built meanwhile is not written.
    compares_versions: bool = True
    #: All pages of a split are written in one transaction.
    splits_at_once: bool = True
    #: A report of which a part was reported or deleted by others is abandoned.
    counts_changes: bool = True
    #: The older changes of a key are deleted in the transaction of the report.
    deletes_with_report: bool = True
    #: Whoever writes events locks the section, then takes the time and reads events.
    locks_section: bool = True
    #: A missing URL of which others told since the page was read may still be there.
    doubts_removal: bool = True
    #: ... or since the report that made the URL known, if that is earlier.
    doubts_since_report: bool = True
    #: A change notes when its key was looked up, not when that was told.
    dates_looks: bool = True
    #: What was looked up before the page was read does not overrule what it lists.
    orders_looks: bool = True
    #: What the page itself told is no reason for doubt.
    trusts_itself: bool = True
    #: ... but of its builds only what was about URLs that it lists since.
    trusts_its_listing: bool = True
    #: A listed URL whose last event is "removed" is told again.
    relists: bool = True
    #: ... even if that was written after the page, with an earlier time.
    looks_further_back: bool = True
    #: ... also if another section removed it.
    relists_for_others: bool = True
    #: A missing URL that another section's pages list is not told as removed.
    searches_others: bool = True
    #: ... nor one that another section told of last.
    hears_others: bool = True
    #: A page that tells so, because it is missing there, does not list it.
    trusts_listings_only: bool = True
    #: Who misses a URL takes back what the page itself said of it.
    takes_back: bool = True
    #: ... also long before.
    takes_back_by_page: bool = True
    #: ... even where another page has become of a part of it.
    hands_on: bool = True
    #: ... and where nobody else of the section lists it, what all of these said.
    takes_all_back: bool = True
    #: A row that is left out for a fault may have the URL that is missing.
    doubts_with_faults: bool = True
    #: ... but for one that had none when the page was built before.
    knows_old_faults: bool = True
    #: ... unless it was reported since.
    doubts_reports_with_faults: bool = True
    #: What was told as changed, and was not listed before, is told as added.
    completes_added: bool = True
    #: What a build told as added before the hint came is not told as added again.
    hears_builds: bool = True
    #: ... nor is what was reported as added while a build read its rows.
    hears_reports: bool = True
    #: Where entries have dates, a save that is as its page lists it is told all the
    #: same if anybody told of the URL since the page was read.
    doubts_told: bool = True
    #: ... or if its row was looked up since, and was not so.
    doubts_looked_up: bool = True
    #: ... or if the page is being built.
    doubts_while_built: bool = True


@dataclass(frozen=True)
class State:
    """What a URL shows from one commit to the next."""

    location: str
    #: The row that has the URL, or the one that gave it up.
    key: int
    #: Of the entry. None: nothing is there.
    hash: int | None
    #: The commit's number.
    commit: int
    #: Whether a hint tells of that commit.
    is_recorded: bool
    #: Whether the row is left out of its page, though visitors find the URL.
    is_faulty: bool = False


@dataclass
class Change:
    """A hint: look at this key again."""

    key: int
    is_created: bool
    is_reported: bool = False
    #: What was reported; None if the key was not listed.
    entry: State | None = None
    #: Whether it was told as added, or not told because the page lists the same.
    is_added: bool = False
    is_same: bool = False
    #: Just before the look, and in the transaction of the report.
    looked_at: int = 0
    told_at: int = 0


@dataclass(eq=False)
class Page:
    """A page: what it lists, when its rows were read, and when it was written."""

    lower: int = 0
    #: None: it was never built.
    listing: Mapping[str, int] | None = None
    version: int = 0
    read_at: int = -1
    events_at: int = -1
    #: The keys of rows that were left out for a fault.
    faulty: frozenset[int] = frozenset()
    #: How many are building it.
    builders: int = 0

    @property
    def section(self) -> int:
        """Which of the two it belongs to."""
        return section_of(self.lower)


@dataclass(frozen=True)
class Event:
    """What engines are told of a URL."""

    at: int
    kind: str
    location: str
    section: int
    #: What was seen there, if anything.
    seen: State | None = None
    #: Only for those who were not told of it as changed.
    is_late: bool = False
    #: Told as changed, because it is missing, and another page or section lists it; or
    #: taken back.
    is_missing: bool = False
    #: Of what is missing: the events that are taken back, and when the page was read:
    #: what it told before is, too. None: all of the section.
    own: frozenset[int] | None = None
    read_at: int = -1
    #: The page that told it.
    page: Page | None = None

    @property
    def is_left_to_others(self) -> bool:
        """Whether the URL is missing here, and the other section lists it."""
        return self.is_missing and self.own is None and self.seen is None


@dataclass
class Known:
    """What the world was told of a location."""

    #: Of its entry. None: not certain.
    hash: int | None
    #: When it was known at the latest; a URL that others told of later may be theirs.
    since: int
    #: When the page itself told of it.
    own: set[int] = field(default_factory=set)
    #: Whether a change reported it.
    is_reported: bool = False
    #: Whether it was listed, or told as added.
    is_old: bool = False


@dataclass(frozen=True)
class Reading:
    """The rows of a page, and what all URLs showed when they were read."""

    read_at: int
    rows: Sequence[State]
    urls: Mapping[str, State]
    #: The keys of rows with a fault.
    faulty: frozenset[int]


@dataclass
class Report:
    """Changes that are being reported: of each key the newest, and the older ones."""

    newest: dict[int, int]
    older: list[int]
    created: set[int]
    looked_at: int = 0
    looks: dict[int, State | None] = field(default_factory=dict)
    #: By key, the page as it was stored then.
    stored: dict[int, Page] = field(default_factory=dict)

    @property
    def changes(self) -> list[int]:
        """The numbers of all of them."""
        return [*self.newest.values(), *self.older]


@dataclass
class Claim:
    """The page as a build found it, and the changes that the build is to end."""

    page: Page
    former: Page
    keys: Range
    changes: dict[int, Change] = field(default_factory=dict)
    events_at: int = 0
    #: What the other section's pages listed when they were searched.
    elsewhere: set[str] = field(default_factory=set)


class World:
    """Rows, the ledger's tables, and an engine that looks at the URLs it is told of."""

    def __init__(
        self,
        rules: Rules,
        *,
        limit: int = 4,
        batch: int = 100,
        is_dated: bool = False,
    ) -> None:
        self.rules = rules
        #: Whether another content has another entry, for its date.
        self.is_dated = is_dated
        #: Entries of a page, and changes that one report takes.
        self.limit, self.batch = limit, batch
        self.clock = 0
        self.commits, self.numbers = itertools.count(1), itertools.count(1)
        self.rows: dict[int, State] = {}
        self.urls: dict[str, State] = {}
        self.changes: dict[int, Change] = {}
        self.pages = [Page(listing={})]
        self.events: dict[str, list[Event]] = {}
        self.locked: set[object] = set()
        #: What the engine saw last of each URL.
        self.views: dict[str, State] = {}
        #: What was looked at and noted, and what events told of.
        self.noted: set[State] = set()
        self.told: set[tuple[State | None, int]] = set()
        #: Of URLs where nothing was: the keys of pages that were read meanwhile.
        self.missed: dict[State, list[Range]] = {}
        #: URLs of which nobody could know whether they are there, for a fault.
        self.doubted: set[str] = set()
        #: What must never happen, as it happens.
        self.faults: list[str] = []

    def tick(self) -> int:
        """Return the time; no two moments have the same."""
        self.clock += 1
        return self.clock

    # Users

    def commit(self, new: Mapping[int, Row], *, is_recorded: bool = True) -> None:
        """Commit rows, as a transaction of the project's does."""
        number = next(self.commits)
        self.tick()
        former = [self.rows.pop(key) for key in new if key in self.rows]
        for state in former:
            # In the other section, as it was.
            others = [x for x in self.rows.values() if x.location == state.location]
            self.urls[state.location] = (
                replace(others[0], is_recorded=False)
                if others
                else replace(state, hash=None, commit=number, is_recorded=is_recorded)
            )
        for key, row in new.items():
            if row is not None:
                location, digest, *faulty = row
                state = State(location, key, digest, number, is_recorded, *faulty)
                self.rows[key] = self.urls[location] = state

    def hint(
        self,
        keys: Iterable[int],
        created: Collection[int] = (),
        numbers: Iterator[int] | None = None,
    ) -> None:
        """Write down which keys to look at."""
        for key, number in zip(keys, numbers or self.numbers, strict=False):
            self.changes[number] = Change(key, key in created)

    # Transactions

    def transaction(
        self, section: int, *rows: object
    ) -> Generator[str, None, set[object]]:
        """Lock some rows once nobody else has any of them locked; return them."""
        wanted: set[object] = {*rows}
        if self.rules.locks_section:
            wanted.add(f"section {section}")
        while wanted & self.locked:
            yield "waiting"
        self.locked |= wanted
        return wanted

    # Reports

    def report(self, keys: Range = EVERYTHING) -> Steps:
        """Tell of the keys of one section that changed."""
        report = self.unreported(keys)
        if not report.newest:
            return
        yield from self.look_up(report)
        report.stored = {key: replace(self.page_of(key)) for key in report.newest}
        yield "read listings"
        section = section_of(min(report.newest))
        locks = yield from self.transaction(section, *report.changes)
        try:
            told_at = self.tick()
            if not self.rules.counts_changes or all(map(self.waits, report.changes)):
                yield "telling"
                self.write_report(report, told_at)
        finally:
            self.locked -= locks

    def look_up(self, report: Report) -> Steps:
        """Look at the keys of a report."""
        if not self.rules.deletes_with_report:
            while report.older:
                self.changes.pop(report.older.pop(), None)
        yield "found changes"
        report.looked_at = self.tick()
        yield "dated look"
        report.looks = {key: self.listed(key) for key in report.newest}
        yield "looked"

    def listed(self, key: int) -> State | None:
        """Return a row as a page lists it; None if it is not listed."""
        state = self.rows.get(key)
        return None if state is None or state.is_faulty else state

    def unreported(self, keys: Range) -> Report:
        """Return the oldest changes of a section that were not reported yet."""
        found = [number for number in self.within(keys) if self.waits(number)]
        sections = [section_of(self.changes[number].key) for number in found]
        found = [
            n for n, own in zip(found, sections, strict=True) if own == sections[0]
        ]
        found = found[: self.batch]
        newest = {self.changes[number].key: number for number in found}
        older = [number for number in found if number not in newest.values()]
        created = {
            self.changes[number].key
            for number in found
            if self.changes[number].is_created
        }
        return Report(newest, older, created)

    def waits(self, number: int) -> bool:
        """Return whether a change is there, and is not reported."""
        return number in self.changes and not self.changes[number].is_reported

    def within(self, keys: Range) -> list[int]:
        """Return the changes of some keys, the oldest first."""
        first, end = keys
        return [
            number
            for number, change in sorted(self.changes.items())
            if first <= change.key < end
        ]

    def page_of(self, key: int) -> Page:
        """Return the page that owns a key."""
        return max((p for p in self.pages if p.lower <= key), key=lambda p: p.lower)

    def unchanged(self, report: Report, *, is_own: bool = False) -> set[int]:
        """Return the keys of which nothing is told: their page lists the same."""
        found = set()
        for key, page in report.stored.items():
            state = report.looks[key]
            if not self.is_dated or state is None or key in report.created:
                continue
            is_same = (page.listing or {}).get(state.location) == state.hash
            is_told = any(
                event.at > page.read_at and event.at != page.events_at
                for event in self.events.get(state.location, [])
            )
            was_looked_up = any(
                change.key == key and change.is_reported and not change.is_same
                for change in self.changes.values()
            )
            is_built = bool(page.builders) and not is_own
            if is_same and not (
                (is_told and self.rules.doubts_told)
                or (was_looked_up and self.rules.doubts_looked_up)
                or (is_built and self.rules.doubts_while_built)
            ):
                found.add(key)
        return found

    def is_new(self, key: int, state: State, report: Report) -> bool:
        """Return whether a row's URL is told as added."""
        events = self.events.get(state.location, [])
        own = [event for event in events if event.section == section_of(key)]
        is_known = any(map(self.says_listed, own))
        if is_known and not self.rules.hears_builds:
            is_known = False
            if key in report.created and own[-1].kind == ADDED:
                self.faults.append(f"{state.location} was told as added twice")
        return key in report.created and not is_known

    def write_report(
        self, report: Report, told_at: int, *, is_own: bool = False
    ) -> None:
        """Write what was found, and tell of it; ``is_own``: by the page's build."""
        same = self.unchanged(report, is_own=is_own)
        for key, number in report.newest.items():
            state = report.looks[key]
            if number in self.changes:
                change = self.changes[number]
                change.is_reported, change.entry = True, state
                if key in same and not is_own:
                    change.entry = None
                change.looked_at, change.told_at = report.looked_at, told_at
                change.is_added = bool(state and self.is_new(key, state, report))
                change.is_same = key in same
        for number in report.older:
            self.changes.pop(number, None)
        for key, state in report.looks.items():
            if state is None:
                continue
            self.noted.add(state)
            if key not in same:
                kind = ADDED if self.is_new(key, state, report) else CHANGED
                event = Event(told_at, kind, state.location, section_of(key), state)
                self.tell(replace(event, page=self.page_of(key)))

    # Pages

    def build(self, page: Page) -> Steps:
        """Build a page, and tell what is different."""
        page.builders += 1
        try:
            yield from self.build_claimed(page)
        finally:
            page.builders -= 1

    def build_claimed(self, page: Page) -> Steps:
        """Build a page that is claimed."""
        claim = Claim(page, replace(page), self.keys_of(page))
        early = None if self.rules.claims_first else self.read(claim.keys, self.tick())
        asked = [] if self.rules.awaits_reports else self.within(claim.keys)
        yield "read page"
        claim.changes = self.reported(claim.keys)
        report = self.unreported(claim.keys)
        yield from self.look_up(report)
        report.stored = dict.fromkeys(report.newest, claim.former)
        yield "took changes"
        read_at = self.tick()
        claim.keys = self.keys_of(page)
        yield "dated reading"
        reading = early or self.read(claim.keys, read_at)
        yield "read rows"
        claim.elsewhere = self.search(page)
        yield "searched"
        taken = [*claim.changes, *report.changes]
        locks = yield from self.transaction(page.section, page, *taken)
        try:
            if self.stands(claim, report):
                # At the same time: of these the page knows that they are its own.
                claim.events_at = self.tick()
                self.write_report(report, claim.events_at, is_own=True)
                own = {n: self.changes[n] for n in report.newest.values()}
                claim.changes.update(own)
                if not self.rules.keeps_to_its_claim:
                    claim.changes = self.reported(claim.keys)
                events = self.difference(claim, reading)
                yield "writing"
                self.write(claim, reading, events)
                self.end([*claim.changes, *asked])
        finally:
            self.locked -= locks

    def keys_of(self, page: Page) -> Range:
        """Return the keys that are a page's own."""
        above = [other.lower for other in self.pages if other.lower > page.lower]
        return page.lower, min(above, default=EVERYTHING[1])

    def reported(self, keys: Range) -> dict[int, Change]:
        """Return the changes of some keys that were reported."""
        found = {number: self.changes[number] for number in self.within(keys)}
        return {n: change for n, change in found.items() if change.is_reported}

    def read(self, keys: Range, read_at: int) -> Reading:
        """Read the rows of some keys, in one statement."""
        first, end = keys
        found = [key for key in sorted(self.rows) if first <= key < end]
        rows = [state for key in found if (state := self.listed(key))]
        faulty = frozenset(found) - {state.key for state in rows}
        return Reading(read_at, rows, dict(self.urls), faulty)

    def search(self, page: Page) -> set[str]:
        """Return what the pages of the other section list."""
        others = [other for other in self.pages if other.section != page.section]
        return {location for other in others for location in other.listing or ()}

    def stands(self, claim: Claim, report: Report) -> bool:
        """Return whether nobody else built the page, or took changes of it."""
        is_same = claim.page.version == claim.former.version
        return (
            (is_same or not self.rules.compares_versions)
            and all(number in self.changes for number in claim.changes)
            and all(map(self.waits, report.changes))
        )

    def end(self, changes: Iterable[int]) -> None:
        """Delete changes."""
        for number in changes:
            self.changes.pop(number, None)

    # What is different

    def difference(self, claim: Claim, reading: Reading) -> list[Event]:
        """Compare what is known of a page with what is there."""
        known = self.known(claim)
        new = {state.location: state for state in reading.rows}
        at, section = claim.events_at, claim.page.section
        events = []
        for location in sorted(known.keys() - new.keys()):
            event = self.missing(location, known[location], claim, reading)
            events.append(event)
            if event.kind == REMOVED:
                # What the other section tells in the meantime it cannot know.
                self.check_removed(location, 1 - section)
        for location, state in sorted(new.items()):
            kind, is_late = self.kind_of_listed(state, known.get(location), claim)
            if kind:
                events.append(Event(at, kind, location, section, state, is_late))
        return events

    def known(self, claim: Claim) -> dict[str, Known]:
        """Return the former listing, updated with what the changes reported."""
        former = claim.former
        known = {
            location: Known(digest, former.read_at, {former.events_at}, is_old=True)
            for location, digest in (former.listing or {}).items()
        }
        for change in sorted(claim.changes.values(), key=self.date):
            if change.entry is not None:
                self.update(known, change, change.entry, former)
        return known

    def date(self, change: Change) -> int:
        """Return when a change was reported, as it is noted."""
        return change.looked_at if self.rules.dates_looks else change.told_at

    def update(
        self, known: dict[str, Known], change: Change, entry: State, former: Page
    ) -> None:
        """Note what a change reported."""
        date = self.date(change)
        own = () if self.rules.trusts_its_listing else (former.events_at,)
        item = Known(None, former.read_at, {*own})
        item = known.setdefault(entry.location, item)
        if not self.rules.orders_looks or date > former.events_at:
            item.hash = entry.hash
        elif item.hash != entry.hash:
            item.hash = None
        if self.rules.doubts_since_report:
            item.since = min(item.since, date)
        item.own.add(change.told_at)
        item.is_reported = True
        item.is_old = item.is_old or change.is_added

    def missing(
        self, location: str, known: Known, claim: Claim, reading: Reading
    ) -> Event:
        """Return what to tell of a URL that is missing."""
        event = Event(claim.events_at, CHANGED, location, claim.page.section)
        if self.may_be_faulty(known, claim.former, reading):
            self.doubted.add(location)
            return event
        if self.may_be_here(location, known, claim):
            own = frozenset({*known.own, event.at})
            return replace(event, is_missing=True, own=own, read_at=reading.read_at)
        if self.is_elsewhere(location, claim):
            return replace(event, is_missing=True)
        return replace(event, kind=REMOVED)

    def may_be_here(self, location: str, known: Known, claim: Claim) -> bool:
        """Return whether another row of the section may have a missing URL."""
        return self.rules.doubts_removal and any(
            self.says_listed(event)
            and event.section == claim.page.section
            and event.at > known.since
            and not (self.rules.trusts_itself and event.at in known.own)
            for event in self.events.get(location, [])
        )

    def is_elsewhere(self, location: str, claim: Claim) -> bool:
        """Return whether the other section lists a missing URL, or told so."""
        if self.rules.searches_others and location in claim.elsewhere:
            return True
        own = claim.page.section
        return self.rules.hears_others and any(
            self.says_listed(event)
            for event in self.events.get(location, [])
            if event.section != own
        )

    def says_listed(self, event: Event) -> bool:
        """Return whether an event says that a page of the section lists the URL."""
        if event.is_missing and self.rules.trusts_listings_only:
            return False
        return event.kind != REMOVED

    def may_be_faulty(self, known: Known, former: Page, reading: Reading) -> bool:
        """Return whether a URL may be one of a row that is left out for a fault."""
        if not self.rules.doubts_with_faults:
            return False
        if known.is_reported and self.rules.doubts_reports_with_faults:
            return bool(reading.faulty)
        old = former.faulty if self.rules.knows_old_faults else frozenset()
        return not reading.faulty <= old

    def kind_of_listed(
        self, state: State, known: Known | None, claim: Claim
    ) -> tuple[str | None, bool]:
        """Return what to tell of a URL that is there, if anything; if it is late."""
        was_built = claim.former.listing is not None
        since = known.since if known else -1
        events = self.events.get(state.location, [])
        if not self.rules.relists_for_others:
            events = [e for e in events if e.section == claim.page.section]
        if self.rules.looks_further_back:
            since -= MARGIN
        was_removed = any(e.kind == REMOVED and e.at >= since for e in events[-1:])
        is_relisted = was_removed and self.rules.relists
        if known is None and was_built and self.was_added(state.location, claim):
            return CHANGED, False
        if known is None:
            return ADDED if was_built or is_relisted else None, False
        is_due = known.hash != state.hash or is_relisted
        if was_built and not known.is_old and self.rules.completes_added:
            return ADDED, not is_due
        return CHANGED if is_due else None, False

    def was_added(self, location: str, claim: Claim) -> bool:
        """Return whether the section told of a URL as added while a page was read."""
        return self.rules.hears_reports and any(
            event.kind == ADDED
            and event.section == claim.page.section
            and event.at > claim.former.read_at
            and self.says_listed(event)
            for event in self.events.get(location, [])
        )

    # Writing

    def write(self, claim: Claim, reading: Reading, events: Sequence[Event]) -> None:
        """Write a page, or those into which it is split, and tell of it."""
        pieces = self.pieces(claim.page, reading.rows)
        if len(pieces) > 1 and not self.rules.splits_at_once:
            events = self.put_off(claim, pieces, events)
        for piece, rows in pieces:
            piece.listing = {state.location: state.hash or 0 for state in rows}
            piece.version += 1
            piece.read_at, piece.events_at = reading.read_at, claim.events_at
            if piece not in self.pages:
                self.pages.append(piece)
        for piece, _ in pieces:
            first, end = self.keys_of(piece)
            own = [key for key in reading.faulty if first <= key < end]
            piece.faulty = frozenset(own)
        self.note(claim, reading, events)
        for event in events:
            self.tell(replace(event, page=claim.page))
        self.hand_on(claim.page, pieces[1:])
        self.check_added(claim, reading)

    def hand_on(
        self, page: Page, pieces: Sequence[tuple[Page, Sequence[State]]]
    ) -> None:
        """Note that a new page tells what it lists from now on."""
        for piece, rows in pieces if self.rules.hands_on else ():
            for state in rows:
                events = self.events.get(state.location, [])
                for index, event in enumerate(events):
                    if event.page is page:
                        events[index] = replace(event, page=piece)

    def pieces(
        self, page: Page, rows: Sequence[State]
    ) -> list[tuple[Page, Sequence[State]]]:
        """Divide rows between a page and as many new ones as are needed."""
        size = self.limit if len(rows) <= self.limit else max(1, self.limit - 1)
        parts = [rows[start : start + size] for start in range(0, len(rows), size)]
        pieces: list[tuple[Page, Sequence[State]]] = [(page, parts[0] if parts else [])]
        return pieces + [(Page(lower=part[0].key), part) for part in parts[1:]]

    def put_off(
        self,
        claim: Claim,
        pieces: list[tuple[Page, Sequence[State]]],
        events: Sequence[Event],
    ) -> list[Event]:
        """Write only the first piece now: another page has what is left of the rest."""
        here = {state.location for state in pieces[0][1]}
        former, second = claim.former, pieces[1][0]
        rest = {k: v for k, v in (former.listing or {}).items() if k not in here}
        second.listing, second.read_at = rest, former.read_at
        second.events_at = former.events_at
        self.pages.append(second)
        del pieces[1:]
        claim.changes = {
            n: change
            for n, change in claim.changes.items()
            if change.key < second.lower
        }
        return [event for event in events if event.location in here]

    def note(self, claim: Claim, reading: Reading, events: Sequence[Event]) -> None:
        """Note what a build has seen; crawlers read a page that is built first."""
        self.noted.update(reading.rows)
        for state in reading.urls.values():
            if state.hash is None:
                self.missed.setdefault(state, []).append(claim.keys)
        listing = claim.former.listing
        if listing is None:
            for state in reading.rows:
                self.look(state.location)
        elif any(e.kind == ADDED and e.location in listing for e in events):
            self.faults.append("what the page listed was told as added")

    def check_added(self, claim: Claim, reading: Reading) -> None:
        """Note what was not listed, and whoever asks for added URLs was not told of."""
        listing = claim.former.listing
        for state in reading.rows if listing is not None else ():
            events = self.events.get(state.location, [])
            own = [e.kind for e in events if e.section == claim.page.section]
            while REMOVED in own:
                del own[: own.index(REMOVED) + 1]
            if state.location not in (listing or ()) and ADDED not in own:
                self.faults.append(f"{state.location} was never told as added")

    def check_removed(self, location: str, section: int) -> None:
        """Note what is told as removed, though a section has told what is there."""
        now = self.urls.get(location)
        if now and now.hash is not None and (now, section) in self.told:
            self.faults.append(f"{location} was told, and then told as removed")

    # Engines

    def tell(self, event: Event) -> None:
        """Write an event, and let the engine know."""
        now = self.urls.get(event.location)
        if now is None:
            self.faults.append(f"{event.location} was never listed")
            return
        if event.kind == REMOVED:
            self.check_removed(event.location, event.section)
        self.check_twice(event)
        self.told.add((event.seen, event.section))
        self.events.setdefault(event.location, []).append(event)
        if event.is_missing or event.kind == REMOVED:
            self.take_back(event)
        if not event.is_late:
            self.notify(event.location)

    def take_back(self, missing: Event) -> None:
        """Note that earlier events of a URL are true no longer."""
        if not self.rules.takes_back:
            return
        own = missing.own
        if own is None and not self.rules.takes_all_back:
            own = frozenset([missing.at])
        events = self.events[missing.location]
        for index, event in enumerate(events):
            is_own = own is None or event.at in own
            if self.rules.takes_back_by_page and event.at < missing.read_at:
                is_own = is_own or event.page is missing.page
            if event.section == missing.section and is_own:
                events[index] = replace(event, is_missing=True)

    def check_twice(self, event: Event) -> None:
        """Note what is told as added twice, though nothing happened in between."""
        events = self.events.get(event.location, [])
        own = [e for e in events if e.section == event.section and e.kind != CHANGED]
        if event.kind == ADDED and own and own[-1].seen == event.seen:
            self.faults.append(f"{event.location} was told as added twice")

    def notify(self, location: str) -> None:
        """Let the engine look at a URL at once."""
        self.look(location)

    def look(self, location: str) -> None:
        """Let the engine see what is at a URL."""
        self.views[location] = self.urls[location]

    # The end

    def rest(self) -> None:
        """Report and build until nothing is left to do."""
        for _ in range(2):
            while any(map(self.waits, self.changes)):
                finish(self.report())
            for page in self.pages:
                finish(self.build(page))

    def old_views(self) -> list[str]:
        """Return the URLs of which the engine did not see the last state."""
        return [url for url, now in self.urls.items() if not self.is_seen(url, now)]

    def is_seen(self, location: str, now: State) -> bool:
        """Return whether the engine knows; of what was recorded it was told since."""
        view = self.views.get(location)
        if self.is_dated or view is None or now.hash is None or not now.is_recorded:
            return (view and view.hash) == now.hash
        return view == now

    def glimpsed(self) -> list[str]:
        """
        Return the old views of what was there for a moment, and looked at by nobody.

        A URL is told as removed, say, while another row has just got it; the engine
        finds it there; and the row loses it before anybody looks at that row.
        """
        return [
            url
            for url in self.old_views()
            if url in self.views and not self.is_noted(self.views[url], self.urls[url])
        ]

    def is_noted(self, view: State, now: State) -> bool:
        """Return whether anybody of ours saw what the engine saw."""
        if view.hash is not None:
            return view in self.noted
        pages = self.missed.get(view, [])
        return any(first <= now.key < end for first, end in pages)

    def false_removals(self) -> list[str]:
        """Return the URLs that are there, though the last word was "removed"."""
        return [
            location
            for location, events in self.events.items()
            if events[-1].kind == REMOVED and self.urls[location].hash is not None
        ]

    def lost_removals(self) -> list[str]:
        """
        Return the URLs that are gone, though the last word was another one.

        But for those of faulty rows, and for those that both sections lost at the same
        moment: each found that the other one lists it.
        """
        return [
            location
            for location, events in self.events.items()
            if events[-1].kind != REMOVED
            and self.urls[location].hash is None
            and location not in self.doubted
            and not {0, 1} <= {e.section for e in events if e.is_left_to_others}
        ]

    def wrong(self) -> list[str]:
        """Return what is wrong at rest, but for what was only glimpsed."""
        glimpsed = self.glimpsed()
        return [
            *self.faults,
            *(f"{u} is gone, and not told as removed" for u in self.lost_removals()),
            *(f"old view of {u}" for u in self.old_views() if u not in glimpsed),
            *(f"{u} is there, and told as removed" for u in self.false_removals()),
        ]


def section_of(key: int) -> int:
    """Return the section whose row it is."""
    return key // SECTION


def finish(steps: Steps) -> None:
    """Let somebody finish while all others stand still."""
    for _ in steps:
        pass
