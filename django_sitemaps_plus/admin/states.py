"""How pages stand: each one's state, and the site's health in one line."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db import connections, router
from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.changes import assignment
from django_sitemaps_plus.changes.reporting import lookup
from django_sitemaps_plus.changes.statements import can_record
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.pagination import ledger
from django_sitemaps_plus.publishing import pages
from django_sitemaps_plus.rendering.digest import Definition, definition
from django_sitemaps_plus.rendering.serializer import describe
from django_sitemaps_plus.sitemaps.sections import source

from .display import MOST, registered

#: Seconds after which a change that still waits is worth a look.
LATE = 900

#: Each state of a page: its word and its colour (on white, at least 4.5 to 1).
STATES: dict[str, tuple[Any, str]] = {
    "broken": (_("section in error"), "#b00020"),
    "error": (_("in error"), "#b00020"),
    "never": (_("never made"), "#6a1b9a"),
    "grace": (_("in grace"), "#1a5fb4"),
    "waits": (_("stale: a change waits"), "#8a4b00"),
    "due": (_("stale: compare due"), "#7a5c00"),
    "unregistered": (_("not registered"), "#555555"),
    "fresh": (_("fresh"), "#1b6e2c"),
}


def problem_of(name: str) -> str:
    """Return why a registered section cannot be used; nothing if it can."""
    try:
        if definition(name).key is not None:
            lookup(name)
    except ConfigurationError as error:
        return str(error)
    except Exception as error:  # items() may raise whatever it likes
        return describe(error)
    return ""


def with_states(found: QuerySet[Any], now: float) -> QuerySet[Any]:
    """
    Add to pages their ``state``, a key of ``STATES``, and their section's ``problem``.

    By expressions, so that one query reads a list and a filter finds what it shows.
    What they call fresh ``publishing.pages.is_fresh`` does, too.
    """
    problems = {name: problem_of(name) for name in registered()[0]}
    broken = {name: problem for name, problem in problems.items() if problem}
    fine = {name: definition(name) for name in problems if name not in broken}
    kept = {name: known for name, known in fine.items() if known.key is not None}
    cases: list[tuple[Q, str]] = [
        (Q(section__name__in=list(broken)), "broken"),
        (~Q(error=""), "error"),
        (~Q(section__name__in=list(kept)), "unregistered"),
        (Q(checksum=""), "never"),
        (Q(grace_until__gt=now), "grace"),
        *((condition, "waits") for condition in _waiting(kept)),
        *((condition, "due") for condition in _due(kept, now)),
    ]
    texts = (
        When(section__name=name, then=Value(text)) for name, text in broken.items()
    )
    words = (When(condition, then=Value(word)) for condition, word in cases)
    annotated: QuerySet[Any] = found.annotate(
        state=Case(*words, default=Value("fresh"), output_field=CharField()),
        problem=Case(*texts, default=Value(""), output_field=CharField()),
    )
    return annotated


def _due(kept: Mapping[str, Definition], now: float) -> Iterator[Q]:
    """Yield the conditions of pages to be compared, or made by another definition."""
    # In a deploy newer code may run beside this one: its pages are served.
    newer = ledger.sections().filter(digest_since__gt=pages.STARTED)
    digests = dict(newer.values_list("name", "digest"))
    for name, current in kept.items():
        fresh = Q(
            section__key=current.key,
            section__filled=True,
            grace_until=0,
            digest__in=[current.digest, digests.get(name, current.digest)],
            verified_at__gt=now - pages.hold(current),
            verified_at__lte=now,
        )
        if current.ticks:
            since = now - assignment.TICK
            fresh &= Q(section__ticked_at__gt=since, section__ticked_at__lte=now)
        yield Q(section__name=name) & ~fresh


def _waiting(names: Iterable[str]) -> Iterator[Q]:
    """Yield the conditions of pages that a recorded change may concern."""
    near, far = assignment.apart(names, ledger.pages().db)
    if near:
        concerned = Change.objects.filter(
            assignment.of_page(OuterRef("number")), section=OuterRef("section__name")
        )
        yield Q(Exists(concerned), section__name__in=near)
    for name in far:
        if not can_record(lookup(name).database):
            continue
        recorded = assignment.recorded(name).order_by()
        if recorded.filter(page=None).exists():
            yield Q(section__name=name)
        numbers = recorded.exclude(page=None).values_list("page", flat=True).distinct()
        yield Q(section__name=name, number__in=list(numbers[:MOST]))


def recording_databases() -> list[str]:
    """Return the databases in which changes are recorded."""
    return [
        using
        for using in connections
        if router.allow_migrate_model(using, Change) and can_record(using)
    ]


def health() -> str:
    """Return in one line how the site's pages stand."""
    _names, problem = registered()
    if problem:
        return problem
    found = with_states(ledger.pages(), time.time()).order_by()
    counts = dict(found.values_list("state").annotate(n=Count("pk")))
    total = sum(counts.values())
    shown = ngettext(
        "%(pages)d page: %(stale)d stale, %(never)d never made, %(error)d in error.",
        "%(pages)d pages: %(stale)d stale, %(never)d never made, %(error)d in error.",
        total,
    ) % {
        "pages": total,
        "stale": counts.get("waits", 0) + counts.get("due", 0),
        "never": counts.get("never", 0),
        "error": counts.get("error", 0) + counts.get("broken", 0),
    }
    return f"{shown} {_late()}"


def _late() -> str:
    """Return how many changes wait for too long."""
    late = sum(
        Change.objects.using(using).filter(at__lt=time.time() - LATE)[:MOST].count()
        for using in recording_databases()
    )
    text = ngettext(
        "%(late)s change has waited for longer than 15 minutes.",
        "%(late)s changes have waited for longer than 15 minutes.",
        late,
    )
    return text % {"late": late if late < MOST else f"{MOST}+"}


def without_pages() -> Iterator[tuple[str, str]]:
    """Yield the registered sections that have no pages in the ledger, and why."""
    filled = set(ledger.sections().filter(filled=True).values_list("name", flat=True))
    for name in registered()[0]:
        problem = problem_of(name)
        if name in filled:
            continue
        if problem:
            yield name, problem
        elif reason := source(name).by_position:
            yield name, gettext("Paged by position, because %s.") % reason
        else:
            yield (
                name,
                gettext("Not filled yet. Type: python manage.py build_sitemaps"),
            )
