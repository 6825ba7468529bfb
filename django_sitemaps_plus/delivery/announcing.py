"""
Sends ``urls_changed`` for what happened to URLs, from the background.

A batch is claimed, and the claim committed, before it is sent: receivers run outside of
our transactions, and what a killed process had claimed is sent again when that ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from django_sitemaps_plus.changes.models import UrlChange
from django_sitemaps_plus.changes.queries import url_changes
from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.pagination.queries import ledger
from django_sitemaps_plus.signals import send_signal, urls_changed
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from .outbox import locked

_Kind = UrlChange.Kind

#: URLs of a batch.
BATCH = 500
#: Seconds for which a claim lasts: no receiver should take that long.
_CLAIM = 600.0


def announce(is_over: Callable[[], bool] = lambda: False) -> bool:
    """
    Send ``urls_changed`` for what it was not sent for yet; return whether all is sent.

    Nothing is sent while the site's address is not known, or nobody listens.
    """
    site = Site.current().address()
    if site is None or not urls_changed.has_listeners():
        return True
    using = ledger()
    while not is_over():
        some = retrying(using, _claim)
        if not some:
            return True
        _send(some, site)
        sent = url_changes().filter(pk__in=[row.pk for row in some])
        retrying(using, partial(sent.update, announce_at=None))
    return False


def _claim() -> list[UrlChange]:
    """Claim the next batch for this process."""
    due = url_changes().filter(announce_at__isnull=False)
    if not due.exists():
        return []
    with locked() as now:
        rows = due.filter(announce_at__lte=now).order_by("announce_at", "pk")
        some = list(rows[:BATCH])
        claimed = url_changes().filter(pk__in=[row.pk for row in some])
        claimed.update(announce_at=now + _CLAIM)
    return some


def _send(rows: Iterable[UrlChange], site: SiteAddress) -> None:
    """Send a signal for each section; each URL is in one of them, as it was last."""
    latest: dict[str, tuple[str, str]] = {}
    # In the order in which the gate passed them on.
    for row in sorted(rows, key=lambda row: (row.queued_at or 0.0, row.pk)):
        url = site.url(row.location)
        _, former = latest.pop(url, ("", ""))
        is_new = former == _Kind.ADDED and row.kind == _Kind.CHANGED
        latest[url] = row.section, _Kind.ADDED if is_new else row.kind
    sections: dict[str, dict[str, list[str]]] = {}
    for url, (section, kind) in latest.items():
        lists = sections.setdefault(section, {str(one): [] for one in _Kind})
        lists[kind].append(url)
    for section, lists in sections.items():
        send_signal(urls_changed, sender=None, section=section, **lists)
