"""Fragments, and empty locations: the page is listed, once."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from django_sitemaps_plus import Sitemap, StaticSitemap
from django_sitemaps_plus.models import Page
from tests.checks.test_checks import found, only
from tests.support.factories import articles
from tests.support.helpers import locations
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

HOST = "https://www.example.com"
ADDRESS = "/sitemap-parts-1.xml"
GIVEN = ["/", "/#about", "/a/#1", "/a/", "/ü/", "/a/#2", "", "/b/", "/b/"]
#: Items that are the same are repeated, as ever.
LISTED = [f"{HOST}{path}" for path in ("/", "/a/", "/%C3%BC/", "/b/", "/b/")]


def listed(client: Client) -> list[str]:
    return locations(client.get(ADDRESS))


def test_a_static_page_with_its_parts_is_listed_once(
    client: Client, register: Any
) -> None:
    names = ["/", "/#about", "/#team", ("/{slug}/#top", {"slug": "a"})]
    register("parts", type("Parts", (StaticSitemap,), {"names": names}))
    assert listed(client) == [f"{HOST}/", f"{HOST}/a/"]
    assert [number for number, *_ in found()] == ["W029"] * 2
    names[:] = ["/", "/about/#team"]
    text, hint = only("W029")
    assert text.startswith("Section 'parts': '/about/#team' is a part of the page '/ab")
    assert hint.startswith("Write '/about/' into names, or remove '/about/#team' if it")


@pytest.mark.parametrize("kind", ["row path", "object path", "list", "dicts"])
def test_rows_that_are_parts_of_a_page(
    client: Client, register: Any, kind: str
) -> None:
    attributes: dict[str, Any] = {"model": Article, "location": F("title")}
    if kind == "object path":
        attributes["location"] = lambda self, item: item.title
    elif kind == "list":
        attributes = {"items": lambda self: GIVEN, "location": lambda self, one: one}
    elif kind == "dicts":
        attributes["get_urls"] = lambda self, *args, **kwargs: [
            {"location": f"{HOST}{path}"} for path in GIVEN
        ]
    register("parts", type("Parts", (Sitemap,), attributes))
    for title in GIVEN:
        articles(1, title=title)
    assert listed(client) == LISTED
    for page in Page.objects.all():
        assert (page.entries, page.items, page.bad) == (len(LISTED), len(GIVEN), 0)


def test_languages_of_parts(client: Client, register: Any, settings: Any) -> None:
    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    attributes = {"i18n": True, "alternates": True}
    attributes["names"] = ["/{language}/#a", "/{language}/#b"]  # type: ignore[assignment]
    register("parts", type("Parts", (StaticSitemap,), attributes))
    assert listed(client) == [f"{HOST}/en/", f"{HOST}/de/"]


def test_alternates_of_dicts_lose_their_fragments(
    client: Client, register: Any
) -> None:
    links = [
        {"location": location, "lang_code": code}
        for code, location in (("de", "//www.example.com/de/#a"), ("fr", "/fr/#a"))
    ]
    info = {"location": "//www.example.com/a/#b", "alternates": links}
    attributes = {
        "items": lambda self: ["a"],
        "get_urls": lambda self, *args, **kwargs: [info],
    }
    register("parts", type("Parts", (Sitemap,), attributes))
    text = client.get(ADDRESS).content.decode()
    assert f"<loc>{HOST}/a/</loc>" in text
    assert f'hreflang="de" href="{HOST}/de/"' in text
    assert f'hreflang="fr" href="{HOST}/fr/"' in text
    assert "#" not in text
