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
    ArticleSitemap,
    body,
    crawled,
    later,
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


def paths(client: Client, address: str = PAGE) -> list[str]:
    return [entry.loc.removeprefix(HOST) for entry in urlset(client.get(address))]


def test_an_item_has_as_many_as_the_class_gives(client: Client, register: Any) -> None:
    register("given", Given)
    titled("1", "0", "2", "bad")
    assert paths(client) == ["/a0/0/", "/a2/0/", "/a2/1/"]
    page = Page.objects.get()
    assert (page.items, page.entries, page.bad) == (4, 3, 1)
    assert "invalid literal for int()" in page.problems[0][1]


def test_each_part_of_an_entry_is_written(client: Client, register: Any) -> None:
    class Whole(Given):
        def get_urls_for_item(self, item: Article) -> Any:
            link = {"location": f"{HOST}/de/", "lang_code": "de"}
            elsewhere = {"location": "https://other.example/fr/", "lang_code": "fr"}
            return [
                {
                    "location": f"{HOST}/en/",
                    "lastmod": DAY,
                    "changefreq": "daily",
                    "priority": 0,
                    "alternates": [link, elsewhere],
                    "images": ["/a.jpg"],
                    "other keys": "are for whoever reads them",
                }
            ]

    register("given", Whole)
    titled("")
    (entry,) = urlset(client.get(PAGE))
    assert entry.loc == f"{HOST}/en/"
    assert (entry.lastmod, entry.changefreq) == ("2026-01-02", "daily")
    assert entry.priority == "0"
    assert entry.alternates == {"de": f"{HOST}/de/", "fr": "https://other.example/fr/"}
    assert entry.images == (f"{HOST}/a.jpg",)


@pytest.mark.parametrize("path", ["/a/../b/", "/a/?PHPSESSID=1"])
def test_a_url_of_no_page_of_its_own_is_bad_where_a_class_makes_all(
    client: Client, register: Any, path: str
) -> None:
    class Whole(Sitemap):
        def items(self) -> Any:
            return [path, *[f"/{number}/" for number in range(200)]]

        def get_urls(self, *args: Any, **kwargs: Any) -> Any:
            return [{"location": f"{HOST}{item}"} for item in self.items()]

    register("given", Whole)
    assert paths(client) == [f"/{number}/" for number in range(200)]


def test_an_overridden_method_may_add_to_what_the_class_declares(
    client: Client, register: Any
) -> None:
    class More(ArticleSitemap):
        changefreq = "daily"

        def get_urls_for_item(self, item: Any) -> Any:
            return [*super().get_urls_for_item(item), {"location": "/more/"}]

    articles(1)
    register("plain", type("Plain", (ArticleSitemap,), {"changefreq": "daily"}))
    register("given", More)
    (plain,) = urlset(client.get("/sitemap-plain-1.xml"))
    first, second = urlset(client.get(PAGE))
    assert first == plain
    assert (second.loc, second.lastmod) == (f"{HOST}/more/", None)


def test_by_position_it_is_the_same(client: Client, register: Any) -> None:
    class Listed(Given):
        def items(self) -> Any:
            return list(Article.objects.order_by("pk"))

    titled("2", "0", "1")
    register("given", Given)
    register("listed", Listed)
    by_key, by_position = client.get(PAGE), client.get("/sitemap-listed-1.xml")
    assert body(by_key) == body(by_position)


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
    client: Client, register: Any
) -> None:
    def get_urls_for_item(self: Any, item: Article) -> Any:
        yield {"location": f"/{item.slug}/"}
        yield {"location": f"/{item.slug}/dated/", "lastmod": DAY}

    own = {"get_urls_for_item": get_urls_for_item}
    register("given", type("Undated", (Given,), own))
    first, _ = titled("1", "1")
    client.get(PAGE)
    later(hints.LATE + 1, "unknown_at")
    told()
    first.save()
    client.get(PAGE)
    assert told() == [("changed", "/a0/")]


def test_what_items_need_is_looked_up_for_many_at_once(
    client: Client, register: Any
) -> None:
    seen: list[int] = []

    class Prepared(ArticleSitemap):
        def prepare_items(self, items: Any) -> None:
            seen.append(len(items))
            for item in items:
                item.found = f"/{item.pk}/"

        def location(self, item: Any) -> str:
            return str(item.found)

    register("given", Prepared)
    rows = articles(3)
    assert paths(client) == [f"/{row.pk}/" for row in rows]
    assert seen == [3]
