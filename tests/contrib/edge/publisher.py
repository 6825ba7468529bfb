"""
A process that publishes again and again, and is killed at any moment.

Run as a module it is told the databases, the folder, and how long a write takes.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from typing import Any

from tests.support.processes import ROOT, given


def start(folder: str, seconds: float) -> subprocess.Popen[bytes]:
    """Start it; a write to the folder takes up to some seconds."""
    publish = {"STORAGE": "sitemaps", "OPTIONS": {"every": 1}}
    told = {**given(PUBLISH=publish), "folder": folder}
    told["seconds"] = seconds
    command = [sys.executable, "-m", __name__, json.dumps(told)]
    return subprocess.Popen(command, cwd=ROOT)


def main(told: dict[str, Any]) -> None:
    """Publish until somebody kills it."""
    import django

    from tests import settings

    settings.use_given(told)
    settings.STORAGES["sitemaps"] = {
        "BACKEND": "tests.support.published.Troubled",
        "OPTIONS": {"location": told["folder"]},
    }
    django.setup()
    from django_sitemaps_plus.contrib.edge import publish, published
    from django_sitemaps_plus.sitemaps.registry import registry
    from django_sitemaps_plus.sitemaps.site import Site
    from tests.contrib.edge.test_publish import Articles
    from tests.support.published import Troubled

    # What a killed process had is free again soon.
    published.PUBLISHED_FOR = 1.0
    Troubled.plan = staticmethod(
        lambda write: time.sleep(random.random() * told["seconds"])  # noqa: S311
    )
    registry.add("article", Articles)
    site = Site.current().address()
    assert site is not None
    while True:
        publish.publish(site, at_once=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
