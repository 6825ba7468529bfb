"""
Inspections of a day: each is counted before it is asked for, by one process of all.

So the quota is never passed, whoever is killed or started. Google's day begins at
midnight in California, and all processes go by the database's clock.
"""

from __future__ import annotations

import datetime as dt
import math
import uuid
from typing import Any
from zoneinfo import ZoneInfo

from django_sitemaps_plus.db import database_time

from .conf import inspections
from .models import InspectionQuota

#: Seconds for which a claim holds: a batch has a timeout and, with a new token, some.
_CLAIM = 180.0
DAY, HOUR = 86_400.0, 3_600.0
_ZONE = ZoneInfo("America/Los_Angeles")


def quotas() -> Any:
    """Return the site's row, in the database for writing."""
    return InspectionQuota.objects.on_site()


def midnight(now: float) -> dt.datetime:
    """Return when the day began that a time is in."""
    local = dt.datetime.fromtimestamp(now, _ZONE)
    return local.replace(hour=0, minute=0, second=0, microsecond=0)


def left(now: float, row: InspectionQuota, *, by_now: bool = False) -> int:
    """
    Return how many URLs may still be inspected today; none while that is closed.

    ``by_now`` spreads them over the day.
    """
    start, most = midnight(now), inspections()
    if by_now:
        most = math.ceil(most * min(1.0, (now - start.timestamp()) / DAY))
    if row.closed_until > now or row.day > start.date():
        return 0
    return max(0, most - used(now, row))


def used(now: float, row: InspectionQuota) -> int:
    """Return how many requests were counted today."""
    return row.used if row.day == midnight(now).date() else 0


def tomorrow(now: float) -> float:
    """Return when the next day begins: after 23 to 25 hours."""
    return midnight(midnight(now).timestamp() + 26 * HOUR).timestamp()


class Turn:
    """The right to inspect, which one process has."""

    def __init__(self) -> None:
        self._owner = uuid.uuid4().hex
        rows = quotas()
        #: The time of the database when it was last asked.
        self.now = database_time(rows.db)
        if not rows.exists():
            rows.bulk_create([InspectionQuota()], ignore_conflicts=True)
        is_open = rows.filter(closed_until__lte=self.now)
        #: Whether this process has it.
        self.is_mine = is_open.take(self._owner, _CLAIM)
        #: Whether Google answered a question of the last hour.
        self.is_known = rows.filter(answered_at__gt=self.now - HOUR).exists()

    def take(self, count: int) -> int:
        """Count some requests that will be sent; return how many may be."""
        rows = quotas()
        self.now = database_time(rows.db)
        row = rows.get()
        count, before = min(count, left(self.now, row)), used(self.now, row)
        same, today = rows.filter(day=row.day, used=row.used), midnight(self.now).date()
        counted = {"day": today, "used": before + count}
        return count if count and same.renew(self._owner, _CLAIM, **counted) else 0

    def note(self, **values: Any) -> None:
        """Write down that Google has answered, or why nothing is asked any more."""
        quotas().filter(claimed_by=self._owner).update(**values)

    def end(self) -> None:
        """Let others inspect."""
        quotas().release(self._owner)
