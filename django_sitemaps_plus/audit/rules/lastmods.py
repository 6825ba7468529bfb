"""What is wrong with the lastmods of a section: are they dates, do they differ?"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.protocol.dates import parse_w3c
from django_sitemaps_plus.protocol.errors import DateError
from django_sitemaps_plus.protocol.markup import day_or_time

from .urls import Problem

#: So many items say something together: fewer may be equal by chance.
ENOUGH = 10
#: Clocks differ, and a date is that of some zone: so much later is in the future.
_TOLERANCE = dt.timedelta(minutes=5)
#: Before so many seconds a row was not changed just when its page was built.
_JUST = dt.timedelta(seconds=2)
#: So much earlier than in UTC a day begins where it begins first.
_FIRST_ZONE = dt.timedelta(hours=14)
#: How long news may be listed.
#: https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
_NEWS = dt.timedelta(days=2)
_LENGTH_OF_DAY = len("2026-01-31")
#: When the first web page was public: a date before, mostly 1970-01-01, is no lastmod.
_WEB = "1991-08-06"


@dataclass
class Lastmods:
    """The lastmods of one section, as its pages are read."""

    #: When the audit began, in UTC.
    now: dt.datetime
    #: How many entries an item has: one for each language.
    per_item: int = 1
    #: How many entries have a lastmod, and the first one if all are equal so far.
    count: int = 0
    same: str | None = None
    differ: bool = False
    #: Pages whose lastmods are the time at which they were built.
    suspected: list[str] = field(default_factory=list)

    def problems(
        self, locations: Sequence[str], lastmods: Sequence[str]
    ) -> Iterator[tuple[str, Problem]]:
        """Yield the URLs with an impossible lastmod, and remember the others."""
        counts = Counter(lastmods)
        self.count += len(lastmods) - counts.pop("", 0)
        for value in counts:
            self.same = value if self.same is None else self.same
            self.differ = self.differ or value != self.same
        latest = (self.now - dt.timedelta(days=1)).date().isoformat()
        wrong = {
            value: problem
            for value in counts
            if not _WEB <= value[:_LENGTH_OF_DAY] < latest or not _is_day(value)
            if (problem := self._of_one(value))
        }
        if wrong:
            for url, value in zip(locations, lastmods, strict=True):
                if value in wrong:
                    yield url, wrong[value]

    def _of_one(self, value: str) -> Problem | None:
        try:
            # The schemas want a day; a year or a month alone is W3C Datetime, too.
            read = parse_w3c(day_or_time(value, "lastmod"))
        except DateError as error:
            return kinds.BAD_LASTMOD, str(error)
        if len(value) == _LENGTH_OF_DAY:
            read -= _FIRST_ZONE
        if read > self.now + _TOLERANCE:
            return kinds.FUTURE, f"lastmod {value} is in the future"
        if value < _WEB:
            return kinds.BEFORE_THE_WEB, f"lastmod {value}"
        return None

    def suspect(self, page: str, lastmods: Sequence[str], read_at: float) -> None:
        """Remember a page if most of its lastmods are when it was built."""
        built = dt.datetime.fromtimestamp(read_at, dt.UTC)
        around = {
            (built + dt.timedelta(days=days)).date().isoformat() for days in (-1, 0, 1)
        }
        times = Counter(value for value in lastmods if value[:_LENGTH_OF_DAY] in around)
        just = sum(count for value, count in times.items() if _is_just(value, built))
        if just >= ENOUGH * self.per_item and 2 * just >= len(lastmods):
            self.suspected.append(page)

    @property
    def are_equal(self) -> bool:
        """Whether all are equal, of so many that none says anything."""
        return not self.differ and self.count >= ENOUGH * self.per_item


def problem_of_news(published: str, now: dt.datetime) -> Problem | None:
    """Return what is wrong with when news were published; None if nothing is."""
    try:
        first = last = parse_w3c(published)
    except DateError:
        return None  # the schema says so
    if len(published) == _LENGTH_OF_DAY:
        first, last = first - _FIRST_ZONE, last + dt.timedelta(days=1)
    if now - last > _NEWS:
        return kinds.OLD_NEWS, f"published {published}"
    if first > now + _TOLERANCE:
        return kinds.FUTURE_NEWS, f"published {published}"
    return None


def _is_just(value: str, built: dt.datetime) -> bool:
    if len(value) == _LENGTH_OF_DAY:
        return False
    try:
        return abs(parse_w3c(value) - built) <= _JUST
    except DateError:
        return False


def _is_day(value: str) -> bool:
    """Return whether a value begins with a day that exists, and may be legal."""
    return len(value) in _LENGTHS and _exists(value[:_LENGTH_OF_DAY])


#: Of a day, and of times to the second as this package writes them.
_LENGTHS = {
    len(text)
    for text in ("2026-01-31", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00+00:00")
}


@lru_cache(maxsize=20_000)
def _exists(day: str) -> bool:
    try:
        dt.date.fromisoformat(day)
    except ValueError:
        return False
    return True
