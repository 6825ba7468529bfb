"""
What is counted day by day for the admin's charts: entries, submissions, reads.

One row for each day and name. A chart reads a month of them, however many submissions
there were.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from django.db import router, transaction
from django.db.models import F, QuerySet, Sum
from django.utils import timezone

from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.pagination.queries import of_sections, pages
from django_sitemaps_plus.sitemaps.site import current_site

from .models import DailyCount

Topic = DailyCount.Topic

#: Days for which counts are stored.
KEEP = 92
#: Rows of one statement.
ROWS = 500


class Name(NamedTuple):
    """What is counted of a site on one day."""

    site: str
    topic: str
    name: str
    outcome: str = ""


def counts_of_all_sites() -> QuerySet[DailyCount]:
    """Return the counts of whichever site, in the database for writing."""
    rows: QuerySet[DailyCount] = DailyCount.objects.using(
        router.db_for_write(DailyCount)
    )
    return rows


def counts(days: int) -> QuerySet[DailyCount]:
    """Return the site's counts of the last days, today's included."""
    since = today() - dt.timedelta(days=days - 1)
    return counts_of_all_sites().filter(site=current_site(), day__gte=since)


def today() -> dt.date:
    """Return the date in ``TIME_ZONE``."""
    zone = timezone.get_default_timezone()
    return dt.datetime.now(zone).date()


def add(found: Mapping[Name, int]) -> None:
    """Add to today's counts, which other processes may do at the same time."""
    _write({name: number for name, number in found.items() if number}, is_sum=True)


def _write(found: Mapping[Name, int], *, is_sum: bool) -> None:
    """Store numbers of today, or add them to what is stored."""
    day, names = today(), list(found)
    for start in range(0, len(names), ROWS):
        some = {name: found[name] for name in names[start : start + ROWS]}
        run = partial(_write_some, day, some, is_sum=is_sum)
        retrying(counts_of_all_sites().db, run)


def _write_some(day: dt.date, some: Mapping[Name, int], *, is_sum: bool) -> None:
    every = counts_of_all_sites()
    with transaction.atomic(using=every.db):
        known = _known(day, some)
        missing = [DailyCount(day=day, **name._asdict()) for name in {*some} - {*known}]
        if missing:
            every.bulk_create(missing, ignore_conflicts=True)
            known = _known(day, some)
        # In one order, so that two processes do not wait for each other.
        for name, pk in sorted(known.items(), key=lambda item: item[1]):
            number = F("number") + some[name] if is_sum else some[name]
            every.filter(pk=pk).update(number=number)


def _known(day: dt.date, some: Mapping[Name, int]) -> dict[Name, int]:
    rows = counts_of_all_sites().filter(day=day, site__in={name.site for name in some})
    found = rows.filter(topic__in={name.topic for name in some})
    values = found.values_list(*Name._fields, "pk")
    stored = {Name(*row[:-1]): row[-1] for row in values}
    return {name: stored[name] for name in some if name in stored}


def count_entries() -> None:
    """Store what each section lists now as today's number."""
    rows = pages().filter(of_sections()).order_by().values_list("section__name")
    sums = rows.annotate(total=Sum("entries"))
    site = current_site()
    found = {Name(site, Topic.ENTRIES, name): total or 0 for name, total in sums}
    _write(found, is_sum=False)


def prune() -> int:
    """Delete the site's counts that are older than ``KEEP`` days; return how many."""
    before = today() - dt.timedelta(days=KEEP)
    rows = counts_of_all_sites().filter(site=current_site(), day__lt=before)
    return rows.delete()[0]
