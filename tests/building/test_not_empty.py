"""No empty answer where rows exist: former bytes, or 503."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import F, Value
from django.test import Client

from django_sitemaps_plus import Route
from django_sitemaps_plus.models import Page, Section
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    Small,
    Titled,
    listed,
    locations,
    run_command,
)
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

BASE = "https://www.example.com"
SITE, SECTION, PAGE = "/sitemap.xml", "/sitemap-article.xml", "/sitemap-article-1.xml"
ADDRESSES = [SITE, SECTION, PAGE]


class Broken(ArticleSitemap):
    """A section that cannot be used."""

    def items(self) -> Any:
        raise LookupError("It is away.")


class Foreign(ArticleSitemap):
    """A section all of whose rows are bad."""

    location = Value("https://other.example/")


def check_is_unavailable(*addresses: str) -> None:
    """Check that there is 503 with Retry-After, to a client that has a copy as well."""
    for address in addresses:
        for headers in ({}, {"if-modified-since": "Fri, 01 Jan 2100 00:00:00 GMT"}):
            response = Client().get(address, headers=headers)
            assert response.status_code == 503, (address, response.content)
            assert response.headers["Retry-After"] == "60"


@pytest.mark.parametrize(
    ("base", "attributes"),
    [
        (Broken, {}),
        (Foreign, {}),
        (ArticleSitemap, {"location": Route("no-such-name", slug=F("slug"))}),
        (ArticleSitemap, {"lastmod": F("no_such_column")}),
    ],
)
def test_without_former_bytes_the_answer_is_503(
    register: Any, base: type, attributes: dict[str, Any]
) -> None:
    articles(3)
    register("article", type("New", (base,), attributes))
    for _ in range(2):
        check_is_unavailable(*ADDRESSES)
    # Other sections make no difference to it.
    empty = {"items": lambda self: Article.objects.filter(title="no such")}
    register("empty", type("Empty", (ArticleSitemap,), empty))
    register("pages", PagesSitemap)
    check_is_unavailable(SITE)
    assert len(locations(Client().get("/sitemap-pages.xml"))) == 2


def test_a_broken_section_that_was_built_empty_hides_no_other(
    client: Client, register: Any
) -> None:
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    assert len(locations(client.get(SITE))) == 2
    register("article", Broken)
    assert len(locations(client.get(SITE))) == 2


@pytest.mark.parametrize("cls", [Broken, Foreign])
def test_former_bytes_are_served(client: Client, register: Any, cls: type) -> None:
    register("article", Small)
    articles(12)
    pages = listed(client.get(SITE))
    former = [client.get(url.removeprefix(BASE)).content for url in pages]
    register("article", type("Small", (cls,), {"limit": 10}))
    for address in (SITE, SECTION):
        assert listed(client.get(address)) == pages
    assert [client.get(url.removeprefix(BASE)).content for url in pages] == former
    tag = {"if-none-match": client.get(PAGE).headers["ETag"]}
    assert client.get(PAGE, headers=tag).status_code == (200 if cls is Broken else 304)
    assert f"Sitemap: {BASE}{SITE}\n" in client.get("/robots.txt").content.decode()
    if cls is Broken:
        check_is_unavailable("/sitemap-article-3.xml")
    register("article", Small)
    assert len(locations(client.get(PAGE))) == 9


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.costly
def test_former_bytes_without_entries_are_not_served_where_rows_are_bad(
    client: Client, register: Any, recorded: bool
) -> None:
    """As after the quick start, if the first article has a URL that cannot be."""
    register("article", Titled)
    assert run_command("build_sitemaps")[2] == 0
    for address in ADDRESSES:
        assert client.get(address).status_code == 200
    article = Article(pk=1, slug="first", title="bad")
    if recorded:
        article.save()
    else:
        Article.objects.bulk_create([article])
        Page.objects.update(verified_at=0)
    for _ in range(2):
        check_is_unavailable(*ADDRESSES)
    article.title = "/good/"
    article.save()
    Page.objects.update(verified_at=0)
    assert locations(client.get(SITE)) == [f"{BASE}/good/"]
    assert Page.objects.get().error == ""


def test_what_breaks_at_runtime_takes_no_other_section_along(
    client: Client, register: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """How a section is paged was found out before its ``items()`` raises something."""
    is_away = False

    class Sometimes(ArticleSitemap):
        def items(self) -> Any:
            if is_away:
                raise LookupError("It is away.")
            return super().items()

    class Listed(PagesSitemap):
        def items(self) -> Any:
            return Sometimes.items(self) and super().items()

    register("article", Sometimes)
    register("unfilled", type("Unfilled", (Sometimes,), {}))
    register("counted", type("Counted", (Listed,), {"limit": 1}))
    register("pages", PagesSitemap)
    articles(3)
    for address in (PAGE, "/sitemap-counted-1.xml", "/sitemap-unfilled-2.xml"):
        client.get(address)
    answer = client.get(PAGE)
    former, articles_listed = answer.content, locations(answer)
    Section.objects.filter(name__in=["unfilled", "counted"]).delete()
    Page.objects.update(verified_at=0)
    is_away = True
    assert locations(client.get("/sitemap-article.xml")) == articles_listed
    assert len(locations(client.get("/sitemap-pages.xml"))) == 2
    assert client.get(PAGE).content == former
    check_is_unavailable(SITE, "/sitemap-unfilled.xml", "/sitemap-unfilled-1.xml")
    assert "LookupError: It is away." in caplog.text
