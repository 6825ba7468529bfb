"""The first rows of an empty section: they are listed as soon as they are saved."""

from __future__ import annotations

import datetime as dt
from contextlib import nullcontext
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F
from django.test import Client
from django.utils import timezone

from django_sitemaps_plus.models import Page
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    Small,
    later,
    listed,
    locations,
    run_command,
)
from tests.testapp.models import Article

BASE = "https://www.example.com"


class Few(Small):
    """Ten articles to a page."""

    def items(self) -> Any:
        return Article.objects.filter(title="small")


@pytest.fixture
def empty(settings: Any, register: Any) -> None:
    """An empty section whose pages are built, and no background."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BACKGROUND": False}
    register("article", ArticleSitemap)


@pytest.mark.parametrize("in_transaction", [True, False])
@pytest.mark.parametrize(
    "address", ["/sitemap.xml", "/sitemap-article.xml", "/sitemap-article-1.xml"]
)
@pytest.mark.django_db(transaction=True)
@pytest.mark.costly
def test_the_first_row_is_listed_at_once(
    empty: None, client: Client, address: str, in_transaction: bool
) -> None:
    with transaction.atomic() if in_transaction else nullcontext():
        assert run_command("build_sitemaps")[2] == 0
        assert locations(client.get(address)) == []
        Article.objects.create(slug="first")
        assert locations(client.get(address)) == [f"{BASE}/articles/first/"]
    Article.objects.get().delete()
    assert locations(client.get(address)) == []


@pytest.mark.django_db(transaction=True)
def test_an_index_lists_an_empty_page_as_soon_as_a_change_of_it_waits(
    empty: None, client: Client, register: Any
) -> None:
    register("small", Few)
    register("other", Small)
    articles(12)
    assert run_command("build_sitemaps")[2] == 0
    page = f"{BASE}/sitemap-small-1.xml"
    assert page not in listed(client.get("/sitemap.xml"))
    Article.objects.create(slug="s", title="small")
    assert page in listed(client.get("/sitemap.xml"))
    assert len(locations(client.get("/sitemap-small-1.xml"))) == 1


@pytest.mark.django_db(transaction=True)
def test_a_saved_draft_leaves_an_empty_page_out_once_that_is_known(
    empty: None, client: Client, register: Any, django_assert_num_queries: Any
) -> None:
    register("small", Few)
    assert run_command("build_sitemaps")[2] == 0
    Article.objects.create(slug="d", title="draft")
    for _ in range(2):
        assert len(locations(client.get("/sitemap.xml"))) == 1
    # The draft was looked up: two queries, one for empty pages, one for the page.
    with django_assert_num_queries(4) as captured:
        client.get("/sitemap.xml")
    assert "testapp_article" not in str(captured.captured_queries)


@pytest.mark.django_db(transaction=True)
def test_the_first_row_that_appears_by_the_clock_is_listed(
    empty: None, client: Client, register: Any
) -> None:
    class Scheduled(ArticleSitemap):
        appears = F("updated")

        def items(self) -> Any:
            return Article.objects.filter(updated__lte=timezone.now())

    register("article", Scheduled)
    articles(1, updated=timezone.now() + dt.timedelta(hours=1))
    assert run_command("build_sitemaps")[2] == 0
    assert locations(client.get("/sitemap.xml")) == []
    # An hour later the section was last looked at an hour ago.
    past = timezone.now() - dt.timedelta(minutes=1)
    Article.objects.update(updated=past)
    later(3600, "ticked_at")
    assert len(locations(client.get("/sitemap.xml"))) == 1
    assert Page.objects.get(section__name="article").entries == 1
