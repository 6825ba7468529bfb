"""An item's entries, given by the class itself: none, one or several."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from django_sitemaps_plus import Sitemap
from django_sitemaps_plus.changes import hints
from django_sitemaps_plus.models import Page
from tests.support.factories import articles
from tests.support.helpers import (
    Entry,
    body,
    crawled,
    later,
    locations,
    run_command,
    told,
    urlset,
)
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

HOST = "https://www.example.com"
PAGE = "/sitemap-given-1.xml"
DAY = dt.date(2026, 1, 2)


class Given(Sitemap):
    """As many entries as the item's title says."""

    model = Article

    def get_urls_for_item(self, item: Article) -> Any:
        for number in range(int(item.title)):
            yield {"location": f"/{item.slug}/{number}/", "lastmod": DAY}


def titled(*titles: str) -> list[Article]:
    rows = [Article(slug=f"a{n}", title=title) for n, title in enumerate(titles)]
    # MySQL tells no keys of several rows.
    Article.objects.bulk_create(rows)
    return list(Article.objects.order_by("pk"))


def test_an_item_has_as_many_as_the_class_gives(page_of: Any) -> None:
    titled("1", "0", "2", "bad")
    by_key = page_of(Given)
    found = [entry.loc.removeprefix(HOST) for entry in urlset(by_key)]
    assert found == ["/a0/0/", "/a2/0/", "/a2/1/"]
    page = Page.objects.get()
    assert (page.items, page.entries, page.bad) == (4, 3, 1)
    assert "invalid literal for int()" in page.problems[0][1]
    by_position = page_of(Given, items=lambda self: [*Article.objects.order_by("pk")])
    assert body(by_key) == body(by_position)


def test_each_part_of_an_entry_is_written(page_of: Any) -> None:
    alternates = {"de": f"{HOST}/de/", "fr": "https://other.example/fr/"}
    given = {
        "location": f"{HOST}/en/",
        "lastmod": DAY,
        "changefreq": "daily",
        "priority": 0,
        "alternates": [
            {"location": url, "lang_code": code} for code, url in alternates.items()
        ],
        "images": ["/a.jpg"],
        "other keys": "are for whoever reads them",
    }
    titled("")
    images = (f"{HOST}/a.jpg",)
    assert urlset(page_of(get_urls_for_item=lambda self, item: [given])) == [
        Entry(f"{HOST}/en/", "2026-01-02", "daily", "0", alternates, images)
    ]


def test_a_url_of_no_page_of_its_own_is_bad_where_a_class_makes_all(
    page_of: Any,
) -> None:
    good = [f"{HOST}/{number}/" for number in range(200)]
    urls = [f"{HOST}/a/../b/", f"{HOST}/a/?PHPSESSID=1", *good]
    infos = [{"location": url} for url in urls]
    own = {"items": lambda self: urls, "get_urls": lambda self, *args, **kwargs: infos}
    assert locations(page_of(Sitemap, **own)) == good


def test_an_overridden_method_may_add_to_what_the_class_declares(page_of: Any) -> None:
    def get_urls_for_item(self: Any, item: Any) -> Any:
        return [*Sitemap.get_urls_for_item(self, item), {"location": "/more/"}]

    articles(1)
    expected = [*urlset(page_of(changefreq="daily")), Entry(f"{HOST}/more/")]
    page = page_of(changefreq="daily", get_urls_for_item=get_urls_for_item)
    assert urlset(page) == expected


def test_the_limit_counts_entries_and_an_item_s_stay_together(
    client: Client, register: Any
) -> None:
    register("given", type("Small", (Given,), {"limit": 4}))
    titled("3", "2", "2", "3")
    run_command("build_sitemaps")
    pages = crawled(client, "/sitemap-given.xml")
    seen = [[entry.loc.split("/")[3] for entry in page] for page in pages]
    assert sorted(seen) == [["a0"] * 3, ["a1", "a1", "a2", "a2"], ["a3"] * 3]


def test_each_entry_that_comes_or_goes_is_told(client: Client, register: Any) -> None:
    register("given", Given)
    first, second = titled("1", "1")
    client.get(PAGE)
    told()
    first.title, second.title = "3", "0"
    first.save()
    second.save()
    run_command("build_sitemaps")
    assert sorted(told()) == [
        ("added", "/a0/1/"),
        ("added", "/a0/2/"),
        ("changed", "/a0/0/"),
        ("removed", "/a1/0/"),
    ]
    later(hints.LATE + 1, "unknown_at")
    first.save()
    run_command("build_sitemaps")
    assert told() == [], "nothing of it changed"


def test_entries_without_a_lastmod_are_told_after_each_save(
    client: Client, page_of: Any
) -> None:
    def get_urls_for_item(self: Any, item: Article) -> Any:
        yield {"location": f"/{item.slug}/"}
        yield {"location": f"/{item.slug}/dated/", "lastmod": DAY}

    first, _ = titled("1", "1")
    page_of(get_urls_for_item=get_urls_for_item)
    later(hints.LATE + 1, "unknown_at")
    told()
    first.save()
    client.get("/sitemap-article-1.xml")
    assert told() == [("changed", "/a0/")]


def test_what_items_need_is_looked_up_for_many_at_once(page_of: Any) -> None:
    seen: list[int] = []

    def prepare_items(self: Any, items: Any) -> None:
        seen.append(len(items))
        for item in items:
            item.found = f"/{item.pk}/"

    rows = articles(3)
    page = page_of(prepare_items=prepare_items, location=lambda self, item: item.found)
    assert locations(page) == [f"{HOST}/{row.pk}/" for row in rows]
    assert seen == [3]
