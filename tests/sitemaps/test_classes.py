"""``Sitemap`` and its kin: what a class may say, and what it means."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sites.models import Site
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from django_sitemaps_plus import GenericSitemap, Route, Sitemap, StaticSitemap
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Page
from tests.support.factories import FIRST, NoteFactory, articles
from tests.support.helpers import (
    ArticleSitemap,
    Entry,
    index,
    listed,
    locations,
    urlset,
)
from tests.testapp.models import Article, Note

pytestmark = pytest.mark.django_db


def test_the_classes_are_those_of_contrib() -> None:
    assert issubclass(Sitemap, contrib.Sitemap)
    assert issubclass(GenericSitemap, contrib.GenericSitemap)
    assert issubclass(GenericSitemap, Sitemap)


def test_a_model_is_enough(client: Client, register: Any) -> None:
    register("article", type("Least", (Sitemap,), {"model": Article}))
    made = articles(2)
    assert urlset(client.get("/sitemap.xml")) == [
        Entry(f"https://www.example.com/articles/{article.slug}/") for article in made
    ]


def test_without_model_and_items_there_is_nothing(
    client: Client, register: Any
) -> None:
    register("nothing", Sitemap)
    assert urlset(client.get("/sitemap.xml")) == []


def test_items_come_before_the_model(client: Client, register: Any) -> None:
    class Live(ArticleSitemap):
        def items(self) -> Any:
            return Article.objects.filter(live=True)

    register("article", Live)
    articles(1, live=False)
    (live,) = articles(1)
    assert locations(client.get("/sitemap.xml")) == [
        f"https://www.example.com/articles/{live.slug}/"
    ]


def test_methods_take_what_contrib_s_take(client: Client, register: Any) -> None:
    class Methods(Sitemap):
        def items(self) -> Any:
            return ["a", "b"]

        def location(self, item: str) -> str:
            return f"/{item}/"

        def lastmod(self, item: str) -> dt.date:
            return dt.date(2026, 1, 1 if item == "a" else 2)

        def changefreq(self, item: str) -> str:
            return "daily" if item == "a" else "never"

        def priority(self, item: str) -> float | None:
            return 1.0 if item == "a" else None

    register("methods", Methods)
    assert urlset(client.get("/sitemap.xml")) == [
        Entry("https://www.example.com/a/", "2026-01-01", "daily", "1.0"),
        Entry("https://www.example.com/b/", "2026-01-02", "never"),
    ]


def test_an_absolute_url_of_the_site_is_a_location_too(
    client: Client, register: Any
) -> None:
    class Absolute(Sitemap):
        def items(self) -> Any:
            return ["https://www.example.com/a?b=c", "HTTPS://WWW.EXAMPLE.COM:443/ü"]

        def location(self, item: str) -> str:
            return item

    register("absolute", Absolute)
    assert locations(client.get("/sitemap.xml")) == [
        "https://www.example.com/a?b=c",
        "https://www.example.com/%C3%BC",
    ]


def test_a_route_can_be_called_in_a_method(client: Client, register: Any) -> None:
    route = Route("article")

    class Called(Sitemap):
        model = Article

        def location(self, item: Article) -> str:
            return route(slug=item.slug)

    register("article", Called)
    (article,) = articles(1)
    assert locations(client.get("/sitemap.xml")) == [
        f"https://www.example.com{reverse('article', args=[article.slug])}"
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


def test_a_generic_sitemap_sees_new_rows(client: Client, register: Any) -> None:
    register("generic", GenericSitemap({"queryset": Article.objects.all()}))
    articles(1)
    assert len(urlset(client.get("/sitemap.xml"))) == 1
    articles(1)
    Page.objects.update(verified_at=0)
    assert len(urlset(client.get("/sitemap.xml"))) == 2


# Contrib's own


class ContribPlain(contrib.Sitemap):  # type: ignore[type-arg]
    """A class of contrib's, as it was."""

    limit = 10

    def items(self) -> Any:
        return Article.objects.order_by("-updated")

    def lastmod(self, item: Article) -> Any:
        return item.updated


CONTRIB = {
    "plain": ContribPlain,
    "generic": contrib.GenericSitemap(
        {"queryset": Article.objects.all(), "date_field": "updated"}
    ),
}


def test_contrib_s_classes_are_served_unchanged_and_paged_by_key(
    client: Client, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {
        **settings.SITEMAPS_PLUS,
        "SITEMAPS": f"{__name__}.CONTRIB",
    }
    made = articles(15)
    found = {"plain": [], "generic": []}
    for address in listed(client.get("/sitemap.xml")):
        entries = urlset(client.get(address.removeprefix("https://www.example.com")))
        found["plain" if "plain" in address else "generic"] += entries
    expected = [
        Entry(
            f"https://www.example.com/articles/{article.slug}/",
            article.updated.isoformat(),
        )
        for article in made
    ]
    assert found == {"plain": expected, "generic": expected}
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
        Notes.items = lambda self: list(Note.objects.all())  # type: ignore[method-assign]
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


def test_the_newest_lastmod_of_a_constant() -> None:
    day = dt.date(2026, 1, 2)
    assert type("Dated", (Sitemap,), {"lastmod": day})().get_latest_lastmod() == day
    assert Sitemap().get_latest_lastmod() is None


# Expressions


def test_expressions_want_a_queryset(client: Client, register: Any) -> None:
    class Listed(ArticleSitemap):
        def items(self) -> Any:
            return list(Article.objects.all())

    register("listed", Listed)
    articles(1)
    with pytest.raises(ConfigurationError) as caught:
        client.get("/sitemap-listed.xml")
    assert str(caught.value).endswith(
        "Listed declares ORM expressions, but items() returns list. Return a queryset, "
        "or use methods."
    )


def test_contrib_s_own_methods_know_expressions() -> None:
    """Who calls get_urls() for something else gets what the pages say."""
    (article,) = articles(1, weight=0.5)
    sitemap = type("Weighed", (ArticleSitemap,), {"priority": F("weight")})()
    (info,) = sitemap.get_urls(site=Site(domain="a.example"), protocol="https")
    assert info["location"] == f"https://a.example/articles/{article.slug}/"
    assert info["lastmod"] == article.updated
    assert info["priority"] == "0.5"


def test_contrib_s_own_methods_know_routes_in_languages() -> None:
    class Notes(Sitemap):
        model = Note
        location = Route("note", number=F("number"))
        i18n = True
        languages = ("en", "de")

    NoteFactory(number=3)
    infos = Notes().get_urls(site=Site(domain="a.example"), protocol="https")
    assert [info["location"] for info in infos] == [
        "https://a.example/en/notes/3/",
        "https://a.example/de/notes/3/",
    ]


def test_the_time_of_the_database_can_be_a_lastmod(
    client: Client, register: Any
) -> None:
    register("article", type("Fresh", (ArticleSitemap,), {"lastmod": Now()}))
    articles(1)
    (entry,) = urlset(client.get("/sitemap.xml"))
    seen = dt.datetime.fromisoformat(entry.lastmod or "")
    assert abs(dt.datetime.now(dt.UTC) - seen) < dt.timedelta(minutes=1)


def test_the_lastmod_of_a_page_in_the_index_is_its_newest(
    client: Client, register: Any
) -> None:
    register("article", type("Small", (ArticleSitemap,), {"limit": 10}))
    for day in (*range(20, 8, -1), 31, 1):
        articles(1, updated=dt.datetime(2026, 1, day, 12, tzinfo=dt.UTC))
    expected = []
    for entry in index(client.get("/sitemap.xml")):
        assert entry.lastmod is None, "nothing is known of it as yet"
        page = client.get(entry.loc.removeprefix("https://www.example.com"))
        expected.append(max(item.lastmod or "" for item in urlset(page)))
    seen = [entry.lastmod for entry in index(client.get("/sitemap.xml"))]
    assert (
        seen
        == expected
        == [
            "2026-01-20T12:00:00+00:00",
            "2026-01-31T12:00:00+00:00",
        ]
    )
