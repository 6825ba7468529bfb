"""How each configured engine is doing, also before anything was sent."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.models import EngineState
from django_sitemaps_plus.engines.base import Engine
from django_sitemaps_plus.sitemaps.site import Site


class Health(TextChoices):
    """How an engine is doing, each with a word for it."""

    #: Nothing may be submitted from here at all.
    REFUSED = "refused", _("nothing is sent")
    #: Somebody has to act: its key file, its credentials.
    BLOCKED = "blocked", _("needs attention")
    #: It failed, and is tried again later.
    PAUSED = "paused", _("paused")
    #: It takes no more for now, by its quota.
    EXHAUSTED = "exhausted", _("quota used up")
    #: It answers, and takes nothing: what was sent last was rejected for good.
    REJECTING = "rejected", _("rejects what is sent")
    #: It was never notified.
    UNUSED = "unused", _("ready, nothing sent yet")
    #: It answers.
    FINE = "fine", _("works")
    #: It is not in the settings any more.
    UNKNOWN = "unknown", _("not in the settings")


@dataclass(frozen=True)
class EngineHealth:
    """How one engine is doing for one host."""

    health: Health
    #: Not saved where the engine was never notified.
    state: EngineState
    #: What it calls itself; its alias if that is not known.
    name: str
    #: Why nothing is sent, without secrets; empty if something is.
    reason: str = ""
    #: Submissions that wait, and those of them that should have been sent by now.
    waiting: int = 0
    late: int = 0
    #: When the first that waits was created; 0 if none waits.
    waiting_since: float = 0.0
    #: When the first that waits may be sent, by the database's clock.
    due_at: float = 0.0

    @property
    def is_failing(self) -> bool:
        """Whether it cannot be notified."""
        return self.health in (Health.BLOCKED, Health.PAUSED)

    @property
    def next_try(self) -> float | None:
        """When it is tried again, at the earliest; None if it works."""
        if not (self.is_failing or self.health is Health.EXHAUSTED):
            return None
        until: float = max(self.state.paused_until, self.state.exhausted_until)
        return until


def all_engines(refusal: str, sections: Sequence[str] = ()) -> list[EngineHealth]:
    """
    Return how each engine of the settings is doing, in their order.

    ``refusal`` is why nothing may be submitted at all, if so. By one query; what waits
    is of some sections, or of all. Raises ``ConfigurationError`` for an engine that
    cannot be used.
    """
    site = Site.current().address()
    rows: dict[str, list[EngineState]] = {}
    for state in EngineState.objects.on_site().with_waiting(sections).order_by("host"):
        rows.setdefault(state.engine, []).append(state)
    host = "" if site is None else site.origin.host
    return [
        health_of(state, refusal, engines())
        for alias in engines()
        for state in rows.get(alias, [EngineState(engine=alias, host=host)])
    ]


def health_of(
    state: EngineState, refusal: str, usable: Mapping[str, Engine]
) -> EngineHealth:
    """Return how an engine is doing by its state, which need not be saved."""
    engine = usable.get(state.engine)
    reason, is_exhausted = refusal, state.exhausted_until > time.time()
    if engine is None:
        health, reason = Health.UNKNOWN, ""
    elif refusal:
        health = Health.REFUSED
    elif state.problem:
        health, reason = Health.BLOCKED, engine.redact(state.problem)
    elif state.failures or state.paused_until > time.time():
        health, reason = Health.PAUSED, engine.redact(state.message)
    elif is_exhausted:
        health = Health.EXHAUSTED
    elif state.answered_at > max(state.succeeded_at, state.exhausted_until):
        health, reason = Health.REJECTING, engine.redact(state.message)
    else:
        health = Health.FINE if state.answered_at else Health.UNUSED
    first_due = getattr(state, "first_due", None) or 0.0
    return EngineHealth(
        health=health,
        state=state,
        name=state.engine if engine is None else engine.name,
        reason=reason,
        waiting=getattr(state, "waiting_n", 0),
        # What waits for a quota is not late.
        late=0 if is_exhausted else getattr(state, "late_n", 0),
        waiting_since=getattr(state, "waiting_since", None) or 0.0,
        due_at=max(first_due, state.paused_until, state.exhausted_until),
    )
