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
from tests.support.helpers import ArticleSitemap, Entry, listed, locations, urlset
from tests.testapp.models import Article, Note

pytestmark = pytest.mark.django_db


def test_a_model_is_enough(client: Client, register: Any) -> None:
    register("article", type("Least", (Sitemap,), {"model": Article}))
    register("nothing", Sitemap)
    made = articles(2)
    assert urlset(client.get("/sitemap.xml")) == [
        Entry(f"https://www.example.com/articles/{article.slug}/") for article in made
    ]


# GenericSitemap


def test_generic_sitemaps(client: Client, register: Any) -> None:
    register(
        "generic",
        GenericSitemap(
            {"queryset": Article.objects.all(), "date_field": "updated"},
            priority=0.4,
            changefreq="yearly",
        ),
    )
    (article,) = articles(1, updated=FIRST)
    assert urlset(client.get("/sitemap.xml")) == [
        Entry(
            f"https://www.example.com/articles/{article.slug}/",
            "2026-01-02T03:04:05+00:00",
            "yearly",
            "0.4",
        )
    ]
    assert Page.objects.count() == 1, "paged by key"
    articles(1)
    Page.objects.update(verified_at=0)
    assert len(urlset(client.get("/sitemap.xml"))) == 2


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
        Entry(
            f"https://www.example.com/articles/{article.slug}/",
            article.updated.isoformat(),
        )
        for article in articles(15)
        if article.updated
    ]
    found = []
    for address in listed(client.get("/sitemap.xml")):
        found += urlset(client.get(address.removeprefix("https://www.example.com")))
    assert found == expected * 2
    assert Page.objects.count() == 3


# StaticSitemap


def test_static_pages_by_name_with_arguments(client: Client, register: Any) -> None:
    class Pages(StaticSitemap):
        names = (
            "home",
            ("article", {"slug": "imprint"}),
            ("number", [7]),
            ("thing", ("a b/ü",)),
        )
        changefreq = "monthly"

        def priority(self, item: Any) -> float:
            return 1.0 if item == "home" else 0.5

    register("pages", Pages)
    start = "https://www.example.com"
    assert urlset(client.get("/sitemap.xml")) == [
        Entry(f"{start}/", None, "monthly", "1.0"),
        Entry(f"{start}/articles/imprint/", None, "monthly", "0.5"),
        Entry(f"{start}/numbers/7/", None, "monthly", "0.5"),
        Entry(f"{start}/things/a%20b/%C3%BC/", None, "monthly", "0.5"),
    ]


def test_static_pages_in_every_language(client: Client, register: Any) -> None:
    class Pages(StaticSitemap):
        names = (("note", {"number": 1}),)
        i18n = True
        alternates = True
        languages = ("en", "de")

    register("pages", Pages)
    start = "https://www.example.com"
    links = {code: f"{start}/{code}/notes/1/" for code in ("en", "de")}
    assert urlset(client.get("/sitemap.xml")) == [
        Entry(links["en"], alternates=links),
        Entry(links["de"], alternates=links),
    ]


@pytest.mark.parametrize("address", ["/sitemap.xml", "/sitemap-note-1.xml"])
@pytest.mark.parametrize("way", ["row path", "object path", "by position"])
def test_no_language_at_all_is_no_entry(
    client: Client, register: Any, way: str, address: str
) -> None:
    """As in contrib: an empty list is not the same as none, which is all of them."""

    class Notes(Sitemap):
        model = Note
        location: Any = Route("note", number=F("number"))
        i18n = True
        alternates = True
        languages = ()

    if way == "object path":
        Notes.location = lambda self, item: f"/notes/{item.number}/"
    if way == "by position":
        Notes.items = lambda self: list(Note.objects.all())
        Notes.location = lambda self, item: f"/notes/{item.number}/"
    register("note", Notes)
    for number in range(3):
        NoteFactory(number=number)
    assert urlset(client.get(address)) == []
    assert not Page.objects.exclude(bad=0).exists(), "nothing is wrong with the rows"


def test_a_static_page_whose_url_is_gone_is_left_out(
    client: Client, register: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Pages(StaticSitemap):
        names = ("home", "gone", ("article", {"slug": "not a slug"}))

    register("pages", Pages)
    assert locations(client.get("/sitemap.xml")) == ["https://www.example.com/"]
    first, second = (record.getMessage() for record in caplog.records)
    assert first.startswith("Section 'pages', row 'gone' left out: Reverse for 'gone'")
    assert "Reverse for 'article' with keyword arguments" in second


# The newest lastmod


def test_the_newest_lastmod_of_an_expression_is_asked_of_the_database(
    django_assert_num_queries: Any,
) -> None:
    made = articles(3)
    articles(1, updated=None)
    with django_assert_num_queries(1):
        assert ArticleSitemap().get_latest_lastmod() == max(a.updated for a in made)


def test_the_newest_lastmod_of_a_method() -> None:
    class Method(Sitemap):
        model = Article

        def lastmod(self, item: Article) -> Any:
            return item.updated

    assert Method().get_latest_lastmod() is None
    made = articles(3)
    assert Method().get_latest_lastmod() == max(a.updated for a in made)
    articles(1, updated=None)
    assert Method().get_latest_lastmod() is None, "an item is not dated"
    day = dt.date(2026, 1, 2)
    assert type("Dated", (Sitemap,), {"lastmod": day})().get_latest_lastmod() == day


# Expressions


def test_expressions_want_a_queryset(
    client: Client, register: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Listed(ArticleSitemap):
        def items(self) -> Any:
            return list(Article.objects.all())

    register("listed", Listed)
    articles(1)
    assert client.get("/sitemap-listed.xml").status_code == 503
    assert (
        "Listed declares ORM expressions, but items() returns list. Return an "
        "unevaluated queryset, or use methods only."
    ) in caplog.text


def test_contrib_s_own_methods_know_expressions() -> None:
    """Who calls get_urls() for something else gets what the pages say."""
    (article,) = articles(1, weight=0.5)
    sitemap = type("Weighed", (ArticleSitemap,), {"priority": F("weight")})()
    (info,) = sitemap.get_urls(site=Site(domain="a.example"), protocol="https")
    assert info["location"] == f"https://a.example/articles/{article.slug}/"
    assert info["lastmod"] == article.updated
    assert info["priority"] == "0.5"
    names = {"model": Note, "location": Route("note", number=F("number"))}
    notes = type(
        "Notes", (Sitemap,), {**names, "i18n": True, "languages": ("en", "de")}
    )
    NoteFactory(number=3)
    infos = notes().get_urls(site=Site(domain="a.example"), protocol="https")
    assert [info["location"] for info in infos] == [
        f"https://a.example/{language}/notes/3/" for language in ("en", "de")
    ]
