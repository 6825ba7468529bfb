"""
Sends ``documents_changed`` for documents whose bytes have changed since the last time.

What is served now is compared with what was announced last, so that whoever rebuilt a
page has nothing to remember, and nothing is lost with a process that is killed. What is
to be sent is claimed, and the claim committed, before it is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from django.db import transaction
from django.db.models import QuerySet

from django_sitemaps_plus.db import database_time, parts, retrying
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.outbox import Notice, locked, put
from django_sitemaps_plus.models import Submission
from django_sitemaps_plus.serving.documents import cache_tag
from django_sitemaps_plus.signals import changes_written, send_signal
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from .models import AnnouncedDocument
from .signals import documents_changed
from .versions import urls_of, versions

#: Documents of a signal: as many tags as Cloudflare takes at a time.
DOCUMENTS_AT_ONCE = 100
#: Seconds for which a claim lasts, and after which documents are sent again for which
#: a receiver has raised something.
CLAIM, AGAIN = 600.0, 60.0


def announced() -> QuerySet[AnnouncedDocument]:
    """Return what was announced of the site's documents."""
    return AnnouncedDocument.objects.on_site()


def are_wanted() -> bool:
    """Return whether a receiver or a webhook wants to know of changed documents."""
    webhooks = (engine.wants_documents for engine in engines().values())
    return documents_changed.has_listeners() or any(webhooks)


def announce_documents(is_over: Callable[[], bool] = lambda: False) -> float | None:
    """
    Send ``documents_changed`` for what it was not sent for yet.

    Return the seconds until something has to be sent again. None if all was sent,
    nobody listens, or the site's address is not known.
    """
    site = Site.current().address()
    if site is None or not are_wanted():
        return None
    current = _current(site)
    due = _due(current, announced(), database_time(announced().db))
    for names in parts(due, DOCUMENTS_AT_ONCE):
        if is_over():
            return 0.0
        some = {name: current.get(name, "") for name in names}
        claimed, until = retrying(announced().db, partial(_claim, some, site))
        if claimed:
            _send(claimed, until, site)
    waiting = announced().exclude(announce_at=None).order_by("announce_at")
    soonest = waiting.values_list("announce_at", flat=True).first()
    return None if soonest is None else max(0.0, soonest - database_time(waiting.db))


def count_failed() -> int:
    """Return how many documents are to be sent again, because a receiver failed."""
    if not are_wanted():
        return 0
    # A claim that is new belongs to somebody who sends now.
    until = database_time(announced().db) + CLAIM - 2 * AGAIN
    return announced().filter(announce_at__lt=until).count()


def _current(site: SiteAddress) -> dict[str, str]:
    """Return each document's version; the last known of one that cannot be had."""
    known = dict(announced().values_list("document", "version"))
    return {
        name: known.get(name, "") if version is None else version
        for name, version in versions(site)
    }


def _due(
    current: Mapping[str, str], rows: Iterable[AnnouncedDocument], now: float
) -> list[str]:
    """Return the documents to announce: other ones than before, new ones, gone ones."""
    known = {row.document: row for row in rows}
    return [
        name
        for name in dict.fromkeys([*current, *known])
        if _is_due(current.get(name, ""), known.get(name), now)
    ]


def _is_due(version: str, row: AnnouncedDocument | None, now: float) -> bool:
    if row is None or row.version != version:
        return row is not None or bool(version)
    return row.announce_at is not None and row.announce_at <= now


def _claim(some: Mapping[str, str], site: SiteAddress) -> tuple[list[str], float]:
    """Claim those of some documents that are still due; return them, and until when."""
    with locked() as now:
        rows, until = announced().filter(document__in=list(some)), now + CLAIM
        due = _due(some, rows, now)
        rows.filter(document__in=due).delete()
        announced().bulk_create(
            AnnouncedDocument(document=name, version=some[name], announce_at=until)
            for name in due
        )
        urls = [url for name in due for url in urls_of(name, site)]
        host, kind = site.origin.host, Submission.Kind.DOCUMENT
        if put([Notice(url, host, kind) for url in urls], now):
            transaction.on_commit(partial(changes_written.send, None), using=rows.db)
    return due, until


def _send(names: Sequence[str], until: float, site: SiteAddress) -> None:
    """Send the signal; once more after a while if a receiver raises."""
    is_taken = send_signal(
        documents_changed,
        sender=None,
        urls=[url for name in names for url in urls_of(name, site)],
        tags=[cache_tag(name) for name in names],
    )
    mine = announced().filter(document__in=list(names), announce_at=until)
    if not is_taken:
        retrying(mine.db, partial(mine.update, announce_at=until - CLAIM + AGAIN))
        return
    retrying(mine.db, mine.filter(version="").delete)
    retrying(mine.db, partial(mine.update, announce_at=None))
