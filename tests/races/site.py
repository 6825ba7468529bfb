"""The site of the races, as all its processes set it up."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from django_sitemaps_plus.engines.indexnow import IndexNow

ORIGIN = "https://www.example.com"
HOST = "www.example.com"
KEY = "0123456789abcdef0123456789abcdef"
#: Seconds for which the engine wants to rest from a URL.
INTERVAL = 2.0

#: Has a new connection's commits not wait for the disk: processes are killed here,
#: not the computer.
_HURRY = {
    "sqlite": "PRAGMA synchronous = OFF",
    "postgresql": "SET synchronous_commit = off",
}


#: What the test has given to this process.
GIVEN: dict[str, Any] = {}


@dataclass(frozen=True, kw_only=True)
class Trusted(IndexNow):
    """IndexNow without a look at the key file: the site's name leads nowhere."""

    def proof(self, host: str) -> str:
        return ""


def settings_of(endpoint: str, **more: Any) -> dict[str, Any]:
    """Return the site's ``SITEMAPS_PLUS``."""
    options = {"key": KEY, "endpoint": endpoint, "interval": INTERVAL}
    entry = {"BACKEND": "tests.races.site.Trusted", "OPTIONS": options}
    return {
        "BASE_URL": ORIGIN,
        "NOTIFY_AFTER": 0.5,
        "BACKGROUND": False,
        "ENGINES": {"fake": entry},
        **more,
    }


def configure(given: dict[str, Any]) -> None:
    """Have Django read, in this process, what the test has given it."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    from tests import settings

    GIVEN.update(given)
    settings.use_given(given)
    settings.MIDDLEWARE = []
    default = settings.DATABASES["default"]
    default["OPTIONS"] = {**default["OPTIONS"], **given.get("options", {})}  # type: ignore[dict-item]


def set_up(given: dict[str, Any]) -> None:
    """Start Django in this process, with the sections that it was given."""
    configure(given)
    import django

    django.setup()
    connect()
    import_module(f"tests.races.{given['sections']}_sections")


def connect() -> None:
    """Have the connections of this process hurry."""
    from django.db.backends.signals import connection_created

    connection_created.connect(hurry)


def hurry(connection: Any, **kwargs: Any) -> None:
    """Have a new connection's commits not wait for the disk."""
    if connection.vendor in _HURRY:
        with connection.cursor() as cursor:
            cursor.execute(_HURRY[connection.vendor])
