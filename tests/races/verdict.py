"""What crawlers and engines were given in a race, held against what was committed."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from tests.support.fakes.webhook import Heard

from .journal import Line
from .reader import ADDRESS, Noted
from .truth import ALWAYS, LIMIT, NEVER, Entry, Span, Truth, Url, section_of

#: Seconds by which the clocks of databases and processes may differ.
CLOCKS = 0.02
#: Seconds in which a change is looked up.
LATE = 2.0
#: Seconds that nobody waits for an answer.
LONG = 60.0
#: Seconds that a build takes at least that comes to nothing, because others go on.
FAILING = 1.0
#: Examples of each problem that a failure shows.
SHOWN = 2
#: Of so many operations one may leave a URL in the gap though there was an event.
RARE = 100


class Event(NamedTuple):
    """A row of ``UrlChange``."""

    id: int
    section: str
    kind: str
    location: str
    at: float


@dataclass
class Rules:
    """What a race allows."""

    #: Whether anybody is killed.
    kills: bool = False
    #: Parts of the texts of errors that processes may meet with.
    errors: tuple[str, ...] = ()
    #: When connections were ended, or a server's process was.
    ended: list[float] = field(default_factory=list)


class Look:
    """An answer, with how the pages that it is of stood just before and after."""

    def __init__(self, line: Line, rules: Rules) -> None:
        self.line = line
        self.begun, self.ended = float(line["begun"]), float(line["ended"])
        match = ADDRESS.fullmatch(line["get"])
        self.section = match[1] if match else ""
        self.number = int(match[2]) if match and match[2] else None
        self.found = [Entry(*found) for found in line["found"] or ()]
        self.is_index = any(isinstance(name, int) for name, _ in self.found)
        before, after = self._pages("before"), self._pages("after")
        self.pages = [*before.values(), *after.values()]
        self.is_noted = None not in (line["before"], line["after"])
        #: From when on it may say what was: who finds a page being built gets what it
        #: had, and where processes and connections end, so may others.
        self.since = -math.inf
        if self.is_noted:
            # Where it took so long, a builder may have come and gone with nothing.
            is_long = self.ended - self.begun > FAILING
            lax = is_long or (rules.kills and not line["quiet"])
            old = [
                page.read_at
                for number, page in before.items()
                if lax or page.building or _is_built(page, after.get(number))
            ]
            self.since = min([self.begun, *old]) - CLOCKS

    def _pages(self, when: str) -> dict[int, Noted]:
        pages = [Noted(*row) for row in self.line[when] or ()]
        return {p.number: p for p in pages if self.number in (None, p.number)}

    def excuses(self, span: Span) -> bool:
        """Return whether a row may be missing, because it would be here."""
        own = [page for page in self.pages if page.lower <= span.key < page.upper]
        if not self.line["quiet"] and any(page.entries == 0 for page in own):
            # A page that was empty is in an index once it was built.
            return True
        if self.is_index or not own:
            return not self.is_noted
        return self.since < span.began.recorded

    def __str__(self) -> str:
        names = ("get", "status", "by", "sent", "tag", "modified", "quiet")
        told = ", ".join(f"{name} {self.line[name]}" for name in names)
        return f"{told}, {self.begun:.3f}-{self.ended:.3f}, {self.pages}"


def _is_built(before: Noted, after: Noted | None) -> bool:
    return after is None or bool(after.building) or after.read_at != before.read_at


class Verdict:
    """Collects what is wrong, and shows what the journals say of it."""

    def __init__(
        self,
        truth: Truth,
        events: Sequence[Event],
        posts: dict[str, list[float]],
        rules: Rules,
        rounds: Sequence[tuple[float, float]],
    ) -> None:
        self.truth, self.events, self.posts, self.rules = truth, events, posts, rules
        #: From when to when a worker looked for changes.
        self.rounds = rounds
        self.problems: dict[str, list[str]] = defaultdict(list)
        #: URLs in the gap, though there was an event.
        self.gaps: set[Url] = set()
        #: What each webhook heard of each path.
        self.heard: dict[str, dict[str, list[Heard]]] = {}
        self.by_url: dict[Url, list[Event]] = defaultdict(list)
        for event in events:
            self.by_url[event.section, event.location].append(event)

    def conclude(self) -> None:
        """Fail if anything is wrong."""
        shown = [
            f"{len(details)} times: {what}\n" + "\n".join(details[:SHOWN])
            for what, details in self.problems.items()
        ]
        assert not shown, "\n\n".join(shown)

    def wrong(self, what: str, detail: object, url: Url | None = None) -> None:
        """Note what is wrong, with all that is known of a URL."""
        self.problems[what].append(f"- {detail}\n{self.about(url) if url else ''}")

    def about(self, url: Url) -> str:
        """Return what happened to a URL, what was recorded of it, and what was sent."""
        events = [f"{e.id} {e.kind} at {e.at:.3f}" for e in self.by_url.get(url, ())]
        posts = [f"{at:.3f}" for at in self.posts.get(url[1], ())]
        told = [
            f"{webhook}: {[f'{one.kind} at {one.at:.3f}' for one in heard[url[1]]]}"
            for webhook, heard in self.heard.items()
            if url[1] in heard
        ]
        found = [self.truth.about(url), f"events: {events}", f"posts: {posts}", *told]
        return "\n".join(found)

    # What was recorded of URLs, and what the engine was told

    def check_events(self) -> None:
        """Each URL was reported after its last change, and none that never was."""
        for url, spans in self.truth.by_url.items():
            found = self.by_url.get(url, [])
            self._check_known(url, [event.at for event in found], "reported")
            is_removed = bool(found) and found[-1].kind == "removed"
            if is_removed and self.truth.last_entry(url) is not None:
                self.wrong("listed, and last reported as removed", url[1], url)
            causes = sum(self._changes(url[0], span) for span in spans)
            causes += sum(self.truth.hints[key] for key in {s.key for s in spans})
            if len(found) > 2 * causes:
                what = f"{len(found)}: {causes}"
                self.wrong("more events than changes", what, url)
        for event in self.events:
            url, until = (event.section, event.location), event.at + CLOCKS
            if self.truth.states(url, -math.inf, until) <= {None}:
                self.wrong("reported, and was never listed", event, url)

    def _changes(self, section: str, span: Span) -> int:
        """
        Count the changes that may have an event of a URL.

        Those that list it and that do not any more, and those of the row just before:
        who looks the row up for these may already find it.
        """
        begun, ended = span.began.first - LATE, span.began.last
        moments = [other.began.first for other in self.truth.spans[section, span.key]]
        near = [at for at in moments if -math.inf < at and begun <= at <= ended]
        return len(near) + (span.ended != NEVER)

    def check_posts(self, interval: float) -> None:
        """The engine knows how each URL is now, and was not told twice too soon."""
        for location, moments in self.posts.items():
            for first, second in pairwise(moments):
                if second - first < interval - 0.1:
                    url = section_of(location), location
                    self.wrong("submitted twice too soon", second - first, url)
        for url in self.truth.by_url:
            self._check_known(url, self.posts.get(url[1], ()), "submitted")

    def check_webhooks(self, heard: dict[str, dict[str, list[Heard]]]) -> None:
        """
        Who hears all knows what is listed; the others heard what was of their kind.

        As far as that was the last: what is taken back before it is passed on is told
        to nobody.
        """
        self.heard = heard
        for url in self.truth.by_url:
            self._check_heard(url, heard["all"].get(url[1], []))
        for webhook in set(heard) - {"all"}:
            for url, events in self.by_url.items():
                last = max(events, key=lambda event: event.at)
                told = [one.at for one in heard[webhook].get(url[1], ())]
                is_late = max(told, default=-math.inf) < last.at - CLOCKS
                if last.kind == webhook and is_late:
                    self.wrong(f"{webhook}, and nobody told", url[1], url)
            for location, found in heard[webhook].items():
                if {one.kind for one in found} != {webhook}:
                    url = section_of(location), location
                    self.wrong(f"told who hears of {webhook} alone", found, url)
        for location in set(heard["all"]) - {url for _, url in self.truth.by_url}:
            self.wrong("told, and was never listed", heard["all"][location])

    def _check_heard(self, url: Url, heard: Sequence[Heard]) -> None:
        """What is listed was last told as that, and what is gone as removed."""
        spans, entry = self.truth.by_url[url], self.truth.last_entry(url)
        # What there was at the beginning is listed without a word.
        is_first = min(span.began for span in spans) == ALWAYS
        last = heard[-1].kind if heard else "changed" if is_first else "removed"
        if (last == "removed") != (entry is None):
            at = heard[-1].at if heard else -math.inf
            if entry is not None or not self._is_gap(url, at):
                self.wrong(f"last told {last}, and is {entry}", url[1], url)
        is_plain = not is_first and all(
            before.key == after.key and before.ended == after.began
            for before, after in pairwise(spans)
        )
        added = {one.id for one in heard if one.kind == "added"}
        if is_plain and len(added) > 1:
            self.wrong("created once, and told added twice", url[1], url)

    def _check_known(self, url: Url, told: Sequence[float], what: str) -> None:
        """Whoever looked when it was last told of has seen how it is now."""
        # Or as it was before the race.
        last = max(told, default=-math.inf)
        states = self.truth.states(url, last - CLOCKS, last + CLOCKS)
        entry = self.truth.last_entry(url)
        if entry in states:
            return
        if entry is None and self._is_gap(url, last):
            return
        if what == "submitted" and self._is_as_reported(url, entry):
            return
        self.wrong(f"not {what} since it changed", url[1], url)

    def _is_as_reported(self, url: Url, entry: Entry | None) -> bool:
        """
        Tell whether only a related object changed since a URL was reported, and back.

        Nobody looked in between but the engine: the documentation knows of that.
        """
        if url[0] != "tags" or not self.by_url[url]:
            return False
        at = self.by_url[url][-1].at
        return entry in self.truth.states(url, at - CLOCKS, at + CLOCKS)

    def _is_gap(self, url: Url, last: float) -> bool:
        """
        Tell whether it is the gap that the documentation knows of.

        A row took the URL over, and dropped it unseen, or the same row had it again for
        a moment. An event meanwhile is mostly of who looked that row up, and seldom of
        the row that had the URL before.
        """
        spans = self.truth.by_url[url]
        events = [event.at for event in self.by_url[url] if event.kind != "removed"]
        for span in spans:
            earlier = [other for other in spans if other.began < span.began]
            others = [other for other in earlier if other.key != span.key]
            is_back = bool(others) or (bool(earlier) and not self._is_seen(span))
            if not is_back or not span.may_be(last - CLOCKS, last + CLOCKS):
                continue
            if any(span.began.first <= at <= span.ended.last for at in events):
                self.gaps.add(url)
                return len(self.gaps) <= 1 + len(self.truth.operations) // RARE
            return True
        return False

    def _is_seen(self, span: Span) -> bool:
        """Tell whether somebody surely looked while a row was as in a span."""
        if span.ended.last - span.began.first < LATE:
            return False
        # On a busy machine it may be many seconds before a worker's turn comes.
        since, until = span.began.recorded, span.ended.first
        return any(since <= begun and ended <= until for begun, ended in self.rounds)

    # What the processes met with

    def check_errors(self, lines: Iterable[Line]) -> None:
        """Nobody met with an error that was not to be expected."""
        for line in lines:
            error = line.get("error", "")
            if error and not any(known in error for known in self.rules.errors):
                self.wrong("an error", f"{line['by']}, {line.get('what')}: {error}")

    # What crawlers were given

    def check_reading(self, lines: Iterable[Line]) -> None:
        """No page and no 304 was false, and all that was listed was to be found."""
        looks: list[Look] = []
        for line in lines:
            if "crawl" in line:
                self._check_crawl(line, looks)
            else:
                looks.append(Look(line, self.rules))
        for look in looks:
            self._check_status(look)
            if look.number is not None:
                self._check_page(look)
        self._check_tags(looks)
        self._check_index_times(looks)

    def _check_status(self, look: Look) -> None:
        status = look.line["status"]
        if look.ended - look.begun > LONG:
            self.wrong("took long", look)
        if status in (200, 304):
            if look.line["error"]:
                self.wrong("cannot be read", f"{look}: {look.line['error']}")
            return
        if self.rules.kills:
            begun, ended = look.begun - 1, look.ended + 0.1
            is_near = any(begun <= moment <= ended for moment in self.rules.ended)
            if is_near or (status == 503 and look.line["retry"]):
                return
        self.wrong(f"answered with {status}", f"{look}: {look.line['error']}")

    def _check_tags(self, looks: Iterable[Look]) -> None:
        bodies: dict[tuple[str, str], set[str]] = defaultdict(set)
        for line in (look.line for look in looks):
            if line["status"] == 200 and line["tag"]:
                bodies[line["get"], line["tag"]].add(line["hash"])
        for place, hashes in bodies.items():
            if len(hashes) > 1:
                self.wrong("one tag, several bodies", place)

    def _check_index_times(self, looks: Iterable[Look]) -> None:
        """In a section's index, a page's time never goes back."""
        newest: dict[Any, float] = {}
        for look in looks:
            if not look.is_index or not look.section:
                continue
            for name, lastmod in look.found:
                place = look.line["by"], look.section, name
                former = newest.get(place, -math.inf)
                newest[place] = -math.inf if lastmod is None else lastmod
                if newest[place] < former:
                    self.wrong("an index's time goes back", f"{place} {former}: {look}")

    def _check_page(self, look: Look) -> None:
        """Each entry was so lately, and of the page's keys none is lacking."""
        what, section = f"a {look.line['status']} is false", look.section
        repeated = [entry for entry, n in Counter(look.found).items() if n > 1]
        if repeated or len(look.found) > LIMIT:
            self.wrong(what, f"{look}: {len(look.found)}, twice {repeated}")
        for entry in look.found:
            if not self.truth.may_be_listed(entry, look.since, look.ended):
                url = section, entry.location
                self.wrong(what, f"{look}\n  it has {entry}", url)
        ranges = {(page.lower, page.upper) for page in look.pages}
        # Where one of the two is not known, it may have been split meanwhile.
        is_known = look.is_noted and len(ranges) == 1
        if look.line["found"] is None or not is_known:
            return
        locations = {entry.location for entry in look.found}
        for span in self.truth.sure(section, look.since, look.ended, *ranges):
            if span.location not in locations:
                url = section, span.location
                self.wrong(what, f"{look}\n  it lacks {span}", url)

    def _check_crawl(self, crawl: Line, looks: Sequence[Look]) -> None:
        """What was committed before is on the pages that a crawler finds."""
        own: list[Look] = []
        for look in reversed(looks):
            if look.line["by"] != crawl["by"] or look.begun < crawl["start"]:
                break
            if look.section == crawl["crawl"]:
                own.append(look)
        locations = {entry.location for look in own for entry in look.found}
        until = max(look.ended for look in own)
        for span in self.truth.sure(crawl["crawl"], crawl["start"], until):
            if span.location not in locations and not any(
                look.excuses(span) for look in own
            ):
                shown = "\n  ".join(map(str, own))
                url = crawl["crawl"], span.location
                self.wrong("missing from all pages", f"{span}\n  {shown}", url)
