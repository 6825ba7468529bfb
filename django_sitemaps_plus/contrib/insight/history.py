"""
What is counted day by day for the admin's charts: entries, submissions, reads.

One row for each day and name. A chart reads a month of them, however many submissions
there were.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

from django.db import transaction
from django.db.models import F, Model, QuerySet, Sum
from django.utils.timezone import get_default_timezone

from django_sitemaps_plus.db import parts, retrying
from django_sitemaps_plus.hooks import Report
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.sitemaps.site import Site

from .models import DailyCount

Topic = DailyCount.Topic
_Row = TypeVar("_Row", bound=Model)
#: A named tuple of columns.
_RowName = TypeVar("_RowName", bound=Any)

#: Days for which counts are stored.
_KEEP = 92


class Name(NamedTuple):
    """What is counted of a site on one day."""

    site: str
    topic: str
    name: str
    outcome: str = ""


def today() -> dt.date:
    """Return the date in ``TIME_ZONE``."""
    return dt.datetime.now(get_default_timezone()).date()


def counts(days: int) -> QuerySet[DailyCount]:
    """Return the site's counts of the last days, today's included."""
    since = today() - dt.timedelta(days=days - 1)
    return DailyCount.objects.on_site().filter(day__gte=since)


def add(found: Mapping[Name, int]) -> None:
    """Add to today's counts, which other processes may do at the same time."""
    _write({name: number for name, number in found.items() if number}, is_sum=True)


def _write(found: Mapping[Name, int], *, is_sum: bool) -> None:
    """Store numbers of today, or add them to what is stored."""
    day = today()
    for some in parts(found.items()):
        run = partial(_write_some, day, dict(some), is_sum=is_sum)
        retrying(DailyCount.objects.of_all_sites().db, run)


def _write_some(day: dt.date, some: Mapping[Name, int], *, is_sum: bool) -> None:
    values = {
        name: {"number": F("number") + number if is_sum else number}
        for name, number in some.items()
    }
    rows = DailyCount.objects.of_all_sites().filter(day=day)
    write_named(rows, values, lambda name: DailyCount(day=day, **name._asdict()))


def write_named(
    rows: QuerySet[_Row],
    values: Mapping[_RowName, Mapping[str, Any]],
    new: Callable[[_RowName], _Row],
) -> None:
    """
    Update rows by the names that some columns give them; in one transaction.

    Where one is missing, the ``new`` one is stored and then updated as well.
    """
    kind = type(next(iter(values)))
    named = {
        f"{column}__in": {getattr(name, column) for name in values}
        for column in kind._fields
    }

    def stored() -> dict[_RowName, Any]:
        found = rows.filter(**named).values_list("pk", *kind._fields)
        pks = {kind(*name): pk for pk, *name in found}
        return {name: pks[name] for name in values if name in pks}

    with transaction.atomic(using=rows.db):
        pks = stored()
        missing = [new(name) for name in values if name not in pks]
        if missing:
            rows.bulk_create(missing, ignore_conflicts=True)
            pks = stored()
        # In one order, so that two processes do not wait for each other.
        for name, pk in sorted(pks.items(), key=itemgetter(1)):
            rows.filter(pk=pk).update(**values[name])


def count_settled(report: Report) -> None:
    """Count what engines have settled of the current site."""
    site, done = Site.current().key, Counter[Name]()
    for one in report.results:
        for outcome in ("accepted", "rejected", "failed"):
            name = Name(site, Topic.SUBMISSIONS, one.engine, outcome)
            done[name] += getattr(one, outcome)
    add(done)


def count_entries() -> None:
    """Store what each section lists now as today's number."""
    rows = Page.objects.on_site().order_by().values_list("section__name")
    sums = rows.annotate(total=Sum("entries"))
    site = Site.current().key
    found = {Name(site, Topic.ENTRIES, name): total or 0 for name, total in sums}
    _write(found, is_sum=False)


def prune_days() -> int:
    """Delete the site's counts that are older than ``_KEEP`` days; return how many."""
    before = today() - dt.timedelta(days=_KEEP)
    return DailyCount.objects.on_site().filter(day__lt=before).delete()[0]
