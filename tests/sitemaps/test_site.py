"""The site's own address: from the settings, from Sites, from the request."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.http import HttpResponse
from django.test import Client
from django.urls import path, reverse

from django_sitemaps_plus import StaticSitemap
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, SiteAddress
from django_sitemaps_plus.sitemaps.site import Site as ProjectSite
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    later,
    listed,
    locations,
    remove_sites,
    script_name,
)

pytestmark = pytest.mark.django_db
PAGE = "/sitemap-article-1.xml"


@pytest.fixture
def two_sites(no_base_url: Any) -> Any:
    """Two Sites, chosen by the request's host."""
    del no_base_url.SITE_ID
    Site.objects.all().delete()
    for domain in ("www.example.com", "example.org"):
        Site.objects.create(domain=domain, name=domain)
    Site.objects.clear_cache()
    yield no_base_url
    Site.objects.clear_cache()


@pytest.fixture
def one(register: Any) -> None:
    register("article", ArticleSitemap)
    articles(1, slug="one")


def use_domain(domain: str) -> None:
    """Be at some domain, as the current Site has it."""
    Site.objects.update_or_create(pk=1, defaults={"domain": domain})
    Site.objects.clear_cache()


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


NO_SCHEME = "which does not begin with 'https://' or 'http://'. Write "


@pytest.mark.parametrize(
    ("text", "end"),
    [
        *(
            (text, "for example 'https://www.example.com'.")
            for text in (
                "https://",
                "https://user:secret@www.example.com",
                "https://www.example.com?a=1",
                "https://www.example.com:99999",
            )
        ),
        *(
            (text, f", {NO_SCHEME}'https://www.example.com{path}'.")
            for text, path in (
                ("www.example.com", ""),
                ("//www.example.com/shop", "/shop"),
                ("https:www.example.com", ""),
                ("https//www.example.com", ""),
                (" https://www.example.com", ""),
                ("ftp://www.example.com", ""),
                (" ", ""),
            )
        ),
        ("localhost:8000", f", {NO_SCHEME}'https://localhost:8000'."),
        ("httpd.example", f", {NO_SCHEME}'https://httpd.example'."),
    ],
)
def test_a_base_url_that_is_none_is_refused_with_what_to_write(
    text: str, end: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        SiteAddress.parse(text)
    start, message = f"SITEMAPS_PLUS['BASE_URL'] is {text!r}", str(caught.value)
    assert message == f"{start}{end}" or message.startswith(f"{start}: ")
    assert message.endswith(end)


def test_base_url_with_a_path_prefixes_every_address(
    client: Client, register: Any, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com/shop"}
    register("static", type("Static", (StaticSitemap,), {"names": ["home"]}))
    assert locations(client.get("/sitemap.xml")) == ["https://www.example.com/shop/"]
    robots = client.get("/robots.txt").content.decode()
    assert "Sitemap: https://www.example.com/shop/sitemap.xml\n" in robots


@pytest.mark.usefixtures("one", "no_sites")
def test_a_request_under_a_script_name_is_answered_under_it(client: Client) -> None:
    with script_name("/app/"):
        response = client.get("/sitemap.xml")
    assert locations(response) == ["http://testserver/app/articles/one/"]


@pytest.mark.usefixtures("one", "no_base_url")
def test_the_current_site_is_the_origin_without_base_url(client: Client) -> None:
    use_domain("site.example")
    for secure, scheme in ((False, "http"), (True, "https")):
        found = locations(client.get("/sitemap.xml", secure=secure))
        assert found == [f"{scheme}://site.example/articles/one/"]


def test_a_command_takes_https_and_the_script_name_of_the_settings(
    no_base_url: Any,
) -> None:
    use_domain("site.example")
    for name, prefix in ((None, "/"), ("/app", "/app/")):
        no_base_url.FORCE_SCRIPT_NAME = name
        site = ProjectSite.current().address()
        assert site is not None
        assert (str(site.origin), site.prefix) == ("https://site.example", prefix)


@pytest.mark.parametrize("sites", ["no_sites", "two_sites"])
def test_a_command_knows_no_address_without_one_site(request: Any, sites: str) -> None:
    request.getfixturevalue(sites)
    assert ProjectSite.current().address() is None


@pytest.mark.usefixtures("no_base_url")
def test_a_site_that_is_no_host_is_named_with_the_remedy() -> None:
    use_domain("not a host")
    with pytest.raises(ConfigurationError) as caught:
        ProjectSite.current().address()
    message = str(caught.value)
    assert message.startswith("The current Site's domain is 'not a host': ")
    remedy = "Correct it in the admin, or set SITEMAPS_PLUS['BASE_URL']."
    assert message.endswith(remedy)


@pytest.mark.usefixtures("one", "two_sites")
def test_sites_by_request_have_pages_of_their_own(client: Client) -> None:
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
    # A host without a Site is its own origin.
    found = locations(client.get("/sitemap.xml"))
    assert found == ["http://testserver/articles/one/"]


@pytest.mark.usefixtures("one")
def test_a_proxy_that_ends_tls_gives_https(client: Client, no_sites: Any) -> None:
    no_sites.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    no_sites.USE_X_FORWARDED_HOST = True
    headers = {
        "host": "10.0.0.1:8000",
        "x-forwarded-proto": "https",
        "x-forwarded-host": "www.example.com",
    }
    found = locations(client.get("/sitemap.xml", headers=headers))
    assert found == ["https://www.example.com/articles/one/"]


@pytest.mark.usefixtures("no_sites")
def test_the_protocol_of_a_sitemap_comes_before_the_request(
    client: Client, page_of: Any
) -> None:
    articles(1, slug="one")
    expected = ["https://testserver/articles/one/"]
    assert locations(page_of(protocol="https", limit=1)) == expected
    assert locations(client.get("/sitemap.xml")) == expected
    articles(1)
    Page.objects.update(verified_at=0)
    assert locations(client.get("/sitemap-article-1.xml")) == expected
    assert listed(client.get("/sitemap.xml")) == [
        f"https://testserver/sitemap-article-{number}.xml" for number in (1, 2)
    ]


@pytest.mark.usefixtures("one")
def test_a_host_that_is_not_allowed_or_none_is_a_bad_request(
    client: Client, no_sites: Any
) -> None:
    def status(host: str, path: str = "/sitemap.xml") -> int:
        return client.get(path, headers={"host": host}).status_code

    assert status("evil.example") == status("evil.example", PAGE) == 400
    assert not Page.objects.exclude(checksum="").exists()
    no_sites.ALLOWED_HOSTS = ["*"]
    no_sites.MIDDLEWARE = []
    for host in ("a..example.com", "www.example.com:99999", "..", "[::::]", "a_b c"):
        assert status(host) == 400, host


class Here:
    """A URLconf that is no module."""

    urlpatterns = (path("here/", lambda request: HttpResponse(), name="here"),)


def test_a_urlconf_may_be_given_in_place_of_its_name(settings: Any) -> None:
    """As in tests of projects: Django takes whatever has urlpatterns."""
    settings.ROOT_URLCONF = Here
    with PLACEHOLDER_SITE.rendering():
        assert reverse("here") == "/here/"


def test_a_protocol_that_no_sitemap_has_is_a_configuration_error() -> None:
    site = SiteAddress.parse("https://www.example.com")
    invalid: list[Any] = ["ftp", "HTTPS", "https://", 7]
    for protocol in invalid:
        with pytest.raises(ConfigurationError, match="must be 'http' or 'https'"):
            site.with_scheme(protocol)
    assert site.with_scheme("") == site.with_scheme(None) == site
