"""
Batches: some items of a section, column by column.

A column is checked, percent-encoded and escaped as a whole (``bulk``) or, where that
is not certain to be right, item by item (``exact``), which defines what is right.
"""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any, TypeAlias

from django.utils import timezone
from django.utils.dateparse import parse_datetime

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.protocol.dates import parse_w3c, w3c
from django_sitemaps_plus.protocol.errors import DateError
from django_sitemaps_plus.protocol.locations import (
    ALWAYS_FITS,
    Origin,
    lines_fit,
    page_of,
    plain,
    refuse_ambiguous,
    refuse_long,
    unambiguous,
)
from django_sitemaps_plus.protocol.markup import escape
from django_sitemaps_plus.sitemaps.compiled_routes import CompiledRoute

#: The literal pieces of a template, and the columns of text between them.
Pieces = tuple[Sequence[str], Sequence[Sequence[str]]]
#: By attribute, the images, videos and news of some items.
Media: TypeAlias = dict[str, Sequence[Any]]

#: Reasons to omit a tag that are reported of a page, and what each begins with.
_MOST_OMITTED, OMITTED = 20, "listed without "


_ESCAPED = "&<>'\""
_TWO_DIGITS = tuple(f"{number:02}" for number in range(60))
#: Makes every digit a zero, to compare the shapes of many texts at once.
_ZEROS = bytes.maketrans(b"123456789", b"000000000")
#: How MySQL writes that there is no date; its driver returns None for it.
_ZERO_DATE = "0000-00-00"
#: By form, of the texts of a database: their shapes, what reads one, and their suffix.
_TEXT_FORMS: dict[str, tuple[frozenset[bytes], Callable[[str], object], str]] = {
    "day": (frozenset([b"0000-00-00"]), dt.date.fromisoformat, ""),
    # With up to six decimals: PostgreSQL omits zeros at the end.
    "stamp": (
        frozenset(
            b"0000-00-00 00:00:00" + decimals
            for decimals in (b"", *(b"." + b"0" * count for count in range(1, 7)))
        ),
        dt.datetime.fromisoformat,
        "+00:00",
    ),
}


@dataclass(frozen=True, slots=True)
class BadRow:
    """A row that could not become an entry: which, and why."""

    label: str
    reason: str
    #: Whether its URL lies outside of the folder of the sitemap.
    is_outside: bool = False


@dataclass(frozen=True, slots=True)
class FailedValue:
    """In place of a value that could not be had, and which an entry can do without."""

    reason: str


@dataclass(frozen=True, slots=True)
class RouteLocations:
    """Locations that a compiled route builds from columns of values."""

    route: CompiledRoute
    columns: Sequence[Sequence[Any]]

    def bulk(self) -> Pieces | None:
        """Encode and escape every column at once."""
        pieces = [escape(piece) for piece in self.route.pieces]
        slots = self.route.slots
        if not slots or not pieces[0].startswith("/"):
            return None
        most = (ALWAYS_FITS - sum(map(len, pieces))) // len(slots)
        columns: list[str] = []

        def finish(joined: str) -> str | None:
            columns.append(joined)
            escaped = escape_joined(joined)
            return escaped if lines_fit(escaped, most) else None

        texts = self.route.texts(self.columns, finish)
        if texts is None or not unambiguous(self.route.pieces, columns):
            return None
        return pieces, [texts[slot] for slot in slots]

    def exact(self, index: int, origin: Origin) -> str:
        """Return what ``reverse()`` gives for one row."""
        values = [column[index] for column in self.columns]
        for value, is_verbatim in zip(values, self.route.verbatim, strict=True):
            if is_verbatim:
                refuse_long(value)
        return origin.local_path(self.route.exact(values))

    def is_part(self, index: int) -> bool:
        """Return False: a route has no fragment."""
        return False


@dataclass(frozen=True, slots=True)
class TextLocations:
    """Locations given as they are: by a method, a constant or an expression."""

    values: Sequence[Any]

    def bulk(self) -> Pieces | None:
        """Check all values at once; None if one is not a legal path as it is."""
        joined = lines_of(self.values)
        if joined is None or not plain(joined):
            return None
        escaped = escape_joined(joined)
        texts = self.values if escaped is joined else escaped.split("\n")
        return ("", ""), [texts]

    def exact(self, index: int, origin: Origin) -> str:
        """Return one location as an RFC 3986 path on the origin."""
        return origin.local_path(page_of(self.values[index]))

    def is_part(self, index: int) -> bool:
        """Return whether a location is that of a part of a page, or empty."""
        return bool(page_of(self.values[index]) != self.values[index])


class GivenLocations(TextLocations):
    """
    Absolute locations that a class returns itself, as Wagtail does for its sites.

    They may be on another host than the sitemap: that is up to the class.
    """

    __slots__ = ()

    def bulk(self) -> Pieces | None:
        """Return None: they are checked one by one."""
        return None

    def exact(self, index: int, origin: Origin) -> str:
        """Return one location: a path on the origin, or a URL of another."""
        location = origin.absolute(page_of(self.values[index]))
        path = location.removeprefix(str(origin))
        refuse_ambiguous(path)
        return path if path.startswith("/") else location


@dataclass(frozen=True, slots=True)
class LastmodColumn:
    """
    The lastmods of a batch.

    ``form`` is "stamp" for the database's text of a date and time, "day" for its
    text of a date, "python" for Python values.
    """

    values: Sequence[Any]
    form: str = "python"
    zone: dt.tzinfo = dt.UTC
    #: Whether the database refuses times that do not exist. SQLite stores any text.
    exist: bool = False

    def bulk(self) -> tuple[Sequence[str], str] | None:
        """Return texts and the suffix of each of them; None if some may be illegal."""
        if self.form == "python":
            return self._formatted()
        if self.form == "stamp" and self.zone is not dt.UTC:
            return None
        shapes, read, suffix = _TEXT_FORMS[self.form]
        joined = lines_of(self.values)
        if joined is None or not _have_shapes(joined, shapes):
            return None
        texts = joined.replace(" ", "T").split("\n")
        if len(joined) >= 20 * len(texts):
            # Some have decimals.
            texts = [text[:19] for text in texts]
        if not self.exist:
            try:
                deque(map(read, texts), maxlen=0)  # SQLite stores a 30th of February
            except ValueError:
                return None
        return texts, suffix

    def _formatted(self) -> tuple[Sequence[str], str] | None:
        """Format times in UTC, which is what the ORM returns."""
        if {*map(type, self.values)} != {dt.datetime} or any(
            value.tzinfo is not dt.UTC for value in self.values
        ):
            return None
        # Three times as fast as isoformat().
        two = _TWO_DIGITS
        texts = [
            f"{at.year}-{two[at.month]}-{two[at.day]}"
            f"T{two[at.hour]}:{two[at.minute]}:{two[at.second]}"
            for at in self.values
        ]
        # A year before 1000 has fewer digits.
        return (texts, "+00:00") if {*map(len, texts)} == {19} else None

    def exact(self, index: int) -> str | None:
        """Return one lastmod as W3C Datetime, None for none; raises if illegal."""
        value = self.values[index]
        if not value:
            return None
        if self.form != "python" and value.startswith(_ZERO_DATE):
            return None
        if self.form == "stamp":
            value = parse_datetime(value) or value
        return w3c(value, self.zone)


def lines_of(values: Sequence[Any]) -> str | None:
    """Join texts by line breaks; None if one is no text or has a line break itself."""
    try:
        joined = "\n".join(values)
    except TypeError:
        return None
    return joined if joined.count("\n") == len(values) - 1 else None


def _have_shapes(joined: str, shapes: frozenset[bytes]) -> bool:
    """Return whether each line has one of ``shapes``: digits where these have zeros."""
    try:
        lines = joined.encode("ascii").translate(_ZEROS) + b"\n"
    except UnicodeEncodeError:
        return False
    first, end, _ = lines.partition(b"\n")
    if lines == (first + end) * (len(lines) // len(first + end)):
        return first in shapes
    return shapes.issuperset(lines[:-1].split(b"\n"))


@dataclass(frozen=True, slots=True)
class Constant(Sequence[Any]):
    """The column of an attribute that is the same for all items."""

    value: Any
    length: int

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        return repeat(self.value, self.length)

    def __getitem__(self, index: Any) -> Any:
        return self.value


#: Where the locations of a batch come from, in one language. ``bulk()`` returns all as
#: escaped pieces, not too long behind any origin, but perhaps too short; or None, if
#: some may be illegal. ``exact()`` returns one, as a path if it is on ``origin``, and
#: raises if it is illegal; ``is_part()`` whether it is of a part of a page, which is
#: listed once.
Locations: TypeAlias = RouteLocations | TextLocations

#: What people call some items: a column for each of their entries, or one for all.
Titles: TypeAlias = Sequence[Sequence[Any]]


@dataclass(slots=True)
class RowBatch:
    """Some items of a section, column by column."""

    labels: Sequence[Any]
    locations: dict[str | None, Locations]
    lastmods: LastmodColumn = LastmodColumn(())
    changefreqs: Sequence[Any] = ()
    priorities: Sequence[Any] = ()
    #: Per language, the images, videos and news of each item.
    media: dict[str | None, Media] = field(default_factory=dict)
    #: Alternates as contrib's dicts have them, the same for every item.
    links: Sequence[Mapping[str, Any]] = ()
    #: The entries of each item, each a batch of one, where the class gives them itself.
    entries: Sequence[Sequence[RowBatch]] | None = None
    #: The items, by index, whose own methods failed.
    faults: dict[int, str] = field(default_factory=dict)
    #: Empty where they are not wanted.
    titles: Titles = ()

    def declared_lastmods(self) -> list[Any]:
        """Return the lastmods as they were declared, of entries or of items."""
        every = [[self]] if self.entries is None else self.entries
        batches = chain.from_iterable(every)
        return list(chain.from_iterable(one.lastmods.values for one in batches))


def allowed_bad(rows: int) -> int:
    """Return how many bad rows a page of ``rows`` may have (``MAX_BAD``)."""
    return max(10, int(get_settings().MAX_BAD * rows))


@dataclass(slots=True)
class Tally:
    """What went wrong while entries were built, and their newest lastmod."""

    bad: list[BadRow] = field(default_factory=list)
    #: By reason, the first of the rows that are listed without a tag for it.
    omitted: dict[str, BadRow] = field(default_factory=dict)
    newest: dt.datetime | None = None
    #: The locations written one by one, and whether one was that of a part of a page.
    listed: dict[str, bool] = field(default_factory=dict, compare=False)

    def is_again(self, path: str, is_part: bool) -> bool:
        """Note a location; return whether its page is listed already, for a part."""
        before = self.listed.get(path)
        self.listed[path] = is_part or bool(before)
        return before is not None and self.listed[path]

    def is_too_bad(self, rows: int, entries: int) -> bool:
        """Return whether something larger than a row is wrong with a page."""
        bad = len(self.bad)
        # To say that a page has no entries, where it has rows, would be a lie.
        return bad > allowed_bad(rows) or (bad > 0 and not entries)

    def too_many(self, rows: int, page: str) -> str:
        """Say how many of a page's rows are bad, and which is the first."""
        first = self.bad[0]
        if not self.to_correct(rows):
            return (
                f"Page {page} lists nothing: none of its {rows} URLs is below the path "
                f"of SITEMAPS_PLUS['BASE_URL'], for example {first.reason}. Remove the "
                "path from BASE_URL, or let location() return URLs below it."
            )
        return (
            f"{len(self.bad)} of {rows} rows of page {page} cannot be listed. The "
            f"first, {first.label}: {first.reason.rstrip('.')}."
        )

    def to_correct(self, rows: int) -> Sequence[BadRow]:
        """
        Return which of a page's bad rows are to be corrected: all.

        But none of them if no row is in the folder of the sitemap: ``BASE_URL`` is
        wrong.
        """
        is_outside = len(self.bad) == rows and all(row.is_outside for row in self.bad)
        return [] if is_outside else self.bad

    def omit(self, label: str, reason: str) -> None:
        """Note that an entry lacks a tag that it can do without."""
        if reason not in self.omitted and len(self.omitted) < _MOST_OMITTED:
            self.omitted[reason] = BadRow(label, f"{OMITTED}{reason}")

    def see(self, text: str | None) -> None:
        """Note one entry's lastmod."""
        if text is None:
            return
        try:
            seen = parse_w3c(text)
        except DateError:
            # Legal, but not within the calendar in UTC: midnight of the year 1, east
            # of Greenwich.
            return
        self.newest = max(self.newest or seen, seen)


def is_after(text: str, latest: str) -> bool:
    """Return whether a W3C Datetime is after another, in UTC, to the second."""
    if text[:10] < latest[:10]:
        return False  # as nearly all are; a zone makes it half a day more at most
    try:
        return parse_w3c(text).isoformat()[:19] > latest
    except DateError:
        return text > latest  # not within the calendar in UTC


def escape_joined(joined: str) -> str:
    """Escape the five entities of XML; without any, return the same object."""
    if not any(character in joined for character in _ESCAPED):
        return joined
    return escape(joined)


def latest_believed() -> dt.datetime:
    """Return the latest lastmod that is believed: somebody's clock may be ahead."""
    return dt.datetime.now(dt.UTC) + dt.timedelta(days=1)


def epoch(value: Any) -> float | None:
    """
    Return a date or a datetime as whole seconds since the epoch.

    None for anything else, and for a time that is outside the calendar in UTC.
    """
    if not isinstance(value, dt.date):
        return None
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time.min, dt.UTC)
    if timezone.is_naive(value):
        value = timezone.make_aware(value, timezone.get_default_timezone())
    try:
        return float(value.astimezone(dt.UTC).replace(microsecond=0).timestamp())
    except OverflowError:
        return None
