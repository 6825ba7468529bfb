"""Alerts about old files and caches, and what was published, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from django.utils.translation import gettext, ngettext

from django_sitemaps_plus.health.alerts import Alert
from django_sitemaps_plus.health.words import number, plain_ago
from django_sitemaps_plus.hooks import Standing

from . import documents, published
from .storages import storage_place


def alerts() -> Iterator[Alert]:
    """Yield what is old where caches, buckets and folders answer."""
    of, found = Alert.Subject.SECTIONS, published.published_state()
    if found is not None and (found.failed or not found.files):
        text = gettext("Nothing was published to %(storage)s yet.")
        if found.failed:
            text = ngettext(
                "%(count)s file could not be published to %(storage)s: %(error)s",
                "%(count)s files could not be published to %(storage)s. One of them: "
                "%(error)s",
                found.failed,
            )
        values = {"count": number(found.failed), "storage": found.storage}
        text %= {**values, "error": found.error}
        yield Alert(subject=of, text=text, fix="manage.py publish_sitemaps")
    if count := documents.count_failed():
        text = ngettext(
            "%(count)s document changed, and a receiver of documents_changed failed: "
            "caches may have the former one. The log says why; all receivers are "
            "called again each minute.",
            "%(count)s documents changed, and a receiver of documents_changed failed: "
            "caches may have the former ones. The log says why; all receivers are "
            "called again each minute.",
            count,
        )
        text %= {"count": number(count)}
        yield Alert(subject=of, text=text, waiting=count)


def standing() -> Iterator[Standing]:
    """Yield what was published, for ``ping_sitemaps --status``."""
    found = published.published_state()
    if found is None:
        yield Standing("published", None)
        return
    values = [
        ("Place", storage_place(found.storage)),
        ("Files", f"{found.files:,}"),
        ("Failed", f"{found.failed:,} could not be put" if found.failed else ""),
        ("Last put", plain_ago(found.put_at) or "never"),
        ("Problem", found.error),
    ]
    heading = f"Published to {found.storage}"
    yield Standing("published", asdict(found), heading, values)
