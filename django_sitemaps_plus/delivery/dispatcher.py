"""
Out of the outbox: what is due is claimed, submitted, and its answer stored.

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
from dataclasses import dataclass, field
from typing import Any, TypeVar

from django_sitemaps_plus.db import database_time, retrying
from django_sitemaps_plus.engines.base import (
    EXCERPT,
    Answer,
    Batch,
    CheckResult,
    Engine,
    Outcome,
    printable,
)
from django_sitemaps_plus.signals import submission_finished
from django_sitemaps_plus.sitemaps.site import SiteAddress, configured

from . import guards
from .engines import engines
from .models import Claimed, EngineState, Submission, SubmissionQuerySet, digest_of
from .queries import states, submissions

logger = logging.getLogger("django_sitemaps_plus")

State = Submission.State
Result = TypeVar("Result")

#: Seconds for which a claim lasts at least.
CLAIM = 600.0
#: Seconds after a claim in which requests may be started. A claim lasts so much longer
#: than the engine's interval, which starts when the request is sent.
SENDING = 300.0
#: The most rows of a claim, which are held in memory.
MOST = 10_000
#: Additional requests by which the URLs are found that a batch was rejected for.
HALVINGS = 50
#: Seconds of the first pause after a failure, and of the longest.
PAUSE, LONGEST = 60.0, 3_600.0
#: Seconds for which an engine may have us wait at most.
AWAY = 86_400.0
#: A submission fails for good after so many attempts, if it is so many seconds old.
ATTEMPTS, GIVE_UP = 5, 3 * 86_400.0
#: How often to claim again where others were faster.
TRIES = 5


@dataclass
class EngineResult:
    """What a run did for one engine and one host."""

    engine: str
    host: str
    requests: int = 0
    accepted: int = 0
    rejected: int = 0
    failed: int = 0
    #: To be submitted later.
    postponed: int = 0
    #: The engine's last message, or why nothing was submitted.
    note: str = ""


@dataclass
class Report:
    """What a run did."""

    #: Why nothing at all may be submitted.
    refusal: str = ""
    results: list[EngineResult] = field(default_factory=list)

    def total(self, name: str) -> int:
        """Return the sum of a number over all results."""
        return sum(getattr(result, name) for result in self.results)


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
    #: When to stop, by the monotonic clock.
    deadline: float = float("inf")
    #: Called with an engine's result after each request.
    progress: Callable[[EngineResult], object] = lambda result: None


def deliver(options: DeliveryOptions | None = None) -> Report:
    """
    Submit what is due.

    An engine that fails does not stop others, nor does a slow one: the engine whose
    last answer is the oldest comes first.
    """
    options = options or DeliveryOptions()
    report = Report(refusal="" if options.force else guards.refusal())
    site = configured()
    if report.refusal or site is None:
        return report
    chosen = [
        (engine, state)
        for alias, engine in engines().items()
        if not options.engines or alias in options.engines
        for state in states().filter(engine=alias).order_by("host")
    ]
    for engine, state in sorted(chosen, key=lambda pair: pair[1].answered_at):
        dispatcher = Dispatcher(engine, state, site, options)
        dispatcher.run()
        report.results.append(dispatcher.result)
    return report


class Dispatcher:
    """Submits the URLs of one host to one engine."""

    def __init__(
        self,
        engine: Engine,
        state: EngineState,
        site: SiteAddress,
        options: DeliveryOptions,
    ) -> None:
        self.engine = engine
        self.state = state
        self.options = options
        self.result = EngineResult(engine.alias, state.host)
        self.origin = _origin(site, state.host)
        self.owner = uuid.uuid4().hex
        # The database's clock, asked once.
        self._ahead = database_time(submissions().db) - time.monotonic()

    def now(self) -> float:
        """Return the database's time."""
        return time.monotonic() + self._ahead

    def run(self) -> None:
        """Submit batches until nothing is due, or the engine needs a pause."""
        if not self._first_due(1) or self._is_paused() or not self._is_verified():
            return
        pk = self.state.pk
        while time.monotonic() < self.options.deadline:
            if _retrying(lambda: states().is_paused(pk, self.now())):
                # Another process was asked to pause since this one looked.
                return
            rows = self._claim_batch()
            if not rows or not self._send(rows):
                return

    def _due(self) -> SubmissionQuerySet:
        alias, host = self.engine.alias, self.state.host
        return submissions().due(alias, host, self.now(), self.options.sections)

    def _first_due(self, count: int) -> list[int]:
        """Return what has been due the longest, in the order of the index."""
        due = self._due().order_by("due_at").values_list("pk", flat=True)
        return _retrying(lambda: list(due[:count]))

    def _is_paused(self) -> bool:
        rest = self.state.paused_until - self.now()
        if rest <= 0 or (self.options.is_requested and self.state.problem):
            return False
        why = self.state.problem or self.state.message
        self.result.note = f"{why} Paused, next try in {in_words(rest)}.".strip()
        return True

    # The ownership proof

    def _is_verified(self) -> bool:
        """Tell whether the engine will find the ownership proof."""
        proof, state = self.engine.proof(self.state.host), self.state
        known = digest_of(proof) if proof else ""
        if state.verified == known and not state.problem:
            return True
        found = self._verify() if proof else CheckResult(is_good=True, text="")
        now = self.now()
        if found.is_good:
            fixed = bool(state.problem)
            _retrying(lambda: states().verified(state.pk, known, now, fixed=fixed))
            if fixed:
                state.failures = 0
            return True
        note = self._clean(f"{found.text} {found.fix}")
        self.result.note = note
        until, failures = now + pause(state.failures), state.failures + 1
        _retrying(lambda: states().unverified(state.pk, note, until, failures))
        return False

    def _verify(self) -> CheckResult:
        try:
            return self.engine.verify(self.origin, force=self.options.force)
        except Exception as error:  # a project's own engine may raise anything
            text = f"{self.engine.name} could not be verified: {_text_of(error)}"
            return CheckResult(is_good=False, text=text)

    # Batches

    def _claim_batch(self) -> list[Claimed]:
        """Claim as much as one request can carry."""
        count = min(MOST, max(1, self.engine.max_urls))
        for turn in range(TRIES):
            now = self.now()
            ids = sorted(self._first_due(count))
            if not ids:
                break
            until = now + max(CLAIM, self.engine.interval + SENDING)
            if rows := self._claim(ids, until, now):
                return rows
            time.sleep(turn * random.uniform(0.01, 0.05))  # noqa: S311 (no secret)
        return []

    def _claim(self, ids: Sequence[int], until: float, now: float) -> list[Claimed]:
        """Claim what nobody else has claimed, and return that."""
        _retrying(lambda: submissions().claim(ids, self.owner, until, now))
        return _retrying(lambda: list(submissions().claimed(ids, self.owner)))

    def _send(self, rows: Sequence[Claimed]) -> bool:
        """Send what was claimed; return False if the engine needs a pause."""
        batches = _batches(rows)
        deadline = time.monotonic() + SENDING
        most = len(batches) + HALVINGS
        for _ in range(most):
            if not batches:
                return True
            if time.monotonic() > deadline:
                break
            batch = batches.pop()
            answer, seconds = self._submit(batch)
            is_rejected = answer.outcome == Outcome.REJECTED
            if is_rejected and answer.is_divisible and len(batch) > 1:
                middle = len(batch) // 2
                batches += [batch[middle:], batch[:middle]]
                continue
            if answer.outcome in (Outcome.ACCEPTED, Outcome.REJECTED):
                self._settle(batch, answer, seconds)
                continue
            rest = [row for other in batches for row in other]
            self._postpone(batch, rest, answer, seconds)
            return False
        if batches:
            # Too many are rejected to find all at once: the rest are fewer now.
            self._put_back([row for batch in batches for row in batch], PAUSE)
        return True

    def _submit(self, rows: Sequence[Claimed]) -> tuple[Answer, float]:
        batch = Batch(
            origin=self.origin,
            urls=[row.url for row in rows],
            are_sitemaps=rows[0].kind == Submission.Kind.SITEMAP,
        )
        started = time.monotonic()
        try:
            answer = self.engine.submit(batch)
            if not isinstance(answer, Answer):
                # As where a project's own engine forgets to return one.
                raise TypeError(f"submit() returned {type(answer).__name__}")
        except Exception as error:  # a project's own engine may raise anything
            text = self._clean(_text_of(error))
            logger.error("Engine %r: %s", self.engine.alias, text)
            answer = Answer(outcome=Outcome.UNAVAILABLE, message=text)
        self.result.requests += 1
        self.result.note = self._clean(answer.message)
        self.options.progress(self.result)
        return answer, time.monotonic() - started

    # Answers

    def _settle(self, rows: Sequence[Claimed], answer: Answer, seconds: float) -> None:
        """Store that URLs were accepted, or rejected for good."""
        accepted = answer.outcome == Outcome.ACCEPTED
        self._finish(
            rows, State.ACCEPTED if accepted else State.REJECTED, answer, seconds
        )
        said = {"status": answer.status, "message": self._clean(answer.message)}
        pk, now = self.state.pk, self.now()
        _retrying(lambda: states().answered(pk, succeeded=accepted, now=now, **said))
        self.state.failures = 0

    def _finish(
        self, rows: Sequence[Claimed], state: str, answer: Answer, seconds: float
    ) -> None:
        ids, interval = _ids(rows), self.engine.interval
        said = self._columns(answer, seconds)
        _retrying(
            lambda: submissions().settle(ids, self.owner, state, interval, **said)
        )
        count = getattr(self.result, state)
        setattr(self.result, state, count + len(rows))
        submission_finished.send_robust(
            sender=type(self.engine),
            engine=self.engine.alias,
            state=str(state),
            urls=[row.url for row in rows],
            answer=answer,
        )

    def _postpone(
        self,
        rows: Sequence[Claimed],
        rest: Sequence[Claimed],
        answer: Answer,
        seconds: float,
    ) -> None:
        """Pause the engine; submit URLs later, or give up those too old."""
        now = self.now()
        wait = pause(self.state.failures)
        if answer.retry_after is not None and answer.retry_after > 0:
            # Zero, or a date that is past by our clock, would have us retry at once,
            # for as long as the engine says so.
            wait = min(AWAY, answer.retry_after)
        self.state.failures += 1
        pk, failures = self.state.pk, self.state.failures
        said = {"status": answer.status, "message": self._clean(answer.message)}
        _retrying(lambda: states().pause(pk, now + wait, now, failures, **said))
        over = [row for row in rows if _is_over(row, now)]
        if over:
            self._finish(over, State.FAILED, answer, seconds)
        # Without an answer it may have been received: nothing twice in the interval.
        is_known = answer.status or answer.is_unsent
        later = wait if is_known else max(wait, self.engine.interval)
        left = [row for row in rows if not _is_over(row, now)]
        self._put_back(left, later, **self._columns(answer, seconds))
        self._put_back(rest, wait)

    def _put_back(self, rows: Sequence[Claimed], wait: float, **said: Any) -> None:
        due_at, ids = self.now() + wait, _ids(rows)
        _retrying(lambda: submissions().put_back(ids, self.owner, due_at, **said))
        self.result.postponed += len(rows)

    def _columns(self, answer: Answer, seconds: float) -> dict[str, Any]:
        """Return what is stored of an answer."""
        return {
            "status": answer.status,
            "excerpt": self._clean(answer.excerpt)[:EXCERPT],
            "message": self._clean(answer.message),
            "seconds": seconds,
            "answered_at": self.now(),
        }

    def _clean(self, text: str) -> str:
        """Return an engine's text without secrets, as every database can store it."""
        return printable(self.engine.redact(text))


def pause(failures: int) -> float:
    """Return the seconds of a pause: longer after each failure."""
    jitter = random.uniform(0.75, 1.25)  # noqa: S311 (not all at the same moment)
    return min(LONGEST, PAUSE * 2.0 ** min(failures, 20)) * jitter


def in_words(seconds: float) -> str:
    """Return a duration for people: "under a minute", "5 minutes", "3 hours"."""
    if seconds < 60:
        return "under a minute"
    minutes = math.ceil(seconds / 60)
    if minutes > 120:
        return f"{math.ceil(seconds / 3600)} hours"
    return "1 minute" if minutes == 1 else f"{minutes} minutes"


def _batches(rows: Sequence[Claimed]) -> list[list[Claimed]]:
    """Divide rows into batches: all URLs together, each sitemap by itself."""
    kind = Submission.Kind.SITEMAP
    sitemaps = [[row] for row in rows if row.kind == kind]
    urls = [row for row in rows if row.kind != kind]
    return sitemaps + ([urls] if urls else [])


def _is_over(row: Claimed, now: float) -> bool:
    return row.attempts >= ATTEMPTS and now - row.created_at > GIVE_UP


def _ids(rows: Iterable[Claimed]) -> list[int]:
    return [row.pk for row in rows]


def _origin(site: SiteAddress, host: str) -> str:
    if host == site.origin.host:
        return str(site.origin)
    return f"{site.origin.scheme}://{host}"


def _retrying(action: Callable[[], Result]) -> Result:
    return retrying(submissions().db, action)


def _text_of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
