"""
Whether URLs are indexed: which of them Google is asked about, and its answers stored.

Sections of at most a thousand URLs are inspected whole, once a week at most. Of a
larger one a uniform sample is drawn without replacement: places among all its URLs,
page after page. It rolls over 28 days.
"""

from __future__ import annotations

import html
import random
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from itertools import accumulate
from operator import itemgetter
from typing import Any

from django.db.models import Count, Q

from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.delivery import guards
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.side_by_side import side_by_side
from django_sitemaps_plus.engines.base import CheckResult, Outcome, Refused
from django_sitemaps_plus.engines.errors import TransportError
from django_sitemaps_plus.health.words import seconds_of
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import of_sections, pages
from django_sitemaps_plus.protocol.errors import printable
from django_sitemaps_plus.rendering.listing import lastmod_of, listing_of
from django_sitemaps_plus.serving.index import why_unusable
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress
from django_sitemaps_plus.storing import storage

from . import quota
from .bing import BingWebmaster
from .conf import inspections
from .google import Inspected, SearchConsole
from .models import Inspection, InspectionQuota

#: URLs of a section that is inspected whole, and of the sample of a larger one.
_WHOLE = 1_000
#: Seconds for which an inspection counts, and after which a URL of a section that is
#: inspected whole is inspected again.
WINDOW, _WEEK = 28 * quota.DAY, 7 * quota.DAY
#: URLs of a sample that are inspected as soon as possible; then as many a day.
_FIRST, _DAILY = 100, 36
#: URLs that are drawn from a section at a time, and asked about at the same time.
_LOT, _AT_ONCE = 50, 5
#: Seconds to wait when Google refuses, and when somebody has to do something.
_PAUSE, _LONG_PAUSE = 900.0, 6 * quota.HOUR

#: Fields of Google's answer, and what they say where nothing is in the way.
_ACCESS = ("robotsTxtState", "indexingState", "pageFetchState")
_FREE = ("", "ALLOWED", "INDEXING_ALLOWED", "SUCCESSFUL")
#: A URL, and its lastmod.
_Listed = tuple[str, float | None]


def inspected() -> Any:
    """Return the site's inspections, in the database for writing."""
    return Inspection.objects.on_site()


def digest_of(url: str) -> str:
    """Return what a URL is found by."""
    return blake2b(url.encode(), digest_size=16).hexdigest()


def console() -> SearchConsole | None:
    """Return the engine that inspects, if there is one."""
    found = (one for one in engines().values() if isinstance(one, SearchConsole))
    return next(found, None)


# Whether it can


def refusal(*, force: bool = False) -> CheckResult | None:
    """Return why nothing can be inspected, and what to do; None if it can."""
    engine, site = console(), Site.current().address()
    if engine is None:
        text = "URLs are inspected by Search Console, which ENGINES does not have."
        fix = (
            'Add to SITEMAPS_PLUS[\'ENGINES\']: "google": {"BACKEND": '
            f'"{SearchConsole.__module__}.SearchConsole", "OPTIONS": {{"site": '
            '"https://www.example.com/", "credentials": "/path/account.json"}}'
        )
        return CheckResult.bad(text, fix)
    if not inspections():
        text = "SITEMAPS_PLUS['INSPECTIONS'] is 0, so no URL is inspected."
        return CheckResult.bad(text, "Set it to 500, or leave it out.")
    wrong = [one for one in guards.check(force=force) if not one.is_good]
    if wrong or site is None:
        return wrong[0]
    home = f"{site.origin}/"
    if not engine.covers(home) and not engine.site.startswith(home):
        text = f"{site.origin} is not part of the property {engine.site}."
        fix = f"Set the engine's option 'site' to {home!r}, or to its domain property."
        return CheckResult.bad(text, fix)
    return None


def check() -> Iterator[CheckResult]:
    """Yield why nothing is inspected, unless nobody wants it."""
    if console() is None or not inspections():
        return
    row = quota.quotas().exclude(problem="").first()
    found = refusal() or (row and CheckResult.bad(row.problem, LOOK))
    if found:
        yield CheckResult.warning(f"No URL is inspected. {found.text}", found.fix)


LOOK = "Then run: python manage.py sitemap_coverage"


# Inspecting


def inspect_in_turn(is_over: Callable[[], bool]) -> float | None:
    """Inspect what the hour allows; return the seconds until it allows more."""
    if console() is None or not inspections() or refusal():
        return None
    rows, most = quota.quotas(), inspections()
    row = rows.first() or InspectionQuota()
    count = quota.left(database_time(rows.db), row, by_now=True)
    if count >= min(_AT_ONCE, most):
        inspect(is_over, most=min(_LOT, count))
    return _AT_ONCE * quota.DAY / most


def inspect(is_over: Callable[[], bool], *, most: int) -> int | None:
    """
    Inspect at most so many URLs, of one section after the other; return how many.

    None if another process inspects, or Google has asked for a pause.
    """
    engine, site = console(), Site.current().address()
    turn = quota.Turn()
    if engine is None or site is None or not turn.is_mine:
        return None
    work, done = Work(engine, site, turn), 0
    try:
        while done < most and not work.is_over and not is_over():
            name, lot = work.draw(most - done)
            if not name:
                break
            done += work.inspect(name, lot, is_over)
    finally:
        turn.end()
    return done


@dataclass
class Work:
    """The inspections of one turn."""

    engine: SearchConsole
    site: SiteAddress
    turn: quota.Turn
    #: Whether nothing more can be asked.
    is_over: bool = False
    #: Sections of which there is nothing to ask any more.
    _done: set[str] = field(default_factory=set)

    # Which

    def draw(self, most: int) -> tuple[str, list[_Listed]]:
        """Return the section that had the fewest, and some of its URLs."""
        for *_, name, count, every in sorted(self._due(), key=itemgetter(0, 1, 2)):
            if own := self._urls(name, every, min(_LOT, count)):
                return name, own[: min(most, _LOT, count)]
            self._done.add(name)
        return "", []

    def _due(self) -> Iterator[tuple[int, int, str, int, list[Page]]]:
        """Yield how much was inspected of a section, and how many URLs are due."""
        counts = _counts(self.turn.now)
        for name, every in stored_pages().items():
            week, day, total = counts.get(name, (0, 0, 0))
            count = max(_FIRST - total, _DAILY - day)
            if _size(every) <= _WHOLE:
                count = _size(every) - week
            if count > 0 and name not in self._done:
                yield day, total, name, count, every

    def _urls(self, name: str, every: Sequence[Page], count: int) -> list[_Listed]:
        """Return those of all URLs, or of a uniform sample, that are due, shuffled."""
        is_whole = _size(every) <= _WHOLE
        count = _WHOLE if is_whole else count
        wanted = drawn([page.entries or 0 for page in every], count)
        found: dict[str, _Listed] = {}
        address = self.site.with_scheme(source(name).sitemap.protocol)
        for page, stored in storage.read_each([every[number] for number in wanted]):
            listing = listing_of(stored.text_for(address) if stored else b"")
            # What is not known to be listed, is not known to be gone either.
            is_whole = is_whole and stored is not None
            own = list(listing.items())
            for place in wanted[every.index(page)]:
                if place < len(own):
                    url = html.unescape(own[place][0].decode())
                    found[digest_of(url)] = url, seconds_of(lastmod_of(own[place][1]))
        rows = inspected().filter(section=name)
        if is_whole:
            rows.exclude(digest__in=list(found)).delete()
        age = _WEEK if _size(every) <= _WHOLE else WINDOW
        rows = rows.filter(digest__in=list(found), inspected_at__gt=self.turn.now - age)
        lately = set(rows.values_list("digest", flat=True))
        due = [found[one] for one in found if one not in lately]
        random.shuffle(due)
        return [one for one in due if self.engine.covers(one[0])]

    # What Google says

    def inspect(
        self, name: str, lot: Sequence[_Listed], is_over: Callable[[], bool]
    ) -> int:
        """Ask about some URLs, five at a time, and store the answers."""
        done = 0
        while done < len(lot) and not self.is_over and not is_over():
            # Whether there is a permission, is found out by one.
            wanted = _AT_ONCE if self.turn.is_known else 1
            count = self.turn.take(min(wanted, len(lot) - done))
            some = dict(lot[done : done + count])
            answers: dict[str, Inspected] = {}
            jobs = [partial(self._ask, url, answers) for url in some]
            side_by_side(jobs, inspected().db)
            self._judge(answers.values())
            self._store(name, some, answers)
            done += count
        return done

    def _ask(self, url: str, answers: dict[str, Inspected]) -> None:
        answers[url] = self.engine.inspect(url)

    def _judge(self, answers: Collection[Inspected]) -> None:
        """End the turn if there is a reason; note it, and that Google answered."""
        problems = {one.status: one for one in answers if one.problem}
        now, wait, text = self.turn.now, 0.0, ""
        if is_answered := not all(one.problem for one in answers):
            self.turn.is_known = True
            self.turn.note(answered_at=now, problem="")
        if not answers:
            self.is_over = True  # the quota is used up, or the turn lost
        elif 429 in problems:
            wait = max(_PAUSE, quota.tomorrow(now) - now)
        elif 403 in problems:
            # Too many at a time are refused so as well, until a minute is over.
            is_pressure = problems[403].outcome == Outcome.THROTTLED
            is_pressure |= self.turn.is_known
            wait = _PAUSE if is_pressure else _LONG_PAUSE
            text = "" if is_pressure else problems[403].problem
        elif not is_answered and (len(answers) > 1 or not self.turn.is_known):
            wait, text = _PAUSE, next(iter(problems.values())).problem
        if wait:
            self.is_over = True
            self.turn.note(closed_until=now + wait, problem=printable(text))

    def _store(
        self, name: str, some: Mapping[str, Any], answers: Mapping[str, Inspected]
    ) -> None:
        """Store what Google said; of what failed by itself, that it said nothing."""
        rows, new = inspected().filter(section=name), []
        former = rows.filter(digest__in=list(map(digest_of, some)))
        before = dict(former.values_list("url", "verdict"))
        for url, lastmod in some.items():
            # What ends the turn says nothing of the URL.
            if not (answers[url].problem and self.is_over):
                row = Inspection(section=name, url=url, digest=digest_of(url))
                row.former_verdict, row.lastmod = before.get(url, ""), lastmod
                row.inspected_at = self.turn.now
                _read(answers[url], row)
                new.append(row)
        if new:
            # It minds more than one question in five.
            new[0].bing_crawled_at = _crawled_by_bing(new[0].url)
        # As new rows, so that they are in the order of time.
        rows.filter(digest__in=[row.digest for row in new]).delete()
        rows.bulk_create(new, ignore_conflicts=True)


def _crawled_by_bing(url: str) -> float | None:
    for engine in engines().values():
        if isinstance(engine, BingWebmaster) and url.startswith(engine.site):
            with suppress(Refused, TransportError):
                return seconds_of(engine.last_crawled(url))
    return None


def stored_pages() -> dict[str, list[Page]]:
    """Return the pages with entries, in their order, of each registered section."""
    names = [name for name in registry.sources() if not why_unusable(name)]
    rows = pages().filter(of_sections(names), entries__gt=0).exclude(checksum="")
    rows = rows.select_related("section")
    found: dict[str, list[Page]] = {}
    columns = "section", "section__name", "checksum", "entries", "position"
    for page in rows.only(*columns).order_by("section", "position"):
        found.setdefault(page.section.name, []).append(page)
    return found


def _size(some: Sequence[Page]) -> int:
    return sum(page.entries or 0 for page in some)


def drawn(sizes: Sequence[int], count: int) -> dict[int, list[int]]:
    """Return places on pages of some sizes, each place as likely as any other."""
    ends, found = list(accumulate(sizes)), dict[int, list[int]]()
    for place in random.sample(range(ends[-1]), min(count, ends[-1])):
        page = bisect_right(ends, place)
        found.setdefault(page, []).append(place - ends[page] + sizes[page])
    return found


def _counts(now: float) -> dict[str, tuple[int, int, int]]:
    """Return how much was inspected of sections: in a week, a day and the window."""
    since = {"week": now - _WEEK, "day": now - quota.DAY}
    rows = inspected().filter(inspected_at__gt=now - WINDOW).values("section")
    counted = rows.annotate(
        every=Count("pk"),
        **{
            name: Count("pk", filter=Q(inspected_at__gt=at))
            for name, at in since.items()
        },
    )
    return {row["section"]: (row["week"], row["day"], row["every"]) for row in counted}


def _read(answer: Inspected, row: Inspection) -> None:
    """Take over what Google says, of which anything may be missing."""
    result = answer.result.get("indexStatusResult")
    said = result if isinstance(result, dict) else {}

    def text(name: str, most: int = 2_048, within: Mapping[str, Any] = said) -> str:
        value = within.get(name)
        return printable(value)[:most] if isinstance(value, str) else ""

    row.verdict = text("verdict", 40)
    row.reason = text("coverageState", 300) or printable(answer.problem)[:300]
    states = [text(name, 60) for name in _ACCESS]
    wrong = [one for one in states if one not in _FREE and "UNSPECIFIED" not in one]
    row.obstacle = "".join(wrong[:1])
    canonical = text("googleCanonical")
    row.canonical = "" if canonical == row.url else canonical
    row.crawled_at = seconds_of(text("lastCrawlTime"))
    link = text("inspectionResultLink", within=answer.result)
    row.link = link if link.startswith("https://") else ""
