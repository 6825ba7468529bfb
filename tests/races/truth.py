"""
What was listed when: the writers' journals, replayed.

A commit happened at some moment between two that its writer noted, so everything here
knows a beginning and an end of each: what was *surely* listed, and what *may* have
been. Where a writer may be killed, each of its transactions leaves a mark in a table.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .journal import Line

#: Entries of a page.
LIMIT = 12
#: Seconds in which a commit is done whose writer did not live to note it.
UNSEEN = 3.0
#: Seconds around a commit in which the end of a connection may be that of its own.
NEAR = 0.5

Row = dict[str, Any]
#: A table's name and a primary key.
RowKey = tuple[str, int]
#: A section's name, and a path.
Url = tuple[str, str]


class Entry(NamedTuple):
    """What a page says of a URL."""

    location: str
    lastmod: int | None


class Moment(NamedTuple):
    """When a commit happened: not before, and not after."""

    first: float
    last: float
    #: By when it was surely recorded.
    recorded: float

    def __str__(self) -> str:
        return f"{self.first:.3f}-{self.last:.3f} (recorded {self.recorded:.3f})"


ALWAYS = Moment(-math.inf, -math.inf, -math.inf)
NEVER = Moment(math.inf, math.inf, math.inf)


@dataclass
class Span:
    """For how long a row was listed, or not, in one way."""

    key: int
    entry: Entry | None
    began: Moment
    #: The operation that began it.
    by: str
    ended: Moment = NEVER

    @property
    def location(self) -> str:
        """The URL's path; empty where the row was not listed."""
        return self.entry.location if self.entry else ""

    def may_be(self, since: float, until: float) -> bool:
        """Return whether it may have been so at some moment of a time."""
        return self.began.first <= until and self.ended.last >= since

    def is_sure(self, since: float, until: float) -> bool:
        """Return whether it was so surely, and throughout."""
        return self.began.last <= since and self.ended.first >= until

    def __str__(self) -> str:
        return (
            f"row {self.key}: {self.entry}, {self.began} by {self.by} to {self.ended}"
        )


@dataclass
class Operation:
    """One transaction of a writer."""

    name: str
    moment: Moment
    #: By row, how it is after it.
    rows: list[tuple[RowKey, Row | None]]
    #: Rows of which something may have been recorded, though they are as before.
    hints: list[RowKey]


def committed(
    lines: Sequence[Line], marks: set[str], ended: Sequence[float]
) -> list[Operation]:
    """Return what was committed, in that order; ``ended`` is when connections were."""
    ends: dict[str, Moment] = {}
    by, recorded = "", math.inf
    for line in reversed(lines):
        if line["by"] != by:
            by, recorded = line["by"], math.inf
        if "end" in line:
            # What was not recorded at once, is with a next commit.
            recorded = recorded if line["late"] else line["end"]
            ends[line["op"]] = Moment(0, line["end"], recorded)
    found = []
    for line in lines:
        name = line.get("op", "")
        if "rows" not in line or not (name in ends or name in marks):
            continue
        at = line["at"]
        _, last, recorded = ends.get(name, Moment(at, at + UNSEEN, math.inf))
        if any(at - NEAR <= moment <= last + NEAR for moment in ended):
            recorded = math.inf
        moment = Moment(at, last, recorded) if at else ALWAYS
        rows = [(tuple(key), row) for key, row in line["rows"]]
        hints = [tuple(key) for key in line["hints"]]
        by = f"{name} ({line['what']})"
        found.append(Operation(by, moment, rows, hints))
    found.sort(key=lambda operation: operation.moment)
    return found


class Truth:
    """What each section listed at each moment."""

    def __init__(
        self, operations: Sequence[Operation], final: dict[RowKey, Row]
    ) -> None:
        self.operations = operations
        #: By section and key, in order.
        self.spans: dict[tuple[str, int], list[Span]] = {}
        self.by_url: dict[Url, list[Span]] = defaultdict(list)
        #: How often something may have been recorded of a row that stayed as it was.
        self.hints = Counter(pk for done in operations for _, pk in done.hints)
        self.rows: dict[RowKey, Row] = {}
        for operation in operations:
            self._replay(operation)
        differing = {
            key: (self.rows.get(key), final.get(key))
            for key in self.rows.keys() | final.keys()
            if self.rows.get(key) != final.get(key)
        }
        assert not differing, f"the journals are wrong: {differing}"
        #: By section, in order.
        self.keys: dict[str, list[int]] = defaultdict(list)
        for (section, key), spans in sorted(self.spans.items()):
            self.keys[section].append(key)
            for span in spans:
                if span.entry is not None:
                    self.by_url[section, span.entry.location].append(span)
        for spans in self.by_url.values():
            spans.sort(key=lambda span: span.began)

    def _replay(self, operation: Operation) -> None:
        concerned: set[tuple[str, int]] = set()
        for key, row in operation.rows:
            concerned.update(self._concerned(key))
            if row is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = row
            concerned.update(self._concerned(key))
        for place in concerned:
            entry, spans = self._entry(*place), self.spans.get(place, [])
            if entry == (spans[-1].entry if spans else None):
                continue
            if spans:
                spans[-1].ended = operation.moment
            made = Span(place[1], entry, operation.moment, operation.name)
            self.spans[place] = [*spans, made]

    def _concerned(self, key: RowKey) -> Iterator[tuple[str, int]]:
        """Yield the sections' keys that a row has to do with."""
        table, pk = key
        if table == "tag":
            yield "tags", pk
        if table == "article":
            yield from (("news", pk), ("filed", pk))
            yield from (("tags", tag) for tag in self._of("tag", "article", pk))
        if table == "category":
            yield from (("filed", found) for found in self._of("article", table, pk))

    def _of(self, table: str, column: str, pk: int) -> list[int]:
        rows = self.rows.items()
        return [key for (name, key), r in rows if name == table and r[column] == pk]

    def _entry(self, section: str, key: int) -> Entry | None:
        """Return what a section lists of a key."""
        tag = self.rows.get(("tag", key), {}) if section == "tags" else {}
        article = self.rows.get(("article", tag.get("article", key)))
        if article is None or not article["live"]:
            return None
        if section == "tags":
            return Entry(f"/things/{tag['name']}/", None) if tag else None
        if section == "news":
            return Entry(f"/articles/{article['slug']}/", article["updated"])
        category = self.rows.get(("category", article["category"]))
        if category is None:
            return None
        return Entry(f"/shops/{key}/{category['name']}/", article["updated"])

    def may_be_listed(self, entry: Entry, since: float, until: float) -> bool:
        """
        Tell whether a section may have listed just this at some moment of a time.

        It may still do so until it is recorded that it does not.
        """
        spans = self.by_url.get((section_of(entry.location), entry.location), ())
        return any(
            span.entry == entry
            and span.began.first <= until
            and span.ended.recorded >= since
            for span in spans
        )

    def sure(
        self,
        section: str,
        since: float,
        until: float,
        keys: tuple[float, float] = (-math.inf, math.inf),
    ) -> Iterator[Span]:
        """
        Yield what a section surely listed throughout a time, and knew.

        Of all keys, or of those from the first to before the second.
        """
        every = self.keys[section]
        first, last = (bisect_left(every, bound) for bound in keys)
        for key in every[first:last]:
            spans = self.spans[section, key]
            place = bisect_right(spans, since, key=lambda span: span.began.last)
            span = spans[place - 1] if place else None
            is_known = span and span.entry and span.began.recorded <= since
            if span and is_known and span.ended.first >= until:
                yield span

    def listed(self, section: str) -> list[Entry]:
        """Return what a section lists in the end, in the order of its keys."""
        last = {key: spans[-1].entry for key, spans in self.spans.items()}
        return [e for (name, _), e in sorted(last.items()) if e and name == section]

    def states(self, url: Url, since: float, until: float) -> set[Entry | None]:
        """Return as what a URL may have been listed within a time; None: not at all."""
        spans = self.by_url.get(url, [])
        found = {span.entry for span in spans if span.may_be(since, until)}
        is_sure = any(span.is_sure(since, until) for span in spans)
        return found if is_sure else {*found, None}

    def last_entry(self, url: Url) -> Entry | None:
        """Return as what a URL is listed in the end."""
        return next((s.entry for s in self.by_url[url] if s.ended == NEVER), None)

    def about(self, url: Url) -> str:
        """Return what happened to a URL, and to the rows that had it."""
        spans = self.by_url.get(url, [])
        keys = sorted({span.key for span in spans})
        lines = [span for key in keys for span in self.spans[url[0], key]]
        return "\n".join(map(str, lines)) or "nothing was ever committed with it"


def section_of(location: str) -> str:
    """Return the section that has such URLs."""
    kinds = {"articles": "news", "shops": "filed", "things": "tags"}
    return kinds[location.split("/")[1]]
