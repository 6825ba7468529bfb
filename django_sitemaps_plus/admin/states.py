"""How pages stand: each one's state, and the site's health in one line."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

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

from django_sitemaps_plus.changes.models import Change
from django_sitemaps_plus.changes.queries import changes, of_page
from django_sitemaps_plus.changes.schedule import EVERY
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.pagination.deploys import IN_USE, STARTED
from django_sitemaps_plus.pagination.queries import pages, sections
from django_sitemaps_plus.publishing.freshness import hold
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
        definition(name)
    except ConfigurationError as error:
        return str(error)
    except Exception as error:  # items() may raise whatever it likes
        return describe(error)
    return ""


def with_states(found: QuerySet[Any], now: float) -> QuerySet[Any]:
    """
    Add to pages their ``state``, a key of ``STATES``, and their section's ``problem``.

    By expressions, so that one query reads a list and a filter finds what it shows.
    What they call fresh ``publishing.freshness.is_fresh`` does, too.
    """
    problems = {name: problem_of(name) for name in registered()[0]}
    broken = {name: problem for name, problem in problems.items() if problem}
    fine = {name: definition(name) for name in problems if name not in broken}
    keyed = {name: known for name, known in fine.items() if known.key is not None}
    waiting = Change.objects.filter(
        of_page(OuterRef("number")), section=OuterRef("section__name")
    )
    newer = Q(section__digest_since__gt=STARTED, section__digest_seen__gt=now - IN_USE)
    cases: list[tuple[Q, str]] = [
        (Q(section__name__in=list(broken)), "broken"),
        (~Q(error=""), "error"),
        (~Q(section__name__in=list(keyed)), "unregistered"),
        (Q(checksum=""), "never"),
        *(
            (
                Q(section__name=name)
                & newer
                & ~Q(section__digest__in=["", known.digest]),
                "fresh",
            )
            for name, known in keyed.items()
        ),
        (Q(Exists(waiting)), "waits"),
        *((condition, "due") for condition in _due(keyed, now)),
        (Q(grace_until__gt=now) & ~Q(grace_checksum=""), "grace"),
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


def _due(keyed: Mapping[str, Definition], now: float) -> Iterator[Q]:
    """Yield the conditions of pages to be compared, or built by another definition."""
    for name, current in keyed.items():
        fresh = Q(
            section__key=current.key,
            section__filled=True,
            digest=current.digest,
            verified_at__gt=now - hold(current),
            verified_at__lte=now,
        )
        if current.ticks:
            fresh &= Q(section__ticked_at__gt=now - EVERY, section__ticked_at__lte=now)
        yield Q(section__name=name) & ~fresh


def health() -> str:
    """Return in one line how the site's pages stand."""
    _names, problem = registered()
    if problem:
        return problem
    found = with_states(pages(), time.time()).order_by()
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
    late = changes().filter(at__lt=time.time() - LATE)[:MOST].count()
    text = ngettext(
        "%(late)s change has waited for longer than 15 minutes.",
        "%(late)s changes have waited for longer than 15 minutes.",
        late,
    )
    return text % {"late": late if late < MOST else f"{MOST}+"}


def without_pages() -> Iterator[tuple[str, str]]:
    """Yield the registered sections that have no pages in the ledger, and why."""
    filled = set(sections().filter(filled=True).values_list("name", flat=True))
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
