"""Scrapy's SitemapSpider: write the URLs it would crawl, and what it complains of."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import own_address  # noqa: F401 (resolves the site's name)
from scrapy.crawler import CrawlerProcess
from scrapy.spiders import SitemapSpider

address, report = sys.argv[1:]
urls: list[str] = []
complaints: list[str] = []


class Complaints(logging.Handler):
    """Keeps what Scrapy says above INFO."""

    def emit(self, record: logging.LogRecord) -> None:
        complaints.append(record.getMessage())


class Spider(SitemapSpider):
    """Reads every sitemap, and stops before the pages."""

    name = "example"
    sitemap_urls = (f"{address}/robots.txt",)
    custom_settings = {  # noqa: RUF012 (as Scrapy wants it)
        "ROBOTSTXT_OBEY": True,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
    }

    def sitemap_filter(self, entries: Any) -> Iterator[Any]:
        if entries.type == "urlset":
            urls.extend(entry["loc"] for entry in entries)
        else:
            yield from entries


process = CrawlerProcess()
logging.getLogger().addHandler(Complaints(logging.WARNING))
process.crawl(Spider)
process.start()
Path(report).write_text(json.dumps({"urls": urls, "complaints": complaints}))
