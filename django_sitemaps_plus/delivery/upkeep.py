"""
Runs once an hour: records what sections list, and deletes what is old.

And times of a clock that was ahead are set back: what it sent would not be sent again
until then, and what it claimed would belong to nobody.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from itertools import chain
from typing import Any

from django.apps import apps
from django.db.models import FloatField, Model, Q

from django_sitemaps_plus import hooks
from django_sitemaps_plus.changes import queries, url_changes
from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.pagination.lately import note_entries
from django_sitemaps_plus.pagination.queries import (
    ledger,
    of_sections,
    pages,
    row_of,
    sections,
)

from . import outbox
from .engines import engines
from .queries import states, submissions

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds between two times.
TENDED_EVERY = 3600.0
#: Seconds by which the clocks of two hosts may differ.
_SKEW = 60.0
#: Seconds from now to the latest time that is not a clock's fault, of columns that say
#: until when something is so, or what entries say. Waits are a day at most, and those
#: of engines their interval.
_LATEST = 2 * 86_400.0
_LATER = ("due_at", "announce_at", "lastmod", "newest")
#: The same of columns that say until when something is somebody's: that is minutes.
_CLAIMED = ("claimed_until", "waiting_until")
_LONGEST_CLAIM = 3600.0


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
    _set_back()
    note_entries()
    url_changes.prune_url_changes()
    outbox.prune()
    hooks.hourly()


def _set_back() -> None:
    """Set stored times that are still to come to now: a clock was ahead."""
    using = ledger()
    now = database_time(using)
    # The large tables are read only if others say that there was such a clock.
    clues = [sections(), states(), pages().filter(of_sections())]
    newest = queries.url_changes().filter(at__gt=now + _SKEW)
    if not (newest.exists() or any(_ahead(rows, now).exists() for rows in clues)):
        return
    logger.warning("A clock was ahead: times that are still to come are set to now.")
    # Nearer, for these were counted from the time of the same clock.
    submissions().filter(created_at__gt=now + _SKEW).update(due_at=now)
    configs = map(apps.get_app_config, hooks.labels())
    for model in chain.from_iterable(one.get_models() for one in configs):
        rows = model._base_manager.using(using)
        for name, latest in _times(model, now):
            # What happened since a page was read may have: then URLs are doubted, and
            # not told as removed.
            at = now - _SKEW if name == "read_at" else now
            rows.filter(**{f"{name}__gt": latest}).update(**{name: at})


def _ahead(rows: Any, now: float) -> Any:
    """Return those of some rows that have a time which no clock should have written."""
    wrong = Q()
    for name, latest in _times(rows.model, now):
        wrong |= Q(**{f"{name}__gt": latest})
    return rows.filter(wrong)


def _times(model: type[Model], now: float) -> Iterator[tuple[str, float]]:
    """Yield the columns of times, and the latest that each may have."""
    intervals = [
        engine.interval_of(is_sitemap=is_sitemap)
        for engine in engines().values()
        for is_sitemap in (False, True)
    ]
    longest = _LATEST + max(intervals, default=0.0)
    for field in model._meta.concrete_fields:
        if isinstance(field, FloatField) and field.name != "seconds":
            is_later = field.name in _LATER or field.name.endswith("_until")
            is_claim = field.name in _CLAIMED
            ahead = longest if is_later else _SKEW
            yield field.name, now + (_LONGEST_CLAIM if is_claim else ahead)
