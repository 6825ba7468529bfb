"""
The engines of the settings: which there are, whether they may be notified, how they do.

They are created once for as long as the settings stay.

Messages name what they refuse by its path in the settings. They never show the value of
an option, which may be a secret.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from django.conf import settings as django_settings
from django.core.signals import setting_changed
from django.db import connections
from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.conf import NAME, get_settings, imported, options_of, refusal
from django_sitemaps_plus.engines import retired
from django_sitemaps_plus.engines.addresses import is_private
from django_sitemaps_plus.engines.base import (
    CheckResult,
    Engine,
    MissingExtra,
    NoAnswer,
    SitemapStatus,
    redacted,
)
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.protocol.robots import shut_out
from django_sitemaps_plus.serving.robots import rules
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress, address_advice
from django_sitemaps_plus.sitemaps.tenants import in_this_tenant

from .models import EngineState, engine_states

#: The most characters of an alias, for the tables.
_MAX_ALIAS = 100

_KEYS = ("BACKEND", "OPTIONS")


@lru_cache(maxsize=1)
def engines() -> Mapping[str, Engine]:
    """
    Return the engines by alias, in the order of the settings.

    Raises ``ConfigurationError`` for an engine that cannot be used.
    """
    return MappingProxyType({alias: make(alias) for alias in get_settings().ENGINES})


def backend(alias: str) -> type[Engine]:
    """
    Return the class of an engine.

    Raises ``ConfigurationError`` if its entry in the settings names none.
    """
    here = "ENGINES", alias
    if not 0 < len(str(alias)) <= _MAX_ALIAS:
        raise refusal(f"needs a name of 1 to {_MAX_ALIAS} characters.", *here)
    example = '{"BACKEND": "dotted.path", "OPTIONS": {…}}'
    entry = options_of(get_settings().ENGINES[alias], _KEYS, "keys", example, *here)
    if "BACKEND" not in entry:
        raise refusal(f"needs a 'BACKEND', for example {example}.", *here)
    name = f"{Engine.__module__}.Engine"
    return imported(entry["BACKEND"], Engine, name, *here, "BACKEND")  # type: ignore[type-abstract]  # the base


def make(alias: str) -> Engine:
    """
    Create an engine with its options.

    Raises ``ConfigurationError`` for an option that is unknown, missing or refused.
    """
    engine, here = backend(alias), ("ENGINES", alias, "OPTIONS")
    declared = {f.name: f for f in dataclasses.fields(engine) if f.init}
    del declared["alias"]
    given = get_settings().ENGINES[alias].get("OPTIONS", {})
    options = options_of(given, declared, "options", "{…}", *here)
    for name, option in declared.items():
        defaults = {option.default, option.default_factory}
        if defaults == {dataclasses.MISSING} and name not in options:
            raise refusal(f"is missing; {engine.name} needs it.", *here, name)
    try:
        return engine(alias=alias, **options)
    except (ValueError, TypeError) as error:
        path, problem = _explained(engine, options, error)
    # Not from within: a traceback would lead to the options.
    raise refusal(problem, "ENGINES", alias, *path)


def retired_addresses(engine: Engine) -> Iterator[tuple[str, str]]:
    """Yield options with an address that no longer works, and what to use instead."""
    for option in dataclasses.fields(engine):
        value = getattr(engine, option.name)
        if isinstance(value, str) and not option.metadata.get("secret"):
            sentence = retired.sentence(value)
            if sentence:
                yield option.name, sentence


def files_of(host: str) -> Mapping[str, str]:
    """Return the files that a host must serve at its root: contents by name."""
    files: dict[str, str] = {}
    for engine in engines().values():
        files.update(engine.files(host))
    return files


@lru_cache(maxsize=1)
def known_files() -> frozenset[str]:
    """
    Return the names of such files of all hosts in the settings.

    Without a query, since every URL that nothing else matches asks for them. Empty
    while an engine cannot be used, so that other URLs still resolve.
    """
    try:
        settings = get_settings()
        named = [site["BASE_URL"] for site in settings.SITES.values()]
        given = [url for url in (settings.BASE_URL, *named) if url]
        hosts = [SiteAddress.parse(url).origin.host for url in given]
        # Of a pattern of hosts it is enough to know the files that all of them have,
        # and those of the hosts that engines name.
        hosts += [host.lstrip(".") for host in django_settings.ALLOWED_HOSTS]
        hosts += [host for engine in engines().values() for host in engine.hosts()]
        return frozenset(name for host in hosts for name in files_of(host))
    except ConfigurationError:
        return frozenset()


def _explained(
    engine: type[Engine], options: Mapping[Any, Any], error: Exception
) -> tuple[tuple[str, ...], str]:
    """Return the path of what an engine refuses, and why, without secrets."""
    hidden = [f.name for f in dataclasses.fields(engine) if f.metadata.get("secret")]
    secrets = [options.get(name) for name in hidden]
    option = getattr(error, "option", None)
    if not option:
        return ("OPTIONS",), f"cannot be used: {redacted(str(error), secrets)}"
    # The problem of an OptionError is the end of a sentence.
    problem = redacted(getattr(error, "problem", str(error)), secrets)
    is_missing = isinstance(error, MissingExtra)
    return (option,) if is_missing else ("OPTIONS", option), problem


# What keeps copies of a site from submitting anything

#: What the advice ends with where --force helps.
_OR_FORCE = ", or use --force."


def check_site(*, force: bool = False) -> list[CheckResult]:
    """
    Check whether this project may submit anything to engines.

    With ``force`` it may from everywhere whose address is known.
    """
    results = [_address(), _debug(), _robots()]
    return [forced(one) for one in results] if force else results


def forced(result: CheckResult) -> CheckResult:
    """Return what a check finds where somebody uses --force."""
    if result.is_good or not result.fix.endswith(_OR_FORCE):
        return result
    return CheckResult.good(f"{result.text} Ignored by --force.")


def why_refused() -> str:
    """Return why nothing may be submitted; empty if it may."""
    wrong = [result for result in check_site() if not result.is_good]
    return f"{wrong[0].text} {wrong[0].fix}" if wrong else ""


def _debug() -> CheckResult:
    if not django_settings.DEBUG:
        return CheckResult.good("DEBUG is off.")
    text = "DEBUG is on: this is not a public site."
    return CheckResult.bad(text, f"Set DEBUG = False{_OR_FORCE}")


def _address() -> CheckResult:
    site = Site.current().address()
    if site is None:
        return CheckResult.bad("The site's address is not known.", address_advice())
    if is_private(site.origin.host):
        text = f"{site.origin} is not a public address: engines cannot reach it."
        return CheckResult.bad(text, f"{address_advice().rstrip('.')}{_OR_FORCE}")
    return CheckResult.good(f"The site's address is {site.origin}.")


def _robots() -> CheckResult:
    if not rules().are_closed:
        return CheckResult.good("robots.txt allows crawling.")
    text = f"robots.txt disallows everything for {shut_out(rules().groups)}."
    return CheckResult.bad(text, f"Change SITEMAPS_PLUS['ROBOTS']{_OR_FORCE}")


# How each is doing, also before anything was sent


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
        return float(max(self.state.paused_until, self.state.exhausted_until))

    @classmethod
    def all(
        cls,
        refusal: str,
        sections: Sequence[str] = (),
        aliases: Collection[str] | None = None,
    ) -> list[EngineHealth]:
        """
        Return how each engine of the settings is doing, or some, in their order.

        ``refusal`` is why nothing may be submitted at all, if so. By one query; what
        waits is of some sections, or of all. Raises ``ConfigurationError`` for an
        engine that cannot be used.
        """
        site = Site.current().address()
        rows: dict[str, list[EngineState]] = {}
        for state in engine_states().with_waiting(sections).order_by("host"):
            rows.setdefault(state.engine, []).append(state)
        host = "" if site is None else site.origin.host
        return [
            cls.of(state, refusal, engines())
            for alias in engines()
            if aliases is None or alias in aliases
            for state in rows.get(alias, [EngineState(engine=alias, host=host)])
        ]

    @classmethod
    def of(
        cls, state: EngineState, refusal: str, usable: Mapping[str, Engine]
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
        return cls(
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


def reports_of(engine: Engine, locations: Sequence[str]) -> list[SitemapStatus]:
    """Return an engine's reports on sitemaps."""
    try:
        return engine.status(locations)
    except NoAnswer as error:
        problem = str(error)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    problem = engine.redact(problem)
    return [SitemapStatus(location=one, problem=problem) for one in locations]


# Jobs at the same time, each on a thread: a slow one does not hold up the others

#: The most jobs at the same time: each has a connection to the database.
AT_ONCE = 8


def side_by_side(jobs: Iterable[Callable[[], object]], using: str) -> None:
    """
    Run jobs, and return when all are done; raises what the first raised that failed.

    They run one after another where only this thread sees the rows of the database
    ``using``: within a transaction, as in a test, or in memory.
    """
    waiting = deque(jobs)
    failures: list[Exception] = []

    def work() -> None:
        with suppress(IndexError):
            while True:
                job = waiting.popleft()
                try:
                    job()
                except Exception as error:
                    failures.append(error)

    work_in_thread = in_this_tenant(work)

    def work_elsewhere() -> None:
        try:
            work_in_thread()
        finally:
            connections.close_all()

    # This thread takes part.
    number = 0 if _is_own(using) else min(AT_ONCE, len(waiting)) - 1
    threads = [
        threading.Thread(target=copy_context().run, args=(work_elsewhere,), daemon=True)
        for _ in range(number)
    ]
    # Where a process is ending, or has too many threads, this one does it all.
    with suppress(RuntimeError):
        for thread in threads:
            thread.start()
    work()
    for thread in threads:
        if thread.ident is not None:
            thread.join()
    if failures:
        raise failures[0]


def _is_own(using: str) -> bool:
    """Return whether no other thread would see what this one sees."""
    connection: Any = connections[using]
    is_in_memory = connection.vendor == "sqlite" and connection.is_in_memory_db()
    return bool(connection.in_atomic_block or is_in_memory)


def _forget(*, setting: str, **kwargs: Any) -> None:
    """Create the engines again after a test has overridden the settings."""
    if setting == NAME:
        engines.cache_clear()
    if setting in (NAME, "ALLOWED_HOSTS"):
        known_files.cache_clear()


setting_changed.connect(_forget, dispatch_uid="django_sitemaps_plus.delivery.engines")
