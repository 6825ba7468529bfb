"""What was published of a site, and who publishes it: see ``publish``."""

from __future__ import annotations

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


def next_in() -> float:
    """Return the seconds until files may be put again."""
    rows = Publisher.objects.on_site()
    until = rows.values_list("claimed_until", flat=True).first() or 0.0
    return max(0.0, until - database_time(rows.db))
