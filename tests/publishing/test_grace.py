"""What is told of URLs whose page is split, and goes on showing the bytes it had."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_sitemaps_plus import Route, Sitemap, touch
from django_sitemaps_plus.models import Change, Page, Section, UrlChange
from django_sitemaps_plus.publishing import refresh
from django_sitemaps_plus.publishing.storage import Folder
from django_sitemaps_plus.sitemaps import sections
from tests.conftest import Register
from tests.support.helpers import listed, locations, told
from tests.support.ledger_world import age, place
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

START = "https://www.example.com"


class News(Sitemap):
    location = Route("article", slug=F("slug"))
    limit = 10

    def items(self) -> Any:
        return Article.objects.all()


def path(slug: str) -> str:
    return f"/articles/{slug}/"


def insert(*keys: int) -> None:
    """Add articles behind the signals' back."""
    Article.objects.bulk_create(Article(pk=key, slug=f"a{key}") for key in keys)


def rename(key: int, slug: str) -> None:
    """Do the same to what an article is called."""
    assert Article.objects.filter(pk=key).update(slug=slug)


def save(key: int, slug: str) -> None:
    article = Article.objects.get(pk=key)
    article.slug = slug
    article.save()


def look() -> None:
    """Refresh as the thread does."""
    refresh.refresh(sections.source("news"), place())


class Site:
    """Two pages of articles, made and asked for: a10 to a90, a100 to a180."""

    def __init__(self) -> None:
        self.client = Client()

    def get(self, number: int) -> list[str]:
        answer = self.client.get(f"/sitemap-news-{number}.xml")
        return [found.removeprefix(START) for found in locations(answer)]

    def index(self) -> list[int]:
        found = listed(self.client.get("/sitemap-news.xml"))
        return [int(url.rpartition("-")[2].removesuffix(".xml")) for url in found]

    def crawl(self) -> set[str]:
        """Ask for all pages; return what they list."""
        numbers = list(Page.objects.order_by("number").values_list("number", flat=True))
        return {found for number in numbers for found in self.get(number)}


@pytest.fixture
def site(register: Register) -> Site:
    register("news", News)
    insert(*range(10, 190, 10))
    made = Site()
    assert made.index() == [1, 2]
    assert len(made.crawl()) == 18
    return made


def split(site: Site) -> None:
    """Split the first page: a10 to a30 stay on it, page 3 has the rest."""
    insert(1, 2, 3)
    age(verified=True)
    before = site.get(1)
    assert site.get(1) == before
    assert "/articles/a50/" in before
    assert site.index() == [1, 2, 3]


def end_of_grace(site: Site) -> None:
    age(verified=True, grace=True)
    site.crawl()


def test_a_split_forgets_nothing_that_nobody_recorded(site: Site) -> None:
    rename(20, "b20")
    rename(70, "b70")
    Article.objects.filter(pk__in=(30, 80))._raw_delete("default")
    insert(4, 5)
    split(site)
    end_of_grace(site)
    new = ["a1", "a2", "a3", "a4", "a5", "b20", "b70"]
    gone = ["a20", "a30", "a70", "a80"]
    assert sorted(told()) == sorted(
        [("added", path(slug), "") for slug in new]
        + [("gone", path(slug), "") for slug in gone]
    )


def test_what_a_split_moves_to_another_page_is_no_news(site: Site) -> None:
    split(site)
    end_of_grace(site)
    assert sorted(told()) == [("added", path(f"a{key}"), "") for key in (1, 2, 3)]


def test_new_rows_at_the_edge_are_told_of_however_many_pages_they_take(
    site: Site,
) -> None:
    insert(*range(190, 600, 10))
    age(verified=True)
    site.crawl()
    site.crawl()
    new = {("added", path(f"a{key}"), "") for key in range(190, 600, 10)}
    assert sorted(told()) == sorted(new)


def test_an_address_that_was_listed_for_a_moment_in_the_grace_is_gone(
    site: Site,
) -> None:
    """
    Of two who save an object at once, each reads where it was before the other.

    The one that commits last knows nothing of the address that the first gave it.
    """
    split(site)
    touch(Article)
    look()
    told()
    save(20, "first")
    old = Change.objects.get().old
    look()
    assert told() == [("moved", path("first"), path("a20"))]
    save(20, "second")
    Change.objects.update(old=old)
    look()
    found = told()
    assert ("gone", path("first"), "") in found, found
    assert path("a20") in site.get(1), "it shows what it showed before the split"
    end_of_grace(site)
    assert told() == []
    assert path("second") in site.get(1)


def test_what_is_touched_in_the_grace_is_told_in_the_grace(site: Site) -> None:
    split(site)
    touch(Article)
    look()
    told()
    rename(10, "b10")
    Article.objects.filter(pk=30)._raw_delete("default")
    touch(Article)
    look()
    found = told()
    assert ("gone", path("a30"), "") in found
    assert path("b10") in {location for _, location, _ in found}
    look()
    assert told() == [], "only once"
    end_of_grace(site)
    assert told() == []


def test_a_page_is_split_again_in_its_grace(site: Site) -> None:
    """The rows that are new are found by crawlers; those from before stay."""
    split(site)
    before = site.get(1)
    until = Page.objects.get(number=1).grace_until
    insert(4, 5, 6, 7, 8)
    save(10, "b10")
    look()
    assert site.index() == [1, 2, 3, 4]
    assert site.get(1) == before
    assert Page.objects.get(number=1).grace_until == until
    assert set(before) - {path("a10")} <= site.crawl()
    end_of_grace(site)
    site.crawl()
    new = {path(slug) for slug in ("b10", *(f"a{key}" for key in range(1, 9)))}
    assert sorted(told()) == sorted(
        [*(("added", location, "") for location in new), ("gone", path("a10"), "")]
    )


def test_rows_that_took_each_others_place_are_not_called_gone(site: Site) -> None:
    """Then nobody knows which of the former entries belongs to which page."""
    rename(40, "x")
    rename(20, "a40")
    rename(40, "a20")
    split(site)
    end_of_grace(site)
    assert not [row for row in told() if row[0] == "gone"]
    assert len(site.crawl()) == 21


def test_a_part_that_cannot_be_kept_ends_no_split(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "sitemaps" / "news" / "3"
    folder.write_text("in the way")
    split(site)
    folder.unlink()
    end_of_grace(site)
    assert len(site.crawl()) == 21
    assert not [row for row in told() if row[0] == "gone"]


# Whatever happens

_KEYS = st.integers(1, 40)
_DONE = "insert insert insert rename save delete raw_delete touch"
_SEEN = "look age grace index get"
_ACTS = st.lists(
    st.tuples(
        st.sampled_from(f"{_DONE} {_SEEN}".split()),
        _KEYS,
    ),
    max_size=40,
)


class Replay:
    """What is listed, by what was told."""

    def __init__(self) -> None:
        self.listed = set[str]()

    def follow(self) -> None:
        """Read on in the stream: what comes is new, and what goes was there."""
        for kind, location, former in told():
            if kind in ("gone", "moved"):
                left = former or location
                assert left in self.listed, f"{left} goes twice"
                self.listed.discard(left)
            if kind in ("added", "moved"):
                assert location not in self.listed, f"{location} comes twice"
            if kind == "changed":
                assert location in self.listed, f"{location} was never added"
            if kind != "gone":
                self.listed.add(location)


@given(_ACTS)
@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_the_stream_is_the_story_of_what_is_listed(
    register: Register, shelf: Folder, acts: list[tuple[str, int]]
) -> None:
    """Saved or not, in the grace or not: what was told adds up to what is there."""
    register("news", type("News", (News,), {"limit": 4}))
    for model in (Article, Page, Section, Change, UrlChange):
        model._default_manager.all()._raw_delete("default")
    shelf.remove("news")
    site, replay, names = Site(), Replay(), itertools.count()
    insert(10, 20, 30)
    site.client.get("/sitemap-news.xml")
    replay.listed = site.crawl()
    for act, key in acts:
        there = Article.objects.filter(pk=key).exists()
        name = f"n{next(names)}"
        if act == "insert" and not there:
            Article.objects.bulk_create([Article(pk=key, slug=name)])
        elif act == "rename" and there:
            rename(key, name)
        elif act == "save":
            Article(pk=key, slug=name).save()
        elif act == "delete" and there:
            Article.objects.get(pk=key).delete()
        elif act == "raw_delete" and there:
            Article.objects.filter(pk=key)._raw_delete("default")
        elif act == "touch" and there:
            touch(Article.objects.filter(pk=key))
        elif act == "look":
            look()
        elif act == "age":
            age(verified=True)
        elif act == "grace":
            age(grace=True)
        elif act == "index":
            site.client.get("/sitemap-news.xml")
        elif act == "get":
            site.crawl()
        replay.follow()
    for _ in range(4):
        age(verified=True, grace=True)
        site.crawl()
        replay.follow()
    true = {path(slug) for slug in Article.objects.values_list("slug", flat=True)}
    assert site.crawl() == true
    assert replay.listed == true
