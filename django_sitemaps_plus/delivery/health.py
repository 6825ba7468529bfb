"""How each configured engine is doing, also before anything was sent; and its check."""

from __future__ import annotations

import enum
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from django_sitemaps_plus.engines.base import CheckResult, Engine
from django_sitemaps_plus.sitemaps.site import configured

from . import dispatcher, guards
from .engines import engines
from .models import EngineState, Submission
from .queries import states, submissions

#: What the results that concern the whole site are of.
SITE = "site"


class Health(enum.Enum):
    """How an engine is doing."""

    #: Nothing may be submitted from here at all.
    REFUSED = "refused"
    #: Somebody has to act: its key file, its credentials.
    BLOCKED = "blocked"
    #: It failed, and is tried again later.
    PAUSED = "paused"
    #: It takes no more for now, by its quota.
    EXHAUSTED = "exhausted"
    #: It was never notified.
    UNUSED = "unused"
    #: It answers.
    FINE = "fine"
    #: It is not in the settings any more.
    UNKNOWN = "unknown"


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
    #: Submissions that wait.
    waiting: int = 0


def with_waiting(found: QuerySet[EngineState]) -> QuerySet[EngineState]:
    """Add to the states of engines how many submissions wait, as ``waiting_n``."""
    own = submissions().filter(engine=OuterRef("engine"), host=OuterRef("host"))
    return found.annotate(waiting_n=counted(own.filter(due_at__isnull=False)))


def counted(found: QuerySet[Submission]) -> Coalesce:
    """Return how many rows of an engine there are, as an expression."""
    grouped = found.order_by().values("engine").annotate(n=Count("pk"))
    return Coalesce(Subquery(grouped.values("n")), 0)


def all_engines(refusal: str) -> list[EngineHealth]:
    """
    Return how each engine of the settings is doing, in their order.

    ``refusal`` is why nothing may be submitted at all, if so. By one query. Raises
    ``ConfigurationError`` for an engine that cannot be used.
    """
    site = configured()
    rows: dict[str, list[EngineState]] = {}
    for state in with_waiting(states().order_by("host")):
        rows.setdefault(state.engine, []).append(state)
    host = "" if site is None else site.origin.host
    return [
        health_of(state, refusal, engines())
        for alias in engines()
        for state in rows.get(alias, [EngineState(engine=alias, host=host)])
    ]


def health_of(
    state: EngineState, refusal: str, known: Mapping[str, Engine]
) -> EngineHealth:
    """
    Return how an engine is doing by its state, which need not be saved.

    ``known`` are the engines that can be used.
    """
    engine = known.get(state.engine)
    reason = refusal
    if engine is None:
        health, reason = Health.UNKNOWN, ""
    elif refusal:
        health = Health.REFUSED
    elif state.problem:
        health, reason = Health.BLOCKED, engine.redact(state.problem)
    elif state.failures or state.paused_until > time.time():
        health, reason = Health.PAUSED, engine.redact(state.message)
    elif state.exhausted_until > time.time():
        health = Health.EXHAUSTED
    else:
        health = Health.FINE if state.answered_at else Health.UNUSED
    return EngineHealth(
        health=health,
        state=state,
        name=state.engine if engine is None else engine.name,
        reason=reason,
        waiting=getattr(state, "waiting_n", 0),
    )


def check(
    aliases: Sequence[str], *, force: bool = False
) -> list[tuple[str, CheckResult]]:
    """
    Check everything that submissions need: of the site, and of some engines.

    Returns each result with what it is of: ``SITE``, or an engine's alias. It asks the
    site and the engines over the network, which may take some seconds for each.
    """
    # The admin imports this module when a process starts: not with it urllib3.
    from django_sitemaps_plus.engines import robots_check

    found = [(SITE, one) for one in guards.check(force=force)]
    site = configured()
    if site is None:
        return found
    origin = str(site.origin)
    crawling = robots_check.check(origin, timeout=5.0, private=force)
    found.append((SITE, guards.forced(crawling) if force else crawling))
    for alias in aliases:
        checked = dispatcher.check(engines()[alias], origin, force=force)
        found += [(alias, one) for one in checked]
    return found
