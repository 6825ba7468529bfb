"""
Fills the outbox: what happened to URLs becomes a submission for each engine.

A URL waits once for each engine: further changes join the submission that waits, which
says what happened since the engine was last notified. A URL that was submitted within
the engine's interval waits until that is over.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import F, Max
from django.db.models.functions import Coalesce

from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.db import (
    ROWS,
    database_time,
    delete_old,
    digest_of,
    parts,
    retrying,
)
from django_sitemaps_plus.engines.base import Engine
from django_sitemaps_plus.exceptions import HookError
from django_sitemaps_plus.pagination.queries import ledger, row_of, sections
from django_sitemaps_plus.serving import index
from django_sitemaps_plus.sitemaps.site import SiteAddress

from .engines import engines
from .models import Submission, SubmissionQuerySet, engine_states, submissions

logger = logging.getLogger("django_sitemaps_plus")

Kind = Submission.Kind
State = Submission.State

#: URLs of one transaction.
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Notice:
    """A URL that engines are to be notified of."""

    url: str
    host: str
    kind: Submission.Kind
    section: str = ""
    #: The alias of the only engine that is to be notified; empty for all.
    only: str = ""


# What engines are notified of


def notice(
    location: str, site: SiteAddress, kind: Submission.Kind, section: str
) -> Notice:
    """Return the notice of a location: a path on the site, or a whole URL."""
    url = site.url(location)
    return Notice(url, urlsplit(url).netloc.lower(), kind, section)


def sitemap_notices(site: SiteAddress) -> list[Notice]:
    """
    Return the notices of the site's sitemap and feeds that engines take.

    Without the sitemap where an app's hook fails, which has it answered with 503.
    """
    notices = [
        replace(notice(feed, site, Kind.FEED, ""), only=alias)
        for alias, engine in engines().items()
        for feed in engine.feeds_of_site()
    ]
    if any(engine.takes_sitemaps for engine in engines().values()):
        try:
            places = index.index_places(site)
            notices += [Notice(url, site.origin.host, Kind.SITEMAP) for url in places]
        except HookError:
            logger.exception("No engine is told of the sitemap.")
    return notices


# What somebody requests


def request(
    asked: Iterable[tuple[str, str]],
    site: SiteAddress,
    aliases: Iterable[str],
    progress: Callable[[int], object] = lambda done: None,
) -> None:
    """
    Queue locations, given with their sections, for some engines.

    They are queued piecemeal, so that memory does not grow with them. What was
    submitted within an engine's interval waits until that is over.
    """
    chosen = [engines()[alias] for alias in aliases]
    done = 0
    for some in parts(asked, AT_ONCE):
        notices = [notice(url, site, Kind.REQUESTED, section) for url, section in some]
        run_locked(partial(put, notices, chosen=chosen))
        done += len(some)
        progress(done)


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


def run_locked(run: Callable[[float], object]) -> None:
    """Run something in such a transaction, again where it must be."""

    def attempt() -> None:
        with locked() as now:
            run(now)

    retrying(ledger(), attempt)


def put(
    notices: Sequence[Notice], now: float, chosen: Iterable[Engine] | None = None
) -> int:
    """
    Queue notices for engines, all or the chosen ones, in a transaction with the lock.

    Of several for the same URL the last one counts. Return how many did not wait yet.
    """
    added = 0
    for engine in engines().values() if chosen is None else chosen:
        wanted = _wanted(engine, notices)
        if wanted:
            engine_states().ensure(
                engine.alias, {item.host for item in wanted.values()}
            )
            waiting = _join(engine, wanted)
            new = {key: item for key, item in wanted.items() if key not in waiting}
            _add(engine, new, now)
            added += len(new)
    return added


def new_of(
    engine: Engine, notices: Sequence[Notice], now: float
) -> Iterator[tuple[Notice, float]]:
    """Yield the notices that ``put`` would add for an engine, and when each is due."""
    wanted = _wanted(engine, notices)
    rows = _live(wanted).values_list("engine", "digest")
    waiting = {digest for name, digest in rows if name == engine.alias}
    new = {key: item for key, item in wanted.items() if key not in waiting}
    for digest, due_at in _due_times(engine, new, now).items():
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
    engine: Engine, former: str, item: Notice, *, is_heard: bool = False
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
        return engine.wants_documents
    return engine.takes_urls and engine.wants(item.section, item.kind.value)


def _join(engine: Engine, notices: Mapping[str, Notice]) -> set[str]:
    """Join the submissions that wait already; return their digests."""
    locked_rows = _live(notices).order_by("pk").select_for_update()
    rows = [row for row in locked_rows if row.engine == engine.alias]
    for row in rows:
        item = notices[row.digest]
        row.section = item.section
        if row.state != State.SENDING:
            row.kind = _merged(engine, row.kind, item, is_heard=row.attempts > 0)
        elif row.again:
            row.again = _merged(engine, row.again, item)
        else:
            # It may have been sent before this change.
            row.again = item.kind
    submissions().bulk_update(rows, ["kind", "section", "again"], batch_size=ROWS)
    return {row.digest for row in rows}


def _live(digests: Iterable[str]) -> SubmissionQuerySet:
    """
    Return what waits, or is being sent, of some URLs, whatever the engine.

    By the digest alone: where PostgreSQL has not counted the rows yet, it looks all of
    an engine's up in another index.
    """
    return submissions().filter(digest__in=list(digests), live=True)


def _add(engine: Engine, notices: Mapping[str, Notice], now: float) -> None:
    """Add submissions, due now or once the interval since they were sent is over."""
    due_at = _due_times(engine, notices, now)
    rows = (
        Submission(
            engine=engine.alias,
            url=item.url,
            digest=digest,
            host=item.host,
            kind=item.kind,
            section=item.section,
            created_at=now,
            due_at=due_at[digest],
        )
        for digest, item in notices.items()
    )
    submissions().bulk_create(rows, batch_size=ROWS, ignore_conflicts=True)


def _due_times(
    engine: Engine, notices: Mapping[str, Notice], now: float
) -> dict[str, float]:
    """Return when each notice may be sent, by digest: now, or after its interval."""
    intervals = {
        digest: engine.interval_of(is_sitemap=item.kind == Kind.SITEMAP)
        for digest, item in notices.items()
    }
    since = now - max(intervals.values(), default=0.0)
    sent = sent_at(engine.alias, list(notices), since) if notices else {}
    return {
        # A time in the future, of a clock that was ahead, counts as now.
        digest: max(now, min(now, sent.get(digest, 0.0)) + interval)
        for digest, interval in intervals.items()
    }


def sent_at(alias: str, digests: Sequence[str], since: float) -> dict[str, float]:
    """Return when URLs were last sent, by digest; only what was sent ``since``."""
    rows = submissions().filter(digest__in=digests)
    last = Max(Coalesce("answered_at", "sent_at"))
    last_sent = rows.order_by().values_list("engine", "digest").annotate(last=last)
    times = {digest: at for engine, digest, at in last_sent if engine == alias}
    return {digest: at for digest, at in times.items() if at is not None and at > since}


def next_due() -> float | None:
    """Return the seconds until something is due; None if nothing waits."""
    waiting = engine_states().filter(engine__in=list(engines())).with_first_due()
    times = [
        max(state.first_due, state.paused_until, state.exhausted_until)
        for state in waiting
        if state.first_due is not None
    ]
    return max(0.0, min(times) - database_time(ledger())) if times else None


def prune() -> int:
    """
    Delete submissions older than changes of URLs are stored; return how many.

    Of all sites: one of them may not be there any more.
    """
    every = Submission.objects.of_all_sites()
    return delete_old(every, "created_at", time.time() - UrlChange.KEEP)
