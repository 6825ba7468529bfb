"""The addresses that gather others: entries or index, and when which."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client

from django_sitemaps_plus import Sitemap
from django_sitemaps_plus.models import Page, Section
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
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


def test_pages_that_were_never_counted_are_listed_not_made(
    client: Client, register: Any
) -> None:
    """A request for the index must not cost the making of all pages."""
    register("small", Small)
    articles(30)
    assert len(listed(client.get("/sitemap.xml"))) == 4
    assert not Page.objects.exclude(checksum="").exists()


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


def test_what_stands_together_is_kept_and_nothing_of_before(
    client: Client, register: Any, tmp_path: Path
) -> None:
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    for _ in range(4):
        articles(1)
        Page.objects.update(verified_at=0)
        client.get("/sitemap.xml")
    files = list((tmp_path / "sitemaps").rglob("*.gz"))
    assert len(files) == 2, "the page, and the whole"
    assert len(urlset(client.get("/sitemap.xml"))) == 6


def test_what_stands_together_costs_three_queries_and_one_for_each_page(
    client: Client, register: Any, django_assert_num_queries: Any
) -> None:
    for name in ("one", "two", "three"):
        register(name, type(name.title(), (ArticleSitemap,), {}))
    articles(2)
    client.get("/sitemap.xml")
    client.get("/sitemap.xml")
    with django_assert_num_queries(6) as captured:
        client.get("/sitemap.xml")
    assert not any("testapp_article" in query["sql"] for query in captured)


def test_a_change_in_one_section_changes_the_whole(
    client: Client, register: Any
) -> None:
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    articles(1)
    etag = client.get("/sitemap.xml").headers["ETag"]
    articles(1)
    Page.objects.update(verified_at=0)
    response = client.get("/sitemap.xml", headers={"if-none-match": etag})
    assert len(urlset(response)) == 4


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


def test_a_page_that_cannot_be_made_is_listed_with_those_that_can(
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


def test_robots_txt_counts_no_pages_of_sections_that_are_gone(
    client: Client, many_pages: int
) -> None:
    Section.objects.filter(name="small").update(name="gone")
    robots = client.get("/robots.txt").content.decode()
    assert robots.endswith(f"\nSitemap: {START}.xml\n")
