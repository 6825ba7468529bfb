"""What is done once an hour: today's entries are counted, what is old is deleted."""

from __future__ import annotations

import time

from django_sitemaps_plus.changes import url_changes
from django_sitemaps_plus.pagination.queries import row_of, sections
from django_sitemaps_plus.publishing import history, readers

from . import outbox

#: Seconds between two times.
EVERY = 3600.0


def tend() -> None:
    """
    Count the site's entries, and delete what is old: one process does it each hour.

    Called by whoever works in the background, so that the charts go on where nothing
    changes.
    """
    now = time.time()
    site = sections().filter(name="")
    # The other way round where the clock was set back.
    lately = {"tended_at__gt": now - EVERY, "tended_at__lte": now}
    if site.filter(**lately).exists():
        return
    row_of("")
    if not site.exclude(**lately).update(tended_at=now):
        return
    history.count_entries()
    history.prune()
    readers.prune()
    url_changes.prune()
    outbox.prune()
