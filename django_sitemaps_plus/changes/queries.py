"""Where changes are read and written."""

from __future__ import annotations

import hashlib

from django.db.models import QuerySet

from .models import Change, RelatedState, UrlChange


def changes(section: str | None = None) -> QuerySet[Change]:
    """Return the site's changes, of one section or all, in the database for writing."""
    rows = Change.objects.on_site()
    return rows if section is None else rows.filter(section=section)


def url_changes() -> QuerySet[UrlChange]:
    """Return what happened to the site's URLs, in the database for writing."""
    return UrlChange.objects.on_site()


def related_states() -> QuerySet[RelatedState]:
    """Return what the site knows of related objects, in the database for writing."""
    return RelatedState.objects.on_site()


def location_digest(location: str) -> str:
    """Return what stands for a location in an index: locations are too long for one."""
    return hashlib.blake2b(location.encode(), digest_size=16).hexdigest()
