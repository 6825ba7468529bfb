"""
Into the outbox: what happened to URLs becomes a submission for each engine.

A URL waits once for each engine: what happens to it meanwhile joins the submission
that waits. Within the engine's interval after it was sent it waits until that is over.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlsplit

from django.db import connections, transaction
from django.db.models import F, Max, QuerySet, Value
from django.db.models.functions import Coalesce

from django_sitemaps_plus.changes import url_changes as happened
from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.changes.queries import url_changes
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import database_time, retrying
from django_sitemaps_plus.engines.base import Engine
from django_sitemaps_plus.pagination.queries import pages, row_of, sections
from django_sitemaps_plus.publishing import index
from django_sitemaps_plus.sitemaps.site import SiteAddress, configured

from .engines import engines
from .models import Submission, digest_of
from .queries import states, submissions

Kind = Submission.Kind
State = Submission.State

#: URL changes of one transaction.
CHUNK = 500
#: Rows that one click in the admin retries.
MOST = 10_000


#: The order of the index of what was not queued. By the number alone PostgreSQL, where
#: it takes all rows for such, reads the table from its beginning, each time; MariaDB
#: does not see that the other columns are constant, and sorts.
_WHOLE = ("queued_at", "on_hold", "pk")
_ORDER = {"mysql": ("pk",)}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A URL that engines shall be told of."""

    url: str
    host: str
    kind: Submission.Kind
    section: str = ""


# What happened to URLs


def enqueue(*, at_once: bool = False) -> int:
    """
    Make submissions of what happened to URLs; returns of how many changes.

    They are due ``NOTIFY_AFTER`` seconds after the change, or ``at_once``. Nothing is
    done while the site's address is not known. Two may do it at the same time.
    """
    place = configured()
    if place is None or not engines():
        return 0
    delay = 0.0 if at_once else get_settings().NOTIFY_AFTER
    sitemaps = sitemaps_of(place)
    done = 0
    while True:
        taken = retrying(
            submissions().db, lambda: _enqueue_some(place, sitemaps, max(0.0, delay))
        )
        done += taken
        if taken < CHUNK:
            return done


def _enqueue_some(place: SiteAddress, sitemaps: Sequence[Wanted], delay: float) -> int:
    """Take the next changes, all or none of them, with nobody else at it."""
    found = list(_unqueued())
    if not found:
        return 0
    with locked() as now:
        some = _still_unqueued(found)
        if some:
            wanted = [url_of(change, place) for change in some]
            newest = max(change.at for change in some)
            put([*wanted, *sitemaps], min(newest, now) + delay, now)
            rows = url_changes().filter(pk__in=[change.pk for change in some])
            rows.update(queued_at=now)
    return len(found)


def _still_unqueued(found: Sequence[UrlChange]) -> list[UrlChange]:
    """
    Return those of some changes that nobody else has queued, and lock them.

    By number only, or MySQL would lock what others are about to add.
    """
    rows = url_changes().filter(pk__in=[change.pk for change in found])
    locked_rows = rows.order_by("pk").select_for_update()
    return [row for row in locked_rows if row.queued_at is None and not row.on_hold]


def _unqueued() -> QuerySet[UrlChange]:
    """Return the first changes of URLs that are not in the outbox."""
    # As an expression, which gives "on_hold = false": NOT is looked up in no index
    # where there is no boolean type, and IN is sorted.
    found = url_changes().filter(queued_at=None, on_hold=Value(False))
    broken = pages().exclude(error="").order_by()
    names = list(broken.values_list("section__name", flat=True).distinct())
    if names:
        # Something larger is wrong there: nothing of it is sent until it is mended.
        found = found.exclude(section__in=names)
    return found.order_by(*_ORDER.get(connections[found.db].vendor, _WHOLE))[:CHUNK]


def url_of(change: UrlChange, place: SiteAddress) -> Wanted:
    """Return the URL to be submitted for what happened to it."""
    return wanted_at(change.location, place, Kind(change.kind), change.section)


def wanted_at(
    location: str, place: SiteAddress, kind: Submission.Kind, section: str
) -> Wanted:
    """Return a URL to be told of, given as a path of the site or as a whole."""
    url = place.url(location)
    is_own = location.startswith("/")
    host = place.origin.host if is_own else urlsplit(url).netloc.lower()
    return Wanted(url, host, kind, section)


def sitemaps_of(place: SiteAddress) -> list[Wanted]:
    """Return the site's sitemap, for engines that are told of sitemaps."""
    if not any(engine.takes_sitemaps for engine in engines().values()):
        return []
    host = place.origin.host
    return [Wanted(url, host, Kind.SITEMAP) for url in index.addresses(place)]


# Asked for


def ask(
    found: Iterable[tuple[str, str]],
    place: SiteAddress,
    aliases: Iterable[str],
    progress: Callable[[int], object] = lambda done: None,
) -> int:
    """
    Have engines be told of URLs, given with their sections; returns how many.

    Some at a time, so that memory does not grow with them. What an engine was told
    within its interval waits until that is over.
    """
    chosen = {alias: engines()[alias] for alias in aliases}
    rest = iter(found)
    done = 0
    while some := list(islice(rest, CHUNK)):
        wanted = [
            wanted_at(url, place, Kind.REQUESTED, section) for url, section in some
        ]
        retrying(submissions().db, lambda some=wanted: _put_now(some, chosen))  # type: ignore[misc]
        done += len(some)
        progress(done)
    return done


def _put_now(wanted: Sequence[Wanted], chosen: Mapping[str, Engine]) -> None:
    with locked() as now:
        put(wanted, now, now, chosen)


def retry(found: QuerySet[Submission]) -> int:
    """
    Have what was refused or failed be told once more; returns how many.

    ``MOST`` at a time. What got no answer may have been received, and what was told
    since is known: both wait for the engine's interval.
    """
    over = found.filter(state__in=(State.REJECTED, State.FAILED))
    chosen = [row for row in over[:MOST] if row.engine in engines()]
    done: Counter[str] = Counter()
    with locked() as now:
        for start in range(0, len(chosen), CHUNK):
            some = chosen[start : start + CHUNK]
            told = _told([row.digest for row in some])
            for row in some:
                last = told.get((row.engine, row.digest), 0.0)
                if row.status is None:
                    last = max(last, row.answered_at or 0.0)
                due_at = max(now, last + engines()[row.engine].interval)
                done[row.engine] += submissions().retry(row.pk, due_at, now)
    states().filter(engine__in=[*+done]).update(paused_until=0)
    return done.total()


def _told(digests: Sequence[str]) -> dict[tuple[str, str], float]:
    """Return when engines last accepted URLs."""
    rows = submissions().filter(digest__in=digests, state=State.ACCEPTED)
    grouped = rows.order_by().values_list("engine", "digest")
    return {
        (engine, digest): at
        for engine, digest, at in grouped.annotate(last=Max("answered_at"))
    }


# Rows


@contextmanager
def locked() -> Iterator[float]:
    """
    Give a transaction in which nobody else adds submissions, and the database's time.

    The lock is the site's row in the ledger. To write it comes first, because SQLite
    cannot make a reader a writer.
    """
    site = sections().filter(name="")
    with transaction.atomic(using=site.db):
        if not site.update(lease_until=F("lease_until")):
            row_of("")
            site.update(lease_until=F("lease_until"))
        yield database_time(site.db)


def put(
    wanted: Sequence[Wanted],
    due_at: float,
    now: float,
    chosen: Mapping[str, Engine] | None = None,
) -> None:
    """
    Let engines be told of URLs, in a transaction that has the lock.

    The last of several for the same URL counts.
    """
    for alias, engine in (engines() if chosen is None else chosen).items():
        own = {digest_of(item.url): item for item in wanted if takes(engine, item.kind)}
        if own:
            states().ensure(alias, {item.host for item in own.values()})
            waiting = _join(alias, own)
            new = {key: item for key, item in own.items() if key not in waiting}
            _add(alias, engine, new, due_at, now)


def takes(engine: Engine, kind: Submission.Kind) -> bool:
    """Tell whether an engine can be told of something."""
    return engine.takes_sitemaps if kind == Kind.SITEMAP else engine.takes_urls


def _join(alias: str, wanted: Mapping[str, Wanted]) -> set[str]:
    """Join what waits already; returns the digests of that."""
    # By the digest alone: where PostgreSQL has not counted the rows yet, it looks all
    # of an engine's up in another index.
    found = submissions().filter(digest__in=list(wanted), live=True)
    rows = found.order_by("pk").select_for_update()
    known = set()
    sending: list[int] = []
    by_kind: dict[tuple[Submission.Kind, str], list[int]] = {}
    for pk, engine, digest, state in rows.values_list(
        "pk", "engine", "digest", "state"
    ):
        if engine != alias:
            continue
        known.add(digest)
        item = wanted[digest]
        by_kind.setdefault((item.kind, item.section), []).append(pk)
        if state == State.SENDING:
            # It may have been sent before this change.
            sending.append(pk)
    if sending:
        submissions().filter(pk__in=sending).update(again=True)
    for (kind, section), pks in by_kind.items():
        submissions().filter(pk__in=pks).update(kind=kind, section=section)
    return known


def _add(
    alias: str, engine: Engine, wanted: Mapping[str, Wanted], due_at: float, now: float
) -> None:
    """Add what does not wait yet, due when the interval since it was sent is over."""
    sent = _sent(alias, list(wanted), now - engine.interval)
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
                due_at=max(due_at, sent.get(digest, 0.0) + engine.interval),
            )
            for digest, item in wanted.items()
        ),
        batch_size=happened.ROWS,
        ignore_conflicts=True,
    )


def _sent(alias: str, digests: Sequence[str], since: float) -> dict[str, float]:
    """Return when URLs were last sent, of those that were lately."""
    rows = submissions().filter(digest__in=digests)
    last = Max(Coalesce("answered_at", "sent_at"))
    found = rows.order_by().values_list("engine", "digest").annotate(last=last)
    return {
        digest: at
        for engine, digest, at in found
        if engine == alias and at is not None and at > since
    }


# What is there


def next_due() -> float | None:
    """Return in how many seconds something is due; None if nothing waits."""
    soonest = None
    for alias in engines():
        for host, paused in (
            states().filter(engine=alias).values_list("host", "paused_until")
        ):
            rows = submissions().waiting(alias, host).order_by("due_at")
            due = rows.values_list("due_at", flat=True).first()
            if due is not None:
                at = max(due, paused)
                soonest = at if soonest is None else min(soonest, at)
    if soonest is None:
        return None
    return max(0.0, soonest - database_time(submissions().db))


def prune() -> int:
    """Delete what is older than the stream is kept; returns how many rows."""
    deleted = 0
    while True:
        rows = submissions().order_by("pk").values_list("pk", "created_at")
        since = time.time() - happened.KEEP
        old = [pk for pk, created in rows[: happened.ROWS] if created < since]
        if not old:
            return deleted
        deleted += submissions().filter(pk__in=old).delete()[0]


def late(seconds: float) -> int:
    """Return how many submissions have been due for longer than some seconds."""
    count = 0
    before = database_time(submissions().db) - seconds
    # What was to be told to an engine that is gone from the settings is pruned.
    known = states().filter(engine__in=list(engines()))
    for alias, host in known.values_list("engine", "host"):
        waiting = submissions().waiting(alias, host)
        count += waiting.filter(due_at__lt=before)[:MOST].count()
    return count


def waiting() -> int:
    """Return how many submissions are not settled."""
    return submissions().filter(engine__in=list(engines()), live=True).count()
