"""``Sitemap`` and its kin: what a class may say, and what it means."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sites.models import Site
from django.db.models import F
from django.test import Client

from django_sitemaps_plus import GenericSitemap, Route, Sitemap, StaticSitemap
from django_sitemaps_plus.models import Page
from tests.support.factories import FIRST, NoteFactory, articles
from tests.support.helpers import ArticleSitemap, Entry, crawled, locations, urlset
from tests.testapp.models import Article, Note

pytestmark = pytest.mark.django_db
HOST = "https://www.example.com"


class Notes(Sitemap):
    model = Note
    location = Route("note", number=F("number"))


def test_a_model_is_enough(client: Client, register: Any) -> None:
    register("article", type("Least", (Sitemap,), {"model": Article}))
    register("nothing", Sitemap)
    made = articles(2)
    assert urlset(client.get("/sitemap.xml")) == [
        Entry(f"{HOST}/articles/{article.slug}/") for article in made
    ]


# GenericSitemap


def test_generic_sitemaps(client: Client, register: Any) -> None:
    rows = {"queryset": Article.objects.all(), "date_field": "updated"}
    register("generic", GenericSitemap(rows, priority=0.4, changefreq="yearly"))
    (article,) = articles(1, updated=FIRST)
    loc, lastmod = f"{HOST}/articles/{article.slug}/", "2026-01-02T03:04:05+00:00"
    assert urlset(client.get("/sitemap.xml")) == [Entry(loc, lastmod, "yearly", "0.4")]
    assert Page.objects.count() == 1, "paged by key"
    articles(1)
    Page.objects.update(verified_at=0)
    assert len(urlset(client.get("/sitemap.xml"))) == 2


# GenericSitemap


# Contrib's own


class ContribPlain(contrib.Sitemap):
    """A class of contrib's, as it was."""

    limit = 10

    def items(self) -> Any:
        return Article.objects.order_by("-updated")

    def lastmod(self, item: Article) -> Any:
        return item.updated


def test_contrib_s_classes_are_served_unchanged_and_paged_by_key(
    client: Client, register: Any
) -> None:
    rows = {"queryset": Article.objects.all(), "date_field": "updated"}
    register("plain", ContribPlain)
    register("generic", contrib.GenericSitemap(rows))
    expected = [
        Entry(f"{HOST}/articles/{article.slug}/", article.updated.isoformat())
        for article in articles(15)
        if article.updated
    ]
    pages = crawled(client, "/sitemap.xml")
    assert [entry for page in pages for entry in page] == expected * 2
    assert Page.objects.count() == 3


# StaticSitemap


def test_static_pages_by_name_with_arguments(page_of: Any) -> None:
    names = (
        "home",
        ("article", {"slug": "imprint"}),
        ("number", [7]),
        ("thing", ("a b/ü",)),
        "/über uns",
        ("/{a}/x", {"a": "ä"}),
    )
    page = page_of(
        StaticSitemap,
        names=names,
        changefreq="monthly",
        priority=lambda self, item: 1.0 if item == "home" else 0.5,
    )
    more = ("articles/imprint/", "numbers/7/", "things/a%20b/%C3%BC/")
    assert urlset(page) == [
        Entry(f"{HOST}/", None, "monthly", "1.0"),
        *(
            Entry(f"{HOST}/{path}", None, "monthly", "0.5")
            for path in (*more, "%C3%BCber%20uns", "%C3%A4/x")
        ),
    ]
    names = (("note", {"number": 1}),)
    languages = {"i18n": True, "alternates": True, "languages": ("en", "de")}
    links = {code: f"{HOST}/{code}/notes/1/" for code in ("en", "de")}
    page = page_of(StaticSitemap, names=names, **languages)
    assert urlset(page) == [Entry(url, alternates=links) for url in links.values()]


@pytest.mark.parametrize(
    "way",
    [
        {},
        {"location": lambda self, item: f"/notes/{item.number}/"},
        {
            "items": lambda self: list(Note.objects.all()),
            "location": lambda self, item: f"/notes/{item.number}/",
        },
    ],
    ids=["row path", "object path", "by position"],
)
def test_no_language_at_all_is_no_entry(
    client: Client, page_of: Any, way: dict[str, Any]
) -> None:
    """As in contrib: an empty list is not the same as none, which is all of them."""
    NoteFactory.create_batch(3)
    none = {"i18n": True, "alternates": True, "languages": ()}
    assert urlset(page_of(Notes, **none, **way)) == []
    assert urlset(client.get("/sitemap.xml")) == []
    assert not Page.objects.exclude(bad=0).exists(), "nothing is wrong with the rows"


def test_a_static_page_whose_url_is_gone_is_left_out(
    page_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    names = ("home", "gone", ("article", {"slug": "not a slug"}))
    assert locations(page_of(StaticSitemap, names=names)) == [f"{HOST}/"]
    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith(
        "Section 'article', row 'gone' left out: Reverse for 'gone'"
    )
    assert "Reverse for 'article' with keyword arguments" in second


# The newest lastmod


def test_the_newest_lastmod_is_asked_of_the_database_or_of_all_items(
    django_assert_num_queries: Any,
) -> None:
    method = {"model": Article, "lastmod": lambda self, item: item.updated}
    called = type("Method", (Sitemap,), method)()
    assert called.get_latest_lastmod() is None
    newest = max(article.updated for article in articles(3) if article.updated)
    assert called.get_latest_lastmod() == newest
    articles(1, updated=None)
    assert called.get_latest_lastmod() is None, "an item is not dated"
    with django_assert_num_queries(1):
        assert ArticleSitemap().get_latest_lastmod() == newest
    day = dt.date(2026, 1, 2)
    assert type("Dated", (Sitemap,), {"lastmod": day})().get_latest_lastmod() == day


# Expressions


def test_expressions_want_a_queryset(
    page_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    articles(1)
    page = page_of(items=lambda self: list(Article.objects.all()))
    assert page.status_code == 503
    assert (
        "Section declares ORM expressions, but items() returns list. Return an "
        "unevaluated queryset, or use methods only."
    ) in caplog.text


def test_contrib_s_own_methods_know_expressions() -> None:
    """Who calls get_urls() for something else gets what the pages say."""
    (article,) = articles(1, weight=0.5)
    sitemap = type("Weighed", (ArticleSitemap,), {"priority": F("weight")})()
    (info,) = sitemap.get_urls(site=Site(domain="a.example"), protocol="https")
    assert info["location"] == f"https://a.example/articles/{article.slug}/"
    assert (info["lastmod"], info["priority"]) == (article.updated, "0.5")


# Expressions
