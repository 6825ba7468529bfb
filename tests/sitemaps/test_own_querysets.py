"""Querysets of a project's own class, which do not return what Django's do."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import F, Manager, QuerySet
from django.test import Client

from django_sitemaps_plus import Related, Route, Sitemap, touch
from django_sitemaps_plus.building.pages import differs
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.sitemaps.sections import source
from tests.conftest import Register
from tests.support.helpers import ArticleSitemap, crawled, urlset
from tests.support.recorded import changes
from tests.testapp.models import Article, ByPair

pytestmark = pytest.mark.django_db(transaction=True)


class Reversed(QuerySet[Any]):
    """
    Columns in another order, as a set of names may have; a count by estimate.

    And whatever order is asked for, the newest first.
    """

    def values_list(self, *fields: Any, **options: Any) -> Any:
        return super().values_list(*reversed(fields), **options)

    def order_by(self, *names: Any) -> Any:
        return super().order_by("-pk", *names)

    def count(self) -> int:
        return 1_000_000


class Pairs(Sitemap):
    location = Route("pair", shop=F("shop"), code=F("code"))
    limit = 1

    def items(self) -> Any:
        return Reversed(ByPair)


@pytest.fixture
def pairs(register: Register) -> list[str]:
    """Rows with a composite key, on six pages; the paths of all."""
    made = [(shop, code) for shop in (1, 2) for code in "abc"]
    ByPair.objects.bulk_create(ByPair(shop=s, code=c) for s, c in made)
    register("pairs", Pairs)
    return [f"https://www.example.com/shops/{s}/{c}/" for s, c in made]


def test_columns_are_where_they_are_asked_for(
    client: Client, register: Register
) -> None:
    class Own(ArticleSitemap):
        def items(self) -> Any:
            return Reversed(Article)

    register("own", Own)
    register("plain", ArticleSitemap)
    Article.objects.create(slug="rain", updated="2026-01-02T03:04:05Z")
    own = urlset(client.get("/sitemap-own-1.xml"))
    assert own == urlset(client.get("/sitemap-plain-1.xml"))
    assert own[0].loc == "https://www.example.com/articles/rain/"


def test_keys_of_several_columns_divide_pages(client: Client, pairs: list[str]) -> None:
    pages = crawled(client, "/sitemap-pairs.xml")
    assert [[entry.loc for entry in page] for page in pages] == [[url] for url in pairs]


def test_an_estimated_count_does_not_make_pages_stale(
    client: Client, pairs: list[str]
) -> None:
    crawled(client, "/sitemap-pairs.xml")
    for page in Page.objects.all():
        assert not differs(source("pairs"), page)


def test_touched_rows_have_the_keys_that_they_have(pairs: list[str]) -> None:
    touch(Reversed(ByPair).filter(shop=2, code="b"))
    assert changes() == [("pairs", "2", "b")]


@pytest.fixture
def own_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    """``Meta.base_manager_name`` names a manager of that class."""
    manager = Manager.from_queryset(Reversed)()
    manager.model = Article
    monkeypatch.setitem(vars(Article._meta), "base_manager", manager)


def test_related_rows_are_those_of_their_item(
    client: Client, register: Register, own_manager: None
) -> None:
    class Pictured(ArticleSitemap):
        images = Related("tags", F("name"))

    register("pictured", Pictured)
    article = Article.objects.create(slug="rain")
    article.tags.create(name="https://www.example.com/a.jpg")
    (entry,) = urlset(client.get("/sitemap-pictured-1.xml"))
    assert entry.images == ("https://www.example.com/a.jpg",)
