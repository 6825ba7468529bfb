"""Sections paged by position: built for each request, and nothing of them is stored."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import pytest
from django.test import Client

from django_sitemaps_plus import Sitemap
from django_sitemaps_plus.delivery import background
from django_sitemaps_plus.models import Change, Page, RelatedState, Section, UrlChange
from django_sitemaps_plus.protocol.writers import UrlsetWriter
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    as_older_code,
    listed,
    locations,
    run_command,
)
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True)

BASE = "https://www.example.com"
PAGE = "/sitemap-names-1.xml"


class Names:
    """A list that a test changes, and the sitemap of it."""

    def __init__(self, register: Register, *names: str, **attributes: Any) -> None:
        self.names = list(names)
        self.asked = 0
        own = self

        class Listed(Sitemap):
            def items(self) -> list[str]:
                own.asked += 1
                if own.names == ["away"]:
                    raise LookupError("The list is away.")
                return list(own.names)

            def location(self, item: str) -> str:
                if item == "bad":
                    raise LookupError("no such page")
                return f"/{item}/"

        register("names", type("Listed", (Listed,), attributes))


@pytest.fixture
def names(register: Register) -> Callable[..., Names]:
    return partial(Names, register)


def paths(client: Client, address: str = PAGE) -> list[str]:
    """Return what a sitemap lists, without the address of the site."""
    return [url.removeprefix(BASE) for url in locations(client.get(address))]


def told() -> int:
    """Return how much is known of what happened, after the background has worked."""
    background.work()
    return UrlChange.objects.count() + Change.objects.count() + Page.objects.count()


# What shows, and when


def test_what_a_list_has_now_shows_at_once_and_nothing_is_reported(
    client: Client, names: Any
) -> None:
    listing = names("a", "b")
    addresses = (PAGE, "/sitemap-names.xml", "/sitemap.xml")
    assert [paths(client, one) for one in addresses] == [["/a/", "/b/"]] * 3
    listing.names = ["c"]
    assert [paths(client, one) for one in addresses] == [["/c/"]] * 3
    assert told() == 0


@pytest.mark.parametrize(
    "items",
    [
        lambda self: Article.objects.order_by("-pk")[:2],
        lambda self: Article.objects.filter(slug="a").union(Article.objects.none()),
        lambda self: list(Article.objects.all()),
    ],
    ids=["slice", "union", "list"],
)
def test_a_save_of_an_item_shows_at_once_and_nothing_is_reported(
    client: Client, register: Register, items: Any
) -> None:
    register("names", type("Few", (Sitemap,), {"items": items}))
    [article] = articles(1, slug="a")
    assert paths(client) == ["/articles/a/"]
    article.delete()
    for slug in "ab":
        Article.objects.create(slug=slug)
    assert sorted(paths(client))[0] == "/articles/a/"
    assert told() == 0


def test_a_class_that_builds_its_own_pages_is_asked_each_time(
    client: Client, register: Register
) -> None:
    class Own(Sitemap):
        shown: ClassVar[list[str]] = ["/one/"]

        def items(self) -> list[str]:
            return ["one"]

        def get_urls(self, *arguments: Any, **given: Any) -> list[dict[str, Any]]:
            return [{"location": f"{BASE}{path}"} for path in self.shown]

    register("names", Own)
    assert paths(client) == ["/one/"]
    Own.shown = ["/two/"]
    assert paths(client) == ["/two/"]
    assert client.get("/sitemap-names-2.xml").status_code == 404


def test_a_tag_is_that_of_the_bytes_and_a_client_that_has_these_gets_a_304(
    client: Client, names: Any
) -> None:
    listing = names("a", "b")
    for address in (PAGE, "/sitemap-names.xml", "/sitemap.xml", f"{PAGE}.gz"):
        tag = client.get(address).headers["ETag"]
        for shown, status in (("ab", 304), ("abc", 200), ("ab", 304)):
            listing.names = list(shown)
            again = client.get(address, headers={"if-none-match": tag})
            assert (again.status_code, not again.content) == (status, status == 304)
            assert (again.headers["ETag"] == tag) == (status == 304)


def test_pages_are_those_that_there_are_now(client: Client, names: Any) -> None:
    listing = names("a", "b", "c", limit=2)
    index = [f"{BASE}/sitemap-names-{number}.xml" for number in (1, 2)]
    assert listed(client.get("/sitemap-names.xml")) == index
    assert paths(client) == ["/a/", "/b/"]
    listing.asked = 0
    assert paths(client, "/sitemap-names-2.xml") == ["/c/"]
    assert listing.asked == 1
    listing.names = ["b", "c"]
    assert paths(client, "/sitemap-names.xml") == ["/b/", "/c/"]
    for beyond in (0, 2, 3):
        assert client.get(f"/sitemap-names-{beyond}.xml").status_code == 404
    listing.names = []
    assert paths(client) == paths(client, "/sitemap.xml") == []


# Beside sections by key


def test_one_file_has_the_entries_of_both_while_they_fit(
    client: Client,
    register: Register,
    names: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("django_sitemaps_plus.serving.index.MAX_ENTRIES", 6)
    own = names("a", "b", lastmod=lambda self, item: None)
    register("article", ArticleSitemap)
    articles(3)
    assert paths(client, "/sitemap.xml")[:2] == ["/a/", "/b/"]
    assert len(paths(client, "/sitemap.xml")) == 5
    own.names += ["c"]
    assert len(paths(client, "/sitemap.xml")) == 6
    own.names += ["d"]
    index = [f"{BASE}/sitemap-{name}-1.xml" for name in ("names", "article")]
    assert listed(client.get("/sitemap.xml")) == index
    # Once it is an index, no page is built for it.
    own.names[-1] = "bad"
    assert listed(client.get("/sitemap.xml")) == index
    assert "no such page" not in caplog.text
    own.names = ["a"]
    assert len(paths(client, "/sitemap.xml")) == 4
    own.names = []
    Article.objects.bulk_create(Article(slug=f"b{n}") for n in range(7))
    Page.objects.update(verified_at=0)
    client.get("/sitemap-article-1.xml")
    assert listed(client.get("/sitemap.xml")) == index[1:], (
        "what has no items is in none"
    )


def test_a_list_that_is_away_is_a_503_and_hides_no_other_section(
    client: Client, register: Register, names: Any
) -> None:
    own = names("a")
    register("article", ArticleSitemap)
    articles(1)
    addresses = (PAGE, "/sitemap-names.xml", "/sitemap.xml", "/sitemap-article-1.xml")
    for shown, found in (
        ("a", [200] * 4),
        ("away", [503] * 3 + [200]),
        ("a", [200] * 4),
    ):
        own.names = [shown]
        assert [client.get(address).status_code for address in addresses] == found


def test_a_section_can_lose_its_key_and_get_it_back(
    client: Client, register: Register
) -> None:
    class Sliced(ArticleSitemap):
        def items(self) -> Any:
            return Article.objects.order_by("pk")[:10]

    register("article", ArticleSitemap)
    articles(2)
    client.get("/sitemap-article-1.xml")
    Change.objects.create(section="article", key="1", at=1.0)
    RelatedState.objects.create(section="article", model="x", key="1", state="x")
    register("article", Sliced)
    assert len(paths(client, "/sitemap.xml")) == 2
    assert Section.objects.get(name="article").key == ""
    assert told() == 0, "or its changes would wait for ever"
    assert not RelatedState.objects.exists()
    assert len(paths(client, "/sitemap-article-1.xml")) == 2
    register("article", ArticleSitemap)
    assert paths(client, "/sitemap-article.xml")[0].startswith("/articles/")
    assert Page.objects.get().number > 1, "a number is never reused"
    # Former code, which has no key, leaves the pages alone.
    Section.objects.filter(name="article").update(digest="newer")
    register("article", Sliced)
    with as_older_code():
        assert len(paths(client, "/sitemap.xml")) == 2
    assert Page.objects.exists()


# What is wrong


def test_a_page_that_is_more_than_a_file_may_hold_says_what_to_do(
    client: Client, names: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    few = partial(UrlsetWriter, max_bytes=10_000)
    monkeypatch.setattr("django_sitemaps_plus.building.by_position.UrlsetWriter", few)
    names("a", images=lambda self, item: [f"/{n}.jpg" for n in range(900)])
    assert client.get(PAGE).status_code == 503
    reason = "cannot be split: set a lower limit on its class."
    assert reason in caplog.text
    out, err, code = run_command("build_sitemaps")
    assert reason in err
    assert code == 1
    assert "by position, built for each request" in out


@pytest.mark.parametrize("arguments", [[], ["--reconcile"]])
def test_build_sitemaps_says_how_pages_are_built_and_which_rows_are_bad(
    names: Any, arguments: list[str]
) -> None:
    names("a", "bad")
    out, err, code = run_command("build_sitemaps", *arguments)
    assert (err, code) == ("", 0)
    assert out == (
        "Section 'names': 1 page, 1 entry; by position, built for each request; "
        "1 row left out.\n"
        "Left out, because they are bad:\n"
        "  names 'bad': LookupError: no such page\n"
    )
    out, _, _ = run_command("build_sitemaps", "--ledger")
    assert out == "Section 'names': 1 page; by position, built for each request.\n"
    assert not Page.objects.exists()


def test_names_of_a_static_sitemap_need_no_table(
    client: Client, register: Register
) -> None:
    register("names", PagesSitemap)
    assert paths(client) == ["/", "/about/"]
    assert not Section.objects.exclude(name="").exists()
