"""
Inspections of a day: each is counted before it is asked for, by one process of all.

They are a property's, whatever sites are part of it.

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


def quota_rows(name: str) -> Any:
    """Return the row of a property, in the database for writing."""
    return InspectionQuota.objects.filter(property=name[:200])


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
    """The right to inspect URLs of a property, which one process has."""

    def __init__(self, name: str) -> None:
        self._owner = uuid.uuid4().hex
        self._rows = rows = quota_rows(name)
        #: The time of the database when it was last asked.
        self.now = database_time(rows.db)
        if not rows.exists():
            new = InspectionQuota(property=name[:200])
            rows.bulk_create([new], ignore_conflicts=True)
        is_open = rows.filter(closed_until__lte=self.now)
        #: Whether this process has it.
        self.is_mine = is_open.take(self._owner, _CLAIM)
        self._row = rows.get()
        #: Whether Google answered a question of the last hour.
        self.is_known = self._row.answered_at > self.now - HOUR
        self._notes: dict[str, Any] = {}

    def take(self, count: int) -> int:
        """Count some requests that will be sent; return how many may be."""
        self.now = database_time(self._rows.db)
        row = self._row
        count, before = min(count, left(self.now, row)), used(self.now, row)
        same = self._rows.filter(day=row.day, used=row.used)
        row.day, row.used = midnight(self.now).date(), before + count
        counted = {"day": row.day, "used": row.used}
        return count if count and same.renew(self._owner, _CLAIM, **counted) else 0

    def note(self, **values: Any) -> None:
        """Remember that Google has answered, or why nothing is asked any more."""
        self._notes |= values

    def end(self) -> None:
        """Write down what is to be remembered, and let others inspect."""
        if self._notes:
            self._rows.filter(claimed_by=self._owner).update(**self._notes)
        self._rows.release(self._owner)
