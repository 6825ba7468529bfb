"""Protego: write the sitemaps that robots.txt names, and which URLs it allows."""

from __future__ import annotations

import json
import sys
import urllib.request
from pathlib import Path

import own_address  # noqa: F401 (resolves the site's name)
from protego import Protego

address, paths, report = sys.argv[1:]
with urllib.request.urlopen(f"{address}/robots.txt") as response:  # noqa: S310 (our own server)
    robots = Protego.parse(response.read().decode())
urls = [f"{address}{path}" for path in Path(paths).read_text().split("\n")]
Path(report).write_text(
    json.dumps(
        {
            "sitemaps": list(robots.sitemaps),
            "allowed": [url for url in urls if robots.can_fetch(url, "anybot")],
            "search": robots.can_fetch(f"{address}/search/?q=a", "anybot"),
        }
    )
)
