"""What tests of the outbox share: engines in the settings, and URLs that changed."""

from __future__ import annotations

import time
from typing import Any

from django_sitemaps_plus.db import digest_of
from django_sitemaps_plus.delivery import dispatcher, gate
from django_sitemaps_plus.delivery.dispatcher import DeliveryOptions
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.hooks import Report
from django_sitemaps_plus.models import Submission, UrlChange

BASE = "https://www.example.com"
Kind = UrlChange.Kind


def use(settings: Any, **given: Any) -> Any:
    """
    Configure engines and other settings: ``use(settings, one="Few", NOTIFY_AFTER=5)``.

    An engine is the name of a class, or that and its options. Returns the first one.
    """
    entries, others = {}, {"BASE_URL": BASE, "NOTIFY_AFTER": 0}
    for name, value in given.items():
        if name.isupper():
            others[name] = value
            continue
        backend, options = value if isinstance(value, tuple) else (value, {})
        path = backend if "." in backend else f"tests.support.outbox_engines.{backend}"
        entries[name] = {"BACKEND": path, "OPTIONS": options}
    settings.SITEMAPS_PLUS = {**others, "ENGINES": entries}
    return next(iter(engines().values()), None)


def happened(*locations: str, kind: Any = Kind.CHANGED, **values: Any) -> None:
    """Write what happened to URLs, as builds do."""
    given = {"section": "article", "at": time.time(), **values}
    UrlChange.objects.bulk_create(
        UrlChange(kind=kind, location=location, digest=digest_of(location), **given)
        for location in locations
    )


def run(**options: Any) -> Report:
    """Pass on what happened, and deliver."""
    gate.pass_on()
    return dispatcher.deliver(DeliveryOptions(**options))


def sent(engine: Any) -> list[list[str]]:
    """Return the paths of each batch that an engine got."""
    return [[url.removeprefix(BASE) for url in batch.urls] for batch in engine.sent]


def rows() -> list[tuple[str, str]]:
    """Return the path and the state of each submission."""
    found = Submission.objects.order_by("pk").values_list("url", "state")
    return [(url.removeprefix(BASE), state) for url, state in found]
