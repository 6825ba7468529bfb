"""What was published of a site, and who publishes it: see ``publish``."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import Count, Max, Min, Q, QuerySet, Sum

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import DatabaseTime, database_time
from django_sitemaps_plus.pagination.queries import row_of, sections
from django_sitemaps_plus.publishing import history
from django_sitemaps_plus.publishing.models import DailyCount, PublishedFile

#: Seconds for which a publisher keeps others away; it renews that with each file.
LEASE = 60.0


def files() -> QuerySet[PublishedFile]:
    """Return what was put for the site."""
    return PublishedFile.objects.on_site()


@dataclass(frozen=True)
class State:
    """What was published until now, and what could not be."""

    #: The alias of the storage.
    storage: str
    files: int
    failed: int
    #: Why one of those that failed did.
    error: str
    #: When a file was put last, in seconds since the epoch; 0: never.
    put_at: float
    puts_today: int
    #: In the last 30 days.
    puts: int


def state() -> State | None:
    """Return what was published for the site; None if ``PUBLISH`` is not set."""
    options = get_settings().publish
    if options is None:
        return None
    found = files().aggregate(
        files=Count("pk", filter=Q(first_at__gt=0)),
        failed=Count("pk", filter=~Q(error="")),
        error=Min("error", filter=~Q(error=""), default=""),
        put_at=Max("put_at", default=0.0),
    )
    puts = history.counts(30).filter(topic=DailyCount.Topic.PUTS)
    sums = puts.aggregate(
        puts=Sum("number", default=0),
        puts_today=Sum("number", filter=Q(day=history.today()), default=0),
    )
    return State(storage=options.storage, **found, **sums)


def next_in() -> float | None:
    """Return the seconds until files may be put again; None without ``PUBLISH``."""
    if get_settings().publish is None:
        return None
    return max(0.0, row_of("").publish_at - database_time(sections().db))


class Lease:
    """The right to publish a site's files: one process has it, of all hosts."""

    def __init__(self) -> None:
        self._owner = uuid.uuid4().hex
        self._row = sections().filter(pk=row_of("").pk)
        self._mine = self._row.filter(publish_by=self._owner)

    def take(self, *, at_once: bool) -> bool:
        """Take it if it is time for that, or ``at_once``, and nobody else has it."""
        is_free = Q(publish_at__lt=DatabaseTime())
        if at_once:
            is_free |= Q(publish_by="")
        until = DatabaseTime() + LEASE
        free = self._row.filter(is_free)
        return bool(free.update(publish_by=self._owner, publish_at=until))

    def renew(self) -> bool:
        """Keep it; returns whether it was not lost."""
        return bool(self._mine.update(publish_at=DatabaseTime() + LEASE))

    def give_back(self, seconds: float) -> None:
        """Let whoever comes after some seconds have it."""
        self._mine.update(publish_by="", publish_at=DatabaseTime() + seconds)
