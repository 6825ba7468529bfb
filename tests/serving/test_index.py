"""The addresses that gather others: entries or index, and when which."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import Sitemap, touch
from django_sitemaps_plus.models import Change, Page, Section
from django_sitemaps_plus.serving import documents
from django_sitemaps_plus.serving import listed as serving_listed
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    Small,
    Titled,
    as_older_code,
    body,
    crawled,
    index,
    listed,
    run_command,
    urlset,
)
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

START = "https://www.example.com/sitemap"


def no_articles(self: Any) -> Any:
    return Article.objects.none()


def keep(count: int) -> None:
    """Leave or make as many articles as that, and let the ledger know."""
    there = list(Article.objects.order_by("-pk").values_list("pk", flat=True))
    Article.objects.filter(pk__in=there[count:]).delete()
    articles(max(0, count - len(there)))
    out, err, code = run_command("build_sitemaps", "--reconcile", "--deep")
    assert code == 0, (out, err)


def kind(client: Client, address: str) -> str:
    """Say what stands at an address."""
    return "index" if b"<sitemapindex" in client.get(address).content else "urlset"


# Entries or index


@pytest.mark.parametrize("address", ["/sitemap.xml", "/sitemap-small.xml"])
@pytest.mark.costly
def test_an_index_stays_one_until_there_are_clearly_fewer(
    client: Client, register: Any, address: str
) -> None:
    register("small", Small)
    for count, expected in [
        (9, "urlset"),
        (10, "urlset"),
        (11, "index"),
        (10, "index"),
        (9, "index"),
        (8, "urlset"),
        (10, "urlset"),
        (12, "index"),
        (0, "urlset"),
    ]:
        keep(count)
        assert kind(client, address) == expected, count


def test_site_and_section_decide_for_themselves(client: Client, register: Any) -> None:
    register("small", Small)
    register("pages", PagesSitemap)
    keep(11)
    assert kind(client, "/sitemap.xml") == "index"
    keep(9)
    assert kind(client, "/sitemap-small.xml") == "urlset", "it never was an index"
    assert kind(client, "/sitemap.xml") == "index"
    assert kind(client, "/sitemap-pages.xml") == "urlset"


@pytest.mark.parametrize(
    ("attributes", "counts"),
    [
        ({}, (25_000, 25_001, 20_001, 20_000)),
        # Each section fits its page, but the limit is that of a file.
        ({"news": lambda self, item: None}, (500, 501, 401, 400)),
    ],
    ids=["50000 entries", "1000 pieces of news"],
)
def test_the_site_is_an_index_above_the_limit_of_a_file(
    client: Client, register: Any, attributes: Any, counts: tuple[int, ...]
) -> None:
    for name in ("one", "two"):
        register(name, type(name.title(), (ArticleSitemap,), attributes))
    register("plain", type("Plain", (ArticleSitemap,), {"items": no_articles}))
    articles(1)
    assert kind(client, "/sitemap.xml") == "urlset"
    pages = Page.objects.exclude(section__name="plain")
    for entries, expected in zip(
        counts, ("urlset", "index", "index", "urlset"), strict=True
    ):
        pages.update(entries=entries)
        assert kind(client, "/sitemap.xml") == expected, entries


# No page is built for an index


READ = ("testapp_article", "sitemaps_plus_pagefile", "sitemaps_plus_change")


@pytest.fixture
def large(client: Client, register: Any) -> list[Article]:
    """Three pages of nine, nine and seven articles, all built and asked for."""
    register("small", Small)
    made = articles(25, updated=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    for address in ("", "-small", "-small-1", "-small-2", "-small-3"):
        assert client.get(f"/sitemap{address}.xml").status_code == 200
    return made


@pytest.mark.django_db(transaction=True)
def test_an_index_costs_the_same_however_many_changes_wait(
    client: Client, large: list[Article]
) -> None:
    versions = list(Page.objects.values_list("version", flat=True))
    for article in large[:20]:
        article.slug += "-b"
        article.save()
    large[20].delete()
    Article.objects.update(title="touched")
    touch(Article)
    Page.objects.update(verified_at=1)
    with CaptureQueriesContext(connection) as captured:
        for address in ("/sitemap.xml", "/sitemap-small.xml"):
            assert listed(client.get(address))
    for query in captured:
        assert query["sql"].startswith("SELECT")
        assert not any(name in query["sql"] for name in READ)
    assert list(Page.objects.values_list("version", flat=True)) == versions
    assert Change.objects.filter(page=None).count() == 22, "nor are they assigned"
    # Pages that were never built are listed, and not built.
    Section.objects.all().delete()
    for address in ("/sitemap.xml", "/sitemap-small.xml"):
        assert len(listed(client.get(address))) == 3
    assert not Page.objects.exclude(checksum="").exists()


def lastmods(client: Client) -> dict[str, str | None]:
    found = index(client.get("/sitemap-small.xml"))
    return {entry.loc.removeprefix(START): entry.lastmod for entry in found}


@pytest.mark.django_db(transaction=True)
def test_an_index_says_which_pages_changed_once_they_are_rebuilt(
    client: Client, large: list[Article]
) -> None:
    former = lastmods(client)
    large[12].slug = "b"
    large[12].save()
    large[0].delete()
    assert lastmods(client) == former, "nobody knows yet what the pages list"
    for number in (2, 1):
        client.get(f"/sitemap-small-{number}.xml")
        client.get("/sitemap-small-3.xml")
        after = lastmods(client)
        # Now, where they were of the year 2020.
        changed = [f"-small-{page}.xml" for page in (1, 2) if page >= number]
        assert [name for name in after if after[name] != former[name]] == changed


def test_an_index_is_not_empty_because_the_database_fails(
    client: Client, large: list[Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(names: Any) -> Any:
        raise DatabaseError("no such column")

    monkeypatch.setattr(serving_listed, "sections_called", fail)
    assert client.get("/sitemap.xml").status_code == 503


def test_a_section_that_cannot_be_filled_any_more_is_listed_as_it_was(
    client: Client, large: list[Article], register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> Any:
        raise ValueError("a row's key is None")

    former = listed(client.get("/sitemap.xml"))
    Page.objects.filter(number__gt=1).update(checksum="", entries=None)
    register("small", type("Small", (Small,), {"items": fail}))
    assert listed(client.get("/sitemap-small.xml")) == former, "with those not built"
    register("small", Small)
    Section.objects.filter(name="small").update(filled=False)
    monkeypatch.setattr(serving_listed, "fill", fail)
    assert listed(client.get("/sitemap.xml")) == former, "each page once"


# Merged entries


class Pictured(ArticleSitemap):
    images = "/a.jpg"


def test_sections_of_all_kinds_stand_together(client: Client, register: Any) -> None:
    def news(self: Any, item: Article) -> Any:
        publication = {"name": "The Example", "language": "en"}
        return {**publication, "publication_date": dt.date(2026, 1, 2), "title": "x"}

    register("plain", ArticleSitemap)
    register("pictured", Pictured)
    register("reported", type("Reported", (ArticleSitemap,), {"news": news}))
    register("pages", type("Plain", (PagesSitemap,), {"protocol": "http"}))
    articles(2)
    response = client.get("/sitemap.xml")
    entries = urlset(response)
    assert [len(entry.images) for entry in entries] == [0, 0, 1, 1, 0, 0, 0, 0]
    assert body(response).count(b"<news:news>") == 2
    assert entries[-1].loc == "http://www.example.com/about/"


def test_a_deploy_that_adds_images_changes_all_that_stands_together(
    client: Client, register: Any
) -> None:
    """Built by older code, the page has no namespace for what another one has."""
    register("other", ArticleSitemap)
    register("article", ArticleSitemap)
    articles(2)
    tag = client.get("/sitemap.xml").headers["ETag"]
    register("article", Pictured)
    response = client.get("/sitemap.xml", headers={"if-none-match": tag})
    assert [len(entry.images) for entry in urlset(response)] == [0, 0, 1, 1]
    # Older code that still runs sends what is stored, and merges it as it is.
    register("article", ArticleSitemap)
    with as_older_code():
        response = client.get("/sitemap.xml")
        assert [len(entry.images) for entry in urlset(response)] == [0, 0, 1, 1]


def test_what_stands_together_costs_three_queries_however_many_pages(
    client: Client, register: Any, django_assert_num_queries: Any
) -> None:
    for name in ("one", "two", "three"):
        register(name, type(name.title(), (ArticleSitemap,), {}))
    articles(2)
    client.get("/sitemap.xml")
    client.get("/sitemap.xml")
    with django_assert_num_queries(3) as captured:
        client.get("/sitemap.xml")
    assert not any("testapp_article" in query["sql"] for query in captured)


# What an index lists


def test_what_is_above_50_mb_together_is_an_index(
    client: Client, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows how large pages are before they are built."""
    assert documents.MAX_BYTES == 52_428_800
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    articles(3)
    whole = client.get("/sitemap.xml").content
    assert len(urlset(client.get("/sitemap.xml"))) == 5
    for most, expected in ((len(whole), "urlset"), (len(whole) - 1, "index")):
        Section.objects.all().delete()
        monkeypatch.setattr(documents, "MAX_BYTES", most)
        assert kind(client, "/sitemap.xml") == expected
        known = Section.objects.filter(name="").values_list("is_index", flat=True)
        assert any(known) is (expected == "index"), "not joined for each request"


def test_empty_sections_are_not_listed_nor_is_one_that_was_never_built(
    client: Client, register: Any
) -> None:
    register("empty", type("Empty", (Small,), {"items": no_articles}))
    register("broken", Titled)
    register("small", Small)
    articles(11, title="bad")
    assert urlset(client.get("/sitemap-empty-1.xml")) == []
    # Not an index that names what cannot be had.
    for name in ("", "-broken", "-broken-1"):
        assert client.get(f"/sitemap{name}.xml").status_code == 503
    assert len(urlset(client.get("/sitemap-small-1.xml"))) == 9


def misspelt(self: Any) -> Any:
    return Article.objects.extra(where=["no_such_column = 1"])


def combined(self: Any) -> Any:
    return Article.objects.all().union(Article.objects.all())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("items", [misspelt, combined, lambda self: misspelt(self)[:5]])
def test_a_query_that_fails_is_its_section_s_fault(
    client: Client, register: Any, items: Any, caplog: pytest.LogCaptureFixture
) -> None:
    register("small", Small)
    articles(2)
    client.get("/sitemap.xml")
    register("wrong", type("Wrong", (ArticleSitemap,), {"items": items}))
    # How many URLs it has nobody knows, nor what the database says: it may be secret.
    for _ in range(2):
        response = client.get("/sitemap.xml")
        assert response.status_code == 503
        assert response.content == (
            b"The sitemap cannot be built at the moment. Please try again later.\n"
        )
    said = [text for text in caplog.messages if "Service Unavailable" not in text]
    assert said == ["The section 'wrong' cannot be used."], "once, not each time"
    assert len(urlset(client.get("/sitemap-small.xml"))) == 2


class Lettered(Sitemap):
    """Paged by position."""

    def items(self) -> Any:
        return "abcde"

    def location(self, item: str) -> str:
        return f"/{item}/"


def first_century(self: Any, item: str) -> dt.datetime:
    return dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2)))


@pytest.mark.parametrize(
    ("lastmod", "expected"),
    [
        (lambda self, item: dt.date(2026, 1, 1 + "abcde".index(item)), "2026-01-05"),
        (first_century, None),
        (lambda self, item: {"a": dt.date(2026, 1, 2)}[item], None),
    ],
    ids=["newest", "out of the calendar", "one raises"],
)
def test_the_only_page_of_a_section_by_position_has_its_newest_lastmod(
    client: Client, register: Any, caplog: Any, lastmod: Any, expected: str | None
) -> None:
    register("letters", type("Dated", (Lettered,), {"lastmod": lastmod}))
    register("small", type("Few", (Small,), {"limit": 1}))
    articles(2)
    # Now it is known that these do not fit one file.
    client.get("/sitemap.xml")
    caplog.clear()
    letters, *_ = index(client.get("/sitemap.xml"))
    assert letters.loc == f"{START}-letters-1.xml"
    assert letters.lastmod == (expected and f"{expected}T00:00:00+00:00")
    problem = "Section 'letters': its newest lastmod is not known: KeyError: 'b'"
    raises = expected is None and lastmod is not first_century
    assert {*caplog.messages} == ({problem} if raises else set())


def test_a_section_by_position_is_listed_page_by_page(
    client: Client, register: Any
) -> None:
    """Without a date: the section's newest is not that of each page."""
    dated = {"limit": 2, "lastmod": lambda self, item: dt.date(2026, 1, 2)}
    register("letters", type("Dated", (Lettered,), dated))
    for address in ("/sitemap.xml", "/sitemap-letters.xml"):
        assert [(e.loc, e.lastmod) for e in index(client.get(address))] == [
            (f"{START}-letters-{number}.xml", None) for number in (1, 2, 3)
        ]


# More pages than one index may list


def test_more_pages_than_an_index_may_list_are_listed_by_several_files(
    client: Client, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django_sitemaps_plus.serving.index.MAX_INDEX_ENTRIES", 3)
    register("small", Small)
    articles(31)
    client.get("/sitemap.xml")
    Page.objects.update(entries=20_000)
    for address, further in [
        ("/sitemap.xml", "/sitemap-index-2.xml"),
        ("/sitemap-small.xml", "/sitemap-small-index-2.xml"),
    ]:
        first = listed(client.get(address))
        assert first == [f"{START}-small-{number}.xml" for number in (1, 2, 3)]
        assert listed(client.get(further)) == [f"{START}-small-4.xml"]
        twin = client.get(f"{further}.gz")
        assert listed(twin) == [f"{START}-small-4.xml"]
        assert client.get(further.replace("2", "3")).status_code == 404
    robots = client.get("/robots.txt").content.decode()
    assert robots.endswith(f"Sitemap: {START}.xml\nSitemap: {START}-index-2.xml\n")
    # Pages of sections that are no more do not count.
    Section.objects.filter(name="small").update(name="former")
    robots = client.get("/robots.txt").content.decode()
    assert robots.endswith(f"\nSitemap: {START}.xml\n")


# An index by section


def test_with_index_each_section_has_files_of_its_own(
    client: Client, register: Any, settings: Any
) -> None:
    register("article", ArticleSitemap)
    articles(3)
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "INDEX": True}
    assert kind(client, "/sitemap.xml") == "urlset", "a single section is one file"
    register("pages", PagesSitemap)
    parts = listed(client.get("/sitemap.xml"))
    assert kind(client, "/sitemap.xml") == "index"
    assert parts == [f"{START}-article-1.xml", f"{START}-pages-1.xml"]
    found = crawled(client, "/sitemap.xml")
    assert kind(client, "/sitemap-article.xml") == "urlset"
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "INDEX": False}
    whole = {entry.loc for entry in urlset(client.get("/sitemap.xml"))}
    assert {entry.loc for page in found for entry in page} == whole, "and back"
    for page in ("article", "pages"):
        assert kind(client, f"/sitemap-{page}-1.xml") == "urlset"


def test_with_index_a_site_without_entries_has_no_empty_index(
    client: Client, register: Any, settings: Any
) -> None:
    register("article", ArticleSitemap)
    register("twin", ArticleSitemap)
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "INDEX": True}
    for count, expected in ((0, "urlset"), (1, "index")):
        keep(count)
        assert kind(client, "/sitemap.xml") == expected
