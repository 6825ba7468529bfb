"""What happened to URLs, row by row: written by pages, and deleted when it is old."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from django.db.models import F

from django_sitemaps_plus.db import ROWS, delete_old, digest_of
from django_sitemaps_plus.pagination.models import Section
from django_sitemaps_plus.pagination.queries import ledger
from django_sitemaps_plus.prepared import Prepared, Slot, insert, update
from django_sitemaps_plus.sitemaps.site import Site

from .models import Change, UrlChange
from .queries import url_changes

#: Rows whose INSERT is compiled once.
FEW_ROWS = 8


class Event(NamedTuple):
    """What happened to one URL: a path on the site, or a whole URL of another."""

    kind: UrlChange.Kind
    location: str
    #: What the entry says, where it is known: a W3C Datetime, and a title for feeds.
    lastmod: str = ""
    title: str = ""


def lock(section: str) -> None:
    """
    Keep others from writing events of a section until the transaction ends.

    To be called first in it, before the time is taken: of one section, later events
    have higher numbers and times.
    """
    _LOCK.run(ledger(), site=Site.current().key, name=section)


def _lock_query() -> Any:
    rows = Section.objects.of_all_sites().filter(site=Slot("site"), name=Slot("name"))
    # Not by SELECT: SQLite locks for writing only, and best before anything is read.
    return update(rows, next_number=F("next_number"))


_LOCK = Prepared(_lock_query)


def write_events(section: str, events: Sequence[Event], now: float) -> None:
    """Write what happened to URLs of a section, beside the bytes that say so."""
    common = {"site": Site.current().key, "section": section, "at": now}
    rows = [
        UrlChange(**common, digest=digest_of(event.location), **event._asdict())
        for event in events
    ]
    if len(rows) > FEW_ROWS:
        url_changes().bulk_create(rows, batch_size=ROWS)
    elif rows:
        # By a statement that is compiled once for each count.
        values = {
            f"{field.attname}{number}": getattr(row, field.attname)
            for number, row in enumerate(rows)
            for field in UrlChange._meta.concrete_fields
        }
        _INSERT.run(ledger(), len(rows), **values)


_INSERT = Prepared(partial(insert, UrlChange))


def added_since(section: str, locations: Sequence[str], since: float) -> set[str]:
    """Return those that a section has listed newly since then, and said so."""
    rows = url_changes().filter(section=section, kind=UrlChange.Kind.ADDED)
    digests = [digest_of(one) for one in locations]
    found = rows.filter(digest__in=digests, at__gte=since)
    return set(found.values_list("location", flat=True))


def prune_url_changes() -> int:
    """
    Delete what is older than ``UrlChange.stored_for()``, of all sites; return how many.

    Also old changes of Sites of which no process takes care: every save is recorded for
    them too, as long as they have sections.
    """
    if Site.default().may_share_database:
        described = [site.key for site in Site.all()]
        others = Change.objects.of_all_sites().exclude(site__in=described)
        delete_old(others, "at", time.time() - UrlChange.KEEP)
    if (seconds := UrlChange.stored_for()) == math.inf:
        # An app cannot say how far it looks back.
        return 0
    return delete_old(UrlChange.objects.of_all_sites(), "at", time.time() - seconds)
