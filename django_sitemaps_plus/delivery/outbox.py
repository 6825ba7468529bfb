"""
Fills the outbox: what happened to URLs becomes a submission for each engine.

A URL waits once for each engine: further changes join the submission that waits, which
says what happened since the engine was last notified. A URL that was submitted within
the engine's interval waits until that is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from urllib.parse import urlsplit

from django.db import connections, transaction
from django.db.models import F, Max, QuerySet, Value
from django.db.models.functions import Coalesce

from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.changes.queries import url_changes
from django_sitemaps_plus.changes.url_changes import KEEP, ROWS
from django_sitemaps_plus.db import database_time, delete_old, retrying
from django_sitemaps_plus.engines.base import DOCUMENTS, Engine
from django_sitemaps_plus.pagination.queries import (
    ledger,
    of_sections,
    pages,
    row_of,
    sections,
)
from django_sitemaps_plus.protocol.locations import is_location
from django_sitemaps_plus.serving import index
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from .engines import engines
from .models import Submission, SubmissionQuerySet, digest_of
from .queries import states, submissions, with_first_due

Kind = Submission.Kind
State = Submission.State

#: URL changes of one transaction.
EVENTS_AT_ONCE = 500


#: The order of the index of what is not queued. By the number alone PostgreSQL, where
#: it expects all rows to match, reads the table from its start, each time; MariaDB does
#: not see that the other columns are constant, and sorts.
_WHOLE = ("queued_at", "on_hold", "pk")
_ORDER = {"mysql": ("pk",)}


@dataclass(frozen=True, slots=True)
class Notice:
    """A URL that engines are to be notified of."""

    url: str
    host: str
    kind: Submission.Kind
    section: str = ""
    #: The alias of the only engine that is to be notified; empty for all.
    only: str = ""
    #: As in ``UrlChange``: engines that take changed URLs were notified before.
    late: bool = False


# What happened to URLs


def enqueue() -> int:
    """
    Create submissions for what happened to URLs; return the number of changes.

    Nothing is done while the site's address is not known. Several processes may call
    it at the same time.
    """
    site = Site.current().address()
    if site is None or not engines():
        return 0
    sitemaps = sitemap_notices(site)
    done = 0
    while True:
        taken = retrying(ledger(), lambda: _enqueue_some(site, sitemaps))
        done += taken
        if taken < EVENTS_AT_ONCE:
            return done


def unqueued() -> QuerySet[UrlChange]:
    """Return the changes of URLs that are to be queued."""
    # As an expression, which gives "on_hold = false": NOT is looked up in no index
    # where there is no boolean type, and IN is sorted.
    rows = url_changes().filter(queued_at=None, on_hold=Value(False))
    return rows.order_by(*_ORDER.get(connections[rows.db].vendor, _WHOLE))


def _without_errors() -> QuerySet[UrlChange]:
    """Return the same, but of sections in error: something larger is wrong there."""
    broken = pages().filter(of_sections()).exclude(error="").order_by()
    names = list(broken.values_list("section__name", flat=True).distinct())
    return unqueued().exclude(section__in=names) if names else unqueued()


def _enqueue_some(site: SiteAddress, sitemaps: Sequence[Notice]) -> int:
    """Queue the next changes, all or none of them."""
    if unqueued().first() is None or _without_errors().first() is None:
        return 0
    with locked() as now:
        # Read while nobody else queues them.
        some = list(_without_errors()[:EVENTS_AT_ONCE])
        if some:
            known = [change for change in some if is_location(change.location)]
            notices = [_notice_of(change, site) for change in known]
            put([*notices, *sitemaps], now)
            rows = url_changes().filter(pk__in=[change.pk for change in some])
            rows.update(queued_at=now)
    return len(some)


def _notice_of(change: UrlChange, site: SiteAddress) -> Notice:
    """Return the notice of what happened to a URL."""
    of_location = notice(change.location, site, Kind(change.kind), change.section)
    return replace(of_location, late=change.late)


def notice(
    location: str, site: SiteAddress, kind: Submission.Kind, section: str
) -> Notice:
    """Return the notice of a location: a path on the site, or a whole URL."""
    url = site.url(location)
    is_own = location.startswith("/")
    host = site.origin.host if is_own else urlsplit(url).netloc.lower()
    return Notice(url, host, kind, section)


def sitemap_notices(site: SiteAddress) -> list[Notice]:
    """Return the notices of the site's sitemap and feeds that engines take."""
    notices = [
        replace(notice(feed, site, Kind.FEED, ""), only=alias)
        for alias, engine in engines().items()
        for feed in engine.feeds_of_site()
    ]
    if any(engine.takes_sitemaps for engine in engines().values()):
        host = site.origin.host
        notices += [Notice(url, host, Kind.SITEMAP) for url in index.addresses(site)]
    return notices


# What somebody requests


def request(
    asked: Iterable[tuple[str, str]],
    site: SiteAddress,
    aliases: Iterable[str],
    progress: Callable[[int], object] = lambda done: None,
) -> int:
    """
    Queue locations, given with their sections, for some engines; return how many.

    They are queued piecemeal, so that memory does not grow with them. What was
    submitted within an engine's interval waits until that is over.
    """
    chosen = {alias: engines()[alias] for alias in aliases}
    rest = iter(asked)
    done = 0
    while some := list(islice(rest, EVENTS_AT_ONCE)):
        notices = [notice(url, site, Kind.REQUESTED, section) for url, section in some]
        retrying(ledger(), partial(_put_now, notices, chosen))
        done += len(some)
        progress(done)
    return done


def _put_now(notices: Sequence[Notice], chosen: Mapping[str, Engine]) -> None:
    with locked() as now:
        put(notices, now, chosen)


# Rows


@contextmanager
def locked() -> Iterator[float]:
    """
    Open a transaction that locks out other writers; yield the database's time.

    The lock is the site's row in the ledger. It is written first, because SQLite
    cannot turn a reader into a writer.
    """
    site = sections().filter(name="")
    with transaction.atomic(using=site.db):
        if not site.update(claimed_until=F("claimed_until")):
            row_of("")
            site.update(claimed_until=F("claimed_until"))
        yield database_time(site.db)


def put(
    notices: Sequence[Notice],
    now: float,
    chosen: Mapping[str, Engine] | None = None,
) -> int:
    """
    Queue notices for engines, all or the chosen ones, in a transaction with the lock.

    Of several for the same URL the last one counts. Return how many did not wait yet.
    """
    added = 0
    for alias, engine in (engines() if chosen is None else chosen).items():
        wanted = _wanted(engine, notices)
        if wanted:
            states().ensure(alias, {item.host for item in wanted.values()})
            waiting = _join(engine, wanted)
            new = {key: item for key, item in wanted.items() if key not in waiting}
            _add(alias, engine, new, now)
            added += len(new)
    return added


def new_of(
    alias: str, notices: Sequence[Notice], now: float
) -> Iterator[tuple[Notice, float]]:
    """Yield the notices that ``put`` would add for an engine, and when each is due."""
    engine = engines()[alias]
    wanted = _wanted(engine, notices)
    rows = _live(wanted).values_list("engine", "digest")
    waiting = {digest for name, digest in rows if name == alias}
    new = {key: item for key, item in wanted.items() if key not in waiting}
    for digest, due_at in _due_times(alias, engine, new, now).items():
        yield new[digest], due_at


def _wanted(engine: Engine, notices: Sequence[Notice]) -> dict[str, Notice]:
    """Return the notices that an engine takes, by the digests of their URLs."""
    wanted: dict[str, Notice] = {}
    for item in notices:
        if _takes(engine, item):
            digest = digest_of(item.url)
            if (former := wanted.get(digest)) is not None:
                item = replace(item, kind=_merged(engine, former.kind, item))
            wanted[digest] = item
    return wanted


def _merged(
    engine: Engine,
    former: str,
    item: Notice,
    *,
    is_heard: bool = False,
) -> Submission.Kind:
    """
    Return what to tell an engine of a URL that waits as ``former``.

    ``is_heard`` is whether it may have heard of ``former`` already. Then, and for an
    engine that does not pass it on, the last event counts. So does "removed" always:
    nobody knows whether whoever is notified has the URL from the sitemap.
    """
    if item.kind == Kind.REQUESTED or (former, item.kind) == (Kind.ADDED, Kind.CHANGED):
        return Kind(former)
    if is_heard or not engine.tells_kinds:
        return item.kind
    is_back = former in (Kind.CHANGED, Kind.REMOVED) and item.kind == Kind.ADDED
    if is_back and engine.wants(item.section, Kind.CHANGED.value):
        # It was there before, for most of those who are notified.
        return Kind.CHANGED
    return item.kind


def _takes(engine: Engine, item: Notice) -> bool:
    """Return whether an engine takes a notice, and is to be notified of such."""
    if item.only:
        return item.only == engine.alias
    if item.kind == Kind.SITEMAP:
        return engine.takes_sitemaps
    if item.kind == Kind.DOCUMENT:
        return DOCUMENTS in engine.events
    if item.late and engine.wants(item.section, Kind.CHANGED.value):
        return False
    return engine.takes_urls and engine.wants(item.section, item.kind.value)


def _join(engine: Engine, notices: Mapping[str, Notice]) -> set[str]:
    """Join the submissions that wait already; return their digests."""
    locked_rows = _live(notices).order_by("pk").select_for_update()
    rows = [row for row in locked_rows if row.engine == engine.alias]
    for row in rows:
        _join_one(row, engine, notices[row.digest])
    submissions().bulk_update(rows, ["kind", "section", "again"], batch_size=ROWS)
    return {row.digest for row in rows}


def _join_one(row: Submission, engine: Engine, item: Notice) -> None:
    """Add a notice to a submission."""
    row.section = item.section
    if row.state != State.SENDING:
        row.kind = _merged(engine, row.kind, item, is_heard=row.attempts > 0)
    elif row.again:
        row.again = _merged(engine, row.again, item)
    else:
        # It may have been sent before this change.
        row.again = item.kind


def _live(digests: Iterable[str]) -> SubmissionQuerySet:
    """
    Return what waits, or is being sent, of some URLs, whatever the engine.

    By the digest alone: where PostgreSQL has not counted the rows yet, it looks all of
    an engine's up in another index.
    """
    return submissions().filter(digest__in=list(digests), live=True)


def _add(alias: str, engine: Engine, notices: Mapping[str, Notice], now: float) -> None:
    """Add submissions, due now or once the interval since they were sent is over."""
    due_at = _due_times(alias, engine, notices, now)
    submissions().bulk_create(
        (
            Submission(
                engine=alias,
                url=item.url,
                digest=digest,
                host=item.host,
                kind=item.kind,
                section=item.section,
                created_at=now,
                due_at=due_at[digest],
            )
            for digest, item in notices.items()
        ),
        batch_size=ROWS,
        ignore_conflicts=True,
    )


def _due_times(
    alias: str, engine: Engine, notices: Mapping[str, Notice], now: float
) -> dict[str, float]:
    """Return when each notice may be sent, by digest: now, or after its interval."""
    intervals = {
        digest: engine.interval_of(is_sitemap=item.kind == Kind.SITEMAP)
        for digest, item in notices.items()
    }
    since = now - max(intervals.values(), default=0.0)
    sent = sent_at(alias, list(notices), since) if notices else {}
    return {
        # A time that is still to come is that of a clock that was ahead.
        digest: max(now, min(now, sent.get(digest, 0.0)) + interval)
        for digest, interval in intervals.items()
    }


def sent_at(alias: str, digests: Sequence[str], since: float) -> dict[str, float]:
    """Return when URLs were last sent, by digest; only what was sent ``since``."""
    rows = submissions().filter(digest__in=digests)
    last = Max(Coalesce("answered_at", "sent_at"))
    last_sent = rows.order_by().values_list("engine", "digest").annotate(last=last)
    return {
        digest: at
        for engine, digest, at in last_sent
        if engine == alias and at is not None and at > since
    }


def next_due() -> float | None:
    """Return the seconds until something is due; None if nothing waits."""
    waiting = with_first_due(states().filter(engine__in=list(engines())))
    soonest: float | None = min(
        (
            max(state.first_due, state.paused_until, state.exhausted_until)
            for state in waiting
            if state.first_due is not None
        ),
        default=None,
    )
    if soonest is None:
        return None
    return max(0.0, soonest - database_time(ledger()))


def prune() -> int:
    """
    Delete submissions older than changes of URLs are stored; return how many.

    Of all sites: one of them may not be there any more.
    """
    every = Submission.objects.of_all_sites()
    return delete_old(every, "created_at", time.time() - KEEP)
