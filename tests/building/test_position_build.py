"""Sections paged by position: stored, built in one run, and compared as one listing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core.checks import run_checks
from django.core.signals import setting_changed
from django.test import Client

from django_sitemaps_plus import Sitemap, StaticSitemap
from django_sitemaps_plus.building.refresh import Leisure
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.health.alerts import Subject, alerts
from django_sitemaps_plus.models import Change, Page, PageFile, Section
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import parse_base_url
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    as_older_code,
    listed,
    locations,
    run_command,
    told,
)
from tests.support.ledger_world import age
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

BASE = "https://www.example.com"
SITE = parse_base_url(BASE)
MEMORY = "django_sitemaps_plus.engines.memory.Memory"


class Names:
    """A list that a test changes, and the sitemap of it."""

    def __init__(self, register: Any, *names: str, **attributes: Any) -> None:
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


def compare(name: str = "names") -> None:
    out, err, code = run_command("build_sitemaps", "--reconcile", name)
    assert (err, code) == ("", 0), out


@pytest.fixture
def names(register: Any) -> Callable[..., Names]:
    return lambda *given, **attributes: Names(register, *given, **attributes)


def test_what_raises_in_a_build_is_shown_to_the_site_s_owner(
    client: Client, names: Any
) -> None:
    listing = names("a", "b")
    whole = client.get("/sitemap-names-1.xml").content
    listing.names = ["away"]
    age(verified=True)
    assert client.get("/sitemap-names-1.xml").content == whole
    said = [alert.text for alert in alerts([Subject.SECTIONS])]
    assert any("LookupError: The list is away." in text for text in said), said


def test_what_is_added_to_a_list_or_removed_is_an_event(
    client: Client, names: Any
) -> None:
    listing = names("a", "b")
    assert locations(client.get("/sitemap-names-1.xml")) == [f"{BASE}/a/", f"{BASE}/b/"]
    assert told() == [], "nobody knows what was new"
    listing.names = ["a", "c"]
    compare()
    assert told() == [("removed", "/b/"), ("added", "/c/")]
    assert locations(client.get("/sitemap.xml")) == [f"{BASE}/a/", f"{BASE}/c/"]
    compare()
    assert told() == []


def test_a_stored_page_asks_neither_the_list_nor_twice(
    client: Client, names: Any, django_assert_num_queries: Any
) -> None:
    listing = names("a", "b")
    client.get("/sitemap-names-1.xml")
    asked = listing.asked
    with django_assert_num_queries(1):
        response = client.get("/sitemap-names-1.xml")
    assert listing.asked == asked
    assert "ETag" in response.headers
    with django_assert_num_queries(1):
        again = {"if-none-match": response.headers["ETag"]}
        assert client.get("/sitemap-names-1.xml", headers=again).status_code == 304


@pytest.mark.parametrize("attributes", [{}, {"location": "/all/"}])
def test_a_process_asks_the_list_once_to_find_out_how_it_is_paged(
    client: Client, names: Any, settings: Any, attributes: Any
) -> None:
    listing = names("a", **attributes)
    assert client.get("/sitemap.xml").status_code == 200
    listing.asked = 0
    # As a process that has just started: whatever was found out is forgotten.
    setting_changed.send(sender=None, setting="LANGUAGES", value=None, enter=True)
    assert client.get("/sitemap.xml").status_code == 200
    assert client.get("/sitemap-names-1.xml").status_code == 200
    assert listing.asked == 1


def test_a_request_compares_when_it_is_time(
    client: Client, names: Any, settings: Any
) -> None:
    listing = names("a", "b")
    client.get("/sitemap-names-1.xml")
    listing.names = ["a"]
    assert len(locations(client.get("/sitemap-names-1.xml"))) == 2
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "VERIFY_AFTER": 0}
    assert len(locations(client.get("/sitemap-names-1.xml"))) == 1
    assert told() == [("removed", "/b/")]


def test_ping_sitemaps_compares_and_notifies(
    client: Client, names: Any, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {
        **settings.SITEMAPS_PLUS,
        "ENGINES": {"memory": {"BACKEND": MEMORY}},
    }
    listing = names("a", "b")
    assert run_command("ping_sitemaps", "--force")[2] == 0
    assert Page.objects.get().entries == 2, "the first time it is built"
    listing.names = ["a", "c"]
    assert run_command("ping_sitemaps", "--force")[2] == 0
    memory: Any = engines()["memory"]
    sent = [url for batch in memory.sent for url in batch.urls]
    assert sorted(sent) == [f"{BASE}/b/", f"{BASE}/c/", f"{BASE}/sitemap.xml"]


def test_items_that_move_to_another_page_are_no_event(
    client: Client, names: Any
) -> None:
    listing = names("a", "b", "c", "d", "e", limit=2)
    index = [f"{BASE}/sitemap-names-{number}.xml" for number in (1, 2, 3)]
    assert listed(client.get("/sitemap-names.xml")) == index
    assert locations(client.get("/sitemap-names-3.xml")) == [f"{BASE}/e/"]
    listing.names = ["b", "c", "d", "e"]
    compare()
    assert told() == [("removed", "/a/")]
    assert listed(client.get("/sitemap-names.xml")) == index[:2]
    assert locations(client.get("/sitemap-names-1.xml")) == [f"{BASE}/b/", f"{BASE}/c/"]
    assert client.get("/sitemap-names-3.xml").status_code == 404
    listing.names = ["b", "c", "d", "e", "f", "a"]
    compare()
    assert sorted(told()) == [("added", "/a/"), ("added", "/f/")]
    assert listed(client.get("/sitemap-names.xml")) == index
    assert PageFile.objects.count() == 3


def test_any_page_can_be_the_first_that_is_asked_for(
    client: Client, names: Any
) -> None:
    names("a", "b", "c", limit=2)
    assert locations(client.get("/sitemap-names-2.xml")) == [f"{BASE}/c/"]
    assert client.get("/sitemap-names-3.xml").status_code == 404
    assert Page.objects.count() == 2
    Page.objects.filter(number=2).update(verified_at=0)
    assert locations(client.get("/sitemap-names-2.xml")) == [f"{BASE}/c/"]
    assert not Page.objects.filter(verified_at=0).exists()


def test_more_than_ten_pages_are_built_for_each_request_and_not_compared(
    client: Client, names: Any
) -> None:
    listing = names(*map(str, range(10)), limit=1)
    assert len(listed(client.get("/sitemap-names.xml"))) == 10
    client.get("/sitemap-names-1.xml")
    assert Page.objects.count() == 10
    listing.names.append("more")
    out, _, code = run_command("build_sitemaps", "--reconcile", "names")
    assert "search engines are not notified of its changes" in out
    assert code == 0
    assert not Page.objects.exists()
    assert len(listed(client.get("/sitemap-names.xml"))) == 11
    listing.names[0] = "other"
    assert locations(client.get("/sitemap-names-1.xml")) == [f"{BASE}/other/"]
    assert locations(client.get("/sitemap-names-11.xml")) == [f"{BASE}/more/"]
    for beyond in (0, 12):
        assert client.get(f"/sitemap-names-{beyond}.xml").status_code == 404
    assert not Page.objects.exists()
    (warning,) = run_checks(tags=["sitemaps_plus"], databases=["default"])
    assert warning.id == "sitemaps_plus.W009"
    assert "search engines are not notified of changes" in warning.msg
    listing.names.pop()
    compare()
    assert Page.objects.count() == 10
    assert told() == []


def test_a_section_of_bad_rows_keeps_what_it_listed(client: Client, names: Any) -> None:
    listing = names("a", "b", limit=1)
    client.get("/sitemap-names-1.xml")
    listing.names = ["a", "bad"]
    _, err, code = run_command("build_sitemaps", "--reconcile", "names")
    assert "1 of the 1 rows of page names-2 are bad" in err
    assert code == 1
    assert locations(client.get("/sitemap-names-2.xml")) == [f"{BASE}/b/"]
    assert told() == []
    listing.names = ["a", "c"]
    compare()
    assert told() == [("removed", "/b/"), ("added", "/c/")]


def test_without_former_bytes_bad_rows_are_a_503(client: Client, names: Any) -> None:
    names("bad")
    assert client.get("/sitemap-names-1.xml").status_code == 503


def test_a_row_left_out_is_not_reported_as_removed(client: Client, names: Any) -> None:
    listing = names("a", "b")
    client.get("/sitemap-names-1.xml")
    listing.names = ["a", "bad"]
    compare()
    assert told() == [("changed", "/b/")], "look again: nobody knows"


def test_a_new_name_of_a_static_sitemap_shows_at_once(
    client: Client, register: Any
) -> None:
    register("pages", type("Pages", (StaticSitemap,), {"names": ["home"]}))
    client.get("/sitemap-pages-1.xml")
    register("pages", PagesSitemap)
    assert len(locations(client.get("/sitemap-pages-1.xml"))) == 2
    assert told() == [("added", "/about/")]


@pytest.mark.parametrize(
    "items",
    [
        lambda: Article.objects.order_by("-pk")[:2],
        lambda: Article.objects.filter(slug="a").union(Article.objects.filter(pk=0)),
        lambda: list(Article.objects.all()),
    ],
    ids=["slice", "union", "list"],
)
def test_rows_that_cannot_be_paged_by_key_are_compared(
    client: Client, register: Any, items: Any
) -> None:
    register("few", type("Few", (Sitemap,), {"items": lambda self: items()}))
    articles(1, slug="a")
    client.get("/sitemap-few-1.xml")
    Article.objects.update(slug="b")
    articles(1, slug="a")
    compare("few")
    kinds = {location: kind for kind, location in told()}
    assert kinds.get("/articles/b/", "added") == "added"
    assert "removed" not in kinds.values()
    Article.objects.all().delete()
    compare("few")
    assert ("removed", "/articles/a/") in told()


@pytest.mark.parametrize("limit", [2, 4])
@pytest.mark.parametrize("comes", [False, True])
def test_rows_that_move_while_pages_are_read_are_neither_lost_nor_removed(
    client: Client, register: Any, limit: int, comes: bool
) -> None:
    """Each page is a query: one row more or less at the front moves all others."""
    ready = False

    class Moving(Sitemap):
        def items(self) -> Any:
            return Article.objects.order_by("slug").values("slug")

        def location(self, item: Any) -> str:
            nonlocal ready
            if ready:
                ready = False
                if comes:
                    articles(1, slug="0")
                else:
                    Article.objects.filter(slug="a").delete()
            return f"/{item['slug']}/"

    register("moving", type("Moving", (Moving,), {"limit": limit}))
    for slug in "abcd":
        articles(1, slug=slug)
    client.get("/sitemap-moving-1.xml")
    ready = True
    compare("moving")
    assert not ready
    assert told() == [("added", "/0/") if comes else ("removed", "/a/")]
    found = [
        location
        for page in Page.objects.order_by("number")
        for location in locations(client.get(f"/sitemap-moving-{page.number}.xml"))
    ]
    listed_now = Article.objects.order_by("slug").values_list("slug", flat=True)
    assert found == [f"{BASE}/{slug}/" for slug in listed_now]


def test_a_section_can_lose_its_key_and_get_it_back(
    client: Client, register: Any
) -> None:
    class Sliced(ArticleSitemap):
        def items(self) -> Any:
            return Article.objects.order_by("pk")[:10]

    register("article", ArticleSitemap)
    articles(2)
    client.get("/sitemap-article-1.xml")
    Change.objects.create(section="article", key="1", at=1.0)
    register("article", Sliced)
    assert len(locations(client.get("/sitemap-article-1.xml"))) == 2
    assert Section.objects.get(name="article").key == "by position"
    assert not Change.objects.exists(), "or no page would ever be fresh"
    register("article", ArticleSitemap)
    (address,) = locations(client.get("/sitemap-article.xml"))[:1]
    assert address.startswith(f"{BASE}/articles/")
    assert Page.objects.get().number > 1, "a number is never reused"


@pytest.mark.parametrize("count", [1, 7])
def test_pages_by_key_have_other_numbers_than_those_by_position_before(
    client: Client, register: Any, count: int
) -> None:
    """What crawlers know by a number never becomes a page of other rows."""

    class Sliced(ArticleSitemap):
        limit = 2

        def items(self) -> Any:
            return Article.objects.order_by("pk")[:10]

    articles(count)
    register("article", Sliced)
    assert client.get("/sitemap-article-1.xml").status_code == 200
    former = set(Page.objects.values_list("number", flat=True))
    assert len(former) == -(-count // 2)
    register("article", type("Keyed", (ArticleSitemap,), {"limit": 2}))
    client.get("/sitemap-article.xml")
    assert former.isdisjoint(Page.objects.values_list("number", flat=True))
    for number in former:
        assert client.get(f"/sitemap-article-{number}.xml").status_code == 404


def test_nobody_has_to_ask_for_the_pages(
    client: Client, names: Any, settings: Any
) -> None:
    listing = names("a", "b", "c", limit=2)
    client.get("/sitemap-names-1.xml")
    listing.names = ["a", "c"]
    Page.objects.update(asked_at=0, verified_at=1, read_at=1)
    leisure = Leisure()
    leisure.step([source("names")], SITE)
    leisure.stop()
    assert told() == [("removed", "/b/")]


def test_older_code_does_not_store_what_newer_code_has_stored(
    client: Client, names: Any
) -> None:
    listing = names("a", changefreq="daily")
    client.get("/sitemap-names-1.xml")
    Section.objects.filter(name="names").update(digest="newer")
    listing.names = ["b"]
    with as_older_code():
        Page.objects.update(verified_at=0)
        assert locations(client.get("/sitemap-names-1.xml")) == [f"{BASE}/a/"]
        Page.objects.update(checksum="")
        assert locations(client.get("/sitemap-names-1.xml")) == [f"{BASE}/b/"]
    assert Page.objects.get().checksum == ""
    assert told() == []


def test_while_another_process_builds_the_former_bytes_are_sent(
    client: Client, names: Any
) -> None:
    listing = names("a")
    client.get("/sitemap-names-1.xml")
    listing.names = ["b"]
    Page.objects.update(verified_at=0, claimed_by="another", claimed_until=9e9)
    assert locations(client.get("/sitemap-names-1.xml")) == [f"{BASE}/a/"]
