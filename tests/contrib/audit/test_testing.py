"""What a project's own tests assert, whichever view answers them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.http import HttpRequest, HttpResponse
from django.test import Client, TestCase, override_settings
from django.urls import path

from django_sitemaps_plus import views
from django_sitemaps_plus.contrib.audit import testing
from django_sitemaps_plus.sitemaps.registry import registry
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, PagesSitemap, Titled, remove_sites

SITE = "https://www.example.com"


def failure(check: Any, *arguments: Any) -> str:
    """Return how an assertion fails."""
    with pytest.raises(AssertionError) as failed:
        check(*arguments)
    return str(failed.value)


@pytest.mark.django_db
def test_a_valid_sitemap_passes_with_all_pages_of_its_index(
    register: Any, client: Client
) -> None:
    register("article", ArticleSitemap)
    register("titled", type("Three", (Titled,), {"limit": 3}))
    register("pages", PagesSitemap)
    for n in range(7):
        articles(1, title=f"/titled/{n}/?a=1&b={n}")
    testing.assert_sitemap_valid(client)
    testing.assert_sitemap_valid(client, "/sitemap-titled.xml.gz")
    testing.assert_listed(client, "/about/")
    testing.assert_listed(client, f"{SITE}/titled/6/?a=1&b=6")
    testing.assert_listed(client, "/titled/6/?a=1&b=6", "/sitemap-titled.xml")
    said = failure(testing.assert_listed, client, "/about/", "/sitemap-titled-1.xml")
    assert said.splitlines() == [
        "/sitemap-titled-1.xml does not list /about/. It lists:",
        *(f"  {SITE}/titled/{n}/?a=1&b={n}" for n in range(2)),
    ]
    other = failure(testing.assert_listed, client, "https://b.example/about/")
    assert "/sitemap.xml does not list https://b.example/about/." in other


@pytest.mark.django_db
def test_each_fault_is_named_with_its_document_and_url(
    register: Any, client: Client
) -> None:
    register("titled", type("Three", (Titled,), {"limit": 3}))
    for title in ("/a/", "/b/", "/c/?utm_source=x", "/a/", "/d/"):
        articles(1, title=title)
    said = failure(testing.assert_sitemap_valid, client, "/sitemap-titled.xml")
    assert said.splitlines() == [
        "/sitemap-titled.xml has faults:",
        f"  /sitemap-titled-1.xml: {SITE}/a/ listed twice: on /sitemap-titled-1.xml "
        "and /sitemap-titled-2.xml (sitemaps_plus.A014)",
        f"  /sitemap-titled-2.xml: {SITE}/c/?utm_source=x has the parameter "
        "utm_source (sitemaps_plus.A017)",
    ]
    # And what answers otherwise is no sitemap.
    missing = failure(testing.assert_sitemap_valid, client, "/missing.xml")
    assert missing == "/missing.xml answers 404."
    page = failure(testing.assert_sitemap_valid, client, "/about/")
    assert "/about/: it is not well-formed XML: syntax error" in page


class Contrib(contrib.Sitemap):
    """A sitemap as one declares it without this package."""

    def items(self) -> list[str]:
        return ["/about/", "/things/a&b/"]

    def location(self, item: str) -> str:
        return item


def stale(request: HttpRequest) -> HttpResponse:
    """Answer as a view of the project's own, with faults."""
    entry = f"<url><loc>{SITE}/a/</loc><lastmod>yesterday</lastmod></url>"
    head = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    foreign = "<url><loc>http://b.example/</loc></url><url><rating>5</rating></url>"
    return HttpResponse(f"{head}{entry}{foreign}</urlset>", content_type="text/xml")


urlpatterns = [
    path("contrib.xml", contrib_views.sitemap, {"sitemaps": {"a": Contrib}}),
    path("ours.xml", views.sitemap, {"sitemaps": {"a": Contrib}}),
    path("own.xml", stale),
]


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/contrib.xml", "/ours.xml"])
@pytest.mark.parametrize("has_sites", [True, False])
def test_contrib_s_views_are_judged_by_the_host_that_they_use(
    client: Client, settings: Any, path: str, has_sites: bool
) -> None:
    """The Site's domain or, without Sites, the request's host; not ``BASE_URL``."""
    settings.ROOT_URLCONF = __name__
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "django.contrib.sitemaps"]
    settings.SITEMAPS_PLUS = {}
    if not has_sites:
        remove_sites(settings)
    testing.assert_sitemap_valid(client, path)
    testing.assert_listed(client, "/things/a&b/", path)


def test_faults_of_a_view_of_one_s_own_are_named(client: Client, settings: Any) -> None:
    settings.ROOT_URLCONF = __name__
    said = failure(testing.assert_sitemap_valid, client, "/own.xml")
    assert said.splitlines()[1:] == [
        "  /own.xml: an entry without <loc> (sitemaps_plus.A002)",
        "  /own.xml: http://b.example/ not a URL of https://www.example.com "
        "(sitemaps_plus.A011)",
        f"  /own.xml: {SITE}/a/ lastmod 'yesterday': the schemas want YYYY-MM-DD at "
        "least (sitemaps_plus.A030)",
    ]


@override_settings(ROOT_URLCONF="tests.urls")
class OfUnittest(TestCase):
    """In a transaction that is rolled back nothing is stored, and all is answered."""

    def setUp(self) -> None:
        registry.add("article", ArticleSitemap)
        self.addCleanup(registry.remove, "article")

    def test_an_article_is_listed_as_soon_as_it_is_saved(self) -> None:
        (article,) = articles(1)
        testing.assert_sitemap_valid(self.client)
        testing.assert_listed(self.client, article.get_absolute_url())
        article.delete()
        url = article.get_absolute_url()
        assert "does not list" in failure(testing.assert_listed, self.client, url)
