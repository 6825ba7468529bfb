"""What is done once an hour: today's entries are counted, what is old is deleted."""

from __future__ import annotations

import math
import time

from django_sitemaps_plus.sitemaps.site import current_site

from . import history, readers

#: Seconds between two times.
EVERY = 3600.0

#: When this process last did it, by site and the monotonic clock.
_done_at: dict[str, float] = {}


def tend() -> None:
    """
    Count the entries of the site's sections, and delete old counts: once an hour.

    Called by whoever works in the background, so that the charts go on where nothing
    changes.
    """
    site, now = current_site(), time.monotonic()
    if now - _done_at.get(site, -math.inf) < EVERY:
        return
    _done_at[site] = now
    history.count_entries()
    history.prune()
    readers.prune()
