"""Sitemaps of other systems, in the index and in robots.txt."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from django.test import Client

from django_sitemaps_plus.checks.settings import check_extra_sitemaps
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.serving import index as indexes
from tests.conftest import Register
from tests.support.helpers import ArticleSitemap, listed
from tests.testapp.models import Article

ORIGIN = "https://www.example.com"
BLOG = "https://blog.example.org/sitemap_index.xml"


@pytest.fixture
def extra(settings: Any) -> Any:
    """Set ``EXTRA_SITEMAPS``, and further settings."""

    def change(*extra: Any, **others: Any) -> None:
        others = {**settings.SITEMAPS_PLUS, **others}
        settings.SITEMAPS_PLUS = {**others, "EXTRA_SITEMAPS": list(extra)}

    return change


def robots(client: Client) -> list[str]:
    """Return the sitemaps that robots.txt lists."""
    lines = client.get("/robots.txt").content.decode().splitlines()
    return [line.partition(": ")[2] for line in lines if line.startswith("Sitemap:")]


@pytest.mark.django_db
def test_robots_txt_lists_sitemaps_of_any_host(client: Client, extra: Any) -> None:
    extra(BLOG, "/blog/ü.xml")
    assert robots(client) == [
        f"{ORIGIN}/sitemap.xml",
        BLOG,
        f"{ORIGIN}/blog/%C3%BC.xml",
    ]
    extra(BLOG, ROBOTS=[{"user_agent": "*", "disallow": ["/"]}])
    assert robots(client) == [], "crawlers are not wanted"


@pytest.mark.django_db
def test_the_index_lists_sitemaps_of_its_own_host(
    client: Client, register: Register, extra: Any
) -> None:
    """It is an index then, however few entries there are."""
    Article.objects.create(slug="a")
    register("news", ArticleSitemap)
    extra(BLOG, {"url": "/blog/posts.xml", "index": True})
    assert listed(client.get("/sitemap.xml")) == [
        f"{ORIGIN}/sitemap-news-1.xml",
        f"{ORIGIN}/blog/posts.xml",
    ]
    assert robots(client) == [f"{ORIGIN}/sitemap.xml", BLOG]
    assert client.get("/sitemap-news.xml").status_code == 200
    assert b"posts.xml" not in client.get("/sitemap-news.xml").content


@pytest.mark.django_db
def test_what_the_index_may_not_list_is_in_robots_txt(
    client: Client, register: Register, extra: Any
) -> None:
    foreign = {"url": "https://cdn.example.org/more.xml", "index": True}
    outside = {"url": "/blog/posts.xml", "index": True}
    inside = {"url": "/shop/more.xml", "index": True}
    extra(foreign, outside, inside, BASE_URL=f"{ORIGIN}/shop")
    messages = check_extra_sitemaps()
    assert [check.id for check in messages] == ["sitemaps_plus.W063"] * 2
    assert "https://cdn.example.org/more.xml" in messages[0].msg
    register("news", ArticleSitemap)
    assert f"{ORIGIN}/shop/more.xml" in listed(client.get("/sitemap.xml"))
    assert robots(client)[1:] == [foreign["url"], f"{ORIGIN}/blog/posts.xml"]


@pytest.mark.django_db
def test_further_index_files_have_room_for_them(
    client: Client, register: Register, extra: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "MAX_INDEX_ENTRIES", 2)
    Article.objects.bulk_create(Article(slug=f"a{n}") for n in range(5))
    register("news", type("Small", (ArticleSitemap,), {"limit": 2}))
    client.get("/sitemap-news.xml")
    numbers = Page.objects.order_by("number").values_list("number", flat=True)
    pages = [f"{ORIGIN}/sitemap-news-{number}.xml" for number in numbers]
    extra({"url": "/more.xml", "index": True})
    found = [listed(client.get(one.removeprefix(ORIGIN))) for one in robots(client)]
    assert [*chain(*found)] == [*pages, f"{ORIGIN}/more.xml"]


@pytest.mark.parametrize(
    "wrong",
    [
        "posts.xml",
        "ftp://blog.example.org/x.xml",
        {"url": "/x.xml", "indexed": True},
        {"url": "/x.xml", "index": "yes"},
        {"index": True},
        3,
    ],
)
def test_what_is_no_sitemap_s_address_is_refused(extra: Any, wrong: Any) -> None:
    extra(wrong)
    with pytest.raises(ConfigurationError, match=r"EXTRA_SITEMAPS'\]\[0\]"):
        get_settings()
