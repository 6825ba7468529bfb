"""What is wrong with the lastmods of a section: are they dates, do they differ?"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from django_sitemaps_plus.contrib.audit.kinds import _, error, warning
from django_sitemaps_plus.protocol.dates import parse_w3c
from django_sitemaps_plus.protocol.markup import day_or_time

from . import AuditedSection, Listed, Problem, rule

BAD_LASTMOD = error(
    "A030",
    _("invalid lastmod dates"),
    _("write a date, or a time with its zone, such as 2026-01-31T12:00:00+00:00"),
)
FUTURE = error(
    "A031",
    _("lastmods in the future"),
    _("use the time of the last change; a date of publication belongs in appears"),
)
ALL_EQUAL = warning(
    "A032",
    _("sections with the same lastmod everywhere"),
    _(
        "use a column that changes with each object; crawlers ignore a lastmod that "
        "says nothing"
    ),
)
ALWAYS_NOW = warning(
    "A033",
    _("lastmods that are always the present time"),
    _("use the time at which the object changed, or no lastmod at all"),
)
MOVES_ALONE = warning(
    "A034",
    _("lastmod changes without other changes"),
    _("set lastmod only where the content changes: auto_now sets it with every save()"),
)
BEFORE_THE_WEB = warning(
    "A036",
    _("lastmods before the web existed"),
    _("use the time of the last change, or no lastmod where it is not known"),
)

#: So many items say something together: fewer may be equal by chance.
ENOUGH_LASTMODS = 10
#: Clocks differ, and a date is that of some zone: so much later is in the future.
TOLERANCE = dt.timedelta(minutes=5)
#: Before so many seconds a row was not changed just when its page was built.
_JUST = dt.timedelta(seconds=2)
#: So much earlier than in UTC a day begins where it begins first.
FIRST_ZONE = dt.timedelta(hours=14)
LENGTH_OF_DAY = len("2026-01-31")
#: When the first web page was public: a date before, mostly 1970-01-01, is no lastmod.
_WEB = "1991-08-06"


class Lastmods:
    """The lastmods of one section, as its pages are read."""

    def __init__(self, section: AuditedSection) -> None:
        self.section = section
        #: How many entries have one, and the first one if all are equal so far.
        self.count = 0
        self.same: str | None = None
        self.differ = False
        #: Pages whose lastmods are the time at which they were built.
        self.suspected: list[str] = []

    def problems(self, seen: Listed) -> Iterator[Problem]:
        """Yield the URLs with an impossible lastmod, and remember the others."""
        values = seen.lastmods
        self.count += len(values) - values.count("")
        if not self.differ:
            distinct = sorted({*values, *filter(None, [self.same])} - {""})
            self.differ, self.same = len(distinct) > 1, next(iter(distinct), None)
        days = {value[:LENGTH_OF_DAY] for value in values} - {""}
        if doubtful := self._doubtful(values, days):
            wrong = {value: self._of_one(value) for value in doubtful}
            for url, value in zip(seen.urls, values, strict=True):
                if problem := wrong.get(value):
                    yield problem._replace(url=url)
        if seen.read_at:
            self._suspect(seen, days)

    def _doubtful(self, values: Sequence[str], days: set[str]) -> set[str]:
        """Return the lastmods that are not surely a date that has come."""
        latest = (self.section.now - dt.timedelta(days=1)).date().isoformat()
        bad = {day for day in days if not _WEB <= day < latest or not _exists(day)}
        if not bad and _LENGTHS.issuperset(map(len, values)):
            return set()
        return {
            value
            for value in {*values} - {""}
            if len(value) not in _LENGTHS or value[:LENGTH_OF_DAY] in bad
        }

    def _of_one(self, value: str) -> Problem | None:
        try:
            # The schemas want a day; a year or a month alone is W3C Datetime, too.
            read = parse_w3c(day_or_time(value, "lastmod"))
        except ValueError as error:
            return Problem(BAD_LASTMOD, str(error))
        if len(value) == LENGTH_OF_DAY:
            read -= FIRST_ZONE
        if read > self.section.now + TOLERANCE:
            return Problem(FUTURE, f"lastmod {value} is in the future")
        if value < _WEB:
            return Problem(BEFORE_THE_WEB, f"lastmod {value}")
        return None

    def _suspect(self, seen: Listed, days: set[str]) -> None:
        """Remember a page if most of its lastmods are when it was built."""
        built = dt.datetime.fromtimestamp(seen.read_at, dt.UTC)
        near = [built + dt.timedelta(days=number) for number in (-1, 0, 1)]
        around = {time.date().isoformat() for time in near}
        if around.isdisjoint(days):
            return
        times = Counter(one for one in seen.lastmods if one[:LENGTH_OF_DAY] in around)
        just = sum(count for value, count in times.items() if _is_just(value, built))
        enough = ENOUGH_LASTMODS * self.section.per_item
        if just >= enough and 2 * just >= len(seen.lastmods):
            self.suspected.append(seen.page)

    @property
    def are_equal(self) -> bool:
        """Whether all are equal, of so many that none says anything."""
        return not self.differ and self.count >= ENOUGH_LASTMODS * self.section.per_item


@rule(Listed)
def lastmods(seen: Listed) -> Iterator[Problem]:
    """Find lastmods that are impossible, and remember the others."""
    yield from seen.section.kept(Lastmods).problems(seen)


def _is_just(value: str, built: dt.datetime) -> bool:
    if len(value) == LENGTH_OF_DAY:
        return False
    try:
        return abs(parse_w3c(value) - built) <= _JUST
    except ValueError:
        return False


#: Of none, of a day, and of times to the second as this package writes them.
_LENGTHS = {
    len(text)
    for text in ("", "2026-01-31", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00+00:00")
}


@lru_cache(maxsize=20_000)
def _exists(day: str) -> bool:
    try:
        dt.date.fromisoformat(day)
    except ValueError:
        return False
    return True
