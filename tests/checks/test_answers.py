"""Checks of who answers at the sitemap's addresses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.template.response import TemplateResponse
from django.urls import include, path, re_path

from django_sitemaps_plus.sitemaps.registry import registry
from tests.checks.conftest import UseUrls
from tests.checks.test_checks import found, only
from tests.conftest import Register
from tests.support.helpers import PagesSitemap
from tests.support.outbox_world import BASE
from tests.testapp.models import Article
from tests.testapp.views import anything

pytestmark = pytest.mark.django_db

INCLUDE = path("", include("django_sitemaps_plus.urls"))
HINT = (
    'Put path("", include("django_sitemaps_plus.urls")) at the beginning of '
    "urlpatterns in tests.urlconf_of_one_check."
)
PAGES = (path("", anything, name="home"), path("about/", anything, name="about"))


def answered_by(route: str) -> str:
    return (
        f"answered by tests.testapp.views.anything (URL pattern {route!r}), which "
        "comes first in the URLconf: crawlers and engines get another page."
    )


@pytest.mark.parametrize(
    "catch_all", [path("<path:page>", anything), re_path("^(.+)$", anything)]
)
def test_a_pattern_that_takes_the_sitemap_is_named(
    urlconf: UseUrls, register: Register, catch_all: Any
) -> None:
    register("pages", PagesSitemap)
    urlconf(*PAGES, catch_all, INCLUDE)
    assert only("W015") == (
        "/sitemap.xml, /robots.txt, /sitemap-pages.xml and 1 more are "
        f"{answered_by(str(catch_all.pattern))}",
        HINT,
    )
    urlconf(INCLUDE, *PAGES, catch_all)
    assert found() == []


@pytest.mark.parametrize(
    ("route", "address"),
    [
        ("sitemap.xml", "/sitemap.xml"),
        ("sitemap-pages.xml", "/sitemap-pages.xml"),
        ("sitemap-<section>-<int:page>.xml", "/sitemap-pages-1.xml"),
        ("<slug:key>.txt", "/0123456789abcdef.txt"),
    ],
)
def test_a_pattern_that_takes_one_address_is_named(
    urlconf: UseUrls, register: Register, settings: Any, route: str, address: str
) -> None:
    indexnow = "django_sitemaps_plus.engines.indexnow.IndexNow"
    entry = {"BACKEND": indexnow, "OPTIONS": {"key": "0123456789abcdef"}}
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ENGINES": {"indexnow": entry}}
    register("pages", PagesSitemap)
    urlconf(*PAGES, path("robots.txt", named), path(route, anything), INCLUDE)
    assert only("W015") == (f"{address} is {answered_by(route)}", HINT)


@pytest.fixture
def of_blog() -> Iterator[None]:
    registry.add("pages", PagesSitemap, "blog")
    yield
    registry.remove("pages", "blog")


@pytest.mark.usefixtures("of_blog")
def test_the_urlconf_of_another_site_is_looked_at(
    urlconf: UseUrls, settings: Any
) -> None:
    ours = path("", include("django_sitemaps_plus.urls"), {"site": "blog"})
    urlconf(*PAGES, path("sitemap.xml", anything), ours)
    blog = {"BASE_URL": "https://blog.example.com", "URLCONF": settings.ROOT_URLCONF}
    settings.ROOT_URLCONF = "tests.urls"
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "SITES": {"blog": blog}}
    text, _ = only("W015")
    assert text == f"Site 'blog': /sitemap.xml is {answered_by('sitemap.xml')}"


# robots.txt


def named(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"User-agent: *\nDisallow:\nsitemap : {BASE}/sitemap.xml \n")


def templated(request: HttpRequest) -> HttpResponse:
    template = engines["django"].from_string("Sitemap: {{ base }}/sitemap.xml")
    return TemplateResponse(request, template, {"base": BASE})


def closed(request: HttpRequest) -> HttpResponse:
    return HttpResponse("User-agent: *\nDisallow: /\n")


def elsewhere(request: HttpRequest) -> HttpResponse:
    return HttpResponse("Sitemap: https://old.example.com/sitemap.xml\n")


def of_users(request: HttpRequest) -> HttpResponse:
    return HttpResponse(str(request.user))


def of_rows(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"Disallow: /{Article.objects.count()}")


@pytest.mark.parametrize("view", [named, templated, closed])
def test_a_robots_txt_that_names_the_sitemap_is_fine(
    urlconf: UseUrls, view: Any
) -> None:
    urlconf(path("robots.txt", view), INCLUDE)
    assert found() == []


@pytest.mark.parametrize(
    ("view", "problem", "remedy"),
    [
        (elsewhere, "which does not name the sitemap.", "Add the line"),
        (
            of_users,
            "which could not be read by this check (AttributeError: 'WSGIRequest' "
            "object has no attribute 'user').",
            "Make sure that it has the line",
        ),
        (
            of_rows,
            "which could not be read by this check (it asks the database).",
            "Make sure that it has the line",
        ),
    ],
)
def test_a_robots_txt_that_does_not_name_the_sitemap_is_named(
    urlconf: UseUrls, view: Any, problem: str, remedy: str
) -> None:
    urlconf(path("robots.txt", view), INCLUDE)
    text, hint = only("W016")
    assert text == (
        f"/robots.txt is answered by tests.checks.test_answers.{view.__name__} (URL "
        f"pattern 'robots.txt'), {problem}"
    )
    assert hint.startswith(f"{remedy} 'Sitemap: {BASE}/sitemap.xml'")


def test_without_a_host_the_path_of_the_sitemap_is_enough(
    urlconf: UseUrls, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {}
    urlconf(path("robots.txt", elsewhere), INCLUDE)
    assert found() == []
