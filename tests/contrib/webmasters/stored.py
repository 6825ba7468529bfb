"""What a stored site does with this app: see ``tests/support/stored``."""

from __future__ import annotations

import time
from typing import Any

SETTINGS: dict[str, Any] = {}


def begin() -> None:
    """Have a URL inspected."""
    from django_sitemaps_plus.contrib.webmasters import quota
    from django_sitemaps_plus.contrib.webmasters.models import Inspection
    from django_sitemaps_plus.db import digest_of

    turn, url = (
        quota.Turn("https://www.example.com/"),
        "https://www.example.com/articles/1/",
    )
    turn.take(1)
    Inspection.objects.create(
        section="article",
        url=url,
        digest=digest_of(url),
        verdict="PASS",
        inspected_at=time.time(),
    )
    turn.end()
