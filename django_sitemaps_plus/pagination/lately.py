"""What each section listed in the last days, to notice that most of it is gone."""

from __future__ import annotations

import datetime as dt
import time

from django.db.models import Sum
from django.utils import timezone

from django_sitemaps_plus.protocol.dates import moment

from .queries import pages, sections

#: Days that are stored beside today.
_DAYS = 7


def today() -> dt.date:
    """Return the date in ``TIME_ZONE``."""
    return _day_of(time.time())


def _day_of(seconds: float) -> dt.date:
    """Return the date in ``TIME_ZONE`` of a time."""
    return moment(seconds).astimezone(timezone.get_default_timezone()).date()


def _read(listed: object) -> dict[str, int]:
    """Return the numbers of ``Section.listed``, as far as they can be read."""
    numbers = listed if isinstance(listed, dict) else {}
    return {day: count for day, count in numbers.items() if isinstance(count, int)}


def note_entries() -> None:
    """Store what each section of the site lists now; of a day its largest number."""
    day = today()
    first = str(day - dt.timedelta(days=_DAYS))
    sums = pages().on_site().order_by().values_list("section")
    totals = dict(sums.annotate(total=Sum("entries")))
    for pk, listed in sections().filter(pk__in=totals).values_list("pk", "listed"):
        kept = {name: n for name, n in _read(listed).items() if name >= first}
        kept[str(day)] = max(kept.get(str(day), 0), totals[pk] or 0)
        sections().filter(pk=pk).update(listed=kept)


def most_listed(listed: object, since: float) -> int:
    """Return the most that a section listed in a week, on days after that of a time."""
    first = max(str(today() - dt.timedelta(days=_DAYS + 1)), str(_day_of(since)))
    return max((n for day, n in _read(listed).items() if day > first), default=0)
