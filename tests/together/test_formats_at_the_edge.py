"""
What ``django_sitemaps_plus.contrib.formats`` serves is tagged, announced and published
by ``django_sitemaps_plus.contrib.edge``.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from django_sitemaps_plus.contrib.edge import documents
from django_sitemaps_plus.contrib.edge.publish import publish
from django_sitemaps_plus.contrib.edge.published import published_files
from django_sitemaps_plus.contrib.edge.signals import documents_changed
from django_sitemaps_plus.delivery import background
from django_sitemaps_plus.sitemaps.site import Site
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, Small, run_command
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True)

ORIGIN = "https://www.example.com"
EVERY: dict[str, Any] = {"text": {}, "feeds": {}, "recent": {}}


def change(settings: Any, **values: Any) -> None:
    """Set some of our settings."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **values}


def test_each_format_names_its_tags(
    client: Client, register: Register, settings: Any
) -> None:
    change(settings, FORMATS=EVERY, LLMS={"title": "Example"}, CACHE_TAGS=["Cache-Tag"])
    register("article", ArticleSitemap)
    articles(3)
    for name in (
        *("sitemap-article-1.txt", "sitemap.atom", "sitemap-recent.xml"),
        "llms.txt",
    ):
        answer = client.get(f"/{name}")
        assert answer.headers["Cache-Tag"] == f"{name},sitemaps"


def test_texts_and_feeds_are_announced(register: Register, settings: Any) -> None:
    heard: list[str] = []

    def receiver(tags: list[str], **given: Any) -> None:
        heard.extend(tags)

    change(settings, NOTIFY_AFTER=0, FORMATS=EVERY)
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
    changed = ["sitemap-small-2.txt", "sitemap-small-2.xml", "sitemap-recent.xml"]
    of_both = [
        f"sitemap{name}.{ending}"
        for name in ("", "-small")
        for ending in ("xml", "txt", "atom", "rss")
    ]
    assert set(heard) == {*changed, *of_both}


@pytest.fixture
def folder(settings: Any, tmp_path: Path) -> Path:
    """A folder in which files are published."""
    settings.STORAGES = {
        **settings.STORAGES,
        "sitemaps": {
            "BACKEND": "tests.support.published.Troubled",
            "OPTIONS": {"location": str(tmp_path)},
        },
    }
    change(settings, PUBLISH={"STORAGE": "sitemaps"})
    return tmp_path


def run() -> int:
    """Publish at once; return how many files were deleted."""
    site = Site.current().address()
    assert site is not None
    done = publish(site, at_once=True)
    assert done is not None
    return done.deleted


def test_texts_are_published_and_deleted_a_day_after_nobody_asks_for_them(
    folder: Path, register: Register, settings: Any
) -> None:
    register("article", ArticleSitemap)
    (article,) = articles(1)
    change(settings, FORMATS={"text": {}})
    run_command("build_sitemaps")
    run()
    texts = {path.name for path in folder.glob("sitemap*.txt")}
    assert texts == {"sitemap.txt", "sitemap-article.txt", "sitemap-article-1.txt"}
    url = f"{ORIGIN}/articles/{article.slug}/\n"
    assert (folder / "sitemap-article-1.txt").read_text() == url
    change(settings, FORMATS={})
    run()
    published_files().filter(gone_since__gt=0).update(
        gone_since=F("gone_since") - 86_500
    )
    assert run() == 3
    assert not list(folder.glob("sitemap*.txt"))


def test_gzipped_texts_have_their_ending_wherever_they_are_named(
    folder: Path, register: Register, settings: Any
) -> None:
    publish = {"STORAGE": "sitemaps", "OPTIONS": {"gzip": "file"}}
    change(settings, PUBLISH=publish, FORMATS={"text": {"robots": True}})
    register("small", Small)
    articles(9)
    run_command("build_sitemaps")
    run()
    assert f"Sitemap: {ORIGIN}/sitemap.txt.gz" in (folder / "robots.txt").read_text()
    text = gzip.decompress((folder / "sitemap-small-1.txt.gz").read_bytes())
    assert len(text.splitlines()) == 9
