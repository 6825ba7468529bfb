"""Where changes are read and written."""

from __future__ import annotations

import hashlib
from typing import Any

from django.db import router
from django.db.models import Q, QuerySet

from django_sitemaps_plus.sitemaps.site import current_site

from .models import Change, RelatedState, UrlChange


def changes(section: str | None = None) -> QuerySet[Change]:
    """Return the site's changes, of one section or all, in the database for writing."""
    rows = changes_of_all_sites().filter(site=current_site())
    return rows if section is None else rows.filter(section=section)


def changes_of_all_sites() -> QuerySet[Change]:
    """Return the changes of whichever site."""
    rows: QuerySet[Change] = Change.objects.using(router.db_for_write(Change))
    return rows


def url_changes() -> QuerySet[UrlChange]:
    """Return what happened to the site's URLs, in the database for writing."""
    return url_changes_of_all_sites().filter(site=current_site())


def url_changes_of_all_sites() -> QuerySet[UrlChange]:
    """Return what happened to URLs of whichever site."""
    rows: QuerySet[UrlChange] = UrlChange.objects.using(router.db_for_write(UrlChange))
    return rows


def related_states() -> QuerySet[RelatedState]:
    """Return what the site knows of related objects, in the database for writing."""
    every = RelatedState.objects.using(router.db_for_write(RelatedState))
    rows: QuerySet[RelatedState] = every.filter(site=current_site())
    return rows


def of_page(number: Any) -> Q:
    """Return the condition of changes that may concern page ``number``."""
    return Q(page=number) | Q(page=None)


def location_digest(location: str) -> str:
    """Return what stands for a location in an index: locations are too long for one."""
    return hashlib.blake2b(location.encode(), digest_size=16).hexdigest()
