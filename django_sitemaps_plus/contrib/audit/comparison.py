"""
Two sets of entries, compared URL by URL.

Both are written to a temporary database of SQLite, which sorts them in a file, so that
memory does not grow with their number.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

from django.conf import settings as django_settings
from django.utils import timezone

from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.locations import Origin, quote
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from .entries import Entry, ListedEntry
from .together import insert, temporary_database

#: How many URLs of a difference are shown.
EXAMPLES = 5
_BEFORE, _AFTER = 0, 1
_URL, _SIDE, _LABEL, *_, _LANGUAGE = range(10)
#: How long the text of a day is.
_DAY = len("2026-01-01")
_LANGUAGES = "SELECT DISTINCT path, side, language FROM entry ORDER BY path"
_VALUES = {"lastmod": 3, "changefreq": 4, "priority": 5, "alternates": 6, "media": 7}

#: Called with what is read, and how many URLs of it.
ComparedSoFar: TypeAlias = Callable[[str, int], object]


@dataclass
class Difference:
    """URLs that differ in one way: how many, and the first of them."""

    count: int = 0
    examples: list[str] = field(default_factory=list)
    #: Why that may be, and what to do.
    advice: list[str] = field(default_factory=list)

    def add(self, example: str) -> None:
        """Count one more."""
        self.count += 1
        if self.count <= EXAMPLES:
            self.examples.append(example)


@dataclass
class SitemapsCompared:
    """What two sets of entries have, and do not have, in common."""

    #: How many URLs there are on either side.
    before: int = 0
    after: int = 0
    #: How many URLs have the same day as before in lastmod, and the time too.
    with_time: int = 0
    #: How many URLs have lost images, videos or news.
    without_media: int = 0
    #: By kind, the gravest first; only kinds that occur.
    differences: dict[str, Difference] = field(default_factory=dict)
    #: What is left out after: rows, pages and sections, and why.
    problems: list[str] = field(default_factory=list)

    @property
    def lost(self) -> int:
        """How many URLs are listed before and not after, or without their media."""
        lost = self.differences["lost"].count if "lost" in self.differences else 0
        return lost + self.without_media


def compare(
    before: Iterable[ListedEntry],
    after: Iterable[ListedEntry],
    problems: list[str],
    site: SiteAddress,
    progress: ComparedSoFar,
) -> SitemapsCompared:
    """
    Read both sides, one after the other, and compare them.

    ``problems`` is what reading ``after`` fills.
    """
    comparison = SitemapsCompared(problems=problems)
    work = _Comparing(site, comparison)
    with closing(temporary_database()) as database:
        database.execute(
            "CREATE TABLE entry"
            " (url, side, label, lastmod, changefreq, priority, alternates, media,"
            " path, language)"
        )
        database.execute("BEGIN")
        for side, listed in ((_BEFORE, before), (_AFTER, after)):
            rows = _rows(side, listed, site, progress)
            insert(database, "entry", _LANGUAGE + 1, rows)
        by_url = database.execute("SELECT * FROM entry ORDER BY url, side, rowid")
        for url, entries in groupby(by_url, key=itemgetter(_URL)):
            work.see(url, list(entries))
        if work.has_lost_languages:
            work.see_languages(database.execute(_LANGUAGES))
    comparison.differences = work.differences()
    return comparison


def _rows(
    side: int, listed: Iterable[ListedEntry], site: SiteAddress, progress: ComparedSoFar
) -> Iterator[tuple[Any, ...]]:
    """Yield the entries of one side as the temporary database has them."""
    what, origin = ("Before", "After")[side], site.origin
    codes = {code.lower() for code, _ in django_settings.LANGUAGES}
    for number, (label, entry) in enumerate(listed, 1):
        alternates = [
            f"{code} {_written(url, origin)}" for code, url in entry.alternates
        ]
        url = _written(entry.location, origin)
        yield (
            url,
            side,
            label,
            *(entry.lastmod, entry.changefreq, entry.priority),
            "\n".join(sorted(alternates)),
            "\n".join(sorted({*_media(entry, origin)})),
            *_without_language(url, site.prefix, codes),
        )
        if not number % 1000:
            progress(what, number)


def _without_language(url: str, prefix: str, codes: set[str]) -> tuple[str, str]:
    """Return a URL without the language that its path begins with, and that."""
    origin, path = _split(url)
    start, slash, rest = path.removeprefix(prefix).partition("/")
    if slash and start.lower() in codes:
        return f"{origin}{prefix}{rest}", start.lower()
    return url, ""


def _split(url: str) -> tuple[str, str]:
    """Return the origin of a URL, and all that follows."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host}", slash + path


def _media(entry: Entry, origin: Origin) -> Iterator[str]:
    """Yield what images and videos an entry has, and whether it is news."""
    for kind, urls in (("image", entry.images), ("video", entry.players)):
        # They may be of other hosts, which are not written in one way.
        yield from (f"{kind} {quote(_written(url, origin))}" for url in urls)
    if entry.published:
        yield "news"


def _written(url: str, origin: Origin) -> str:
    """Return a URL as this package writes it; one that is illegal as it is."""
    try:
        return origin.absolute(url.partition("#")[0] or "/")
    except LocationError:
        return url


class _Comparing:
    """The differences, gathered URL by URL."""

    def __init__(self, site: SiteAddress, comparison: SitemapsCompared) -> None:
        self._site = site
        self._comparison = comparison
        self._differences = {kind: Difference() for kind in _KINDS}
        self._labels: Counter[str] = Counter()
        self._lost_of: Counter[str] = Counter()
        #: Of lost URLs under another language now, or nowhere: how many under which,
        #: by the languages that their section had.
        self._lost_languages: dict[tuple[str, ...], Counter[str]] = {}
        self.has_lost_languages = False
        self._lost_origins: set[str] = set()
        self._origins: set[str] = set()

    def see(self, url: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Compare what both sides say of one URL."""
        before, after = (_lasting(rows, side) for side in (_BEFORE, _AFTER))
        self._comparison.before += bool(before)
        self._comparison.after += bool(after)
        # What was repeated before and is now is said once.
        for kind, some in {"repeated": after, "repeated before": before}.items():
            if len(some) > 1:
                names = ", ".join(dict.fromkeys(row[_LABEL] for row in some))
                self._differences[kind].add(f"{url} ({len(some)} times: {names})")
                break
        origin, _ = _split(url)
        if after:
            self._origins.add(origin)
        if before:
            label = before[0][_LABEL]
            self._labels[label] += 1
        if before and after:
            self._values(url, before[0], after[0])
        elif before:
            self._differences["lost"].add(url)
            self._lost_of[label] += 1
            self.has_lost_languages |= bool(before[0][_LANGUAGE])
            self._lost_origins.add(origin)
        else:
            self._differences["new"].add(url)

    def see_languages(self, rows: Iterable[tuple[str, int, str]]) -> None:
        """Find out under which languages each path was listed, and is listed now."""
        default = Site.current().default_language.lower()
        all_before, elsewhere = set[str](), Counter[str]()
        for _, some in groupby(rows, key=itemgetter(0)):
            sides: tuple[set[str], set[str]] = (set(), set())
            for _, side, language in some:
                sides[side].add(language)
            before, after = sides
            all_before |= before
            lost = before - after - {""}
            # A section without i18n lists an item in one language.
            if lost and len(after) == 1:
                had = tuple(sorted(language or default for language in before))
                self._lost_languages.setdefault(had, Counter()).update(lost)
            elif not after:
                elsewhere.update(lost)
        if elsewhere and default not in elsewhere:
            had = tuple(sorted(language or default for language in all_before))
            self._lost_languages.setdefault(had, Counter()).update(elsewhere)

    def _values(
        self, url: str, before: tuple[Any, ...], after: tuple[Any, ...]
    ) -> None:
        for name, at in _VALUES.items():
            one, two = before[at], after[at]
            if one == two:
                continue
            if name in _SAME and _SAME[name](one, two):
                continue
            if name == "lastmod" and _is_its_day(one, two):
                self._comparison.with_time += 1
                continue
            if name in ("alternates", "media"):
                one, two = _only(one, two), _only(two, one)
                self._comparison.without_media += bool(one) and name == "media"
            self._differences[name].add(f"{url}: {one or 'none'} -> {two or 'none'}")

    def differences(self) -> dict[str, Difference]:
        """Return what differs, with what to do."""
        for kind, difference in self._differences.items():
            why = self._why_lost() if kind == "lost" else ()
            difference.advice = [*why, _KINDS[kind]]
        return {kind: one for kind, one in self._differences.items() if one.count}

    def _why_lost(self) -> Iterator[str]:
        for origin in sorted(self._lost_origins - self._origins)[:EXAMPLES]:
            now = " and ".join(sorted(self._origins)[:EXAMPLES]) or "nothing"
            yield (
                f"Before, URLs begin with {origin}; now with {now}. Set BASE_URL, or "
                "protocol on the class, to the address that visitors use."
            )
        for had, lost in self._lost_languages.items():
            where = ", ".join(f"/{language}/" for language in sorted(lost))
            codes = [code for code, _ in django_settings.LANGUAGES]
            some = [code for code in codes if code.lower() in had]
            yield (
                f"Of these, {lost.total():,} are under {where}. A section is built in "
                "LANGUAGE_CODE, at whatever address it is asked for: set "
                + (
                    "i18n = True on its class, which lists all languages."
                    if some == codes
                    else f"i18n = True and languages = {some!r} on its class."
                )
            )
        for label, count in self._lost_of.most_common(EXAMPLES):
            if count == self._labels[label]:
                yield f"All URLs of {label} are lost: {count:,}."


def _lasting(rows: Sequence[tuple[Any, ...]], side: int) -> list[tuple[Any, ...]]:
    """Return the rows of one side: of an article that is news, its other entries."""
    some = [row for row in rows if row[_SIDE] == side]
    return [
        row for row in some if "news" not in row[_VALUES["media"]].split("\n")
    ] or some


def _same_moment(one: str, other: str) -> bool:
    """Return whether two dates are the same: "Z" is "+00:00"."""
    if (len(one) > _DAY) != (len(other) > _DAY):
        return False
    moments = [_moment(text) for text in (one, other)]
    return None not in moments and moments[0] == moments[1]


def _is_its_day(day: str, time: str) -> bool:
    """Return whether ``time`` is on ``day``, in its own zone or in the project's."""
    moment = _moment(time)
    if len(day) != _DAY or len(time) <= _DAY or moment is None:
        return False
    try:
        local = moment.astimezone(timezone.get_default_timezone())
    except OverflowError:
        return False
    return day in (time[:_DAY], local.date().isoformat())


def _moment(text: str) -> dt.datetime | None:
    """Read a date, to the second; without a zone it is of the project's own."""
    with suppress(ValueError, OverflowError):
        read = dt.datetime.fromisoformat(text)
        zone = read.tzinfo or timezone.get_default_timezone()
        return read.replace(tzinfo=zone, microsecond=0).astimezone(dt.UTC)
    return None


def _same_number(one: str, other: str) -> bool:
    """Return whether two priorities are the same: "0.5" is "0.50"."""
    with suppress(ValueError):
        return float(one) == float(other)
    return False


def _only(one: str, other: str) -> str:
    """Return the lines that only one side has, as text."""
    return ", ".join(sorted({*one.split("\n")} - {*other.split("\n"), ""}))


_SAME: dict[str, Callable[[str, str], bool]] = {
    "lastmod": _same_moment,
    "priority": _same_number,
}
#: By kind of difference, why it may be, and what to do. The gravest comes first.
_KINDS = {
    "lost": (
        "A URL is lost if its section is not registered, if items() lists less, if "
        "its row is left out (see above), or if its address is another now (see what "
        "is new)."
    ),
    "new": (
        "A URL is new if a section is registered that the former sitemap did not have, "
        "if items() lists more, or if the row was added meanwhile. See that each may "
        "be found by search engines."
    ),
    "lastmod": (
        "Rows were saved since the former sitemap was read, or lastmod is another "
        "column now. A lastmod that is not a date, or lies in the future, is left "
        "out."
    ),
    "changefreq": (
        "A value that is not one of the seven words of sitemaps.org, such as a method, "
        "is left out. Search engines ignore changefreq."
    ),
    "priority": (
        "A value that is not between 0.0 and 1.0 is left out. Search engines ignore "
        "priority."
    ),
    "alternates": (
        "See i18n, alternates, languages and x_default on the class, and "
        "get_languages_for_item()."
    ),
    "media": (
        "See images and videos on the class, and NewsSitemap. Of the dicts that "
        "get_urls() returns only images, videos and news are read: what a template of "
        "your own reads besides is not listed."
    ),
    "repeated before": (
        "The former sitemap lists a URL several times: in several sections, or because "
        "its pages were not ordered. You need do nothing."
    ),
    "repeated": (
        "A URL is listed several times: two rows have one address, or two sections "
        "list one object. Let one of them leave it out."
    ),
}
