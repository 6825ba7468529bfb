"""Items that appear and expire by the clock: what crossed its moment is recorded."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Value
from django.db.models.expressions import Combinable, CombinedExpression
from django.utils import timezone

from django_sitemaps_plus.pagination.models import Section
from django_sitemaps_plus.pagination.queries import sections
from django_sitemaps_plus.sitemaps.attributes import alias, moments
from django_sitemaps_plus.sitemaps.keys import Key
from django_sitemaps_plus.sitemaps.sections import SectionSource, database_of
from django_sitemaps_plus.sitemaps.site import Site

from .hints import MOST_KEYS, Hint, write_hints

#: Seconds between two looks for items that appeared or expired.
TICKS_EVERY = 60
#: Seconds by which the clocks of two hosts may differ: so far back a look goes, for
#: another host may have built the page before its own clock said that it was time.
_SKEW = 5.0


def ticks_are_due(ticked_at: float, now: float) -> bool:
    """Return whether it is time to look again, also where the clock was set back."""
    return not 0 <= now - ticked_at < TICKS_EVERY


def record_crossed(source: SectionSource, section: Section) -> bool:
    """
    Record what appeared or expired since the last look, once a minute.

    The first look finds no time from which to go on: all pages are compared then.
    Returns whether it was time.
    """
    declared, since, now = moments(source.sitemap), section.ticked_at, time.time()
    if not declared or source.key is None or not ticks_are_due(since, now):
        return False
    hints = [] if since else [Hint(source.name, site=Site.current().key)]
    for name, moment in declared.items() if since else ():
        hints += _crossed(source, source.key, name, moment, since - _SKEW, now)
    row = sections().filter(pk=section.pk, ticked_at=since)
    with transaction.atomic(using=row.db):
        # Of two that look at once, one records it.
        if row.update(ticked_at=now) and hints:
            write_hints(hints)
    section.ticked_at = now
    return True


def _crossed(
    source: SectionSource, key: Key, name: str, moment: Any, since: float, now: float
) -> list[Hint]:
    """Return what crossed a moment: some keys, or the section if they are too many."""
    moment, later = _shifted(moment)
    # What expired is not among the items any more.
    rows = key.model._base_manager.using(database_of(source.sitemap.items()))
    column, after, until = alias(name), _datetime(since) - later, _datetime(now) - later
    crossed = {f"{column}__gt": after, f"{column}__lte": until}
    found = rows.annotate(**{column: moment}).filter(**crossed)
    keys = list(key.values(found).order_by()[: MOST_KEYS + 1])
    if len(keys) > MOST_KEYS:
        return [Hint(source.name, site=Site.current().key)]
    # Other sites look at the clock themselves.
    is_new, site = name == "appears", Site.current().key
    return [
        Hint(source.name, key.dumps(value), created=is_new, site=site) for value in keys
    ]


def _shifted(moment: Any) -> tuple[Any, dt.timedelta]:
    """
    Split ``F("published") + timedelta(days=2)``.

    The column itself is compared then, with an earlier time, so that its index is used.
    """
    if isinstance(moment, CombinedExpression) and moment.connector == Combinable.ADD:
        left, right = moment.get_source_expressions()
        if isinstance(right, Value) and isinstance(right.value, dt.timedelta):
            return left, right.value
    return moment, dt.timedelta()


def _datetime(seconds: float) -> dt.datetime:
    """Return a moment as the project's fields have it."""
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return moment if settings.USE_TZ else timezone.make_naive(moment)
