"""Submit once more what was rejected or failed."""

from __future__ import annotations

from typing import Any

from django.db.models import Case, OuterRef, QuerySet, Subquery, When
from django.db.models.functions import Greatest

from django_sitemaps_plus.db import parts
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.outbox import Notice, locked, put
from django_sitemaps_plus.models import EngineState, Submission

#: Submissions that one action in the admin retries.
MOST_RETRIED = 10_000


def retry(chosen: QuerySet[Submission]) -> int:
    """
    Submit once more what was rejected or failed; return how many.

    At most ``MOST_RETRIED`` of an engine at a time, whose rows are replaced. What
    failed may have been received, and a URL may have been accepted since: these wait
    for the interval.
    """
    over = chosen.filter(state__in=(Submission.State.REJECTED, Submission.State.FAILED))
    done = 0
    with locked() as now:
        for alias, engine in engines().items():
            states = EngineState.objects.on_site().filter(engine=alias)
            rows = list(over.filter(engine=alias)[:MOST_RETRIED])
            for some in parts(rows):
                former = Submission.objects.on_site().filter(
                    pk__in=[row.pk for row in some]
                )
                former.filter(state=Submission.State.REJECTED).delete()
                notices = [
                    Notice(row.url, row.host, Submission.Kind(row.kind), row.section)
                    for row in some
                ]
                if added := put(notices, now, [engine]):
                    states.update(paused_until=0)
                    done += added
                former.delete()
    return done


def with_pause(rows: QuerySet[Submission]) -> QuerySet[Any]:
    """Add to submissions until when their engine takes none, as ``paused_until``."""
    engine = EngineState.objects.on_site().filter(
        engine=OuterRef("engine"), host=OuterRef("host")
    )
    of_urls = engine.values(until=Greatest("paused_until", "exhausted_until"))
    until = Case(
        # Sitemaps have no quota.
        When(kind=Submission.Kind.SITEMAP, then=engine.values("paused_until")),
        default=Subquery(of_urls),
    )
    found: QuerySet[Any] = rows.annotate(paused_until=until)
    return found
