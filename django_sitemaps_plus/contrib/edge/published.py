"""What was published of a site, and who publishes it: see ``publish``."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.db.models import Count, Max, Min, Q, QuerySet

from django_sitemaps_plus.db import database_time

from .conf import own_settings
from .models import PublishedFile, Publisher

#: Seconds for which a publisher keeps others away; it renews that with each file.
PUBLISHED_FOR = 60.0


def published_files() -> QuerySet[PublishedFile]:
    """Return what was put for the site."""
    return PublishedFile.objects.on_site()


@dataclass(frozen=True)
class PublishedState:
    """What was published until now, and what could not be."""

    #: The alias of the storage.
    storage: str
    files: int
    failed: int
    #: Why one of those that failed did.
    error: str
    #: When a file was put last, in seconds since the epoch; 0: never.
    put_at: float


def published_state() -> PublishedState | None:
    """Return what was published for the site; None if ``PUBLISH`` is not set."""
    options = own_settings().publish
    if options is None:
        return None
    found = published_files().aggregate(
        files=Count("pk", filter=Q(first_at__gt=0)),
        failed=Count("pk", filter=~Q(error="")),
        error=Min("error", filter=~Q(error=""), default=""),
        put_at=Max("put_at", default=0.0),
    )
    return PublishedState(storage=options.storage, **found)


def next_in() -> float | None:
    """Return the seconds until files may be put again; None without ``PUBLISH``."""
    if own_settings().publish is None:
        return None
    rows = Publisher.objects.on_site()
    until = rows.values_list("claimed_until", flat=True).first() or 0.0
    return max(0.0, until - database_time(rows.db))


class Lease:
    """The right to publish a site's files: one process has it, of all hosts."""

    def __init__(self) -> None:
        self._owner = uuid.uuid4().hex
        self._row = Publisher.objects.on_site()

    def take(self, *, at_once: bool) -> bool:
        """Take it if it is time for that, or ``at_once``, and nobody else has it."""
        if not self._row.exists():
            Publisher.objects.bulk_create([Publisher()], ignore_conflicts=True)
        return self._row.take(self._owner, PUBLISHED_FOR, at_once=at_once)

    def renew(self) -> bool:
        """Keep it; returns whether it was not lost."""
        return self._row.renew(self._owner, PUBLISHED_FOR)

    def give_back(self, seconds: float) -> None:
        """Let whoever comes after some seconds have it."""
        self._row.release(self._owner, seconds)
