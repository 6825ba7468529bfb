"""What is served beside XML sitemaps, read by the parser of Scrapy's SitemapSpider."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from django_sitemaps_plus.building.refresh import assign_all, refresh_all
from django_sitemaps_plus.changes.recorder import write_remembered
from django_sitemaps_plus.serving.index import usable
from tests.compat.environments import environment
from tests.compat.test_example import crawl
from tests.conftest import Register
from tests.support.factories import ArticleFactory
from tests.support.helpers import ArticleSitemap
from tests.support.ledger_world import place

pytestmark = [pytest.mark.django_db, pytest.mark.network]

BASE = "https://www.example.com"


@pytest.fixture(autouse=True)
def formats(settings: Any) -> None:
    """Serve every format."""
    every = {"text": {}, "feeds": {}, "recent": {}}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "FORMATS": every}


def parsed(folder: Path, address: str) -> dict[str, Any]:
    """Return what Scrapy reads at an address."""
    given = folder / "given.xml"
    given.write_bytes(Client().get(address).content)
    return crawl(environment("scrapy==2.19.0"), "parse_with_scrapy", folder, str(given))


def test_scrapy_reads_what_changed_lately(register: Register, tmp_path: Path) -> None:
    register("article", ArticleSitemap)
    article = ArticleFactory.create()
    write_remembered("default")
    assign_all(usable())
    refresh_all(usable(), place())
    lastmod = article.updated.isoformat()
    entry = {"loc": f"{BASE}{article.get_absolute_url()}", "lastmod": lastmod}
    found = parsed(tmp_path, "/sitemap-recent.xml")
    assert found == {"kind": "urlset", "entries": [entry]}


def test_scrapy_reads_the_index_of_text_pages(
    register: Register, tmp_path: Path
) -> None:
    register("article", type("Small", (ArticleSitemap,), {"limit": 2}))
    ArticleFactory.create_batch(5)
    found = parsed(tmp_path, "/sitemap.txt")
    assert found["kind"] == "sitemapindex"
    pages = [entry["loc"] for entry in found["entries"]]
    assert len(pages) >= 3
    assert all(page.endswith(".txt") for page in pages)
