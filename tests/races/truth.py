"""
What was listed when: the writers' journals, replayed.

A commit happened at some moment between two that its writer noted, so everything here
knows a beginning and an end of each: what was *surely* listed, and what *may* have
been.
Whether an operation was committed whose writer was killed, the rows say: each operation
leaves its name in the rows that it writes, and notes whose name it found there.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .journal import Line

#: Entries of a page.
LIMIT = 12
#: Seconds in which a commit is done whose writer did not live to note it.
UNSEEN = 3.0

#: Seconds around a commit in which the end of a connection may be that of its own.
NEAR = 0.1
#: Seconds after a commit in which on SQLite a lock may keep it from being recorded.
LATE = 2.0

Row = dict[str, Any]
#: A table's name and a primary key.
RowKey = tuple[str, int]


class Entry(NamedTuple):
    """What a page says of a URL."""

    location: str
    lastmod: int | None


class Moment(NamedTuple):
    """When a commit happened: not before, and not after."""

    first: float
    last: float

    def __str__(self) -> str:
        return f"{self.first:.3f}-{self.last:.3f}"


ALWAYS = Moment(-math.inf, -math.inf)
NEVER = Moment(math.inf, math.inf)


@dataclass
class Span:
    """For how long a row was listed, or not, in one way."""

    key: int
    entry: Entry | None
    began: Moment
    #: The operation that began it.
    by: str
    ended: Moment = NEVER
    #: Whether the operations that began and ended it were surely recorded.
    is_recorded: bool = True
    end_is_recorded: bool = True

    @property
    def location(self) -> str:
        """The URL's path; empty where the row was not listed."""
        return "" if self.entry is None else self.entry.location

    def may_be(self, since: float, until: float) -> bool:
        """Tell whether it may have been so at some moment of a time."""
        return self.began.first <= until and self.ended.last >= since

    def surely_is(self, since: float, until: float) -> bool:
        """Tell whether it was so surely, and throughout."""
        return self.began.last <= since and self.ended.first >= until

    def __str__(self) -> str:
        entry = "not listed" if self.entry is None else self.entry.location
        lastmod = "" if self.entry is None else f" {self.entry.lastmod}"
        return (
            f"row {self.key}: {entry}{lastmod}, from {self.began} by {self.by} to "
            f"{self.ended}"
        )


@dataclass
class Operation:
    """One transaction of a writer that was about to be committed."""

    name: str
    what: str
    moment: Moment
    #: By row: how it was, and how it is.
    rows: list[tuple[RowKey, Row | None, Row | None]]
    #: Rows of which something may have been recorded, though they are as before.
    hints: list[RowKey]
    #: Whether its writer noted its end.
    is_certain: bool

    def is_recorded(self, ended: Sequence[float], deaths: Mapping[str, float]) -> bool:
        """
        Tell whether it was surely recorded.

        It was if its writer lived on for a while, and nobody ended a connection
        meanwhile.
        """
        first, last = self.moment
        near = any(first - NEAR <= moment <= last + NEAR for moment in ended)
        died = deaths.get(self.name.rpartition("-")[0], math.inf)
        return self.is_certain and not near and last < died - LATE


class Tables:
    """The rows of the writers' tables, and what the sections list of them."""

    def __init__(self) -> None:
        self.rows: dict[RowKey, Row] = {}
        self._of_category: dict[int, set[int]] = defaultdict(set)
        self._of_article: dict[int, set[int]] = defaultdict(set)

    def put(self, key: RowKey, row: Row | None) -> None:
        """Write or delete a row."""
        table, pk = key
        former = self.rows.pop(key, None)
        if table == "article":
            if former is not None:
                self._of_category[former["category"]].discard(pk)
            if row is not None:
                self._of_category[row["category"]].add(pk)
        if table == "tag":
            if former is not None:
                self._of_article[former["article"]].discard(pk)
            if row is not None:
                self._of_article[row["article"]].add(pk)
        if row is not None:
            self.rows[key] = row

    def concerned(self, key: RowKey) -> Iterator[tuple[str, int]]:
        """Yield the sections' keys that a row has to do with."""
        table, pk = key
        if table == "tag":
            yield "tags", pk
        if table == "article":
            yield "news", pk
            yield "filed", pk
            yield from (("tags", tag) for tag in self._of_article[pk])
        if table == "category":
            yield from (("filed", article) for article in self._of_category[pk])

    def entry(self, section: str, key: int) -> Entry | None:
        """Return what a section lists of a key."""
        if section == "tags":
            tag = self.rows.get(("tag", key))
            article = tag and self.rows.get(("article", tag["article"]))
            if not tag or not article or not article["live"]:
                return None
            return Entry(f"/things/{tag['v']}/", None)
        article = self.rows.get(("article", key))
        if article is None or not article["live"]:
            return None
        if section == "news":
            return Entry(f"/articles/{article['slug']}/", article["updated"])
        category = self.rows.get(("category", article["category"]))
        if category is None:
            return None
        return Entry(f"/shops/{key}/{category['v']}/", article["updated"])


class Truth:
    """What each section listed at each moment."""

    def __init__(
        self,
        lines: Iterable[Line],
        final: dict[RowKey, Row],
        ended: Sequence[float] = (),
        deaths: Mapping[str, float] | None = None,
    ) -> None:
        self.lines = list(lines)
        #: When connections were ended, and when writers were killed that may have had
        #: something to record still.
        self.ended, self.deaths = ended, deaths or {}
        self.final = final
        self.operations = _committed(_operations(self.lines), final)
        #: By section: the keys that it has ever listed, in order.
        self.keys: dict[str, list[int]] = defaultdict(list)
        #: By section and key, in order.
        self.spans: dict[tuple[str, int], list[Span]] = {}
        self.by_url: dict[tuple[str, str], list[Span]] = defaultdict(list)
        #: How often something may have been recorded of a row that stayed as it was.
        self.hints = Counter(pk for done in self.operations for _, pk in done.hints)
        self._replay()

    def _replay(self) -> None:
        tables = Tables()
        for operation in self.operations:
            concerned: set[tuple[str, int]] = set()
            for key, former, row in operation.rows:
                known = tables.rows.get(key)
                assert known == former, self._contradiction(operation, key, known)
                concerned.update(tables.concerned(key))
                tables.put(key, row)
                concerned.update(tables.concerned(key))
            for section, key in concerned:
                self._note(section, key, tables.entry(section, key), operation)
        differing = {
            key: (tables.rows.get(key), self.final.get(key))
            for key in tables.rows.keys() | self.final.keys()
            if tables.rows.get(key) != self.final.get(key)
        }
        assert not differing, f"the journals are wrong: {differing}"
        for (section, key), spans in self.spans.items():
            self.keys[section].append(key)
            for span in spans:
                if span.entry is not None:
                    self.by_url[section, span.location].append(span)
        for keys in self.keys.values():
            keys.sort()
        for spans in self.by_url.values():
            spans.sort(key=lambda span: span.began)

    def _contradiction(
        self, operation: Operation, key: RowKey, known: Row | None
    ) -> str:
        return (
            f"the journals are wrong: {operation.name} says otherwise of {key}, which "
            f"is {known}:\n{self.about_row(key)}"
        )

    def _note(
        self, section: str, key: int, entry: Entry | None, operation: Operation
    ) -> None:
        spans = self.spans.get((section, key), [])
        if (spans[-1].entry if spans else None) == entry:
            return
        self.spans[section, key] = spans
        is_recorded = operation.is_recorded(self.ended, self.deaths)
        if spans:
            spans[-1].ended = operation.moment
            spans[-1].end_is_recorded = is_recorded
        by = f"{operation.name} ({operation.what})"
        made = Span(key, entry, operation.moment, by, is_recorded=is_recorded)
        spans.append(made)

    # What was, at some time

    def may_be_listed(self, entry: Entry, since: float, until: float) -> bool:
        """
        Tell whether a section may have listed just this at some moment of a time.

        Of what was ended and not recorded nobody knows before the page is compared.
        """
        spans = self.by_url.get((section_of(entry.location), entry.location), ())
        return any(
            span.entry == entry
            and (span.may_be(since, until) or not span.end_is_recorded)
            for span in spans
        )

    def sure(
        self,
        section: str,
        since: float,
        until: float,
        between: tuple[float, float] = (-math.inf, math.inf),
    ) -> list[Span]:
        """
        Return what a section surely listed throughout a time, and knew.

        Of the keys between two others, or of all.
        """
        keys = self.keys[section]
        start, end = bisect_right(keys, between[0]), bisect_left(keys, between[1])
        found = []
        for key in keys[start:end]:
            spans = self.spans[section, key]
            # The last one that had surely begun.
            place = bisect_right(spans, since, key=lambda span: span.began.last)
            span = spans[place - 1] if place else None
            if span and span.entry and span.is_recorded and span.ended.first >= until:
                found.append(span)
        return found

    def keys_of(self, section: str, entries: Sequence[Entry]) -> list[int]:
        """Return the keys of the rows that these entries may be of."""
        return [
            span.key
            for entry in entries
            for span in self.by_url.get((section, entry.location), ())
            if span.entry == entry
        ]

    def listed(self, section: str) -> dict[int, Entry]:
        """Return what a section lists in the end, by key in order."""
        found = {
            key: spans[-1].entry
            for (name, key), spans in self.spans.items()
            if name == section and spans[-1].entry is not None
        }
        return {key: found[key] for key in sorted(found)}  # type: ignore[misc]

    def last_entry(self, url: tuple[str, str]) -> Entry | None:
        """Return as what a URL is listed in the end."""
        for span in self.by_url.get(url, ()):
            if span.ended == NEVER:
                return span.entry
        return None

    def states(
        self, url: tuple[str, str], since: float, until: float
    ) -> set[Entry | None]:
        """Return as what a URL may have been listed within a time; None: not at all."""
        spans = self.by_url.get(url, [])
        found: set[Entry | None] = {
            span.entry for span in spans if span.may_be(since, until)
        }
        if not any(span.surely_is(since, until) for span in spans):
            found.add(None)
        return found

    def around(
        self, url: tuple[str, str], moment: float, by: float
    ) -> tuple[float, float]:
        """Return since when and until when a URL was as it was at a moment."""
        changes = [
            change
            for span in self.by_url[url]
            for change in (span.began, span.ended)
            if change not in (ALWAYS, NEVER)
        ]
        since = [change.first for change in changes if change.first <= moment + by]
        until = [change.last for change in changes if change.last >= moment - by]
        return max(since, default=-math.inf), min(until, default=math.inf)

    # For people

    def about(self, url: tuple[str, str]) -> str:
        """Return what happened to a URL, and to the rows that had it."""
        spans = self.by_url.get(url, [])
        lines = [f"  {span}" for span in spans]
        for key in sorted({span.key for span in spans}):
            others = [s for s in self.spans[url[0], key] if s not in spans]
            lines += [f"    {span}" for span in others]
        return "\n".join(lines) or "  nothing was ever committed with it"

    def about_row(self, key: RowKey) -> str:
        """Return what the journals say of a row."""
        wanted = list(key)
        found = [
            line
            for line in self.lines
            if any(row[0] == wanted for row in line.get("rows", ()))
        ]
        names = {line["op"] for line in found}
        more = [line for line in self.lines if line.get("op") in names]
        return "\n".join(f"  {line}" for line in more)


def section_of(location: str) -> str:
    """Return the section that has such URLs."""
    kinds = {"articles": "news", "shops": "filed", "things": "tags"}
    return kinds[location.split("/")[1]]


def _operations(lines: Sequence[Line]) -> list[Operation]:
    """Return what was about to be committed, in that order."""
    ended = {line["op"]: line["end"] for line in lines if "end" in line}
    found = []
    for line in lines:
        if "rows" not in line:
            continue
        rows = [(tuple(key), former, row) for key, former, row in line["rows"]]
        hints = [tuple(key) for key in line.get("hints", ())]
        name, at = line["op"], line["at"]
        if line["what"] == "set up":
            moment = ALWAYS
        else:
            moment = Moment(at, ended.get(name, at + UNSEEN))
        found.append(
            Operation(name, line["what"], moment, rows, hints, name in ended)  # type: ignore[arg-type]
        )
    found.sort(key=lambda operation: operation.moment)
    return found


def _committed(
    operations: list[Operation], final: dict[RowKey, Row]
) -> list[Operation]:
    """Leave out what was not committed, of those of which it is not known."""
    seen = {(key, row["v"]) for key, row in final.items()}
    for operation in operations:
        seen.update(
            (key, former["v"])
            for key, former, _ in operation.rows
            if former is not None
        )
    found = []
    for operation in operations:
        written = [(key, row["v"]) for key, _, row in operation.rows if row]
        was_written = not seen.isdisjoint(written)
        was_deleted = not written and _is_gone(operation, operations, final)
        if operation.is_certain or was_written or was_deleted:
            found.append(operation)
    return found


def _is_gone(
    operation: Operation, operations: list[Operation], final: dict[RowKey, Row]
) -> bool:
    """Tell whether what only deleted rows was committed: nobody else deleted them."""
    keys = {key for key, _, _ in operation.rows}
    if not keys or not keys.isdisjoint(final):
        return False
    return not any(
        other is not operation
        and other.moment > operation.moment
        and any(key in keys for key, _, _ in other.rows)
        for other in operations
    )
