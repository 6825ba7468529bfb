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
from tests.support.helpers import crawled, urlset
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


@pytest.fixture
def pairs(register: Register) -> list[str]:
    """Rows with a composite key, on six pages; the paths of all."""
    made = [(shop, code) for shop in (1, 2) for code in "abc"]
    ByPair.objects.bulk_create(ByPair(shop=s, code=c) for s, c in made)
    location = Route("pair", shop=F("shop"), code=F("code"))
    own = {"location": location, "limit": 1, "items": lambda self: Reversed(ByPair)}
    register("pairs", type("Pairs", (Sitemap,), own))
    return [f"https://www.example.com/shops/{s}/{c}/" for s, c in made]


def test_columns_are_where_they_are_asked_for(page_of: Any) -> None:
    Article.objects.create(slug="rain", updated="2026-01-02T03:04:05Z")
    own = urlset(page_of(items=lambda self: Reversed(Article)))
    assert own == urlset(page_of())
    assert own[0].loc == "https://www.example.com/articles/rain/"


def test_keys_of_several_columns_divide_pages(client: Client, pairs: list[str]) -> None:
    pages = crawled(client, "/sitemap-pairs.xml")
    assert [[entry.loc for entry in page] for page in pages] == [[url] for url in pairs]
    # An estimated count does not make pages stale.
    for page in Page.objects.all():
        assert not differs(source("pairs"), page)
    touch(Reversed(ByPair).filter(shop=2, code="b"))
    assert changes() == [("pairs", "2", "b")]


def test_related_rows_are_those_of_their_item(
    page_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``Meta.base_manager_name`` names a manager of that class."""
    manager = Manager.from_queryset(Reversed)()
    manager.model = Article
    monkeypatch.setitem(vars(Article._meta), "base_manager", manager)
    article = Article.objects.create(slug="rain")
    article.tags.create(name="https://www.example.com/a.jpg")
    (entry,) = urlset(page_of(images=Related("tags", F("name"))))
    assert entry.images == ("https://www.example.com/a.jpg",)
