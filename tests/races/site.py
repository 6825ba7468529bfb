"""The site of the races, as all its processes set it up."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

ORIGIN = "https://www.example.com"
HOST = "www.example.com"
KEY = "0123456789abcdef0123456789abcdef"
#: Seconds for which the engine wants to rest from a URL.
INTERVAL = 2.0
#: What the test has given to this process.
GIVEN: dict[str, Any] = {}


def settings_of(
    endpoint: str, webhooks: Mapping[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    """
    Return the site's ``SITEMAPS_PLUS``.

    ``webhooks`` has the addresses of webhooks, by what they are notified of: an event,
    or ``"all"``.
    """
    options = {"key": KEY, "endpoint": endpoint, "interval": INTERVAL}
    entry = {"BACKEND": "tests.support.outbox_engines.Trusted", "OPTIONS": options}
    engines = {"fake": entry}
    for event, url in (webhooks or {}).items():
        # As docs/engines.md says it for a cache.
        options = {"url": url, "secret": KEY, "interval": 0}
        if event != "all":
            options["events"] = [event]
        backend = "django_sitemaps_plus.engines.webhook.Webhook"
        engines[event] = {"BACKEND": backend, "OPTIONS": options}
    return {
        "BASE_URL": ORIGIN,
        "NOTIFY_AFTER": 0.5,
        "BACKGROUND": False,
        "ENGINES": engines,
        **more,
    }


def set_up(given: dict[str, Any]) -> None:
    """Start Django in this process, with the sections that it was given."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    from tests import settings

    GIVEN.update(given)
    settings.use_given(given)
    settings.MIDDLEWARE = []
    settings.DATABASES["default"]["OPTIONS"].update(given["options"])
    import django

    django.setup()
    from django_sitemaps_plus import register
    from django_sitemaps_plus.management import utils

    from .sections import SECTIONS

    # On a busy machine no command shows progress.
    utils.LINE_EVERY = math.inf

    for name, sitemap in SECTIONS[given["sections"]].items():
        register(name=name)(sitemap)
