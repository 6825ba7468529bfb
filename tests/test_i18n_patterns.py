"""``views.index`` and ``sitemap`` keep the request's language, URLconf and Host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import GenericSitemap as ContribGenericSitemap
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sitemaps import views as contrib
from django.contrib.sites.models import Site
from django.db.models import F
from django.http import HttpRequest
from django.test import Client
from django.urls import path, reverse
from django.utils.translation import get_language

from django_sitemaps_plus import GenericSitemap, Route, Sitemap, StaticSitemap, views
from tests.support.factories import articles
from tests.support.helpers import Entry, listed, remove_sites, urlset
from tests.testapp.models import Article
from tests.testapp.views import anything

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


class OfContrib(ContribSitemap):
    """A class of contrib's, whose locations depend on the context."""

    limit = 2

    def items(self) -> Any:
        return Article.objects.order_by("pk")

    def priority(self, item: Article) -> float:
        return 0.9 if get_language() == "de" else 0.1


class RowPath(Sitemap):
    """Ours, with a route."""

    model = Article
    location = Route("article", slug=F("slug"))
    changefreq = "daily"


class ObjectPath(Sitemap):
    """Ours, with methods, and items that depend on the language."""

    def items(self) -> Any:
        return [get_language(), "both"]

    def location(self, item: str) -> str:
        return reverse("article", kwargs={"slug": item})


class Elsewhere(OfContrib):
    """A class that knows its own host."""

    def get_domain(self, site: Any = None) -> str:
        return "own.example.org"

    def get_protocol(self, protocol: str | None = None) -> str:
        return "https"


INFO = {"queryset": Article.objects.order_by("pk"), "date_field": "updated"}
SITEMAPS: dict[str, Any] = {
    "contrib": OfContrib,
    "rows": RowPath,
    "objects": ObjectPath,
    # All languages, whichever is active.
    "languages": type(
        "EveryLanguage",
        (RowPath,),
        {"i18n": True, "alternates": True, "x_default": True},
    ),
    # Under https, whatever the request has.
    "secure": type("Secure", (RowPath,), {"protocol": "https"}),
    "elsewhere": Elsewhere,
    "static": type("Static", (StaticSitemap,), {"names": ["home"]}),
    "generic": GenericSitemap(INFO, priority=0.5),
    "generic-of-contrib": ContribGenericSitemap(INFO, protocol="https"),
}


def _patterns(start: str) -> list[Any]:
    given = {"sitemaps": SITEMAPS}
    return [
        path(f"{start}articles/<slug:slug>/", anything, name="article"),
        path(start, anything, name="home"),
        path("ours.xml", views.index, {**given, "sitemap_url_name": "page"}),
        path("theirs.xml", contrib.index, {**given, "sitemap_url_name": "page"}),
        path("ours-all.xml", views.sitemap, given),
        path("theirs-all.xml", contrib.sitemap, given),
        path("ours-<section>.xml", views.sitemap, given, name="page"),
        path("theirs-<section>.xml", contrib.sitemap, given),
    ]


urlpatterns = i18n_patterns(*_patterns(""))

other = ModuleType("tests.urlconf_of_a_shop")
other.urlpatterns = [*i18n_patterns(*_patterns("shop/"))]


def use_other_urlconf(get_response: Callable[[HttpRequest], Any]) -> Any:
    """Answer the hosts of the shop with patterns of their own."""

    def middleware(request: HttpRequest) -> Any:
        if request.get_host().startswith("shop."):
            request.urlconf = other.__name__
        return get_response(request)

    return middleware


@pytest.fixture(autouse=True)
def project(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A project of two languages, some hosts, and an address of its own."""
    monkeypatch.setitem(__import__("sys").modules, other.__name__, other)
    settings.MIDDLEWARE = [
        f"{__name__}.use_other_urlconf",
        "django.middleware.locale.LocaleMiddleware",
    ]
    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    settings.ALLOWED_HOSTS = ["*"]
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "django.contrib.sitemaps"]
    articles(3)
    Site.objects.update_or_create(pk=1, defaults={"domain": "site.example"})
    Site.objects.clear_cache()
    yield settings
    Site.objects.clear_cache()


def read(client: Client, address: str, host: str) -> list[Entry]:
    return [
        replace(entry, lastmod=entry.lastmod and entry.lastmod[:10])
        for entry in urlset(client.get(address, headers={"host": host}))
    ]


@pytest.mark.parametrize("host", ["www.example.com", "shop.example.com:8000"])
@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("code", ["en", "en-us"])
@pytest.mark.parametrize("has_sites", [True, False], ids=["sites", "hosts"])
@pytest.mark.costly
def test_each_language_urlconf_and_host_lists_what_contrib_lists(
    client: Client, project: Any, language: str, host: str, has_sites: bool, code: str
) -> None:
    project.LANGUAGE_CODE = code
    if not has_sites:
        remove_sites(project)
    start = "site.example" if has_sites else host
    pages = [f"{name}.xml" for name in [*SITEMAPS, "all"]]
    for page in [*pages, "contrib.xml?p=2"]:
        ours = read(client, f"/{language}/ours-{page}", host)
        assert ours == read(client, f"/{language}/theirs-{page}", host), page
        assert ours
    rows = read(client, f"/{language}/ours-rows.xml", host)
    shop = "shop/" if host.startswith("shop.") else ""
    assert rows[0].loc.startswith(f"http://{start}/{language}/{shop}articles/")
    ours_, theirs = (
        listed(client.get(f"/{language}/{name}.xml", headers={"host": host}))
        for name in ("ours", "theirs")
    )
    assert ours_ == theirs
    assert f"http://{start}/{language}/ours-contrib.xml?p=2" in ours_


def test_a_base_url_is_for_the_stored_pages_only(client: Client, project: Any) -> None:
    project.SITEMAPS_PLUS = {"BASE_URL": "https://stored.example.com"}
    remove_sites(project)
    (entry,) = read(client, "/de/ours-static.xml", "m.example.com")
    assert entry.loc == "http://m.example.com/de/"
