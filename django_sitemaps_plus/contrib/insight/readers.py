"""
Who reads the sitemaps: counted in memory by each process, stored once a minute.

A request adds one to a number in memory. The background's thread writes the numbers,
so that no request waits for the database. Of a client nothing is stored but the
crawler that it says to be: no address, and no times but the first and the last.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from django.db import DatabaseError, InterfaceError, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Greatest

from django_sitemaps_plus.contrib.insight.crawlers import crawler_of
from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.engines.base import OURS
from django_sitemaps_plus.serving.documents import document_at
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.site import Site

from . import history
from .models import Read

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds between two writes of a process.
STORED_EVERY = 60.0
#: The most rows that a process remembers until then.
MOST_WAITING = 20_000
#: The most rows that are stored of a site, and the days for which one is stored after
#: the last read.
MOST_STORED, _KEEP = 50_000, 92
#: Sitemaps that one transaction writes.
_CHUNK = 200


class _Key(NamedTuple):
    site: str
    document: str
    crawler: str


@dataclass(slots=True)
class _Counted:
    full: int
    unchanged: int
    first_at: float
    last_at: float


class ReaderCounts:
    """What a process has counted and not yet stored."""

    def __init__(self) -> None:
        self.arm()

    def arm(self) -> None:
        """Begin with nothing: what a parent process has counted is the parent's."""
        self._lock = threading.Lock()
        #: By tenant, and by what its rows are called.
        self._counted: dict[str, dict[_Key, _Counted]] = {}
        self._stored_at = time.monotonic()

    def count(self, path: str, user_agent: str, status: int) -> None:
        """Count an answer to a GET: 200, or 304. The path ends with the file's name."""
        if OURS in user_agent:
            return
        key = _Key(Site.current().key, document_at(path), crawler_of(user_agent))
        now, tenant = time.time(), tenants.current_tenant_key()
        full, unchanged = (0, 1) if status == 304 else (1, 0)
        with self._lock:
            self._add(tenant, key, _Counted(full, unchanged, now, now))

    def store(self, *, at_once: bool = False) -> None:
        """
        Write what was counted, at most once a minute; ``at_once`` where a process ends.

        What a database that fails does not take is written with the next.
        """
        now = time.monotonic()
        if not at_once and now - self._stored_at < STORED_EVERY:
            return
        self._stored_at = now
        with self._lock:
            counted, self._counted = self._counted, {}
        try:
            for tenant in tenants.existing(counted):
                with tenants.active(tenant):
                    _store(counted[tenant])
        except (DatabaseError, InterfaceError) as error:
            logger.warning("Who read the sitemaps cannot be stored: %s", error)
            with self._lock:
                for tenant, rest in counted.items():
                    for key, one in rest.items():
                        self._add(tenant, key, one)

    def _add(self, tenant: str, key: _Key, counted: _Counted) -> None:
        known = self._counted.setdefault(tenant, {})
        if one := known.get(key):
            one.full += counted.full
            one.unchanged += counted.unchanged
            one.first_at = min(one.first_at, counted.first_at)
            one.last_at = max(one.last_at, counted.last_at)
        elif sum(map(len, self._counted.values())) < MOST_WAITING:
            known[key] = counted


def reads() -> QuerySet[Read]:
    """Return who read the site's sitemaps."""
    return Read.objects.on_site()


def prune_reads() -> int:
    """Delete what is old of the site, and what is too much; return how many rows."""
    found = reads()
    deleted = found.filter(last_at__lt=time.time() - _KEEP * 86_400).delete()[0]
    newest_first = found.order_by("-last_at").values_list("last_at", flat=True)
    for last_at in newest_first[MOST_STORED : MOST_STORED + 1]:
        deleted += found.filter(last_at__lte=last_at).delete()[0]
    return deleted


def _store(rest: dict[_Key, _Counted]) -> None:
    """Store what was counted for the current tenant, and remove it from ``rest``."""
    while rest:
        some = {key: rest[key] for key in _some(rest)}
        retrying(Read.objects.of_all_sites().db, partial(_write, some))
        for key in some:
            del rest[key]


def _some(rest: Mapping[_Key, _Counted]) -> Sequence[_Key]:
    """Return the keys of the next transaction: some sitemaps of one site."""
    ordered = sorted(rest)
    site = ordered[0].site
    documents = list(dict.fromkeys(key.document for key in ordered if key.site == site))
    chosen = set(documents[:_CHUNK])
    return [key for key in ordered if key.site == site and key.document in chosen]


def _write(some: Mapping[_Key, _Counted]) -> None:
    rows = Read.objects.of_all_sites()
    values = {
        key: {
            "full": F("full") + counted.full,
            "unchanged": F("unchanged") + counted.unchanged,
            "last_at": Greatest("last_at", counted.last_at),
        }
        for key, counted in some.items()
    }

    def new(key: _Key) -> Read:
        counted = some[key]
        at = {"first_at": counted.first_at, "last_at": counted.last_at}
        return Read(**key._asdict(), **at)

    with transaction.atomic(using=rows.db):
        history.write_named(rows, values, new)
        history.add(_of_today(some))


def _of_today(some: Mapping[_Key, _Counted]) -> Mapping[history.Name, int]:
    """Return the same by crawler and status, for the chart."""
    found = Counter[history.Name]()
    for key, counted in some.items():
        name = history.Name(key.site, history.Topic.READS, key.crawler)
        found[name._replace(outcome="200")] += counted.full
        found[name._replace(outcome="304")] += counted.unchanged
    return found


reader_counts = ReaderCounts()
if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=reader_counts.arm)
