"""
Out of the outbox: what is due is claimed, sent, and its answer written down.

The claim is committed before anything is sent, and lasts longer than the engine's
interval: whoever is killed in between has others send it again, but not within the
interval. Any number of deliverers may work at once.
"""

from __future__ import annotations

import logging
import random
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django_sitemaps_plus.db import database_time, retrying
from django_sitemaps_plus.engines.base import (
    EXCERPT,
    Answer,
    Batch,
    CheckResult,
    Engine,
    Outcome,
)
from django_sitemaps_plus.signals import submission_finished
from django_sitemaps_plus.sitemaps.site import SiteAddress, configured

from . import guards
from .engines import engines
from .models import Claimed, EngineState, Submission, digest_of
from .queries import states, submissions

logger = logging.getLogger("django_sitemaps_plus")

State = Submission.State

#: Seconds for which a claim lasts at least.
CLAIM = 600.0
#: Seconds after a claim in which requests may be begun. It lasts so much longer than
#: the engine's interval, which begins when the engine is told.
SENDING = 300.0
#: The most rows of a claim: what they say is held in memory.
MOST = 10_000
#: Requests that are spent on a batch, to find the URLs for which it was refused.
HALVINGS = 50
#: Seconds of the first pause after an answer without success, and of the longest.
PAUSE, LONGEST = 60.0, 3_600.0
#: The longest that an engine may send us away.
AWAY = 86_400.0
#: Given up after so many attempts, if so many seconds have passed since the change.
ATTEMPTS, GIVE_UP = 5, 3 * 86_400.0
#: How often a deliverer looks again for what another claimed before it.
LOST = 5


@dataclass
class EngineResult:
    """What came of one engine and one host."""

    engine: str
    host: str
    requests: int = 0
    accepted: int = 0
    rejected: int = 0
    failed: int = 0
    #: To be told later.
    postponed: int = 0
    #: Why nothing, or not all, was told; the last message of the engine.
    note: str = ""


@dataclass
class Report:
    """What a run did."""

    #: Why nothing at all may be told.
    refusal: str = ""
    lines: list[EngineResult] = field(default_factory=list)

    def total(self, name: str) -> int:
        """Return the sum of a number of all lines."""
        return sum(getattr(line, name) for line in self.lines)


@dataclass(frozen=True, kw_only=True)
class DeliveryOptions:
    """What shall be delivered, and how."""

    #: Aliases of engines, and names of sections; all if none is named.
    engines: Sequence[str] = ()
    sections: Sequence[str] = ()
    #: Also from where nothing may be told.
    force: bool = False
    #: Somebody asked for it: what proves that the host is ours is looked at again.
    is_asked: bool = False
    #: When to stop, by the monotonic clock.
    deadline: float = float("inf")
    #: Called with each line after each request.
    progress: Callable[[EngineResult], object] = lambda line: None


def deliver(order: DeliveryOptions | None = None) -> Report:
    """
    Tell engines what is due.

    An engine that fails does not keep others from being told, nor one that is slow:
    who answered the longest ago comes first.
    """
    order = order or DeliveryOptions()
    report = Report(refusal="" if order.force else guards.refusal())
    place = configured()
    if report.refusal or place is None:
        return report
    chosen = [
        (engine, state)
        for alias, engine in engines().items()
        if not order.engines or alias in order.engines
        for state in states().filter(engine=alias).order_by("host")
    ]
    for engine, state in sorted(chosen, key=lambda pair: pair[1].answered_at):
        courier = Dispatcher(engine, state, place, order)
        courier.run()
        report.lines.append(courier.line)
    return report


class Dispatcher:
    """Tells one engine of the URLs of one host."""

    def __init__(
        self,
        engine: Engine,
        state: EngineState,
        place: SiteAddress,
        order: DeliveryOptions,
    ) -> None:
        self.engine = engine
        self.state = state
        self.order = order
        self.line = EngineResult(engine.alias, state.host)
        self.origin = _origin(place, state.host)
        self.owner = uuid.uuid4().hex
        # The database's clock, asked once.
        self._ahead = database_time(submissions().db) - time.monotonic()

    def now(self) -> float:
        """Return the database's time."""
        return time.monotonic() + self._ahead

    def run(self) -> None:
        """Send batches until nothing is due, or the engine wants a pause."""
        if not self._first(1):
            return
        is_retried = self.order.is_asked and bool(self.state.problem)
        if self.state.paused_until > self.now() and not is_retried:
            self.line.note = self.state.problem or self.state.message or "paused"
            return
        if not self._is_proved():
            return
        while time.monotonic() < self.order.deadline:
            if retrying(
                submissions().db, lambda: states().is_paused(self.state.pk, self.now())
            ):
                # Another deliverer was sent away since this one looked.
                return
            rows = self._claimed()
            if not rows or not self._send(rows):
                return

    def _due(self) -> Any:
        alias, host = self.engine.alias, self.state.host
        return submissions().due(alias, host, self.now(), self.order.sections)

    def _first(self, count: int) -> list[int]:
        """Return what has been due the longest: in the order of the index."""
        due = self._due().order_by("due_at").values_list("pk", flat=True)
        return retrying(submissions().db, lambda: list(due[:count]))

    # The proof

    def _is_proved(self) -> bool:
        """Tell whether the engine will find what proves that the host is ours."""
        proof = self.engine.proof(self.state.host)
        known = digest_of(proof) if proof else ""
        if self.state.verified == known and not self.state.problem:
            return True
        finding = self._verify() if proof else CheckResult(is_good=True, text="")
        if finding.is_good:
            mended = bool(self.state.problem)
            pk, now = self.state.pk, self.now()
            retrying(
                submissions().db,
                lambda: states().verified(pk, known, now, mended=mended),
            )
            if mended:
                self.state.failures = 0
            return True
        self.line.note = self.engine.redact(f"{finding.text} {finding.fix}".strip())
        until = self.now() + pause(self.state.failures)
        failures = self.state.failures + 1
        pk, note = self.state.pk, self.line.note
        retrying(
            submissions().db, lambda: states().unverified(pk, note, until, failures)
        )
        return False

    def _verify(self) -> CheckResult:
        try:
            return self.engine.verify(self.origin, force=self.order.force)
        except Exception as error:  # a project's own engine may raise anything
            text = f"{self.engine.name} could not be verified: {self._said(error)}"
            return CheckResult(is_good=False, text=text)

    def _said(self, error: Exception) -> str:
        return self.engine.redact(f"{type(error).__name__}: {error}")

    # Batches

    def _claimed(self) -> list[Claimed]:
        """Claim as much as one request can carry."""
        count = min(MOST, max(1, self.engine.max_urls))
        for turn in range(LOST):
            now = self.now()
            ids = sorted(self._first(count))
            if not ids:
                break
            until = now + max(CLAIM, self.engine.interval + SENDING)
            if rows := self._claim(ids, until, now):
                return rows
            time.sleep(turn * random.uniform(0.01, 0.05))  # noqa: S311 (no secret)
        return []

    def _claim(self, ids: Sequence[int], until: float, now: float) -> list[Claimed]:
        """Claim what nobody else has claimed; returns that."""
        retrying(
            submissions().db, lambda: submissions().claim(ids, self.owner, until, now)
        )
        return retrying(
            submissions().db, lambda: list(submissions().claimed(ids, self.owner))
        )

    def _send(self, rows: Sequence[Claimed]) -> bool:
        """Send what was claimed; False where the engine wants to be left alone."""
        batches = self._batches(rows)
        deadline = time.monotonic() + SENDING
        most = len(batches) + HALVINGS
        for _ in range(most):
            if not batches:
                return True
            if time.monotonic() > deadline:
                break
            batch = batches.pop()
            answer, seconds = self._submit(batch)
            is_refused = answer.outcome == Outcome.REJECTED
            if is_refused and answer.is_divisible and len(batch) > 1:
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
            # Too many are refused to find all at once: the others are nearer now.
            self._put_back([row for batch in batches for row in batch], PAUSE)
        return True

    def _batches(self, rows: Sequence[Claimed]) -> list[list[Claimed]]:
        """Divide rows: all URLs together, each sitemap by itself."""
        kind = Submission.Kind.SITEMAP
        sitemaps = [[row] for row in rows if row.kind == kind]
        urls = [row for row in rows if row.kind != kind]
        return sitemaps + ([urls] if urls else [])

    def _submit(self, rows: Sequence[Claimed]) -> tuple[Answer, float]:
        batch = Batch(
            origin=self.origin,
            urls=[row.url for row in rows],
            are_sitemaps=rows[0].kind == Submission.Kind.SITEMAP,
        )
        begun = time.monotonic()
        try:
            answer = self.engine.submit(batch)
            if not isinstance(answer, Answer):
                # As where a project's own engine forgets to return one.
                raise TypeError(f"submit() returned {type(answer).__name__}")
        except Exception as error:  # a project's own engine may raise anything
            logger.error("Engine %r: %s", self.engine.alias, self._said(error))
            answer = Answer(outcome=Outcome.UNAVAILABLE, message=self._said(error))
        self.line.requests += 1
        self.line.note = self._clean(answer.message)
        self.order.progress(self.line)
        return answer, time.monotonic() - begun

    # Answers

    def _settle(self, rows: Sequence[Claimed], answer: Answer, seconds: float) -> None:
        """Write down that URLs were accepted, or refused for good."""
        accepted = answer.outcome == Outcome.ACCEPTED
        self._finish(
            rows, State.ACCEPTED if accepted else State.REJECTED, answer, seconds
        )
        told = {"status": answer.status, "message": self._clean(answer.message)}
        pk, now = self.state.pk, self.now()
        retrying(
            submissions().db,
            lambda: states().answered(pk, succeeded=accepted, now=now, **told),
        )
        self.state.failures = 0

    def _finish(
        self, rows: Sequence[Claimed], state: str, answer: Answer, seconds: float
    ) -> None:
        told = self._told(answer, seconds)
        interval = self.engine.interval
        ids = _ids(rows)
        retrying(
            submissions().db,
            lambda: submissions().settle(ids, self.owner, state, interval, **told),
        )
        count = getattr(self.line, state)
        setattr(self.line, state, count + len(rows))
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
        """Let URLs be told later, give up those too old, leave the engine alone."""
        now = self.now()
        wait = pause(self.state.failures)
        if answer.retry_after is not None and answer.retry_after > 0:
            # None at all, or a date that is past by our clock, would have us ask
            # again at once, for as long as the engine says so.
            wait = min(AWAY, answer.retry_after)
        self.state.failures += 1
        pk, failures = self.state.pk, self.state.failures
        told = {"status": answer.status, "message": self._clean(answer.message)}
        retrying(
            submissions().db,
            lambda: states().pause(pk, now + wait, now, failures, **told),
        )
        over = [row for row in rows if _is_over(row, now)]
        if over:
            self._finish(over, State.FAILED, answer, seconds)
        # Without an answer it may have been received: nothing twice in the interval.
        is_known = answer.status or answer.is_unsent
        later = wait if is_known else max(wait, self.engine.interval)
        left = [row for row in rows if not _is_over(row, now)]
        self._put_back(left, later, **self._told(answer, seconds))
        self._put_back(rest, wait)

    def _put_back(self, rows: Sequence[Claimed], wait: float, **told: Any) -> None:
        due_at, ids = self.now() + wait, _ids(rows)
        retrying(
            submissions().db,
            lambda: submissions().put_back(ids, self.owner, due_at, **told),
        )
        self.line.postponed += len(rows)

    def _told(self, answer: Answer, seconds: float) -> dict[str, Any]:
        return {
            "status": answer.status,
            "excerpt": self._clean(answer.excerpt)[:EXCERPT],
            "message": self._clean(answer.message),
            "seconds": seconds,
            "answered_at": self.now(),
        }

    def _clean(self, text: str) -> str:
        """Return what an engine said as a database can keep it, without secrets."""
        legal = text.replace("\0", "").encode("utf-8", "replace").decode()
        return self.engine.redact(legal)


def pause(failures: int) -> float:
    """Return for how many seconds to leave an engine alone: longer each time."""
    jitter = random.uniform(0.75, 1.25)  # noqa: S311 (not all at the same moment)
    return min(LONGEST, PAUSE * 2.0 ** min(failures, 20)) * jitter


def _is_over(row: Claimed, now: float) -> bool:
    return row.attempts >= ATTEMPTS and now - row.created_at > GIVE_UP


def _ids(rows: Iterable[Claimed]) -> list[int]:
    return [row.pk for row in rows]


def _origin(place: SiteAddress, host: str) -> str:
    if host == place.origin.host:
        return str(place.origin)
    return f"{place.origin.scheme}://{host}"
