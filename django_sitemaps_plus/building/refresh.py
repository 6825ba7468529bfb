"""
Rebuilds pages ahead of the requests for them: at leisure, or all at once.

At leisure one process of all rebuilds them, a page at a time, and rests after each. By
turns a page with new rows comes, and the one that has waited longest: engines hear of
new rows soon where more pages change than can be rebuilt. Then come pages that are due
for a comparison and that somebody asked for lately.
"""

from __future__ import annotations

import logging
import math
import time
import uuid
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from django.db import DatabaseError
from django.db.models import Count, Min, Q

from django_sitemaps_plus.changes.assignment import assign, unassign
from django_sitemaps_plus.changes.models import Change
from django_sitemaps_plus.changes.queries import changes
from django_sitemaps_plus.changes.schedule import ticks_are_due
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import Busy, NotReady, TooManyBadRows, describe
from django_sitemaps_plus.pagination.bounds import fill
from django_sitemaps_plus.pagination.deploys import is_outdated, shared
from django_sitemaps_plus.pagination.queries import ledger, pages, row_of, sections
from django_sitemaps_plus.prepared import Prepared, Slot, listed, slots
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress
from django_sitemaps_plus.storing.freshness import hold, read_page

from .pages import serve

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds between two times that a page is rebuilt at leisure; and, where that failed,
#: until it is tried again.
SELDOM, AFTER_FAILURE = 5.0, 60.0
#: Seconds for which a page that was asked for is compared without being asked for.
_ASKED_LATELY = 86_400.0
#: Seconds for which a list of pages to rebuild is used: one without any, and one with
#: some, or of another process. To list them takes a third of the time of a page.
LISTED, IN_USE = 1.0, 5.0
#: Seconds for which a process keeps others from rebuilding while it builds a page, and
#: after the rest that follows.
_LEASE, MARGIN = 15.0, 2.0
#: Seconds for which one section is divided, and its changes are assigned, at a time.
_ASSIGN = 10.0
#: How much longer than after a page other work rests.
_OTHERS_REST = 3.0
#: Pages of one query.
_CHUNK = 200
#: Rounds in which all pages are rebuilt for which changes wait, while more come.
_ROUNDS = 20

#: A page, by its section's name and its number.
_Place = tuple[str, int]


# Assigning


def assign_all(sources: Iterable[SectionSource]) -> list[str]:
    """
    Assign what was saved and deleted to pages; divide sections that were not yet.

    Returns the names of sections for which that fails.
    """
    failed = list[str]()
    for source in _with_changes(sources):
        try:
            row = row_of(source.name, key=source.signature)
            if not row.is_filled(source.signature):
                row = fill(source, _ASSIGN)
            assign(source, row, _ASSIGN)
            if row.failure:
                _note_failure(source.name, "")
        except NotReady as error:
            logger.warning("Section %r: %s", source.name, error)
        except Exception as error:
            # A section whose rows fail must not keep others from theirs.
            logger.exception(
                "Changes of the section %r cannot be assigned.", source.name
            )
            failed.append(source.name)
            _note_failure(source.name, describe(error))
    return failed


def _note_failure(name: str, failure: str) -> None:
    """Record why changes of a section cannot be assigned, for the status."""
    # Where the database fails, that is seen as well.
    with suppress(DatabaseError):
        sections().filter(name=name).update(failure=failure)


def _with_changes(sources: Iterable[SectionSource]) -> list[SectionSource]:
    """Return the sections with changes of which the page is not known, or by now."""
    keyed = {source.name: source for source in sources if source.key is not None}
    found = set[str]()
    if keyed:
        count, values = listed("section", keyed)
        values["site"] = Site.current().key
        found.update(name for (name,) in _CHANGED.rows(ledger(), count, **values))
    ticking = [name for name, source in keyed.items() if definition(source).ticks]
    if ticking:
        now = time.time()
        due = sections().filter(name__in=ticking, filled=True)
        found |= {row.name for row in due if ticks_are_due(row.ticked_at, now)}
    return [source for name, source in keyed.items() if name in found]


def _changed_query(names: int) -> Any:
    rows = Change.objects.of_all_sites().filter(page=None, site=Slot("site"))
    rows = rows.filter(section__in=slots("section", names))
    return rows.order_by().values_list("section").distinct()


_CHANGED = Prepared(_changed_query)


# What waits


def _changed(sources: Sequence[SectionSource]) -> tuple[list[_Place], list[_Place]]:
    """Return the pages with new rows, and others to rebuild, each the oldest first."""
    names = [source.name for source in sources if source.key is not None]
    rows = changes().filter(section__in=names).exclude(page=None).order_by()
    grouped = rows.values_list("section", "page").annotate(
        first=Min("pk"), new=Count("pk", filter=Q(created=True))
    )
    new, others = list[_Place](), list[_Place]()
    for name, number, _, is_new in sorted(grouped, key=lambda row: row[2]):
        (new if is_new else others).append((name, number))
    due = Q(verified_at=0) | shared(time.time())
    marked = pages().on_site(names).filter(due)
    marked = marked.exclude(checksum="", error="").order_by("pk")
    others = [*marked.values_list("section__name", "number"), *others]
    outdated = _outdated(sources, [*new, *others])
    new = [one for one in new if one[0] not in outdated]
    others = [one for one in others if one[0] not in outdated]
    return new, others


def _refreshed_lately(places: Collection[_Place]) -> set[_Place]:
    """Return pages that are being rebuilt or were lately, of the sections of some."""
    now, names = time.time(), {name for name, _ in places}
    if not names:
        return set()
    # What could not be rebuilt is not tried all the time.
    failed = ~Q(error="") & Q(refreshed_at__range=(now - AFTER_FAILURE, now))
    tried = Q(refreshed_at__range=(now - SELDOM, now)) | failed
    tried |= Q(claimed_until__gt=now)
    rows = pages().on_site(names).filter(tried)
    return set(rows.values_list("section__name", "number"))


def _due(sources: Sequence[SectionSource]) -> list[_Place]:
    """Return pages that are due for a comparison: asked for lately, or empty."""
    due, now = list[_Place](), time.time()
    for source in sources:
        current = definition(source)
        lately = now - hold(current), now
        old = ~Q(verified_at__range=lately) | ~Q(digest=current.digest)
        known = Q(asked_at__gt=now - _ASKED_LATELY) | Q(entries=0)
        rows = pages().on_site(source.name).filter(old, known, error="")
        rows = rows.exclude(checksum="").exclude(read_at__range=lately)
        numbers = rows.order_by("verified_at").values_list("number", flat=True)
        due += [(source.name, number) for number in numbers[:_CHUNK]]
    outdated = _outdated(sources, due)
    return [one for one in due if one[0] not in outdated]


def _outdated(sources: Iterable[SectionSource], places: Iterable[_Place]) -> set[str]:
    """Return which sections of some pages newer code than this builds."""
    names = {name for name, _ in places}
    digests = {one.name: definition(one).digest for one in sources if one.name in names}
    rows = sections().filter(name__in=names) if names else ()
    return {row.name for row in rows if is_outdated(row, digests[row.name])}


# Rebuilding


def _rebuild(
    source: SectionSource, number: int, site: SiteAddress, *, at_leisure: bool
) -> bool | None:
    """
    Rebuild a page; return whether that was to be, None where its rows cannot be read.

    What keeps it from that is in its row and in the log.
    """
    key, name = Site.current().key, source.name
    page = read_page(number=number, section__site=key, section__name=name)
    if page is None:
        unassign(source.name, number)
        return False
    if at_leisure:
        pages().filter(pk=page.pk).update(refreshed_at=time.time())
    former = page.read_at
    try:
        served = serve(source, page, site, asked=False)
    except (TooManyBadRows, Busy) as error:
        logger.warning("Section %r: %s", source.name, error)
        return False
    except Exception:
        # Not the others' fault: they are rebuilt, and an index shows them.
        logger.exception("Section %r: page %s cannot be built.", source.name, page)
        return None
    if served.problem:
        return None
    # Former bytes may have stood in: the rows are bad, or others are at it.
    return served.page.read_at != former


def refresh_all(
    sources: Sequence[SectionSource],
    site: SiteAddress,
    *,
    at_leisure: bool = False,
    most: float = math.inf,
    progress: Callable[[int], object] = lambda pages: None,
) -> list[str]:
    """
    Rebuild all pages whose rows changed; return the sections that cannot be read.

    With ``at_leisure`` those only that were not rebuilt a moment ago. None where there
    are more than ``most``.
    ``progress`` is called after each page with how many were rebuilt.
    """
    by_name = {source.name: source for source in sources}
    done, tried, failed = 0, set[_Place](), dict[str, None]()
    for _ in range(_ROUNDS):
        new, others = _changed(sources)
        wanted = dict.fromkeys([*new, *others])
        lately = _refreshed_lately(wanted) if at_leisure else ()
        left = [one for one in wanted if one not in tried and one not in lately]
        if not left or len(left) > most:
            break
        for name, number in left:
            is_rebuilt = _rebuild(by_name[name], number, site, at_leisure=at_leisure)
            if is_rebuilt:
                done += 1
                progress(done)
                continue
            tried.add((name, number))
            if is_rebuilt is None:
                failed[name] = None
    return list(failed)


class OtherWork(Protocol):
    """What else is done at leisure."""

    def waits(self) -> bool:
        """Return whether there is something to do."""

    def do(self) -> bool:
        """Do some of it; return whether that succeeded."""


class Leisure:
    """Rebuilds pages one by one, within ``BACKGROUND_SHARE`` of one processor."""

    def __init__(self) -> None:
        self._owner = uuid.uuid4().hex
        #: Pages with new rows, and others; and from which the last one was.
        self._new, self._others = deque[_Place](), deque[_Place]()
        self._was_new = False
        #: Whether any wait, though they were rebuilt a moment ago; and other work.
        self._is_more = self._has_other = False
        self._listed_at = -LISTED
        self._rest_until = self._other_from = 0.0
        self.has_lease = False

    def step(
        self,
        sources: Sequence[SectionSource],
        site: SiteAddress,
        other: OtherWork,
        *,
        parts: int = 1,
    ) -> float | None:
        """
        Rebuild the next page if it is time; returns the seconds until it is again.

        None if there is nothing to do. ``parts`` is how many share the processor.
        ``other`` work takes a part of the time.
        """
        now = time.monotonic()
        if self._rest_until > now:
            return self._rest_until - now
        begun = time.thread_time()
        if not self.has_lease:
            others = sections().filter(name="").exclude(claimed_by=self._owner)
            if others.exclude(others.free()).exists():
                # Another process is at it: a list would be in vain.
                return IN_USE
        is_new = now - self._listed_at >= (IN_USE if self._others else LISTED)
        if is_new:
            self._list(sources)
            self._has_other = other.waits()
        is_other = self._has_other and self._other_from <= now
        if not (is_other or self._new or self._others):
            self.stop()
            # What was assigned since the list was made is in the next one.
            is_more = self._is_more or self._has_other or not is_new
            return LISTED if is_more else None
        if not self._lease(_LEASE):
            # Another process is at it.
            self._new.clear()
            self._others.clear()
            return LISTED
        if is_other:
            self._has_other = False
            other.do()
        else:
            self._was_new = bool(self._new) and not (self._was_new and self._others)
            name, number = (self._new if self._was_new else self._others).popleft()
            by_name = {one.name: one for one in sources}
            _rebuild(by_name[name], number, site, at_leisure=True)
        used = time.thread_time() - begun
        rest = used * (parts / get_settings().BACKGROUND_SHARE - 1)
        self._rest_until = time.monotonic() + rest
        self._lease(rest + MARGIN)
        if is_other:
            self._other_from = self._rest_until + max(LISTED, _OTHERS_REST * rest)
        return rest

    def _list(self, sources: Sequence[SectionSource]) -> None:
        """List the pages to rebuild."""
        new, others = _changed(sources)
        self._is_more = bool(new or others)
        lately = _refreshed_lately({*new, *others})
        self._new = deque(one for one in new if one not in lately)
        self._others = deque(one for one in others if one not in lately)
        if not (self._new or self._others):
            self._others.extend(_due(sources))
        self._listed_at = time.monotonic()

    def _lease(self, seconds: float) -> bool:
        site = row_of("")
        self.has_lease = sections().filter(pk=site.pk).take(self._owner, seconds)
        return self.has_lease

    def stop(self) -> None:
        """Let another process go on."""
        if self.has_lease:
            self.has_lease = False
            sections().filter(name="").release(self._owner)
