"""What engines say of the site's sitemaps: asked in the background, and stored."""

from __future__ import annotations

import datetime as dt
from functools import partial

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
from .side_by_side import side_by_side

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
    wants to know now. A slow engine holds up no other, and none is asked within a
    transaction of somebody else's.
    """
    site = Site.current().address()
    able = [one for one in engines().items() if has_reports(one[1])]
    if site is None or not able:
        return
    host, locations = site.origin.host, index.addresses(site)
    for alias, _ in able:
        states().ensure(alias, [host])
    jobs = [partial(_ask_one, *one, host, locations, at_once) for one in able]
    side_by_side(jobs, states().db)


def _ask_one(
    alias: str, engine: Engine, host: str, locations: list[str], at_once: bool
) -> None:
    """Ask one engine, unless another process asks it or has asked."""
    now = database_time(states().db)
    row = states().filter(engine=alias, host=host)
    mine = row if at_once else row.filter(asked_at__lt=now - EVERY)
    if not mine.update(asked_at=now):
        return
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
