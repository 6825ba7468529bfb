"""Runs once an hour: records what sections list, and deletes what is old."""

from __future__ import annotations

import time

from django_sitemaps_plus import hooks
from django_sitemaps_plus.changes import url_changes
from django_sitemaps_plus.pagination.lately import note_entries
from django_sitemaps_plus.pagination.queries import row_of, sections

from . import outbox

#: Seconds between two times.
TENDED_EVERY = 3600.0


def tend() -> None:
    """
    Note what the site lists, and delete what is old: one process does it each hour.

    Called by whoever works in the background, also where nothing changes.
    """
    now = time.time()
    site = sections().filter(name="")
    # The other way round where the clock was set back.
    lately = {"tended_at__gt": now - TENDED_EVERY, "tended_at__lte": now}
    if site.filter(**lately).exists():
        return
    row_of("")
    if not site.exclude(**lately).update(tended_at=now):
        return
    note_entries()
    url_changes.prune_url_changes()
    outbox.prune()
    hooks.hourly()
