"""Each answer names the tags by which a cache drops it, where the settings say so."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.test import Client

from django_sitemaps_plus.models import Page, PageFile
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap
from tests.support.outbox_world import use

pytestmark = pytest.mark.django_db

PAGE = "/sitemap-article-1.xml"


@pytest.fixture(autouse=True)
def article(register: Any) -> None:
    """Three articles in one section."""
    register("article", ArticleSitemap)
    articles(3)


def test_each_answer_names_its_tags_where_it_is_set(settings: Any) -> None:
    get = Client().get
    files = ["sitemap.xml", "sitemap-article.xml", "robots.txt", "sitemap-style"]
    for name in files:
        assert not {"Surrogate-Key", "Cache-Tag"} & set(get(f"/{name}").headers)
    use(settings, CACHE_TAGS=["Surrogate-Key", "Cache-Tag"])
    for name in files:
        answer = get(f"/{name}")
        assert answer.headers["Surrogate-Key"] == f"{name} sitemaps"
        assert answer.headers["Cache-Tag"] == f"{name},sitemaps"
    answer = get(f"{PAGE}.gz")
    tag = answer.headers["ETag"]
    unchanged = get(f"{PAGE}.gz", headers={"if-none-match": tag})
    assert unchanged.status_code == 304
    for one in (answer, unchanged):
        assert one.headers["Cache-Tag"] == f"{PAGE[1:]},sitemaps"


def test_what_no_cache_may_store_names_no_tags(client: Client, settings: Any) -> None:
    use(settings, CACHE_TAGS=["Cache-Tag"])
    assert "Cache-Tag" not in client.get("/sitemap-article-9.xml").headers
    client.get(PAGE)
    PageFile.objects.all().delete()
    Page.objects.update(claimed_by="another", claimed_until=time.time() + 60)
    answer = client.get(PAGE)
    assert answer.status_code == 503
    assert "Cache-Tag" not in answer.headers


def test_tags_are_ascii_and_begin_with_the_name_of_a_further_site(
    client: Client, register: Any, settings: Any
) -> None:
    register("ü", ArticleSitemap)
    blog = {"BASE_URL": "https://b.example"}
    use(settings, CACHE_TAGS=["Cache-Tag"], SITES={"blog": blog})
    tags = client.get("/sitemap-ü.xml").headers["Cache-Tag"]
    assert tags.startswith("sitemap-%C3%BC")
    settings.ROOT_URLCONF = "tests.support.blog_urls"
    for name in ("sitemap.xml", "robots.txt"):
        tags = client.get(f"/{name}").headers["Cache-Tag"]
        assert tags == f"blog/{name},blog/sitemaps"
