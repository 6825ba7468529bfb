"""
A page's bytes: made once per version, kept, served while they are fresh.

A page is fresh if it was made by the running code's definition of its section and
was compared with its rows less than ``VERIFY_AFTER`` ago. Otherwise it is made
again and compared: the same bytes keep version, time and lastmod.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import logging
import math
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from django.db import Error as DatabaseError
from django.db import connections, transaction
from django.db.models import Exists, Max, Q
from django.utils import timezone

from django_sitemaps_plus.changes import assignment, events
from django_sitemaps_plus.changes.assignment import Claim
from django_sitemaps_plus.changes.models import Change
from django_sitemaps_plus.changes.reporting import lookup
from django_sitemaps_plus.changes.statements import can_record
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import Busy, ConfigurationError, TooManyBadRows
from django_sitemaps_plus.pagination import ledger
from django_sitemaps_plus.pagination.models import Page, Section
from django_sitemaps_plus.rendering.columns import BadRow
from django_sitemaps_plus.rendering.digest import VERSION, Definition, definition
from django_sitemaps_plus.sitemaps.attributes import is_expression
from django_sitemaps_plus.sitemaps.keys import KeyValue
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import (
    PLACEHOLDER_SITE,
    SiteAddress,
    rendering_context,
)

from . import divided, storage
from .page_writer import PageWriter, allowed_bad, too_many

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds for which whoever makes a page may hold it: a killed maker's page can be
#: made by another after that.
MAKING = 120
#: Seconds that a request waits for another process's page.
WAIT = 10
#: Seconds after which a page whose query depends on the clock, or that could not
#: be made, is looked at again.
SOON = 60
#: Seconds for which a page's former bytes may stand in while it is made again.
FORMER = 86_400
#: How many bad rows are kept for the report.
SHOWN = 20

_POLL = 0.05
#: When this process was started: in a deploy the newest code's pages count.
STARTED = time.time()
#: Stands for a page's number in a compiled statement.
_ANY_NUMBER = 1_234_567_890


@dataclass(frozen=True, slots=True)
class PageState:
    """What decides whether a page is fresh, and what names its bytes."""

    checksum: str
    digest: str
    verified_at: float
    grace_until: float
    error: str
    changed_at: float
    version: int
    #: Of the section: the newest code's definition, and when that was started.
    newest_digest: str
    digest_since: float
    #: When it was last asked what appeared or expired.
    ticked_at: float
    #: Whether a recorded change may concern the page.
    pending: bool

    @classmethod
    def of(cls, page: Page, *, pending: bool) -> PageState:
        """
        Return the state of a page that was read with its section.

        Whether it is pending must be asked before the page is read: who makes it
        deletes its changes last.
        """
        section = page.section
        return cls(
            checksum=page.checksum,
            digest=page.digest,
            verified_at=page.verified_at,
            grace_until=page.grace_until,
            error=page.error,
            changed_at=page.changed_at,
            version=page.version,
            newest_digest=section.digest,
            digest_since=section.digest_since,
            ticked_at=section.ticked_at,
            pending=pending,
        )


#: The columns of a state's query, in the order of its fields; ``pending`` follows.
_STATE = (
    "checksum",
    "digest",
    "verified_at",
    "grace_until",
    "error",
    "changed_at",
    "version",
    "section__digest",
    "section__digest_since",
    "section__ticked_at",
)
_STATE_FIELDS = [item.name for item in dataclasses.fields(PageState)][: len(_STATE)]


@dataclass(frozen=True)
class Served:
    """A page's kept bytes, ready to be sent."""

    page: Page
    #: The gzipped bytes.
    data: bytes
    #: Why they are not kept, or not compared with the rows; empty if they are.
    problem: str = ""


def is_fresh(state: PageState, current: Definition, now: float) -> bool:
    """Tell whether a page's bytes may be served without reading a row."""
    if not state.checksum:
        return False
    if state.grace_until > now:
        return True
    # Split since its bytes were made, they hold other pages' entries too.
    if state.grace_until or state.pending or not _is_ours(state, current):
        return False
    # A clock that was set back must not make a page fresh for ever.
    if current.ticks and not 0 <= now - state.ticked_at < assignment.TICK:
        return False
    return 0 <= now - state.verified_at < hold(current, failed=bool(state.error))


def hold(current: Definition, *, failed: bool = False) -> float:
    """Return how many seconds a comparison of a page with its rows holds."""
    by_clock = current.clock and not current.ticks
    return min(SOON if failed or by_clock else math.inf, get_settings().VERIFY_AFTER)


def _is_ours(state: PageState, current: Definition) -> bool:
    """
    Tell whether this code made a page, or newer code that runs beside it.

    In a deploy the older processes serve what the newer ones make, or both would
    remake each other's pages all the time.
    """
    if state.digest == current.digest:
        return True
    return state.digest == state.newest_digest and state.digest_since > STARTED


@lru_cache(maxsize=8)
def _state_query(using: str, *, pending: bool) -> tuple[str, tuple[Any, ...]]:
    """
    Return the statement that reads a page's state, compiled once.

    Compiling it takes several times as long as running it, and it stands before
    every page that is served. Its parameters are stand-ins for the real ones.
    ``pending`` tells whether the changes lie in the same database.
    """
    queryset = Page.objects.using(using).filter(
        section__name="<name>",
        section__key="<key>",
        section__filled=True,
        number=_ANY_NUMBER,
    )
    columns = list(_STATE)
    if pending:
        recorded = Change.objects.filter(
            assignment.of_page(_ANY_NUMBER), section="<name>"
        )
        queryset = queryset.annotate(pending=Exists(recorded))
        columns.append("pending")
    statement, params = queryset.values_list(*columns).query.sql_with_params()
    return statement, tuple(params)


def state(name: str, number: int) -> PageState | None:
    """
    Return what is known of a page; None if there is no such page.

    By one query, if its objects lie in the ledger's database.
    """
    key = definition(name).key
    if key is None:
        return None
    given: dict[Any, Any] = {"<name>": name, "<key>": key, _ANY_NUMBER: number}
    using = ledger.pages().db
    beside = lookup(name).database == using and can_record(using)
    # Elsewhere it is asked before the page is read, as in ``PageState.of``.
    pending = not beside and assignment.waits(name, number)
    statement, params = _state_query(using, pending=beside)
    with connections[using].cursor() as cursor:
        cursor.execute(statement, [given.get(param, param) for param in params])
        row = cursor.fetchone()
    if row is None:
        return None
    if beside:
        pending = bool(row[-1])
    known = dict(zip(_STATE_FIELDS, row, strict=False))
    return PageState(**known, pending=pending)


def fresh_state(name: str, number: int) -> PageState | None:
    """Return the state of a page that may be served without reading a row."""
    found = state(name, number)
    if found is None or not is_fresh(found, definition(name), time.time()):
        return None
    return found


def find(found: SectionSource, number: int) -> Page | None:
    """Return a page, with its section; None if there is no such page."""
    return (
        ledger.pages()
        .select_related("section")
        .filter(
            section__name=found.name,
            section__key=ledger.key_range_of(found).key.signature,
            section__filled=True,
            number=number,
        )
        .first()
    )


def known_empty(names: Iterable[str]) -> Q:
    """
    Return the condition of pages of these sections that have no row.

    Not of those that were compared with their rows too long ago: no index lists an
    empty page, so nobody asks for it, and whoever reads the ledger must look.
    """
    definitions = [definition(name) for name in names]
    now = time.time()
    seconds = min(hold(current) for current in definitions)
    return Q(
        entries=0,
        digest__in=[current.digest for current in definitions],
        verified_at__gt=now - seconds,
        verified_at__lte=now,
    )


def still_empty(found: SectionSource, number: int, place: SiteAddress) -> bool:
    """Tell whether a page that had no row has none now, and write that down."""
    page = find(found, number)
    if page is None:
        return True
    if ledger.first_key(found, page) is None:
        serve(found, page, place)
        return True
    ledger.pages().made(page, entries=None)
    return False


def serve(found: SectionSource, page: Page, place: SiteAddress) -> Served:
    """
    Return a page's bytes, made now if they are missing or stale.

    One process makes them; others wait for it, then take the former bytes.

    Raises ``Busy`` if neither is to be had in time, and whatever the rows or their
    database raise.
    """
    current = definition(found.name)
    begun = time.time()
    if assignment.sort(found, page.section):
        page = reload(page.pk)
    served = _fresh(page, current, place, begun)
    if served is not None:
        return served
    deadline = time.monotonic() + WAIT
    while time.monotonic() < deadline:
        with _claimed(page) as is_ours:
            if is_ours:
                return _serve_claimed(found, page.pk, place, current, begun)
        time.sleep(_POLL)
        page = reload(page.pk)
        served = _fresh(page, current, place, begun)
        if served is not None:
            return served
    former = _former(page, place)
    if former is None:
        raise Busy(f"The page {page} is being made.")
    return former


@contextmanager
def _claimed(page: Page) -> Iterator[bool]:
    """Try to be the one who makes a page, until the end; tells whether it succeeded."""
    owner = uuid.uuid4().hex
    if not ledger.pages().claim(page.pk, owner, MAKING):
        yield False
        return
    try:
        yield True
    finally:
        _release(page, owner)


def _release(page: Page, owner: str) -> None:
    """Give up the claim; where the connection is lost, it ends by itself."""
    try:
        ledger.pages().release(page.pk, owner)
    except DatabaseError as error:
        logger.warning("The claim on page %s cannot be given up: %s", page, error)


def reload(pk: int) -> Page:
    """
    Return a page, with its section, as it stands now.

    Raises ``Busy`` if it is no more: another key divides the section by now.
    """
    try:
        return ledger.pages().select_related("section").get(pk=pk)
    except Page.DoesNotExist as error:
        raise Busy("The section is being divided anew.") from error


def _fresh(
    page: Page, current: Definition, place: SiteAddress, begun: float
) -> Served | None:
    """Return a page's bytes if they are fresh to a request that began at ``begun``."""
    pending = assignment.waits(page.section.name, page.number)
    page = reload(page.pk)
    known = PageState.of(page, pending=pending)
    if known.pending and page.verified_at >= begun:
        # Its rows were read since: what was saved before the request is among them.
        known = replace(known, pending=False)
    if not is_fresh(known, current, time.time()):
        return None
    return _look_up(page, place)


def _former(page: Page, place: SiteAddress) -> Served | None:
    if not page.checksum or time.time() - page.verified_at > FORMER:
        return None
    return _look_up(page, place)


def _look_up(page: Page, place: SiteAddress) -> Served | None:
    name = storage.file_name(page.section.name, page.number, page.checksum, place)
    data = storage.read(name)
    return None if data is None else Served(page, data)


def _serve_claimed(
    found: SectionSource, pk: int, place: SiteAddress, current: Definition, begun: float
) -> Served:
    """Make a page and return it, or its former bytes where it cannot be made."""
    page = reload(pk)
    served = _fresh(page, current, place, begun)
    if served is not None:
        return served
    try:
        _refuse_known_bad(page)
        return make(found, page, place)
    except (TooManyBadRows, Busy) as error:
        page = reload(pk)
        busy = isinstance(error, Busy)
        former = _former(page, place) if busy else _look_up(page, place)
        if former is None:
            raise
        return former
    except ConfigurationError as error:
        # Such as rows that come twice since somebody's data changed.
        former = _look_up(page, place)
        if former is None:
            raise
        _note_error(page, f"{error} The page keeps its former bytes.")
        return former
    except DatabaseError as error:
        former = _former(page, place)
        if former is None:
            raise
        problem = f"Page {page} keeps its former bytes: the database failed: {error}"
        logger.exception(problem)
        return replace(former, problem=problem)


@dataclass(frozen=True)
class _Run:
    """One run that made a page: what was claimed before, and when reading began."""

    making: PageWriter
    claim: Claim
    begun: float
    current: Definition
    place: SiteAddress
    #: Whether the bytes are to be served; in a page's grace those before are.
    publishes: bool

    def file(self, page: Page) -> str:
        """Return the name under which the bytes are kept."""
        name, checksum = page.section.name, self.making.checksum
        return storage.file_name(name, page.number, checksum, self.place)


def look_in_grace(found: SectionSource, page: Page, place: SiteAddress) -> bool:
    """
    Find out what a page lists that was split, and tell of it: its new bytes wait.

    Those that it had are served until its grace is over. Tells whether it was done;
    not if another process is at it. Raises what ``serve`` does.
    """
    with _claimed(page) as is_ours:
        if is_ours:
            page = reload(page.pk)
            _refuse_known_bad(page)
            make(found, page, place, publishes=page.grace_until <= time.time())
    return is_ours


def _refuse_known_bad(page: Page) -> None:
    """Raise ``TooManyBadRows`` where that was found out a moment ago."""
    if page.error and time.time() - page.verified_at < SOON:
        raise TooManyBadRows(page.error)


def make(
    found: SectionSource, page: Page, place: SiteAddress, *, publishes: bool = True
) -> Served:
    """
    Read a page's rows, make its bytes, keep them and write down what they are.

    A page that has grown too large is split, and made again if the bytes that it
    had are not at hand. Whoever calls holds the claim on the page. If it is not the
    one who ``publishes``, the bytes that the page had go on being served.

    Raises ``TooManyBadRows``, with which the former bytes stay published.
    """
    current = definition(found.name)
    while True:
        making = PageWriter(found, place.with_scheme(found.sitemap.protocol))
        # Before the rows are read: what is recorded later is read again later.
        claim = assignment.claim(found.name, page.number)
        begun = time.time()
        try:
            overflow = making.run(page)
            if overflow is None:
                _refuse_bad(making, page)
        except TooManyBadRows as error:
            _note_error(page, str(error), making.bad)
            raise
        if overflow is None:
            run = _Run(making, claim, begun, current, place, publishes)
            problem = storage.keep(run.file(page), making.data)
            if _write(page, run, is_kept=not problem):
                return Served(page, making.data, problem)
        else:
            _split(found, page, overflow, place)
        page = reload(page.pk)
        if publishes and page.grace_until > time.time():
            served = _look_up(page, place)
            if served is not None:
                return served


def _split(found: SectionSource, page: Page, fitting: int, place: SiteAddress) -> None:
    """Split a page of whose rows only the first ``fitting`` fit."""

    def divide(first: int, cuts: Sequence[KeyValue]) -> ledger.Parts | None:
        former = _comparable(page, place)
        if former is None:
            return None
        here = place.with_scheme(found.sitemap.protocol)
        return divided.divide(found, page, former, here, first, cuts)

    # Twice: who dies in between leaves none with a page that lost its key.
    assignment.unsort(found.name, [page.number])
    ledger.split(found, page, fitting, divide)
    assignment.unsort(found.name, [page.number])
    assignment.sort(found, page.section)


def _refuse_bad(making: PageWriter, page: Page) -> None:
    """Raise ``TooManyBadRows`` where something larger than a row is wrong."""
    bad = len(making.bad)
    emptied = bad and not making.entries and page.entries
    if bad > allowed_bad(making.items) or emptied:
        problem = too_many(making.bad, making.items, str(page))
        raise TooManyBadRows(f"{problem} The page keeps its former bytes.")


def _note_error(page: Page, error: str, bad: Sequence[BadRow] = ()) -> None:
    """Log why a page could not be made, and write it down with the bad rows seen."""
    logger.error(error)
    page.error = error
    ledger.pages().made(
        page,
        error=error,
        verified_at=time.time(),
        bad=len(bad),
        problems=_shown(bad),
    )


def _shown(bad: Sequence[BadRow]) -> list[list[str]]:
    return [[row.label, row.reason] for row in bad[:SHOWN]]


def _write(page: Page, run: _Run, *, is_kept: bool) -> bool:
    """
    Write down what was made, once it is kept; False if somebody changed it meanwhile.

    What happened to the page's URLs is written with it. The changes that were claimed
    go last: a process that dies before leaves them for the next. If the bytes could
    not be kept, the ledger goes on naming those from before, and nothing is told.
    """
    # The claim ends with it: another write would be another sync of the disk.
    release = {"making_by": "", "making_until": 0}
    found = _found_out(page, run) if run.publishes else _found_in_grace(page, run)
    if not is_kept:
        released = ledger.pages().made(page, **release)
        for name, value in found.items():
            setattr(page, name, value)
        return released
    changed = bool(found.keys() & {"checksum", "listed"})
    former = _comparable(page, run.place) if changed else None
    difference = events.compare(
        former,
        run.making.data,
        run.place.with_scheme(run.making.source.sitemap.protocol),
        same_definition=page.digest == run.current.digest,
    )
    if not changed:
        difference = replace(difference, is_known=True)
    happened = events.events(run.claim, difference, partial(_since, page, run))
    if not _commit(page, {**found, **release}, happened):
        return False
    run.claim.finish()
    _note_newest(page.section, run.current)
    for name, value in found.items():
        setattr(page, name, value)
    if changed:
        page.version += 1
        folder = run.file(page).rpartition("/")[0]
        wanted = tuple(known for known in (page.checksum, page.listed) if known)
        storage.tidy(folder, lambda name: name.startswith(wanted))
    report(page.section.name, run.making.bad)
    return True


def _since(page: Page, run: _Run) -> Claim:
    """Return the changes of a page that were recorded after the claim."""
    found = run.making.source
    assignment.sort(found, page.section)
    return assignment.claim(found.name, page.number, but=run.claim.ids)


def _commit(
    page: Page, found: dict[str, Any], happened: Sequence[events.Event]
) -> bool:
    if not happened:
        return ledger.pages().made(page, **found)
    with transaction.atomic(using=ledger.pages().db):
        made = ledger.pages().made(page, **found)
        if made:
            events.write(page.section, happened)
    return made


def _comparable(page: Page, place: SiteAddress) -> bytes | None:
    """Return the bytes of what a page listed, and no other page; None if not known."""
    if page.listed:
        return storage.read(
            storage.file_name(page.section.name, page.number, page.listed, place)
        )
    if not page.checksum or page.grace_until:
        return None
    served = _look_up(page, place)
    return None if served is None else served.data


def _found_out(page: Page, run: _Run) -> dict[str, Any]:
    """Return what is to be written of a page that was made."""
    making, now = run.making, time.time()
    changed = making.checksum != page.checksum
    newest = making.reader.tally.newest
    seen = None if newest is None else newest.timestamp()
    # Bytes that only another version of this package makes differ are no change.
    observed = changed and page.checksum and page.digest.startswith(VERSION)
    lastmods = [page.lastmod, seen, now if observed else None]
    found: dict[str, Any] = {
        **_looked_at(run),
        "grace_until": 0,
        "entries": making.entries,
        "items": making.items,
        "size": making.size,
        "newest": seen,
        "lastmod": max(
            (known for known in lastmods if known is not None), default=None
        ),
    }
    if page.listed:
        found["listed"] = ""
    if changed:
        found["checksum"] = making.checksum
        # Last-Modified says whole seconds, rounded up. Each change has one of its
        # own, or a later 304 might be false.
        found["changed_at"] = max(now, math.ceil(page.changed_at) + 1.0)
    return found


def _found_in_grace(page: Page, run: _Run) -> dict[str, Any]:
    """Return what is to be written of a page whose former bytes are served on."""
    found = _looked_at(run)
    if run.making.checksum != page.listed:
        found["listed"] = run.making.checksum
    return found


def _looked_at(run: _Run) -> dict[str, Any]:
    """Return what is to be written of any page whose rows were read."""
    return {
        "digest": run.current.digest,
        "verified_at": run.begun,
        "bad": len(run.making.bad),
        "problems": _shown(run.making.bad),
        "error": "",
    }


def _note_newest(section: Section, current: Definition) -> None:
    """Note that this code is the newest, if none was started after it."""
    if section.digest_since < STARTED:
        row = ledger.sections().filter(pk=section.pk, digest_since__lt=STARTED)
        row.update(digest=current.digest, digest_since=STARTED)


def report(name: str, bad: Sequence[BadRow]) -> None:
    """Log the rows of a section that were left out."""
    for row in bad[:SHOWN]:
        logger.warning("Section %r, row %s left out: %s", name, row.label, row.reason)
    if len(bad) > SHOWN:
        logger.warning("Section %r: %d more rows left out.", name, len(bad) - SHOWN)


def expire(page: Page) -> None:
    """Have a page compared with its rows when it is next asked for."""
    ledger.pages().filter(pk=page.pk).update(verified_at=0)
    page.verified_at = 0


def differs(found: SectionSource, page: Page) -> bool:
    """
    Tell whether a page's rows are others than when it was made, by two numbers.

    Their count is compared and, where lastmod is an expression, the newest one.
    """
    if page.entries is None:
        return True
    count, newest = _count_and_newest(found, page)
    return count != page.items or (newest is not None and newest != page.newest)


@rendering_context(PLACEHOLDER_SITE)
def _count_and_newest(found: SectionSource, page: Page) -> tuple[int, float | None]:
    key_range = ledger.key_range_of(found)
    upper = ledger.upper_of(page)
    rows = key_range.rows(
        None if page.lower is None else key_range.key.loads(page.lower),
        None if upper is None else key_range.key.loads(upper),
    )
    lastmod = getattr(found.sitemap, "lastmod", None)
    if not is_expression(lastmod):
        return rows.count(), None
    newest = rows.annotate(sitemaps_plus_seen=lastmod).aggregate(
        newest=Max("sitemaps_plus_seen")
    )["newest"]
    return rows.count(), epoch(newest)


def epoch(value: Any) -> float | None:
    """
    Return a date or a datetime as whole seconds since the epoch.

    None for anything else, and for what is not within the calendar in UTC.
    """
    if not isinstance(value, dt.date):
        return None
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time.min, dt.UTC)
    if timezone.is_naive(value):
        value = timezone.make_aware(value, timezone.get_default_timezone())
    try:
        moment = value.astimezone(dt.UTC)
    except OverflowError:
        return None
    # Entries say whole seconds.
    return float(int(moment.timestamp() // 1))
