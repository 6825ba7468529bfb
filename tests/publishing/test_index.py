"""The addresses that gather others: entries or index, and when which."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import Sitemap, touch
from django_sitemaps_plus.models import Change, Page, Section
from django_sitemaps_plus.publishing import refresh
from django_sitemaps_plus.sitemaps.sections import source
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    as_older_code,
    body,
    index,
    listed,
    locations,
    run_command,
    urlset,
)
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

START = "https://www.example.com/sitemap"


class Small(ArticleSitemap):
    """Ten articles to a page."""

    limit = 10


@pytest.fixture(autouse=True)
def no_grace(settings: Any) -> None:
    """A page that is split shows at once what it has lost."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "SPLIT_GRACE": 0}


def keep(count: int) -> None:
    """Leave or make as many articles as that, and let the ledger know."""
    there = list(Article.objects.order_by("-pk").values_list("pk", flat=True))
    Article.objects.filter(pk__in=there[count:]).delete()
    articles(max(0, count - len(there)))
    out, err, code = run_command("build_sitemaps", "--reconcile", "--deep")
    assert (err, code) == ("", 0), out


def kind(client: Client, address: str) -> str:
    """Say what stands at an address."""
    return "index" if b"<sitemapindex" in client.get(address).content else "urlset"


# Entries or index


@pytest.mark.parametrize("address", ["/sitemap.xml", "/sitemap-small.xml"])
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


def test_the_site_is_an_index_above_50000_entries_of_all_sections(
    client: Client, register: Any
) -> None:
    register("one", ArticleSitemap)
    register("two", type("Two", (ArticleSitemap,), {}))
    articles(1)
    assert kind(client, "/sitemap.xml") == "urlset"
    for entries, expected in [
        (25_000, "urlset"),
        (25_001, "index"),
        (20_001, "index"),
        (20_000, "urlset"),
    ]:
        Page.objects.update(entries=entries)
        assert kind(client, "/sitemap.xml") == expected, entries


def test_the_site_is_an_index_above_1000_pieces_of_news(
    client: Client, register: Any
) -> None:
    """Each section fits its page, but the limit is that of a file."""
    for name in ("one", "two"):
        register(
            name, type(name.title(), (ArticleSitemap,), {"news": lambda s, i: None})
        )
    register("plain", ArticleSitemap)
    articles(1)
    assert kind(client, "/sitemap.xml") == "urlset"
    for entries, expected in [
        (500, "urlset"),
        (501, "index"),
        (401, "index"),
        (400, "urlset"),
    ]:
        Page.objects.exclude(section__name="plain").update(entries=entries)
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


def asked_of_rows(client: Client) -> list[str]:
    """Ask for the index, and return the statements that are about more than pages."""
    with CaptureQueriesContext(connection) as captured:
        for address in ("/sitemap.xml", "/sitemap-small.xml"):
            assert listed(client.get(address))
    return [
        query["sql"]
        for query in captured
        if any(name in query["sql"] for name in READ)
        or not query["sql"].startswith("SELECT")
    ]


def test_pages_that_were_never_built_are_listed_not_built(
    client: Client, register: Any
) -> None:
    register("small", Small)
    articles(30)
    for address in ("/sitemap.xml", "/sitemap-small.xml"):
        assert len(listed(client.get(address))) == 4
    assert asked_of_rows(client) == []
    assert not Page.objects.exclude(checksum="").exists()


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
    assert asked_of_rows(client) == []
    assert list(Page.objects.values_list("version", flat=True)) == versions
    assert Change.objects.filter(page=None).count() == 22, "nor are they assigned"


def lastmods(client: Client) -> dict[str, str | None]:
    found = index(client.get("/sitemap-small.xml"))
    return {entry.loc.removeprefix(START): entry.lastmod for entry in found}


@pytest.mark.django_db(transaction=True)
def test_an_index_says_that_a_page_changed_as_soon_as_that_is_reported(
    client: Client, large: list[Article]
) -> None:
    former = lastmods(client)
    large[12].slug = "b"
    large[12].save()
    large[0].delete()
    assert lastmods(client) == former
    refresh.report_all([source("small")])
    after = lastmods(client)
    # What was deleted was not reported with an entry.
    assert [name for name in after if after[name] != former[name]] == ["-small-2.xml"]
    # A build keeps it, and it never goes back.
    for number in (1, 2, 3):
        client.get(f"/sitemap-small-{number}.xml")
    built = lastmods(client)
    assert built["-small-2.xml"] >= after["-small-2.xml"]
    assert built["-small-1.xml"] > former["-small-1.xml"], "now it is known"
    assert built["-small-3.xml"] == former["-small-3.xml"]


@pytest.mark.django_db(transaction=True)
def test_an_index_drops_a_page_that_was_emptied_and_lists_it_again(
    client: Client, large: list[Article]
) -> None:
    second = large[9:18]
    Article.objects.filter(pk__in=[article.pk for article in second]).delete()
    assert len(lastmods(client)) == 3, "nobody looked yet"
    client.get("/sitemap-small-2.xml")
    assert "-small-2.xml" not in lastmods(client)
    assert urlset(client.get("/sitemap-small-2.xml")) == []
    # A save that is reported brings it back, and so does the build.
    Article.objects.create(pk=second[0].pk, slug="back")
    refresh.report_all([source("small")])
    assert "-small-2.xml" in lastmods(client)
    client.get("/sitemap-small-2.xml")
    assert "-small-2.xml" in lastmods(client)


# Merged entries


def test_the_pages_of_a_section_that_shrank_stand_together(
    client: Client, register: Any
) -> None:
    register("small", Small)
    made = articles(25)
    client.get("/sitemap-small.xml")
    Article.objects.exclude(pk__in=[made[n].pk for n in (0, 12, 24)]).delete()
    run_command("build_sitemaps", "--reconcile", "--deep")
    assert Page.objects.count() == 3
    assert locations(client.get("/sitemap-small.xml")) == [
        f"https://www.example.com/articles/{made[n].slug}/" for n in (0, 12, 24)
    ]


def test_sections_with_extensions_and_without_stand_together(
    client: Client, register: Any
) -> None:
    class Pictured(ArticleSitemap):
        images = "/a.jpg"

    class Reported(ArticleSitemap):
        def news(self, item: Article) -> Any:
            return {
                "name": "The Example",
                "language": "en",
                "publication_date": dt.date(2026, 1, 2),
                "title": "x",
            }

    register("plain", ArticleSitemap)
    register("pictured", Pictured)
    register("reported", Reported)
    register("pages", PagesSitemap)
    articles(2)
    response = client.get("/sitemap.xml")
    entries = urlset(response)
    assert len(entries) == 8
    assert [len(entry.images) for entry in entries] == [0, 0, 1, 1, 0, 0, 0, 0]
    assert body(response).count(b"<news:news>") == 2


def test_a_deploy_that_adds_images_changes_all_that_stands_together(
    client: Client, register: Any
) -> None:
    """Built by older code, the page has no namespace for what another one has."""

    class Pictured(ArticleSitemap):
        images = "/a.jpg"

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


def test_sections_of_several_protocols_stand_together(
    client: Client, register: Any
) -> None:
    register("safe", ArticleSitemap)
    register("plain", type("Plain", (PagesSitemap,), {"protocol": "http"}))
    articles(1, slug="a")
    assert locations(client.get("/sitemap.xml")) == [
        "https://www.example.com/articles/a/",
        "http://www.example.com/",
        "http://www.example.com/about/",
    ]


def test_what_stands_together_costs_two_queries_and_one_for_each_page(
    client: Client, register: Any, django_assert_num_queries: Any
) -> None:
    for name in ("one", "two", "three"):
        register(name, type(name.title(), (ArticleSitemap,), {}))
    articles(2)
    client.get("/sitemap.xml")
    client.get("/sitemap.xml")
    with django_assert_num_queries(5) as captured:
        client.get("/sitemap.xml")
    assert not any("testapp_article" in query["sql"] for query in captured)


def test_what_does_not_fit_one_file_is_an_index(client: Client, register: Any) -> None:
    """Nobody knows before how many entries a list has that are no bad rows."""

    class Many(Sitemap):
        def items(self) -> Any:
            return range(25_001)

        def location(self, item: int) -> str:
            return f"/{item}/"

    register("one", Many)
    register("two", type("Two", (Many,), {}))
    assert listed(client.get("/sitemap.xml")) == [
        f"{START}-one-1.xml",
        f"{START}-two-1.xml",
    ]


# What an index lists


def test_empty_sections_are_not_listed(client: Client, register: Any) -> None:
    register(
        "empty", type("Empty", (Small,), {"items": lambda self: Article.objects.none()})
    )
    register("small", Small)
    articles(11)
    client.get("/sitemap-empty-1.xml")
    addresses = listed(client.get("/sitemap.xml"))
    assert addresses == [f"{START}-small-1.xml", f"{START}-small-2.xml"]
    assert urlset(client.get("/sitemap-empty-1.xml")) == []


def test_a_section_by_position_is_listed_page_by_page(
    client: Client, register: Any
) -> None:
    class Lettered(Sitemap):
        limit = 2

        def items(self) -> Any:
            return "abcde"

        def location(self, item: str) -> str:
            return f"/{item}/"

        def lastmod(self, item: str) -> dt.date:
            return dt.date(2026, 1, 1 + "abcde".index(item))

    register("letters", Lettered)
    for address in ("/sitemap.xml", "/sitemap-letters.xml"):
        assert [(e.loc, e.lastmod) for e in index(client.get(address))] == [
            (f"{START}-letters-{number}.xml", "2026-01-05T00:00:00+00:00")
            for number in (1, 2, 3)
        ]


def test_an_item_by_position_whose_lastmod_raises_does_not_take_the_index_down(
    client: Client, register: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Undated(PagesSitemap):
        def lastmod(self, item: str) -> Any:
            return {"home": dt.date(2026, 1, 2)}[item]

    register("pages", Undated)
    assert locations(client.get("/sitemap.xml")) == ["https://www.example.com/"]
    assert "Section 'pages': its newest lastmod is not known: KeyError: 'about'" in [
        record.getMessage() for record in caplog.records
    ]


def test_a_lastmod_out_of_the_calendar_does_not_take_the_index_down(
    client: Client, register: Any
) -> None:
    class Ancient(PagesSitemap):
        limit = 1

        def lastmod(self, item: str) -> Any:
            return dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2)))

    register("pages", Ancient)
    assert [entry.lastmod for entry in index(client.get("/sitemap.xml"))] == [None] * 2


def test_a_page_that_cannot_be_built_is_listed_with_those_that_can(
    client: Client, register: Any
) -> None:
    register("broken", type("Broken", (ArticleSitemap,), {"location": F("title")}))
    register("article", ArticleSitemap)
    articles(11, title="bad")
    addresses = listed(client.get("/sitemap.xml"))
    assert addresses == [f"{START}-broken-1.xml", f"{START}-article-1.xml"]
    assert client.get("/sitemap-broken-1.xml").status_code == 503
    assert len(urlset(client.get("/sitemap-article-1.xml"))) == 11


# More pages than one index may list


@pytest.fixture
def many_pages(client: Client, register: Any) -> int:
    """A section of 50,001 pages; returns how many there are."""
    register("small", Small)
    articles(11)
    client.get("/sitemap.xml")
    Page.objects.update(entries=10)
    columns = [
        field.column for field in Page._meta.concrete_fields if field.column != "id"
    ]
    shifted = {"number": "number + %s", "position": "position + %s"}
    chosen = ", ".join(shifted.get(column, column) for column in columns)
    table = Page._meta.db_table
    with connection.cursor() as cursor:
        while (there := Page.objects.count()) < 50_001:
            # Twice as many by each statement: fifty thousand objects take too long.
            cursor.execute(
                f"INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} "  # noqa: S608
                f"FROM {table} WHERE number + %s <= 50001",
                [there, there << 34, there],
            )
    return 50_001


def test_more_than_50000_pages_are_listed_by_several_files(
    client: Client, many_pages: int
) -> None:
    for address, further in [
        ("/sitemap.xml", "/sitemap-index-2.xml"),
        ("/sitemap-small.xml", "/sitemap-small-index-2.xml"),
    ]:
        first = listed(client.get(address))
        assert len(first) == 50_000
        assert first[0] == f"{START}-small-1.xml"
        assert listed(client.get(further)) == [f"{START}-small-50001.xml"]
        twin = client.get(f"{further}.gz")
        assert listed(twin) == [f"{START}-small-50001.xml"]
        assert client.get(further.replace("2", "3")).status_code == 404
    assert (
        client.get("/robots.txt")
        .content.decode()
        .endswith(f"Sitemap: {START}.xml\nSitemap: {START}-index-2.xml\n")
    )


def test_robots_txt_counts_no_pages_of_sections_that_are_no_more(
    client: Client, many_pages: int
) -> None:
    Section.objects.filter(name="small").update(name="former")
    robots = client.get("/robots.txt").content.decode()
    assert robots.endswith(f"\nSitemap: {START}.xml\n")
