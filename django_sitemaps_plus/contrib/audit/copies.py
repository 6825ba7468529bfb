"""
Since when a copy of a sitemap has been outdated, by what happened to its URLs.

The oldest difference counts, not the newest change: on a site that changes each minute,
a copy of last week and one of this morning both lack what changed just now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from django_sitemaps_plus.building.refresh import changes_wait
from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.changes.queries import location_digest, url_changes
from django_sitemaps_plus.serving.documents import Document

from .entries import Entry
from .rules import FetchedAnswer
from .rules.arrivals import by_location, copied_at, origin_of, seconds

#: URLs that are looked up by one statement.
_AT_ONCE = 500
#: Differences of which it is looked up when they came about.
_MOST = 20_000


@dataclass(frozen=True)
class Age:
    """How old a text is that differs from the expected one."""

    #: When it was outdated at the latest, in seconds since the epoch; None: not known.
    since: float | None
    #: Whether it is what the site sent once: all that differs happened since.
    is_former: bool


def age_of(
    answer: FetchedAnswer,
    there: Sequence[Entry],
    expected: Sequence[Entry],
    document: Document,
    sections: Collection[str],
) -> Age:
    """
    Compare what arrived with what is expected, of the document that has it.

    Of an index, ``sections`` are those whose pages differ: of their pages only the
    newest change is known.
    """
    copied, was, now = (
        copied_at(answer, there),
        by_location(there),
        by_location(expected),
    )
    different = [one for one in {**was, **now} if was.get(one) != now.get(one)]
    newer = {
        one: time
        for one in different
        if one in now and (time := _end_of(now[one].lastmod)) is not None
        if time > (_end_of(was[one].lastmod) or 0.0 if one in was else copied)
    }
    happened = _happened(different, was, copied) if not sections else {}
    known = [] if document.changed_at is None else [document.changed_at]
    known += happened.values()
    if sections:
        after = url_changes().filter(section__in=list(sections), at__gt=copied)
        first = after.order_by("at").values_list("at", flat=True).first()
        # By then a page has been compared with its rows, and the index lists that.
        known += [] if first is None else [first + changes_wait()]
    explained = {*happened}
    if sections or not known:
        # Nothing else is known of indexes, nor of what is not stored.
        known += [time for one, time in newer.items() if one in was]
        explained |= {*newer}
    return Age(min(known, default=None), explained.issuperset(different))


def _end_of(lastmod: str) -> float | None:
    """Return when a lastmod was over at the latest: of a date, its end."""
    time = seconds(lastmod)
    return time if time is None or "T" in lastmod else time + 86_400


def _happened(
    locations: Iterable[str], was: Mapping[str, Entry], copied: float
) -> dict[str, float]:
    """Return when something happened first to URLs that a copy does not have yet."""
    first: dict[str, float] = {}
    for urls in _some(islice(locations, _MOST)):
        rows = url_changes().filter(digest__in=list(urls), at__gt=copied)
        for digest, kind, lastmod, at in rows.order_by("-at").values_list(
            "digest", "kind", "lastmod", "at"
        ):
            url = urls[digest]
            is_there = kind != UrlChange.Kind.REMOVED and url in was
            if not (is_there and lastmod and was[url].lastmod == lastmod):
                first[url] = at
    return first


def _some(urls: Iterator[str]) -> Iterator[dict[str, str]]:
    """Yield URLs by the digests of their locations, as many as one statement takes."""
    while some := list(islice(urls, _AT_ONCE)):
        yield {location_digest(_location(url)): url for url in some}


def _location(url: str) -> str:
    """Return the location of a URL of the site."""
    return url.removeprefix("://".join(origin_of(url)))
