"""What crawlers and engines were given in a race, held against what was committed."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import Any, NamedTuple

from .journal import Line
from .truth import ALWAYS, LIMIT, NEVER, Entry, Truth, section_of

#: Seconds by which the clocks of databases and processes may differ.
CLOCKS = 0.02
#: Seconds from a request's end to the notes that are taken of splits.
NOTES = 0.1
#: Seconds that nobody waits, and that hardly anybody does.
LONG, SOME = 10.0, 5.0
#: Examples of each problem that a failure shows.
SHOWN = 2
#: Of so many operations one may leave a URL that is dropped unseen.
RARE = 200
#: Before all that happened.
BEGINNING = -1e18

Url = tuple[str, str]


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

    #: ``SPLIT_GRACE``.
    grace: float
    #: Seconds for which a page's former bytes stand in while somebody builds it.
    lag: float = 3.0
    #: Whether what is committed is recorded by then. On SQLite a lock may delay it
    #: until a next commit of the same process, or its end.
    prompt: bool = True
    #: Whether anybody is killed.
    kills: bool = False
    #: Parts of the texts of errors that writers may meet with.
    errors: tuple[str, ...] = ()
    #: When connections were ended, or a server's process was.
    ended: list[float] = field(default_factory=list)


class Verdict:
    """Collects what is wrong, and shows what the journals say of it."""

    def __init__(
        self,
        truth: Truth,
        events: Sequence[Event],
        posts: dict[str, list[float]],
        lines: Sequence[Line],
        rules: Rules,
    ) -> None:
        self.truth = truth
        self.events = events
        self.posts = posts
        self.answers = [line for line in lines if "get" in line]
        self.crawls = [line for line in lines if "crawl" in line]
        self.slow = [line for line in lines if "old" in line]
        self.crawls_of: dict[str, list[Line]] = defaultdict(list)
        for line in lines:
            if "graces" in line:
                self.crawls_of[line["by"]].append(line)
        self.rules = rules
        self.problems: dict[str, list[str]] = defaultdict(list)
        #: URLs that were dropped, most likely unseen.
        self.unseen: set[Url] = set()
        self.by_url: dict[Url, list[Event]] = defaultdict(list)
        for event in events:
            self.by_url[event.section, event.location].append(event)

    def conclude(self) -> None:
        """Fail if anything is wrong."""
        if not self.problems:
            return
        shown = [
            f"{len(details)} times: {what}\n" + "\n".join(details[:SHOWN])
            for what, details in self.problems.items()
        ]
        raise AssertionError("\n\n".join(shown))

    def wrong(self, what: str, detail: str, url: Url | None = None) -> None:
        """Note what is wrong, with all that is known of a URL."""
        if url is not None:
            detail = f"{detail}\n{self.about(url)}"
        self.problems[what].append(f"- {detail}")

    def about(self, url: Url) -> str:
        """Return what happened to a URL, what was recorded of it, and what was sent."""
        posts = [f"{at:.3f}" for at in self.posts.get(url[1], [])]
        return "\n".join(
            [
                self.truth.about(url),
                *(
                    f"  event {event.id}: {event.kind} at {event.at:.3f}"
                    for event in self.by_url.get(url, ())
                ),
                f"  the engine was told at {', '.join(posts) or 'no time'}",
            ]
        )

    # What was recorded of URLs

    def check_events(self) -> None:
        """Each URL was reported after its last change, and none that never was."""
        for url in sorted(self.truth.by_url):
            found = self.by_url.get(url, [])
            last = max((event.at for event in found), default=None)
            if not self._is_known(url, last):
                self._wrong_unless_unseen(url, last, "not reported since it changed")
            is_removed = bool(found) and found[-1].kind == "removed"
            if is_removed and self.truth.last_entry(url) is not None:
                self.wrong("listed, and last reported as removed", url[1], url)
            self._check_number(url, found)
        for event in self.events:
            url, until = (event.section, event.location), event.at + CLOCKS
            if self.truth.states(url, BEGINNING, until) <= {None}:
                self.wrong("reported, and was never listed", str(event), url)

    def _is_known(self, url: Url, last: float | None) -> bool:
        """Tell whether who looked when it was last told of has seen how it is now."""
        if last is None:
            # As it was before the race.
            states = self.truth.states(url, BEGINNING, BEGINNING)
        else:
            states = self.truth.states(url, last - CLOCKS, last + CLOCKS)
        return self.truth.last_entry(url) in states

    def _wrong_unless_unseen(self, url: Url, last: float | None, what: str) -> None:
        """
        Note what is wrong, unless it is the one case that the documentation names.

        What was so for a moment, mostly because a URL was handed from row to row, and
        was looked at by nobody but who was told of what had been before.
        """
        if last is not None:
            since, until = self.truth.around(url, last, CLOCKS)
            kinds = {
                event.kind
                for event in self.by_url[url]
                if since - CLOCKS <= event.at <= until + CLOCKS
            }
            if until < math.inf and kinds <= {"removed"}:
                return
            self.unseen.add(url)
            few = len(self.unseen) <= 1 + len(self.truth.operations) // RARE
            if few and self.truth.last_entry(url) is None:
                return
        self.wrong(what, url[1], url)

    def _check_number(self, url: Url, found: Sequence[Event]) -> None:
        """There is no event without a cause, and of a cause there are two at most."""
        spans = self.truth.by_url[url]
        causes = sum(
            (span.began != ALWAYS) + (span.ended != NEVER) for span in spans
        ) + sum(self.truth.hints[key] for key in {span.key for span in spans})
        if len(found) > 2 * causes:
            self.wrong("more events than changes", f"{len(found)}: {causes}", url)

    # What the engine was told

    def check_posts(self, interval: float) -> None:
        """The engine knows how each URL is now, and was not told twice too soon."""
        for location, moments in sorted(self.posts.items()):
            url = section_of(location), location
            for first, second in pairwise(moments):
                if second - first < interval - 0.1:
                    seconds = f"within {second - first:.2f} s"
                    self.wrong("submitted twice within the interval", seconds, url)
        for url in sorted(self.truth.by_url):
            last = max(self.posts.get(url[1], []), default=None)
            if not self._is_known(url, last):
                self._wrong_unless_unseen(url, last, "not submitted since it changed")

    # What the processes met with

    def check_errors(self, errors: Sequence[Line]) -> None:
        """Nobody met with an error that was not to be expected."""
        for line in errors:
            if not any(known in line["error"] for known in self.rules.errors):
                self.wrong(
                    "an error", f"{line['by']}, {line.get('what')}: {line['error']}"
                )

    # What crawlers were given

    def check_answers(self) -> None:
        """No page and no 304 was false, and nobody waited long."""
        bodies: dict[tuple[str, str], set[str]] = defaultdict(set)
        for line in self.answers:
            self._check_status(line)
            if line["status"] == 200 and line["tag"]:
                bodies[line["get"], line["tag"]].add(line["hash"])
            if line["found"] is not None and line["get"].count("-") == 2:
                self._check_page(line)
        for (path, tag), hashes in bodies.items():
            if len(hashes) > 1:
                self.wrong("one tag, several bodies", f"{path}: {tag}")
        self._check_waits()
        self._check_index_times()

    def _check_status(self, line: Line) -> None:
        status = line["status"]
        if status in (200, 304):
            if line["error"]:
                self.wrong("cannot be read", f"{line['get']}: {line['error']}")
            return
        if self.rules.kills:
            begun, ended = line["begun"] - 1, line["ended"] + NOTES
            if any(begun <= moment <= ended for moment in self.rules.ended):
                return
            if status == 503 and line["retry"]:
                return
        self.wrong(f"answered with {status}", f"{_short(line)}: {line['error']}")

    def _check_waits(self) -> None:
        """Nobody waits ten seconds, and hardly anybody five."""
        slow = [line for line in self.answers if _seconds(line) > SOME]
        longest = max(map(_seconds, self.answers), default=0.0)
        # Where a server's processes are killed all the time, requests wait for others.
        few = len(self.answers) / (20 if self.rules.kills else 100)
        if longest >= LONG or len(slow) > max(1, few):
            for line in slow:
                self.wrong(f"took longer than {SOME:.0f} s", _short(line))

    def _check_index_times(self) -> None:
        """In an index, a page's time never goes back."""
        newest: dict[tuple[str, str, Any], int] = {}
        for line in self.answers:
            if line["get"].count("-") != 1 or line["status"] != 200:
                continue
            for name, lastmod in line["found"] or ():
                if not isinstance(name, int) or lastmod is None:
                    continue
                place = line["by"], line["get"], name
                if lastmod < newest.get(place, lastmod):
                    times = f"{newest[place]}, then {lastmod}"
                    self.wrong("an index's time goes back", f"{place}: {times}")
                newest[place] = lastmod

    def _check_page(self, line: Line) -> None:
        """Each entry was so lately, and none is lacking between the first and last."""
        section = line["get"].split("-")[1]
        what = f"a {line['status']} is false"
        entries = [Entry(*found) for found in line["found"]]
        repeated = [entry for entry, count in Counter(entries).items() if count > 1]
        if repeated or len(entries) > LIMIT:
            self.wrong(what, f"{_short(line)}: {len(entries)}, twice {repeated}")
        since, until = self._since(line, section), line["ended"]
        for entry in entries:
            if not self.truth.may_be_listed(entry, since, until):
                detail = f"{_short(line)}\n  it has {entry}"
                self.wrong(what, detail, (section, entry.location))
        keys = self.truth.keys_of(section, entries)
        if not keys:
            return
        locations = {entry.location for entry in entries}
        between = min(keys), max(keys)
        for span in self.truth.sure(section, since, until, between):
            if span.location not in locations:
                detail = f"{_short(line)}\n  it lacks {span}"
                self.wrong(what, detail, (section, span.location))

    def _since(self, line: Line, section: str) -> float:
        """Return from which moment on an answer may say what was."""
        # Who finds a page being built gets its former bytes, or 304 if it has them.
        is_prompt = self.rules.prompt and not line["built"]
        strict = line["quiet"] or (line["status"] == 304 and is_prompt)
        begun = line["begun"]
        # A crawl's line follows the lines of its answers.
        crawls = self.crawls_of[line["by"]]
        place = bisect_left(crawls, begun, key=lambda crawl: float(crawl["end"]))
        graces = crawls[place]["graces"] if place < len(crawls) else ()
        if line["modified"] and any(until > begun - NOTES for until in graces):
            # These bytes are older than the split, but were right when they came.
            modified = parsedate_to_datetime(line["modified"]).timestamp()
            return min(modified - 2, begun - self.rules.grace - self.rules.lag)
        return begun if strict else begun - self.rules.lag

    def check_crawls(self) -> None:
        """What was committed before is on the pages that a crawler finds."""
        for crawl in self.crawls:
            locations = {location for location, _ in crawl["found"]}
            lag = 0.0 if crawl["quiet"] else self.rules.lag
            # A page that was split shows what it had when it was built before.
            split = [
                until - self.rules.grace - self.rules.lag - 1
                for until in crawl["graces"]
                if until > crawl["start"] - NOTES
            ]
            since, section = min([crawl["start"] - lag, *split]), crawl["crawl"]
            for span in self.truth.sure(section, since, crawl["end"]):
                if span.location not in locations:
                    detail = f"{_crawl(crawl)}\n  {span}"
                    url = section, span.location
                    self.wrong("missing from all pages", detail, url)

    def check_slow_crawls(self) -> None:
        """A split takes no URL from who holds the index of before."""
        for crawl in self.slow:
            start, end, section = crawl["start"], crawl["end"], crawl["old"]
            if end - start > self.rules.grace - 1 / 2:
                # Its grace may be over.
                continue
            locations = {location for location, _ in crawl["found"]}
            since = start - self.rules.grace - self.rules.lag - 1
            for span in self.truth.sure(section, since, end):
                if span.location not in locations:
                    detail = (
                        f"{section}: pages {crawl['pages']} from {start} on\n  {span}"
                    )
                    url = section, span.location
                    self.wrong("missing from the pages of an old index", detail, url)


def _seconds(line: Line) -> float:
    return float(line["ended"] - line["begun"])


def _short(line: Line) -> str:
    return (
        f"{line['get']}: {line['status']} for {line['by']}, {line['begun']:.3f} to "
        f"{line['ended']:.3f}, sent {line['sent']}, tag {line['tag']}, modified "
        f"{line['modified']}, quiet: {line['quiet']}, built: {line['built']}"
    )


def _crawl(line: Line) -> str:
    return (
        f"{line['crawl']}: pages {line['pages']} for {line['by']}, {line['start']:.3f} "
        f"to {line['end']:.3f}, graces {line['graces']}, quiet: {line['quiet']}"
    )
