"""How sections and pages stand: what the ledger knows of them, and what to do next."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    OuterRef,
    Q,
    QuerySet,
    Sum,
    Value,
    When,
)

from django_sitemaps_plus.changes.models import Change
from django_sitemaps_plus.changes.queries import of_page
from django_sitemaps_plus.changes.schedule import EVERY
from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.pagination import deploys
from django_sitemaps_plus.pagination.queries import ledger, ordered, sections
from django_sitemaps_plus.rendering.digest import Definition, definition
from django_sitemaps_plus.rendering.serializer import describe
from django_sitemaps_plus.sitemaps.sections import (
    SectionSource,
    object_path_reason,
    source,
)

from .by_position import position_pages
from .freshness import hold

#: How many bad rows, and pages with an error, are shown.
SHOWN = 5
#: Seconds for which it is shown that the stored bytes of a page were lost.
LATELY = 7 * 86_400.0


@dataclass
class SectionState:
    """What is known of one section, and what to do next."""

    name: str
    #: The columns that divide it into pages; empty if it is paged by position.
    key: list[str] = field(default_factory=list)
    #: Why it is paged by position; empty if it is not.
    by_position: str = ""
    #: Why it is read object by object; empty on the row path.
    object_path: str = ""
    #: Whether the ledger has the bounds of all pages; None without its tables.
    filled: bool | None = None
    pages: int = 0
    #: Pages that were never built.
    unbuilt: int = 0
    entries: int = 0
    #: Rows left out, and the first of them: ``(key, reason)``.
    bad: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    #: Pages whose stored bytes were missing or damaged within the last week.
    lost: int = 0
    #: Why the section, or pages of it, cannot be built.
    errors: list[str] = field(default_factory=list)
    #: The next thing to do; empty if there is none.
    next: str = ""


def state(name: str) -> SectionState:
    """
    Return how the section ``name`` stands.

    Raises what the database raises.
    """
    found = SectionState(name)
    try:
        section = source(name)
    except Exception:  # items() may raise whatever it likes
        found.errors.append(problem_of(name))
        found.next = "correct the sitemap class"
        return found
    found.by_position = section.by_position
    found.object_path = object_path_reason(section.sitemap)
    if section.key is None:
        found.object_path = found.object_path or "it is paged by position"
    else:
        found.key = list(section.key.names)
    _read_ledger(section.name, section.signature, found)
    found.next = _next(section, found)
    return found


def trouble(name: str) -> str:
    """
    Return why nothing of a section can be listed or submitted; empty if it can.

    Of one whose class cannot be used nothing is said: see ``problem_of``.
    """
    try:
        section = source(name)
    except Exception:  # items() may raise whatever it likes
        return ""
    found = SectionState(name)
    _read_ledger(name, section.signature, found)
    if section.key is None and not found.pages:
        # Perhaps it has too many to be stored.
        return ""
    if found.errors:
        return f"Section {name!r} is in error: {found.errors[0]}"
    if not found.pages or found.unbuilt == found.pages:
        return f"Section {name!r} was never built: run manage.py build_sitemaps {name}."
    return ""


def _read_ledger(name: str, signature: str, found: SectionState) -> None:
    if not tables_exist(ledger()):
        return
    section = sections().filter(name=name, key=signature).first()
    found.filled = section is not None and section.filled
    if section is None:
        return
    rows = ordered(section)
    numbers = rows.order_by().aggregate(
        pages=Count("pk"),
        unbuilt=Count("pk", filter=Q(checksum="")),
        entries=Sum("entries"),
        bad=Sum("bad"),
        lost=Count("pk", filter=Q(lost_at__gt=time.time() - LATELY)),
    )
    found.pages, found.unbuilt = numbers["pages"], numbers["unbuilt"]
    found.lost = numbers["lost"]
    found.entries, found.bad = numbers["entries"] or 0, numbers["bad"] or 0
    known = rows.exclude(problems=[])
    for problems in known.values_list("problems", flat=True)[:SHOWN]:
        found.problems += [(key, reason) for key, reason in problems]
    del found.problems[SHOWN:]
    found.errors += rows.exclude(error="").values_list("error", flat=True)[:SHOWN]


def _next(source: SectionSource, found: SectionState) -> str:
    """Return the first thing that can be made better; empty if nothing can."""
    name = source.name
    faulty = "the rows" if found.bad else "the error"
    if source.key is None:
        if found.errors:
            return f"correct {faulty}, then run manage.py build_sitemaps {name}"
        if source.contrib_pages or position_pages(source) < 2:
            return ""
        return "let items() return a plain queryset, so that it is paged by key"
    if found.filled is None:
        return "run manage.py migrate sitemaps_plus"
    if found.errors:
        return f"correct {faulty}, then run manage.py build_sitemaps {name}"
    if not found.filled or found.unbuilt:
        return f"run manage.py build_sitemaps {name}"
    if found.bad:
        return f"correct the rows, then run manage.py build_sitemaps {name} --reconcile"
    if found.object_path:
        return f"run manage.py check_sitemaps --suggest {name}"
    return ""


# Pages


def problem_of(name: str) -> str:
    """Return why a registered section cannot be used; empty if it can."""
    try:
        definition(name)
    except ConfigurationError as error:
        return str(error)
    except Exception as error:  # items() may raise whatever it likes
        return describe(error)
    return ""


def with_states(
    rows: QuerySet[Any], problems: Mapping[str, str], now: float
) -> QuerySet[Any]:
    """
    Add to pages their ``state``, and the ``problem`` of their section.

    ``problems`` has every registered section's. By expressions, so that one query
    reads a list and finds a state. "fresh" and "grace" are what ``is_fresh`` allows.
    """
    broken = {name: problem for name, problem in problems.items() if problem}
    known = {name: definition(name) for name in problems if name not in broken}
    change = Change.objects.filter(
        of_page(OuterRef("number")),
        site=OuterRef("section__site"),
        section=OuterRef("section__name"),
    )
    cases: list[tuple[Q, str]] = [
        (Q(section__name__in=list(broken)), "broken"),
        (~Q(error=""), "error"),
        (~Q(section__name__in=list(known)), "unregistered"),
        (Q(checksum=""), "never"),
        # In a deploy newer code runs beside this one: its pages are served.
        *((_is_newer(name, one, now), "fresh") for name, one in known.items()),
        (Q(Exists(change)), "waits"),
        *((_is_due(name, one, now), "due") for name, one in known.items()),
        (Q(grace_until__gt=now) & ~Q(grace_checksum=""), "grace"),
    ]
    states = (When(condition, then=Value(state)) for condition, state in cases)
    texts = (
        When(section__name=name, then=Value(text)) for name, text in broken.items()
    )
    annotated: QuerySet[Any] = rows.annotate(
        state=Case(*states, default=Value("fresh"), output_field=CharField()),
        problem=Case(*texts, default=Value(""), output_field=CharField()),
    )
    return annotated


def _is_newer(name: str, current: Definition, now: float) -> Q:
    in_use = Q(
        section__digest_since__gt=deploys.STARTED,
        section__digest_seen__gt=now - deploys.IN_USE,
    )
    own = Q(section__digest__in=["", current.digest])
    return Q(section__name=name) & in_use & ~own


def _is_due(name: str, current: Definition, now: float) -> Q:
    """Return the condition of pages to compare, or built by another definition."""
    fresh = Q(
        section__key=current.key,
        section__filled=True,
        digest=current.digest,
        verified_at__gt=now - hold(current),
        verified_at__lte=now,
    )
    if current.ticks:
        fresh &= Q(section__ticked_at__gt=now - EVERY, section__ticked_at__lte=now)
    return Q(section__name=name) & ~(fresh & ~deploys.shared(now))
