"""Where submissions and the states of engines are read and written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Min, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from django_sitemaps_plus.db import DatabaseTime

from .models import (
    EngineState,
    EngineStateQuerySet,
    Submission,
    SubmissionQuerySet,
)


def submissions() -> SubmissionQuerySet:
    """Return the site's submissions, in the database for writing."""
    return Submission.objects.on_site()


def states() -> EngineStateQuerySet:
    """Return the states of the site's engines, in the database for writing."""
    return EngineState.objects.on_site()


def of_engine() -> SubmissionQuerySet:
    """Return the submissions to the engine and the host of an outer query."""
    return submissions().filter(engine=OuterRef("engine"), host=OuterRef("host"))


def number_of_submissions(rows: SubmissionQuerySet) -> Coalesce:
    """Return how many submissions to an engine there are, as an expression."""
    grouped = rows.order_by().values("engine").annotate(n=Count("pk"))
    return Coalesce(Subquery(grouped.values("n")), 0)


def with_first_due(
    rows: EngineStateQuerySet, sections: Sequence[str] = ()
) -> QuerySet[Any]:
    """
    Add to states when the first submission that waits may be sent, as ``first_due``.

    Of some sections, or of all. None where nothing waits.
    """
    first = _waiting(sections).order_by("due_at").values("due_at")[:1]
    found: QuerySet[Any] = rows.annotate(first_due=Subquery(first))
    return found


def with_waiting(
    rows: EngineStateQuerySet, late: float, sections: Sequence[str] = ()
) -> QuerySet[Any]:
    """
    Add to states how many submissions wait, as ``waiting_n``, and ``first_due``.

    ``late_n`` have been due for ``late`` seconds; the first that waits was created at
    ``waiting_since``.
    """
    # Subqueries of their own: by one, SQLite reads all rows.
    waiting = _waiting(sections)
    overdue = waiting.filter(due_at__lt=DatabaseTime() - late)
    # By its id, which is in the index: for its time all rows would be read.
    ids = waiting.order_by().values("engine").annotate(first=Min("pk"))
    oldest = submissions().filter(pk=OuterRef("oldest"))
    found: QuerySet[Any] = with_first_due(rows, sections).annotate(
        waiting_n=number_of_submissions(waiting),
        late_n=number_of_submissions(overdue),
        oldest=Subquery(ids.values("first")),
        waiting_since=Subquery(oldest.values("created_at")),
    )
    return found


def _waiting(sections: Sequence[str]) -> SubmissionQuerySet:
    rows = of_engine().filter(due_at__isnull=False)
    return rows.filter(section__in=sections) if sections else rows
