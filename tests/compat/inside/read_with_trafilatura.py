"""trafilatura: write the URLs it finds, and what it complains of."""

from __future__ import annotations

import copy
import json
import logging
import sys
from pathlib import Path

import own_address  # noqa: F401 (resolves the site's name)
from trafilatura.settings import DEFAULT_CONFIG
from trafilatura.sitemaps import sitemap_search

address, report = sys.argv[1:]
complaints: list[str] = []


class Complaints(logging.Handler):
    """Keeps what trafilatura says above INFO."""

    def emit(self, record: logging.LogRecord) -> None:
        complaints.append(record.getMessage())


logging.getLogger().addHandler(Complaints(logging.WARNING))
config = copy.deepcopy(DEFAULT_CONFIG)
# It refuses addresses of the own machine, unless told otherwise.
config["DEFAULT"]["SSRF_PROTECTION"] = "off"
urls = sitemap_search(address, sleep_time=0, config=config)
Path(report).write_text(json.dumps({"urls": urls, "complaints": complaints}))
