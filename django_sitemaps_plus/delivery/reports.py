"""What engines say of the site's sitemaps: asked in the background, and stored."""

from __future__ import annotations

import datetime as dt

from django.db import transaction
from django.utils.dateparse import parse_datetime

from django_sitemaps_plus.db import database_time, retrying
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import Engine, SitemapStatus
from django_sitemaps_plus.publishing import index
from django_sitemaps_plus.sitemaps.site import Site

from .engines import engines
from .models import SitemapReport, digest_of
from .queries import reports, states

#: Seconds between two questions to an engine, and after one that had no answer. Search
#: Console reads sitemaps every few hours or days.
EVERY, SOON = 6 * 3600.0, 3600.0
#: The most characters of a time that an engine writes.
_TIME = 40


def has_reports(engine: Engine) -> bool:
    """Return whether an engine can say anything of sitemaps."""
    return type(engine).status is not Engine.status


def seconds_of(text: str | None) -> float | None:
    """Return a time as an engine writes it (RFC 3339); None for what is not one."""
    try:
        moment = parse_datetime(text or "")
    except ValueError:
        return None
    if moment is None:
        return None
    aware: dt.datetime = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return aware.timestamp()


def ask(*, at_once: bool = False) -> None:
    """
    Ask each engine that reports on sitemaps, and store what it says.

    An engine is asked every six hours, by one process; ``at_once`` where somebody
    wants to know now. Engines are not asked within a transaction of somebody else's.
    """
    site = Site.current().address()
    able = [one for one in engines().items() if has_reports(one[1])]
    if site is None or not able:
        return
    host, locations = site.origin.host, index.addresses(site)
    now = database_time(states().db)
    for alias, engine in able:
        states().ensure(alias, [host])
        row = states().filter(engine=alias, host=host)
        mine = row if at_once else row.filter(asked_at__lt=now - EVERY)
        if not mine.update(asked_at=now):
            # Another process has asked, or is asking.
            continue
        said = asking.status(engine, locations)
        store(alias, said, now)
        if any(one.problem for one in said):
            row.update(asked_at=now - EVERY + SOON)


def store(alias: str, said: list[SitemapStatus], now: float) -> None:
    """Store an engine's reports in the place of its former ones."""
    rows = [
        SitemapReport(
            engine=alias,
            location=one.location,
            digest=digest_of(one.location),
            last_submitted=(one.last_submitted or "")[:_TIME],
            last_downloaded=(one.last_downloaded or "")[:_TIME],
            is_pending=one.is_pending,
            errors=one.errors,
            warnings=one.warnings,
            submitted=dict(one.submitted),
            problem=one.problem,
            asked_at=now,
        )
        for one in said
    ]

    def write() -> None:
        with transaction.atomic(using=reports().db):
            reports().filter(engine=alias).delete()
            reports().bulk_create(rows, ignore_conflicts=True)

    retrying(reports().db, write)
