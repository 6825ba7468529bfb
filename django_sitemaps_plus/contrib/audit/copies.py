"""
Since when a copy of a sitemap has been outdated, by what happened to its URLs.

The oldest difference counts, not the newest change: on a site that changes each minute,
a copy of last week and one of this morning both lack what changed just now.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from django.db.models import Min

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import digest_of, parts
from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.models import Page, UrlChange
from django_sitemaps_plus.serving.documents import Document, page_or_former
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress

from .entries import Entry
from .rules import FetchedAnswer
from .rules.arrivals import (
    arrived_entries,
    by_location,
    copied_at,
    is_alike,
    origin_of,
    seconds,
)

#: Differences of which it is looked up when they came about.
_MOST = 20_000


@dataclass(frozen=True)
class Age:
    """How old a text is that differs from the expected one."""

    #: When it was outdated at the latest, in seconds since the epoch; None: not known.
    since: float | None
    #: Whether it is what the site sent once: all that differs happened since.
    is_former: bool
    #: Whether it may be, as far as what happened is stored.
    may_be: bool


@dataclass
class Known:
    """What is stored of the past of what a document lists."""

    document: Document
    #: The pages that the site has, by their addresses.
    pages: Mapping[str, tuple[SectionSource, int]]
    site: SiteAddress

    def age_of(
        self, answer: FetchedAnswer, there: Sequence[Entry], expected: Sequence[Entry]
    ) -> Age:
        """
        Compare what arrived with what is expected.

        Of an index, only the newest change is known of the pages that differ.
        """
        copied = copied_at(answer, there)
        was, now = by_location(there), by_location(expected)
        different = [one for one in {**was, **now} if was.get(one) != now.get(one)]
        is_index = any(entry.is_sitemap for entry in expected)
        newer = {
            one: at
            for one in different
            if one in now and (at := _end_of(now[one].lastmod)) is not None
            if at > (_end_of(was[one].lastmod) or 0.0 if one in was else copied)
        }
        first = {
            one: at
            for one, at in self._first_built(copied, is_index=is_index)
            if one in now and one not in was
        }
        changed = self.document.changed_at
        known = [*first.values(), *([] if changed is None else [changed])]
        if is_index:
            happened = self._happened_to_pages(different, copied)
            # By then a page has been compared with its rows, and the index lists that.
            known += [at + get_settings().VERIFY_AFTER for at in happened.values()]
        else:
            happened = _happened(different, was, copied)
            known += happened.values()
        explained = {*first, *happened}
        if is_index or not known:
            # Nothing else is known of indexes, nor of what is not stored.
            known += [at for one, at in newer.items() if one in was]
            explained |= {*newer}
        is_former = explained.issuperset(different)
        since = time.time() - UrlChange.stored_for()
        # Of sections by position nothing is stored.
        is_stored = all(source.key is not None for source, _ in self.pages.values())
        may_be = is_alike(was, now) and (not is_stored or copied < since)
        if may_be and is_stored and not is_former:
            known.append(since)
        return Age(min(known, default=None), is_former, may_be)

    def _first_built(
        self, since: float, *, is_index: bool
    ) -> Iterator[tuple[str, float]]:
        """Yield what pages list that were built first since then, which is no event."""
        rows = Page.objects.on_site().filter(unknown_at__gt=since)
        columns = "section__name", "number", "unknown_at"
        new = {(name, number): at for name, number, at in rows.values_list(*columns)}
        for location, (source, number) in self.pages.items():
            if (at := new.get((source.name, number))) is None:
                continue
            if is_index:
                yield location, at
                continue
            with suppress(SitemapsPlusError):
                if (page := page_or_former(source, number, self.site)) is not None:
                    entries = arrived_entries(page.body)
                    yield from ((one.location, at) for one in entries)

    def _happened_to_pages(
        self, different: Iterable[str], since: float
    ) -> dict[str, float]:
        """Return when something happened first in the sections of pages."""
        names = {_unnumbered(url): one.name for url, (one, _) in self.pages.items()}
        sections = {url: names.get(_unnumbered(url), "") for url in different}
        rows = UrlChange.objects.on_site().filter(
            section__in={*sections.values()}, at__gt=since
        )
        first = dict(
            rows.order_by("section").values_list("section").annotate(Min("at"))
        )
        return {url: first[name] for url, name in sections.items() if name in first}


def _unnumbered(address: str) -> str:
    """Return what the addresses of all pages of a section have in common."""
    return address.rpartition("-")[0]


def _end_of(lastmod: str) -> float | None:
    """Return when a lastmod was over at the latest: of a date, its end."""
    at = seconds(lastmod)
    return at if at is None or "T" in lastmod else at + 86_400


def _happened(
    locations: Iterable[str], was: Mapping[str, Entry], copied: float
) -> dict[str, float]:
    """Return when something happened first to URLs that a copy does not have yet."""
    first: dict[str, float] = {}
    for some in parts(islice(locations, _MOST)):
        urls = {
            digest_of(url.removeprefix("://".join(origin_of(url)))): url for url in some
        }
        rows = UrlChange.objects.on_site().filter(digest__in=list(urls), at__gt=copied)
        for digest, kind, lastmod, at in rows.order_by("-at").values_list(
            "digest", "kind", "lastmod", "at"
        ):
            url = urls[digest]
            is_there = kind != UrlChange.Kind.REMOVED and url in was
            if not (is_there and lastmod and was[url].lastmod == lastmod):
                first[url] = at
    return first
