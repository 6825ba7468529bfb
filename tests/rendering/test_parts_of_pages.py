"""Fragments, and empty locations: the page is listed, once."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import F

from django_sitemaps_plus import Sitemap, StaticSitemap
from django_sitemaps_plus.models import Page
from tests.checks.test_checks import found, only
from tests.support.factories import articles
from tests.support.helpers import Entry, locations, urlset
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

HOST = "https://www.example.com"

GIVEN = ["/", "/#about", "/a/#1", "/a/", "/ü/", "/a/#2", "", "/b/", "/b/"]
#: Items that are the same are repeated, as ever.
LISTED = [f"{HOST}{path}" for path in ("/", "/a/", "/%C3%BC/", "/b/", "/b/")]


def test_a_static_page_with_its_parts_is_listed_once(page_of: Any) -> None:
    names = ["/", "/#about", "/#team", ("/{slug}/#top", {"slug": "a"})]
    page = page_of(StaticSitemap, names=names)
    assert locations(page) == [f"{HOST}/", f"{HOST}/a/"]
    assert [number for number, *_ in found()] == ["W029"] * 2
    names[:] = ["/", "/about/#team"]
    text, hint = only("W029")
    assert text.startswith("Section 'article': '/about/#team' is a part of the page '/")
    assert hint.startswith("Write '/about/' into names, or remove '/about/#team' if it")


def dicts(self: Any, *args: Any, **kwargs: Any) -> Any:
    return [{"location": f"{HOST}{path}"} for path in GIVEN]


@pytest.mark.parametrize(
    "own",
    [
        {"model": Article, "location": F("title")},
        {"model": Article, "location": lambda self, item: item.title},
        {"items": lambda self: GIVEN, "location": lambda self, item: item},
        {"model": Article, "get_urls": dicts},
    ],
    ids=["row path", "object path", "list", "dicts"],
)
def test_rows_that_are_parts_of_a_page(page_of: Any, own: dict[str, Any]) -> None:
    for title in GIVEN:
        articles(1, title=title)
    assert locations(page_of(Sitemap, **own)) == LISTED
    for page in Page.objects.all():
        assert (page.entries, page.items, page.bad) == (len(LISTED), len(GIVEN), 0)


def test_languages_of_parts(page_of: Any) -> None:
    names = ["/{language}/#a", "/{language}/#b"]
    own = {"i18n": True, "alternates": True, "languages": ["en", "de"]}
    page = page_of(StaticSitemap, names=names, **own)
    assert locations(page) == [f"{HOST}/en/", f"{HOST}/de/"]


def test_alternates_of_dicts_lose_their_fragments(page_of: Any) -> None:
    links = [
        {"location": location, "lang_code": code}
        for code, location in (("de", "//www.example.com/de/#a"), ("fr", "/fr/#a"))
    ]
    info = {"location": "//www.example.com/a/#b", "alternates": links}
    page = page_of(Sitemap, get_urls=lambda self, *args, **kwargs: [info])
    alternates = {"de": f"{HOST}/de/", "fr": f"{HOST}/fr/"}
    assert urlset(page) == [Entry(f"{HOST}/a/", alternates=alternates)]
