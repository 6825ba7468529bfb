"""
Whether URLs are indexed: which of them Google is asked about, and its answers stored.

Sections of at most a thousand URLs are inspected whole, once a week at most. Of a
larger one a uniform sample is drawn without replacement: places among all its URLs,
page after page. It rolls over 28 days, and whatever was inspected before may be drawn
again: if it were left out, URLs that are new would be drawn more often than others.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from operator import itemgetter
from typing import Any

from django.db.models import Count, Q

from django_sitemaps_plus.db import database_time, digest_of
from django_sitemaps_plus.delivery.engines import check_site, engines, side_by_side
from django_sitemaps_plus.engines.base import (
    CheckResult,
    Outcome,
    Refused,
    TransportError,
)
from django_sitemaps_plus.health.words import seconds_of
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.protocol.errors import printable
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


def inspected() -> Any:
    """Return the site's inspections, in the database for writing."""
    return Inspection.objects.on_site()


def console(of: Site | None = None) -> SearchConsole | None:
    """Return the engine that inspects a site: one of its property, if there is one."""
    every = [one for one in engines().values() if isinstance(one, SearchConsole)]
    site = (of or Site.current()).address()
    own = [one for one in every if site and _is_part(site, one)]
    return next(iter(own or every), None)


def _is_part(site: SiteAddress, engine: SearchConsole) -> bool:
    """Return whether a site is part of a property, which may be a folder of it."""
    home = f"{site.origin}/"
    return engine.covers(home) or engine.site.startswith(home)


# Whether it can


def inspection_refusal(*, force: bool = False) -> CheckResult | None:
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
    wrong = [one for one in check_site(force=force) if not one.is_good]
    if wrong or site is None:
        return wrong[0]
    if not _is_part(site, engine):
        text = f"{site.origin} is not part of the property {engine.site}."
        fix = "Set the engine's option 'site' to '{}/', or to its domain property."
        return CheckResult.bad(text, fix.format(site.origin))
    return None


def quotas() -> Any:
    """Return the row of the property that the site is part of."""
    engine = console()
    return quota.quota_rows(engine.site if engine else "")


def quota_state() -> InspectionQuota:
    """Return how the inspections of the site's property stand."""
    return quotas().first() or InspectionQuota()


def check_inspections() -> Iterator[CheckResult]:
    """Yield why nothing is inspected, unless that is intended."""
    if console() is None or not inspections():
        return
    wrong, problem = inspection_refusal(), quota_state().problem
    if wrong or problem:
        text, fix = (wrong.text, wrong.fix) if wrong else (problem, LOOKS_AGAIN)
        yield CheckResult.warning(f"No URL is inspected. {text}", fix)


LOOKS_AGAIN = "Then run: python manage.py sitemap_coverage"


# Inspecting


def inspect_in_turn(is_over: Callable[[], bool]) -> float | None:
    """Inspect what the hour allows; return the seconds until it allows more."""
    engine, most = console(), inspections()
    if engine is None or not most or inspection_refusal():
        return None
    wait, now = _AT_ONCE * quota.DAY / most, database_time(inspected().db)
    # Sites of one property take turns.
    sites = [one.key for one in Site.of_process() if console(one) == engine]
    if sites and sites[int(now / wait) % len(sites)] != Site.current().key:
        return wait
    count = quota.left(now, quota_state(), by_now=True)
    if count >= min(_AT_ONCE, most):
        inspect(is_over, most=min(_LOT, count))
    return wait


def inspect(is_over: Callable[[], bool], *, most: int) -> int | None:
    """
    Inspect at most so many URLs, of one section after the other; return how many.

    None if another process inspects, or Google has asked for a pause.
    """
    engine, site = console(), Site.current().address()
    if engine is None or site is None:
        return None
    turn = quota.Turn(engine.site)
    if not turn.is_mine:
        return None
    work, done = Work(engine, site, turn), 0
    try:
        while done < most and not work.is_over and not is_over():
            if not (lot := work.draw(min(_LOT, most - done))):
                break
            done += work.inspect(lot, is_over)
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

    def __post_init__(self) -> None:
        """Find out how much was inspected."""
        self._counts = _counts(self.turn.now)

    # Which

    def draw(self, most: int) -> list[Inspection]:
        """Return some URLs of the section that had the fewest, as rows to be filled."""
        for *_, name, count, every in sorted(self._due(), key=itemgetter(0, 1, 2)):
            if rows := self._rows(name, every, min(most, count)):
                return rows
            self._done.add(name)
        return []

    def _due(self) -> Iterator[tuple[int, int, str, int, list[Page]]]:
        """Yield how much was inspected of a section, and how many URLs are due."""
        for name, every in pages_to_inspect().items():
            week, day, drawn_today, total = self._counts.get(name, (0, 0, 0, 0))
            count = max(_FIRST - total, _DAILY - drawn_today)
            if _is_whole(every):
                count = _size(every) - week
            if count > 0 and name not in self._done:
                yield day, total, name, count, every

    def _rows(self, name: str, every: Sequence[Page], count: int) -> list[Inspection]:
        """Return rows for a uniform sample, or for all that is due, shuffled."""
        is_drawn = not _is_whole(every)
        sizes = [page.entries or 0 for page in every]
        wanted = drawn(sizes, count if is_drawn else _WHOLE)
        found, is_known = dict[str, tuple[str, str]](), True
        address = self.site.with_scheme(source(name).sitemap.protocol)
        for page, stored in storage.read_each([every[number] for number in wanted]):
            is_known = is_known and stored is not None
            own = list(stored.lastmods(address).items()) if stored else []
            for place in wanted[every.index(page)]:
                if place < len(own):
                    found[digest_of(own[place][0])] = own[place]
        if is_drawn:
            # What was inspected whole is not a sample of what it has grown to.
            inspected().filter(section=name, is_drawn=False).delete()
        else:
            self._leave_out(name, found, is_known=is_known)
        due = [one for one in found if self.engine.covers(found[one][0])]
        random.shuffle(due)
        return [
            Inspection(
                section=name,
                url=found[one][0],
                digest=one,
                is_drawn=is_drawn,
                lastmod=seconds_of(found[one][1]),
            )
            for one in due[:count]
        ]

    def _leave_out(self, name: str, found: dict[str, Any], *, is_known: bool) -> None:
        """Leave out what was inspected lately; forget what is listed no more."""
        rows = inspected().filter(section=name)
        # What is not known to be listed, is not known to be gone either.
        if is_known:
            rows.exclude(digest__in=list(found)).delete()
        rows = rows.filter(inspected_at__gt=self.turn.now - _WEEK)
        for digest in rows.values_list("digest", flat=True):
            found.pop(digest, None)

    # What Google says

    def inspect(self, lot: Sequence[Inspection], is_over: Callable[[], bool]) -> int:
        """Ask about some URLs, five at a time, and store the answers."""
        done = 0
        while done < len(lot) and not self.is_over and not is_over():
            # Whether there is a permission, is found out by one.
            wanted = _AT_ONCE if self.turn.is_known else 1
            count = self.turn.take(min(wanted, len(lot) - done))
            some = lot[done : done + count]
            answers: dict[str, Inspected] = {}
            jobs = [partial(self._ask, row.url, answers) for row in some]
            side_by_side(jobs, inspected().db)
            self._judge(answers.values())
            self._store(some, answers)
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
        self, some: Sequence[Inspection], answers: Mapping[str, Inspected]
    ) -> None:
        """Store what Google said; of what failed by itself, that it said nothing."""
        # What ends the turn says nothing of a URL.
        rows = [row for row in some if not (self.is_over and answers[row.url].problem)]
        if not rows:
            return
        digests = [row.digest for row in rows]
        former = inspected().filter(section=rows[0].section, digest__in=digests)
        before = dict(former.values_list("digest", "verdict"))
        for row in rows:
            row.former_verdict = before.get(row.digest, "")
            row.inspected_at = self.turn.now
            _read(answers[row.url], row)
        # It minds more than one question in five.
        rows[0].bing_crawled_at = _crawled_by_bing(rows[0].url)
        own = self._counts.get(rows[0].section, (0, 0, 0, 0))
        self._counts[rows[0].section] = [count + len(rows) for count in own]
        # As new rows, so that they are in the order of time.
        former.delete()
        former.bulk_create(rows, ignore_conflicts=True)


def _crawled_by_bing(url: str) -> float | None:
    for engine in engines().values():
        if isinstance(engine, BingWebmaster) and url.startswith(engine.site):
            with suppress(Refused, TransportError):
                return seconds_of(engine.last_crawled(url))
    return None


def pages_to_inspect() -> dict[str, list[Page]]:
    """Return the pages with entries, in their order, of each registered section."""
    usable = [name for name in registry.sources() if not why_unusable(name)]
    sections = Section.objects.on_site().filter(name__in=usable)
    names = dict(sections.values_list("pk", "name"))
    rows = Page.objects.filter(section__in=names, entries__gt=0).exclude(checksum="")
    rows = rows.only("section", "checksum", "entries").order_by("section", "position")
    found: dict[str, list[Page]] = {}
    for page in rows:
        found.setdefault(names[page.section_id], []).append(page)
    return found


def _size(some: Sequence[Page]) -> int:
    return sum(page.entries or 0 for page in some)


def _is_whole(some: Sequence[Page]) -> bool:
    """Return whether a section with these pages is inspected whole."""
    return _size(some) <= _WHOLE


def drawn(sizes: Sequence[int], count: int) -> dict[int, list[int]]:
    """Return places on pages of some sizes, each place as likely as any other."""
    ends, found = list(accumulate(sizes)), dict[int, list[int]]()
    for place in random.sample(range(ends[-1]), min(count, ends[-1])):
        page = bisect_right(ends, place)
        found.setdefault(page, []).append(place - ends[page] + sizes[page])
    return found


def _counts(now: float) -> dict[str, Sequence[int]]:
    """Return how much of sections was inspected in a week and a day, and drawn."""
    week, day = Q(inspected_at__gt=now - _WEEK), Q(inspected_at__gt=now - quota.DAY)
    conditions = week, day, day & Q(is_drawn=True), Q(is_drawn=True)
    rows = inspected().filter(inspected_at__gt=now - WINDOW)
    counts = {f"c{n}": Count("pk", filter=one) for n, one in enumerate(conditions)}
    counted = rows.values_list("section").annotate(**counts)
    return {name: numbers for name, *numbers in counted}


def _read(answer: Inspected, row: Inspection) -> None:
    """Copy what Google says; any field may be missing."""
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
