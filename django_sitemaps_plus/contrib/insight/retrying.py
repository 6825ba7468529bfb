"""Submit once more what was rejected or failed."""

from __future__ import annotations

from typing import Any

from django.db.models import Case, OuterRef, QuerySet, Subquery, When
from django.db.models.functions import Greatest

from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.models import Submission, SubmissionQuerySet
from django_sitemaps_plus.delivery.outbox import (
    EVENTS_AT_ONCE,
    Kind,
    Notice,
    State,
    locked,
    put,
)
from django_sitemaps_plus.delivery.queries import states, submissions

#: Submissions that one action in the admin retries.
MOST_RETRIED = 10_000


def retry(chosen: QuerySet[Submission]) -> int:
    """
    Submit once more what was rejected or failed; return how many.

    At most ``MOST_RETRIED`` of an engine at a time, whose rows are replaced. What
    failed may have been received, and a URL may have been accepted since: these wait
    for the interval.
    """
    over = chosen.filter(state__in=(State.REJECTED, State.FAILED))
    done = 0
    with locked() as now:
        for alias, engine in engines().items():
            rows = list(over.filter(engine=alias)[:MOST_RETRIED])
            for start in range(0, len(rows), EVENTS_AT_ONCE):
                some = rows[start : start + EVENTS_AT_ONCE]
                former = submissions().filter(pk__in=[row.pk for row in some])
                former.filter(state=State.REJECTED).delete()
                notices = [
                    Notice(row.url, row.host, Kind(row.kind), row.section)
                    for row in some
                ]
                if added := put(notices, now, {alias: engine}):
                    states().filter(engine=alias).update(paused_until=0)
                    done += added
                former.delete()
    return done


def with_pause(rows: SubmissionQuerySet) -> QuerySet[Any]:
    """Add to submissions until when their engine takes none, as ``paused_until``."""
    engine = states().filter(engine=OuterRef("engine"), host=OuterRef("host"))
    of_urls = engine.values(until=Greatest("paused_until", "exhausted_until"))
    until = Case(
        # Sitemaps have no quota.
        When(kind=Submission.Kind.SITEMAP, then=engine.values("paused_until")),
        default=Subquery(of_urls),
    )
    found: QuerySet[Any] = rows.annotate(paused_until=until)
    return found
