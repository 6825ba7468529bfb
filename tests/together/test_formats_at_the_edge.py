"""
What ``django_sitemaps_plus.contrib.formats`` serves is tagged and announced by
``django_sitemaps_plus.contrib.edge``.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from django_sitemaps_plus.contrib.edge import documents
from django_sitemaps_plus.contrib.edge.signals import documents_changed
from django_sitemaps_plus.delivery import background
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, Small, run_command
from tests.support.outbox_world import use
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True)

EVERY: dict[str, Any] = {"text": {}, "feeds": {}, "recent": {}}
ENDINGS = ("xml", "txt", "atom", "rss")


def test_each_format_names_its_tags(
    client: Client, register: Register, settings: Any
) -> None:
    use(settings, FORMATS=EVERY, LLMS={"title": "Example"}, CACHE_TAGS=["Cache-Tag"])
    register("article", ArticleSitemap)
    articles(3)
    names = "sitemap-article-1.txt", "sitemap.atom", "sitemap-recent.xml", "llms.txt"
    for name in names:
        answer = client.get(f"/{name}")
        assert answer.headers["Cache-Tag"] == f"{name},sitemaps"


def test_texts_and_feeds_are_announced(register: Register, settings: Any) -> None:
    heard: list[str] = []

    def receiver(tags: list[str], **given: Any) -> None:
        heard.extend(tags)

    use(settings, FORMATS=EVERY)
    register("small", Small)
    articles(25)
    documents_changed.connect(receiver)
    try:
        run_command("build_sitemaps")
        documents.announce_documents()
        assert "sitemap-small-3.txt" in heard
        heard.clear()
        article = Article.objects.order_by("pk")[15]
        article.slug = "other"
        article.save()
        background.work()
    finally:
        documents_changed.disconnect(receiver)
    both = [f"sitemap{name}.{ending}" for name in ("", "-small") for ending in ENDINGS]
    pages = [f"sitemap-small-2.{ending}" for ending in ("txt", "xml")]
    assert set(heard) == {"sitemap-recent.xml", *pages, *both}
