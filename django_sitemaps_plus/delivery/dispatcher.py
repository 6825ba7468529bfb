"""
Empties the outbox: claims what is due, submits it, stores the answer.

A claim is committed before anything is sent, and lasts longer than the engine's
interval: what a killed process had claimed is sent again, but not within the interval.
Any number of processes may deliver at once.
"""

from __future__ import annotations

import logging
import math
import random
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import unquote

from django.db.models import F

from django_sitemaps_plus import hooks
from django_sitemaps_plus.db import Stopwatch, digest_of, retrying
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import (
    RENEWED_IN,
    Answer,
    Batch,
    NoThread,
    Outcome,
)
from django_sitemaps_plus.hooks import EngineResult, Report
from django_sitemaps_plus.pagination.queries import ledger
from django_sitemaps_plus.serving.documents import cache_tag, document_at
from django_sitemaps_plus.signals import send_signal, submission_finished
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from .engines import engines, side_by_side, why_refused
from .models import EngineState, Submission, engine_states, submissions
from .outbox import Kind, State, sitemap_notices

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds for which a claim lasts at least.
_CLAIM = 600.0
#: Seconds after a claim in which requests may be started. A claim lasts so much longer
#: than the engine's interval, which starts when the request is sent.
SENDING = 300.0
#: The most rows of a claim, which are held in memory.
_MOST = 10_000
#: Additional requests by which the URLs are found that a batch was rejected for.
HALVINGS = 50
#: Seconds of the first pause after a failure, and of the longest.
_PAUSE, _LONGEST = 60.0, 3_600.0
#: Seconds after which another process, or this one, sends what this one could not.
_RESTART = 1.0
#: Seconds for which an engine may have us wait at most.
_AWAY = 86_400.0
#: A site with fewer submissions stored, of seven days, is not to blame for a 429.
LITTLE = 10_000
#: Statuses below 500 that pass by themselves.
_PASSING = (408, 425, 429)
#: A submission fails for good after so many attempts, if it is so many seconds old.
ATTEMPTS, GIVE_UP = 5, 3 * 86_400.0


@dataclass(frozen=True, kw_only=True)
class DeliveryOptions:
    """What to deliver, and how."""

    #: Aliases of engines, and names of sections; empty for all.
    engines: Sequence[str] = ()
    sections: Sequence[str] = ()
    #: Also submit from where nothing should be submitted, such as a private address.
    force: bool = False
    #: Somebody requested it: an ownership proof that was missing is verified at once.
    is_requested: bool = False
    #: Asked before each request: whether to stop.
    is_over: Callable[[], bool] = lambda: False
    #: Called with an engine's result after each request.
    progress: Callable[[EngineResult], object] = lambda result: None


def deliver(options: DeliveryOptions | None = None) -> Report:
    """
    Submit what is due.

    An engine that fails does not stop others, nor does a slow one: they work side by
    side, and the engine whose last answer is the oldest comes first.
    """
    options = options or DeliveryOptions()
    report = Report(refusal="" if options.force or not engines() else why_refused())
    site = Site.current().address()
    if report.refusal or site is None:
        return report
    known, only = list(engines()), options.engines or engines()
    aliases = [alias for alias in known if alias in only]
    chosen = engine_states().filter(engine__in=aliases).with_first_due(options.sections)
    due = [state for state in chosen if state.first_due is not None]
    due.sort(key=lambda one: (one.answered_at, aliases.index(one.engine), one.host))
    dispatchers = [_Dispatcher(state, site, options) for state in due]
    of_engine: dict[str, list[_Dispatcher]] = {}
    for dispatcher in dispatchers:
        of_engine.setdefault(dispatcher.engine.alias, []).append(dispatcher)
    side_by_side([partial(_run_all, some) for some in of_engine.values()], ledger())
    report.results = [dispatcher.result for dispatcher in dispatchers]
    hooks.delivered(report)
    return report


def _run_all(dispatchers: Iterable[_Dispatcher]) -> None:
    """Notify one engine of its hosts, one after another."""
    for dispatcher in dispatchers:
        try:
            dispatcher.run()
        except NoThread as error:
            alias = dispatcher.engine.alias
            # What was due stays due, for another process.
            logger.info("Engine %r: nothing can be sent: %s", alias, error)


class _Dispatcher:
    """Submits the URLs of one host to one engine."""

    def __init__(
        self, state: EngineState, site: SiteAddress, options: DeliveryOptions
    ) -> None:
        self.engine = engines()[state.engine]
        self.state = state
        self.row = engine_states().filter(pk=state.pk)
        self.rows = submissions().filter(engine=state.engine, host=state.host)
        self.options = options
        self.result = EngineResult(state.engine, state.host)
        self.site = site
        self.origin = f"{site.origin.scheme}://{state.host}"
        self.owner = uuid.uuid4().hex
        #: How many URLs the engine still takes; None if it did not say.
        self.left: int | None = None
        #: What is stored of the last answer: with submissions, with the engine's state.
        self.said: dict[str, Any] = {}
        self.last: dict[str, Any] = {}
        self.now = Stopwatch.ask(ledger()).now

    def run(self) -> None:
        """Submit batches until nothing is due, or the engine needs a pause."""
        if self.options.is_over() or not self._first_due(1) or self._is_paused():
            return
        if not self._is_verified():
            return
        while not self.options.is_over():
            if self.row.is_paused(self.now()):
                # Another process was asked to pause since this one looked.
                return
            rows = self._claim_batch()
            if not rows or not self._send(rows):
                return

    def _first_due(self, count: int) -> list[int]:
        """Return what has been due the longest, in the order of the index."""
        if self.state.exhausted_until > self.now():
            return self._due_without_quota()[:count]
        due = self.rows.filter(due_at__lte=self.now()).order_by("due_at")
        if self.options.sections:
            due = due.filter(section__in=self.options.sections)
        if self.engine.tells_kinds:
            due = due.sent_with_first()
        return due.numbers(count)

    def _due_without_quota(self) -> list[int]:
        """
        Return which sitemaps and feeds are due: a quota of URLs is none of theirs.

        By their digests: very many URLs may wait beside them.
        """
        digests = [digest_of(item.url) for item in sitemap_notices(self.site)]
        rows = submissions().filter(digest__in=digests, live=True, due_at__isnull=False)
        place, now = (self.engine.alias, self.state.host), self.now()
        found: list[Submission] = retrying(ledger(), partial(list, rows))
        mine = [row for row in found if (row.engine, row.host) == place]
        return [row.pk for row in mine if (row.due_at or 0.0) <= now]

    def _is_paused(self) -> bool:
        rest = self.state.paused_until - self.now()
        if rest <= 0 or (self.options.is_requested and self.state.problem):
            return False
        why = self.state.problem or self.state.message
        note = f"{why} Paused, next try in {duration_in_words(rest)}."
        self.result.note = note.strip()
        return True

    # The ownership proof

    def _is_verified(self) -> bool:
        """Return whether the engine will find the ownership proof."""
        proof, state = self.engine.proof(self.state.host), self.state
        digest = digest_of(proof) if proof else ""
        # What the engine itself says: only its next answer mends that.
        is_said = bool(state.problem) and state.problem == state.message
        if state.verified == digest and (is_said or not state.problem):
            return True
        result = asking.verify(self.engine, self.origin, force=self.options.force)
        now = self.now()
        if result.is_good:
            fixed = bool(state.problem) and not is_said
            self.row.verified(digest, now, fixed=fixed)
            if fixed:
                state.failures = 0
            return True
        note = f"{result.text} {result.fix}".strip()
        self.result.note = note
        until, failures = now + pause(state.failures), state.failures + 1
        self.row.pause(until, now, failures, verified="", problem=note)
        return False

    # Batches

    def _claim_batch(self) -> list[Submission]:
        """
        Claim as much as one request can carry.

        Nothing where another process was faster: it goes on with what is due.
        """
        ids = sorted(self._first_due(min(_MOST, max(1, self.engine.max_urls))))
        if not ids:
            return []
        now, owner = self.now(), self.owner
        until = now + max(_CLAIM, self.engine.interval + SENDING)
        return submissions().claim(ids, owner, until, now)

    def _send(self, rows: Sequence[Submission]) -> bool:
        """Send what was claimed; return False if the engine needs a pause."""
        batches = _batches(rows)
        deadline = time.monotonic() + SENDING
        for _ in range(len(batches) + HALVINGS):
            if not batches:
                return True
            if self.options.is_over():
                self._put_back_untried(batches, 0.0)
                return False
            if time.monotonic() > deadline:
                break
            batch = self._next(batches)
            try:
                answer = self._submit(batch)
            except NoThread:
                self._put_back_untried([batch, *batches], _RESTART)
                raise
            if answer.taken and answer.taken < len(batch):
                # As much as the quota allowed. What is left finds out what follows.
                batches.append(batch[answer.taken :])
                batch = batch[: answer.taken]
            is_rejected = answer.outcome == Outcome.REJECTED
            if answer.outcome == Outcome.EXHAUSTED:
                batches = self._wait_for_quota([*batches, batch], answer)
            elif is_rejected and answer.is_divisible and len(batch) > 1:
                middle = len(batch) // 2
                batches += [batch[middle:], batch[:middle]]
            elif is_rejected or answer.outcome == Outcome.ACCEPTED:
                self._settle(batch, answer)
                self.left = answer.left
                if answer.left == 0:
                    batches = self._wait_for_quota(batches, answer)
            elif answer.outcome == Outcome.DEFERRED:
                wait = min(_AWAY, max(_PAUSE, answer.retry_after or 0.0))
                self._put_back(batch, wait, deferred=True, **self.said)
            else:
                self._put_back_untried(batches, self._postpone(batch, answer))
                return False
        # Too many are rejected to find all at once: the rest are fewer now.
        self._put_back_untried(batches, _PAUSE)
        return True

    def _next(self, batches: list[list[Submission]]) -> list[Submission]:
        """Take the next batch, with as many URLs as the engine said it still takes."""
        batch = batches.pop()
        if self.left and _are_urls(batch) and len(batch) > self.left:
            batches.append(batch[self.left :])
            return batch[: self.left]
        return batch

    def _submit(self, rows: Sequence[Submission]) -> Answer:
        """Send a batch; note what is stored of the answer, and return it."""
        batch = Batch(
            origin=self.origin,
            urls=[row.url for row in rows],
            are_sitemaps=rows[0].kind == Kind.SITEMAP,
            kinds=[str(row.kind) for row in rows],
            tags=_tags(rows),
            deferred=[row.url for row in rows if row.deferred],
            throttled=self._is_throttled_for_others(),
            # The same as long as the submissions say the same.
            id=digest_of(" ".join(f"{row.pk} {row.kind} {row.url}" for row in rows)),
        )
        started = time.monotonic()
        answer = asking.submit(self.engine, batch)
        self.last = {"status": answer.status, "message": answer.message}
        self.last["answered_at"] = self.now()
        seconds = time.monotonic() - started
        self.said = {**self.last, "excerpt": answer.excerpt, "seconds": seconds}
        self.result.requests += 1
        self.result.note = answer.message
        self.options.progress(self.result)
        return answer

    def _is_throttled_for_others(self) -> bool:
        """Return whether the last answer was 429, though little had been sent."""
        if self.state.status != 429 or not self.state.failures:
            return False
        over = self.rows.filter(due_at=None)
        return retrying(ledger(), over.order_by()[:LITTLE].count) < LITTLE

    # Answers

    def _settle(self, rows: Sequence[Submission], answer: Answer) -> None:
        """Store that URLs were accepted, or rejected for good."""
        accepted = answer.outcome == Outcome.ACCEPTED
        good = [row for row in rows if accepted and row.url not in answer.refused]
        bad = [row for row in rows if not accepted or row.url in answer.refused]
        for some, state in ((good, State.ACCEPTED), (bad, State.REJECTED)):
            if some:
                self._finish(some, state, answer)
        self.row.answered(succeeded=accepted, now=self.now(), **self.last)
        self.state.failures = 0

    def _finish(self, rows: Sequence[Submission], state: str, answer: Answer) -> None:
        interval = self.engine.interval_of(is_sitemap=rows[0].kind == Kind.SITEMAP)
        submissions().settle(_ids(rows), self.owner, state, interval, **self.said)
        setattr(self.result, state, getattr(self.result, state) + len(rows))
        send_signal(
            submission_finished,
            sender=type(self.engine),
            engine=self.engine.alias,
            state=str(state),
            urls=[row.url for row in rows],
            answer=answer,
        )

    def _postpone(self, rows: Sequence[Submission], answer: Answer) -> float:
        """
        Pause the engine; submit URLs later, or give up those too old.

        Return the seconds of the pause.
        """
        now = self.now()
        wait = pause(self.state.failures)
        if answer.retry_after is not None and answer.retry_after > 0:
            # Zero, or a date that is past by our clock, would have us retry at once.
            # Whoever fails again, in spite of the wait, gets a longer one.
            least = wait if self.state.failures else 0.0
            wait = max(least, min(_AWAY, answer.retry_after))
        self.state.failures += 1
        problem = answer.message if _waits_for_somebody(answer) else ""
        failures = self.state.failures
        self.row.pause(now + wait, now, failures, problem=problem, **self.last)
        over = [row for row in rows if _is_over(row, now)]
        if over:
            self._finish(over, State.FAILED, answer)
        # It may have been received: nothing twice in the interval.
        is_unknown = not answer.is_unsent and (answer.status or 200) < 300
        later = max(wait, self.engine.interval) if is_unknown else wait
        rest = [row for row in rows if not _is_over(row, now)]
        self._put_back(rest, later, **self.said)
        return wait

    def _wait_for_quota(
        self, batches: Sequence[list[Submission]], answer: Answer
    ) -> list[list[Submission]]:
        """
        Submit no URLs for a while; nothing of these was sent, and nothing failed.

        Return the batches for which a quota of URLs does not matter.
        """
        now = self.now()
        wait = min(_AWAY, max(_PAUSE, answer.retry_after or RENEWED_IN))
        self.state.failures, self.state.exhausted_until = 0, now + wait
        self.row.exhausted(now + wait, now, **self.last)
        urls = [batch for batch in batches if _are_urls(batch)]
        # Of an answer that accepted others nothing is stored with these.
        is_theirs = answer.outcome == Outcome.EXHAUSTED
        self._put_back_untried(urls, wait, **(self.said if is_theirs else {}))
        return [batch for batch in batches if not _are_urls(batch)]

    def _put_back(self, rows: Sequence[Submission], wait: float, **said: Any) -> None:
        submissions().put_back(_ids(rows), self.owner, self.now() + wait, **said)
        self.result.postponed += len(rows)

    def _put_back_untried(
        self, batches: Iterable[Sequence[Submission]], wait: float, **said: Any
    ) -> None:
        """Put back what was claimed, which counted an attempt, and not received."""
        rows = [row for batch in batches for row in batch]
        if rows:
            self._put_back(rows, wait, attempts=F("attempts") - 1, **said)


def pause(failures: int) -> float:
    """Return the seconds of a pause: longer after each failure."""
    jitter = random.uniform(0.75, 1.25)  # noqa: S311 (not all at the same moment)
    return min(_LONGEST, _PAUSE * 2.0 ** min(failures, 20)) * jitter


def duration_in_words(seconds: float) -> str:
    """Return a duration for people: "under a minute", "5 minutes", "3 hours"."""
    if seconds < 60:
        return "under a minute"
    minutes = math.ceil(seconds / 60)
    if minutes > 120:
        return f"{math.ceil(seconds / 3600)} hours"
    return "1 minute" if minutes == 1 else f"{minutes} minutes"


def _batches(rows: Sequence[Submission]) -> list[list[Submission]]:
    """Divide rows into batches: URLs and feeds together, each sitemap by itself."""
    sitemaps = [[row] for row in rows if row.kind == Kind.SITEMAP]
    feeds = [row for row in rows if row.kind == Kind.FEED]
    urls = [row for row in rows if row.kind not in (Kind.SITEMAP, Kind.FEED)]
    return sitemaps + [some for some in (feeds, urls) if some]


def _tags(rows: Iterable[Submission]) -> list[str]:
    """Return the cache tags of the documents among some URLs."""
    urls = [unquote(row.url) for row in rows if row.kind == Kind.DOCUMENT]
    return list(dict.fromkeys(cache_tag(document_at(url)) for url in urls))


def _are_urls(rows: Sequence[Submission]) -> bool:
    return rows[0].kind not in (Kind.SITEMAP, Kind.FEED)


def _is_over(row: Submission, now: float) -> bool:
    return row.attempts >= ATTEMPTS and now - row.created_at > GIVE_UP


def _waits_for_somebody(answer: Answer) -> bool:
    """Return whether an engine is unavailable until somebody acts: it refuses a key."""
    status = answer.status
    if answer.outcome != Outcome.UNAVAILABLE or status is None:
        return False
    return status < 500 and status not in _PASSING


def _ids(rows: Iterable[Submission]) -> list[int]:
    return [row.pk for row in rows]
