"""
Rebuilds pages ahead of the requests for them: at leisure, or all at once.

At leisure one process for all rebuilds them, a page at a time, and rests after each.
Those come first that may list a URL that is lost, then those that have to be compared,
then those with other changes that have waited for ``VERIFY_AFTER``: engines were told
of these, and whoever asks for such a page rebuilds it. Then pages that are due for a
comparison and that somebody asked for lately. A page is rebuilt at most once a minute;
requests for it have no such limit.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from django.db import DatabaseError
from django.db.models import Count, F, Min, Q, Sum

from django_sitemaps_plus import hooks
from django_sitemaps_plus.changes.assignment import assign, unassign
from django_sitemaps_plus.changes.events import MOST_COMPARED
from django_sitemaps_plus.changes.models import Change
from django_sitemaps_plus.changes.queries import changes
from django_sitemaps_plus.changes.reporting import report_changes
from django_sitemaps_plus.changes.schedule import ticks_are_due
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import Busy, NotReady, TooManyBadRows
from django_sitemaps_plus.pagination.deploys import shared
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import (
    is_filled,
    ledger,
    of_sections,
    pages,
    row_of,
    sections,
)
from django_sitemaps_plus.prepared import Prepared, Slot, listed, select, slots
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.rendering.serializer import describe
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress
from django_sitemaps_plus.storing.freshness import hold, read_page
from django_sitemaps_plus.storing.lost import NOTHING, look_for_lost, unclear_changes
from django_sitemaps_plus.storing.unmoved import read_stored

from .pages import expire, find_by_position, serve
from .position_build import NotStoredError

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds between two times that a page is rebuilt at leisure.
SELDOM = 60.0
#: Seconds for which a page that was asked for is compared without being asked for.
_ASKED_LATELY = 86_400.0
#: Seconds for which a list of pages to rebuild is used.
LISTED = 30.0
#: Seconds after which it is listed again where there was nothing.
AGAIN = 4.0
#: Seconds for which a process keeps others from rebuilding while it builds a page, and
#: after the rest that follows.
_LEASE, MARGIN = 15.0, 2.0
#: Seconds for which one section's changes are assigned at a time.
_ASSIGN = 10.0
#: Items of a section by position that ``ping_sitemaps`` compares each time.
_AT_ONCE = 1_000
#: Pages of one query.
_CHUNK = 200
#: Changes of a page that do not wait: one build takes no more than twice as many.
ENOUGH = MOST_COMPARED // 2
#: Rounds in which all pages are rebuilt for which changes wait, while more come.
_ROUNDS = 20

#: A page, by its section's name and its number.
_Place = tuple[str, int]


# Reporting


def report_all(
    sources: Iterable[SectionSource],
    site: SiteAddress,
    failed: list[str] | None = None,
) -> int:
    """
    Assign and report what was saved and deleted; returns how many changes.

    ``site`` is the address that pages are built for. The names of sections for which
    that fails are added to ``failed``.
    """
    done = 0
    for source, needs_pages in _with_changes(sources):
        try:
            row = row_of(source.name, key=source.key.signature if source.key else "")
            if needs_pages and is_filled(row, source):
                assign(source, row, _ASSIGN)
            done += report_changes(source, row, site, read_stored)
            if row.failure:
                _note_failure(source.name, "")
        except NotReady as error:
            logger.warning("Section %r: %s", source.name, error)
            if failed is not None:
                failed.append(source.name)
        except Exception as error:
            # A section whose rows fail must not keep others from theirs.
            logger.exception(
                "Changes of the section %r cannot be reported.", source.name
            )
            if failed is not None:
                failed.append(source.name)
            _note_failure(source.name, describe(error))
    return done


def _note_failure(name: str, failure: str) -> None:
    """Record why changes of a section cannot be reported, for the status."""
    # Where the database fails, that is seen as well.
    with suppress(DatabaseError):
        sections().filter(name=name).update(failure=failure)


def _with_changes(
    sources: Iterable[SectionSource],
) -> list[tuple[SectionSource, bool]]:
    """
    Return the sections with changes that were not reported or assigned yet.

    And whether some of it is not one key that was not reported: what was reported
    before the pages were divided, ranges and related objects have no page yet.
    """
    keyed = {source.name: source for source in sources if source.key is not None}
    found: dict[str, int] = {}
    if keyed:
        count, values = listed("section", keyed)
        values["site"] = Site.current().key
        found.update(_CHANGED.rows(ledger(), count, **values))  # type: ignore[arg-type]  # pairs
    ticking = [name for name, source in keyed.items() if definition(source).ticks]
    if ticking:
        now = time.time()
        due = sections().filter(name__in=ticking, filled=True)
        found |= {row.name: 1 for row in due if ticks_are_due(row.ticked_at, now)}
    return [(keyed[name], bool(found[name])) for name in keyed if name in found]


def _changed_query(names: int) -> Any:
    rows = Change.objects.of_all_sites().filter(Q(reported_at=None) | Q(page=None))
    rows = rows.filter(site=Slot("site"), section__in=slots("section", names))
    is_one_key = Q(reported_at=None, upto=None, related="") & ~Q(key="")
    others = Count("pk", filter=Q(page=None) & ~is_one_key)
    return select(rows.order_by().values_list("section").annotate(others=others))


_CHANGED = Prepared(_changed_query)


# What waits


def _wanted(
    sources: Sequence[SectionSource], before: float | None = None
) -> list[_Place]:
    """
    Return the pages to rebuild because their rows changed.

    With ``before`` only those that cannot wait: that may list a URL that is lost, that
    have to be compared, or that have had a change since before that time, or very many.
    In this order in any case.
    """
    names = [source.name for source in sources if source.key is not None]
    loses = Q(loses_url=True) | Q(loses_url=None, reported=NOTHING)
    grouped = (
        changes()
        .filter(section__in=names)
        .exclude(page=None)
        .order_by()
        .values_list("section", "page")
        .annotate(
            first=Min("pk"),
            since=Min("at"),
            lost=Count("pk", filter=loses),
            all=Count("pk"),
        )
    )
    if before is not None:
        is_urgent = Q(lost__gt=0) | Q(since__lt=before) | Q(all__gte=ENOUGH)
        grouped = grouped.filter(is_urgent)
    lost, others = list[_Place](), list[_Place]()
    for name, number, _, _, loses, _ in grouped.order_by("first"):
        (lost if loses else others).append((name, number))
    due = Q(verified_at=0) | shared(time.time())
    marked = pages().filter(of_sections(names)).filter(due)
    marked = marked.exclude(checksum="", error="").order_by("pk")
    places = marked.values_list("section__name", "number")
    return list(dict.fromkeys([*lost, *places, *others]))


def changes_wait() -> float:
    """Return the seconds for which a changed page may wait until somebody asks."""
    waits, sooner = float(get_settings().VERIFY_AFTER), hooks.changes_wait()
    return waits if sooner is None else min(waits, sooner)


class _Pace(NamedTuple):
    """How soon pages are rebuilt at leisure; all in seconds."""

    #: Until a change has to be looked for in pages that nobody asks for.
    wait: float
    seldom: float
    listed: float
    again: float

    @classmethod
    def of(cls, *, promptly: bool) -> _Pace:
        """
        Return the pace; ``promptly`` where nobody asks for pages, because a cache does.

        Then ``NOTIFY_AFTER`` says how soon, and how often a page is rebuilt.
        """
        if not promptly:
            return cls(changes_wait(), SELDOM, LISTED, AGAIN)
        most = max(MARGIN / 2, get_settings().NOTIFY_AFTER)
        return cls(0.0, min(SELDOM, most), min(LISTED, most), min(AGAIN, most))


def _wanted_soon(
    sources: Sequence[SectionSource], pace: _Pace, now: float
) -> list[_Place]:
    """Return the pages that cannot wait for who asks for them: see ``_wanted``."""
    return _wanted(sources, now - pace.wait if pace.wait else None)


def _refreshed_before(
    places: Sequence[_Place], pace: _Pace, now: float
) -> list[_Place]:
    """Return those of some pages that were not rebuilt at leisure lately."""
    names = {name for name, _ in places}
    # What could not be rebuilt is not tried all the time.
    failed = Q(refreshed_at__gt=now - SELDOM, read_at__lt=F("refreshed_at") - MARGIN)
    tried = Q(refreshed_at__gt=now - pace.seldom) | failed
    rows = pages().filter(of_sections(names)).filter(tried)
    lately = set(rows.values_list("section__name", "number")) if places else ()
    return [place for place in places if place not in lately]


def _due(sources: Sequence[SectionSource], now: float) -> list[_Place]:
    """Return pages that are due for a comparison: asked for lately, or empty."""
    due: list[_Place] = []
    for source in sources:
        current = definition(source)
        old = Q(verified_at__lt=now - hold(current)) | ~Q(digest=current.digest)
        known = Q(asked_at__gt=now - _ASKED_LATELY) | Q(entries=0)
        if source.key is None:
            # Nothing else tells of its items; the first page stands for all.
            known = Q(number=1)
        rows = pages().filter(of_sections(source.name), old, known, error="")
        rows = rows.exclude(checksum="").filter(read_at__lt=now - hold(current))
        numbers = rows.order_by("verified_at").values_list("number", flat=True)
        due += [(source.name, number) for number in numbers[:_CHUNK]]
    return due


# Rebuilding


def compare_by_position(
    sources: Iterable[SectionSource], site: SiteAddress, *, at_once: bool = False
) -> None:
    """
    Compare sections that are paged by position, of whose items no signal tells.

    Those that are due. With ``at_once`` also those that are not, unless that would
    take long.
    """
    for source in sources:
        if source.key is not None:
            continue
        try:
            page = find_by_position(source, 1, site)
        except NotStoredError:
            continue
        except Exception:
            # Its items may raise whatever they like: the others are compared.
            logger.exception("The section %r cannot be compared.", source.name)
            continue
        if page is not None:
            own = pages().filter(section=page.section_id)
            items = own.aggregate(n=Sum("items"))["n"] or 0
            if at_once and items <= _AT_ONCE:
                expire(page)
            _rebuild(source, 1, site)


def _rebuild(
    source: SectionSource, number: int, site: SiteAddress, *, at_leisure: bool = False
) -> Page | None:
    """
    Rebuild a page, and return it.

    None if that was not to be; what keeps it from that is in its row and in the log.
    """
    key, name = Site.current().key, source.name
    page = read_page(number=number, section__site=key, section__name=name)
    if page is None:
        unassign(source.name, number)
        return None
    if at_leisure:
        pages().filter(pk=page.pk).update(refreshed_at=time.time())
    former = page.read_at
    try:
        built = serve(source, page, site, asked=False).page
        # Bytes may have stood in: the rows are bad, or newer code is at it.
        return built if built.read_at != former else None
    except NotStoredError as error:
        logger.info("Section %r: %s", source.name, error)
    except (TooManyBadRows, Busy) as error:
        logger.warning("Section %r: %s", source.name, error)
    except Exception:
        # Not the others' fault: they are rebuilt, and an index shows them.
        logger.exception("Section %r: page %s cannot be built.", source.name, page)
    return None


def refresh_all(
    sources: Sequence[SectionSource],
    site: SiteAddress,
    *,
    at_leisure: bool = False,
    promptly: bool = False,
    progress: Callable[[int], object] = lambda pages: None,
) -> int:
    """
    Rebuild all pages whose rows changed; returns how many.

    With ``at_leisure`` those only that ``Leisure`` would rebuild, ``promptly`` or not,
    but without a rest.
    ``progress`` is called after each page with how many were rebuilt.
    """
    by_name = {source.name: source for source in sources}
    done, failed = 0, set[_Place]()
    for _ in range(_ROUNDS):
        if at_leisure:
            while unclear := unclear_changes(sources):
                look_for_lost(sources, unclear)
            now, pace = time.time(), _Pace.of(promptly=promptly)
            wanted = _wanted_soon(sources, pace, now)
            wanted = _refreshed_before(wanted, pace, now)
        else:
            wanted = _wanted(sources)
        wanted = [place for place in wanted if place not in failed]
        if not wanted:
            break
        for name, number in wanted:
            if _rebuild(by_name[name], number, site, at_leisure=at_leisure) is None:
                failed.add((name, number))
            else:
                done += 1
                progress(done)
    return done


class Leisure:
    """Rebuilds pages one by one, within ``BACKGROUND_SHARE`` of one processor."""

    def __init__(self) -> None:
        self._owner = uuid.uuid4().hex
        self._places: deque[_Place] = deque()
        self._listed_at = -LISTED
        self._rest_until = 0.0
        self.has_lease = False

    def step(
        self,
        sources: Sequence[SectionSource],
        site: SiteAddress,
        *,
        parts: int = 1,
        promptly: bool = False,
    ) -> float | None:
        """
        Rebuild the next page if it is time; returns the seconds until it is again.

        None if there is nothing to rebuild. ``parts`` is how many share the processor.
        ``promptly`` also those pages for which somebody would have to ask, because a
        cache answers for them.
        """
        pace = _Pace.of(promptly=promptly)
        rest = self._rest_until - time.monotonic()
        if rest > 0:
            return rest
        begun = time.thread_time()
        has_looked, wait = self._list(sources, pace)
        if not (self._places or has_looked):
            self.stop()
            return wait
        if self._places:
            if not self._lease(_LEASE):
                # Another process is at it.
                self._places.clear()
                return pace.listed
            name, number = self._places.popleft()
            by_name = {source.name: source for source in sources}
            _rebuild(by_name[name], number, site, at_leisure=True)
        used = time.thread_time() - begun
        share = get_settings().BACKGROUND_SHARE / parts
        rest = used * (1 / share - 1)
        self._rest_until = time.monotonic() + rest
        self._lease(rest + MARGIN)
        return rest

    def _list(
        self, sources: Sequence[SectionSource], pace: _Pace
    ) -> tuple[bool, float | None]:
        """
        List the pages to rebuild, if the former list is done or old.

        Returns whether bytes were searched for it, and the seconds until the next list
        if there are no pages, None if none waits.
        """
        age = time.monotonic() - self._listed_at
        if age < (pace.listed if self._places else pace.again):
            return False, pace.again - age + 0.01
        self._listed_at = time.monotonic()
        unclear = unclear_changes(sources)
        has_looked = bool(unclear) and self._lease(_LEASE)
        if has_looked:
            look_for_lost(sources, unclear)
        now = time.time()
        wanted = _wanted_soon(sources, pace, now)
        eligible = _refreshed_before(wanted, pace, now)
        self._places = deque(eligible or _due(sources, now))
        return has_looked, pace.listed if wanted or unclear else None

    def _lease(self, seconds: float) -> bool:
        site = row_of("")
        self.has_lease = sections().filter(pk=site.pk).take(self._owner, seconds)
        return self.has_lease

    def stop(self) -> None:
        """Let another process go on."""
        if self.has_lease:
            self.has_lease = False
            sections().filter(name="").release(self._owner)
