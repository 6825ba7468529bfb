"""The site's own address: from the settings, from Sites, from the request."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.db.models import F
from django.http import HttpResponse
from django.test import Client
from django.urls import path, reverse

from django_sitemaps_plus import Route, Sitemap, StaticSitemap
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, SiteAddress
from django_sitemaps_plus.sitemaps.site import Site as ProjectSite
from tests.support.factories import articles
from tests.support.helpers import later, listed, locations, remove_sites, script_name
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db


class ArticleSitemap(Sitemap):
    model = Article
    location = Route("article", slug=F("slug"))


@pytest.fixture
def no_base_url(settings: Any) -> Any:
    """A site that does not say where it is."""
    settings.SITEMAPS_PLUS = {}
    return settings


@pytest.fixture
def no_sites(no_base_url: Any) -> Any:
    """Nothing but the request says where the site is."""
    remove_sites(no_base_url)
    return no_base_url


@pytest.fixture
def two_sites(no_base_url: Any) -> Any:
    """Two Sites, chosen by the request's host."""
    del no_base_url.SITE_ID
    Site.objects.all().delete()
    Site.objects.create(domain="www.example.com", name="one")
    Site.objects.create(domain="example.org", name="two")
    Site.objects.clear_cache()
    yield no_base_url
    Site.objects.clear_cache()


@pytest.mark.parametrize(
    ("text", "origin", "prefix"),
    [
        ("https://www.example.com", "https://www.example.com", "/"),
        ("http://localhost:8000", "http://localhost:8000", "/"),
        ("https://WWW.Example.com:443", "https://www.example.com", "/"),
        ("https://bücher.example/shop", "https://xn--bcher-kva.example", "/shop/"),
        ("https://www.example.com/a/b/", "https://www.example.com", "/a/b/"),
    ],
)
def test_a_base_url_is_an_origin_and_a_prefix(
    text: str, origin: str, prefix: str
) -> None:
    site = SiteAddress.parse(text)
    assert (str(site.origin), site.prefix) == (origin, prefix)


@pytest.mark.parametrize(
    "text",
    [
        "https://",
        "https://user:secret@www.example.com",
        "https://www.example.com?a=1",
        "https://www.example.com:99999",
    ],
)
def test_a_base_url_that_is_none_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        SiteAddress.parse(text)
    message = str(caught.value)
    assert message.startswith(f"SITEMAPS_PLUS['BASE_URL'] is {text!r}: ")
    assert message.endswith("for example 'https://www.example.com'.")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("www.example.com", "https://www.example.com"),
        ("localhost:8000", "https://localhost:8000"),
        ("//www.example.com/shop", "https://www.example.com/shop"),
        ("https:www.example.com", "https://www.example.com"),
        ("https//www.example.com", "https://www.example.com"),
        (" https://www.example.com", "https://www.example.com"),
        ("httpd.example", "https://httpd.example"),
        ("ftp://www.example.com", "https://www.example.com"),
        (" ", "https://www.example.com"),
    ],
)
def test_a_base_url_without_a_scheme_is_refused_with_what_to_write(
    text: str, meant: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        SiteAddress.parse(text)
    assert str(caught.value) == (
        f"SITEMAPS_PLUS['BASE_URL'] is {text!r}, which does not begin with 'https://' "
        f"or 'http://'. Write {meant!r}."
    )


def test_base_url_with_a_path_prefixes_every_address(
    client: Client, register: Any, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com/shop"}
    register("static", type("Static", (StaticSitemap,), {"names": ["home"]}))
    assert locations(client.get("/sitemap.xml")) == ["https://www.example.com/shop/"]
    robots = client.get("/robots.txt").content.decode()
    assert "Sitemap: https://www.example.com/shop/sitemap.xml\n" in robots


def test_a_request_under_a_script_name_is_answered_under_it(
    client: Client, register: Any, no_sites: Any
) -> None:
    register("article", ArticleSitemap)
    articles(1, slug="one")
    with script_name("/app/"):
        response = client.get("/sitemap.xml")
    assert locations(response) == ["http://testserver/app/articles/one/"]


def test_the_current_site_is_the_origin_without_base_url(
    client: Client, register: Any, no_base_url: Any
) -> None:
    Site.objects.update_or_create(pk=1, defaults={"domain": "site.example"})
    Site.objects.clear_cache()
    register("article", ArticleSitemap)
    articles(1, slug="one")
    assert locations(client.get("/sitemap.xml")) == [
        "http://site.example/articles/one/"
    ]
    assert locations(client.get("/sitemap.xml", secure=True)) == [
        "https://site.example/articles/one/"
    ]


def test_a_command_takes_https_and_the_script_name_of_the_settings(
    no_base_url: Any,
) -> None:
    Site.objects.update_or_create(pk=1, defaults={"domain": "site.example"})
    Site.objects.clear_cache()
    for name, prefix in ((None, "/"), ("/app", "/app/")):
        no_base_url.FORCE_SCRIPT_NAME = name
        site = ProjectSite.current().address()
        assert site is not None
        assert (str(site.origin), site.prefix) == ("https://site.example", prefix)


def test_nothing_is_configured_without_base_url_and_sites(no_sites: Any) -> None:
    assert ProjectSite.current().address() is None


def test_a_command_cannot_choose_among_sites(two_sites: Any) -> None:
    assert ProjectSite.current().address() is None


def test_a_site_that_is_no_host_is_named_with_the_remedy(no_base_url: Any) -> None:
    Site.objects.update_or_create(pk=1, defaults={"domain": "not a host"})
    Site.objects.clear_cache()
    with pytest.raises(ConfigurationError) as caught:
        ProjectSite.current().address()
    message = str(caught.value)
    assert message.startswith("The current Site's domain is 'not a host': ")
    assert message.endswith(
        "Correct it in the admin, or set SITEMAPS_PLUS['BASE_URL']."
    )


def test_sites_by_request_have_pages_of_their_own(
    client: Client, register: Any, two_sites: Any
) -> None:
    register("article", ArticleSitemap)
    articles(1, slug="one")
    seen = {}
    for host in ("www.example.com", "example.org", "www.example.com", "example.org"):
        response = client.get("/sitemap-article-1.xml", headers={"host": host})
        assert locations(response) == [f"http://{host}/articles/one/"]
        later(100, "changed_at")
        response = client.get("/sitemap-article-1.xml", headers={"host": host})
        assert seen.setdefault(host, response.headers["ETag"]) == response["ETag"]
    assert len(set(seen.values())) == 2
    pages = Page.objects.values_list("section__site", "version")
    keys = Site.objects.values_list("pk", flat=True)
    assert sorted(pages) == sorted((str(pk), 1) for pk in keys)


def test_a_host_without_a_site_is_its_own_origin(
    client: Client, register: Any, two_sites: Any
) -> None:
    register("article", ArticleSitemap)
    articles(1, slug="one")
    assert locations(client.get("/sitemap.xml")) == ["http://testserver/articles/one/"]


def test_a_proxy_that_ends_tls_gives_https(
    client: Client, register: Any, no_sites: Any
) -> None:
    no_sites.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    no_sites.USE_X_FORWARDED_HOST = True
    register("article", ArticleSitemap)
    articles(1, slug="one")
    response = client.get(
        "/sitemap.xml",
        headers={
            "host": "10.0.0.1:8000",
            "x-forwarded-proto": "https",
            "x-forwarded-host": "www.example.com",
        },
    )
    assert locations(response) == ["https://www.example.com/articles/one/"]


def test_the_protocol_of_a_sitemap_comes_before_the_request(
    client: Client, register: Any, no_sites: Any
) -> None:
    attributes = {"protocol": "https", "limit": 1}
    register("article", type("Secure", (ArticleSitemap,), attributes))
    articles(1, slug="one")
    expected = ["https://testserver/articles/one/"]
    assert locations(client.get("/sitemap-article-1.xml")) == expected
    assert locations(client.get("/sitemap.xml")) == expected
    articles(1)
    Page.objects.update(verified_at=0)
    assert locations(client.get("/sitemap-article-1.xml")) == expected
    assert listed(client.get("/sitemap.xml")) == [
        "https://testserver/sitemap-article-1.xml",
        "https://testserver/sitemap-article-2.xml",
    ]


@pytest.mark.parametrize("path", ["/sitemap.xml", "/sitemap-article-1.xml"])
def test_a_host_that_is_not_allowed_is_a_bad_request(
    client: Client, register: Any, no_sites: Any, path: str
) -> None:
    register("article", ArticleSitemap)
    articles(1)
    response = client.get(path, headers={"host": "evil.example"})
    assert response.status_code == 400
    assert not Page.objects.exclude(checksum="").exists()


@pytest.mark.parametrize(
    "host", ["a..example.com", "www.example.com:99999", "..", "[::::]", "a_b c"]
)
@pytest.mark.costly
def test_an_allowed_host_that_is_none_is_a_bad_request(
    client: Client, register: Any, no_sites: Any, host: str
) -> None:
    no_sites.ALLOWED_HOSTS = ["*"]
    no_sites.MIDDLEWARE = []
    register("article", ArticleSitemap)
    assert client.get("/sitemap.xml", headers={"host": host}).status_code == 400


class Here:
    """A URLconf that is no module."""

    urlpatterns = (path("here/", lambda request: HttpResponse(), name="here"),)


def test_a_urlconf_may_be_given_in_place_of_its_name(settings: Any) -> None:
    """As in tests of projects: Django takes whatever has urlpatterns."""
    settings.ROOT_URLCONF = Here
    with PLACEHOLDER_SITE.rendering():
        assert reverse("here") == "/here/"


@pytest.mark.parametrize("protocol", ["ftp", "HTTPS", "https://", 7])
def test_a_protocol_that_no_sitemap_has_is_a_configuration_error(protocol: Any) -> None:
    site = SiteAddress.parse("https://www.example.com")
    with pytest.raises(ConfigurationError, match="must be 'http' or 'https'"):
        site.with_scheme(protocol)


def test_an_empty_protocol_is_that_of_the_site() -> None:
    site = SiteAddress.parse("https://www.example.com")
    assert site.with_scheme("") == site.with_scheme(None) == site
