"""The database is away, or only lets read: what crawlers are answered meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.sites.models import Site
from django.db import connection
from django.db.backends.signals import connection_created
from django.test import Client

from django_sitemaps_plus.models import Page
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, PagesSitemap, locations

pytestmark = pytest.mark.django_db(transaction=True)

BASE = "https://www.example.com"
RULES = "User-agent: *\nDisallow: /cart/\n\n"
#: What has a session only read.
READ_ONLY = {
    "sqlite": "PRAGMA query_only = ON",
    "postgresql": "SET default_transaction_read_only = on",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
}


@contextmanager
def away() -> Iterator[None]:
    """Let nobody connect to the database meanwhile."""
    connection.close()
    nowhere = {"NAME": "/no/such/folder/file"}
    if connection.vendor != "sqlite":
        nowhere = {"HOST": "127.0.0.1", "PORT": "1"}
    with patch.dict(connection.settings_dict, nowhere):
        try:
            yield
        finally:
            connection.close()


@contextmanager
def read_only() -> Iterator[None]:
    """Let sessions only read meanwhile."""
    connection.close()
    connection_created.connect(_let_only_read)
    try:
        yield
    finally:
        connection_created.disconnect(_let_only_read)
        connection.close()


def _let_only_read(connection: Any, **kwargs: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(READ_ONLY[connection.vendor])


@pytest.fixture
def settings_of_robots(settings: Any) -> None:
    """Have a rule, and a sitemap of others that robots.txt lists."""
    own = {"ROBOTS": [{"disallow": "/cart/"}], "EXTRA_SITEMAPS": ["/shop.xml"]}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **own}


def robots(start: str = BASE) -> str:
    """Return what robots.txt has to be."""
    return f"{RULES}Sitemap: {start}/sitemap.xml\nSitemap: {start}/shop.xml\n"


def test_robots_txt_has_its_rules_and_the_first_address_while_the_database_is_away(
    client: Client, register: Any, settings_of_robots: None
) -> None:
    register("article", ArticleSitemap)
    assert client.get("/robots.txt").content.decode() == robots()
    with away():
        answer = client.get("/robots.txt")
        assert client.get("/sitemap.xml").status_code == 503
    assert answer.status_code == 200
    assert answer.content.decode() == robots()


@pytest.mark.parametrize("site_id", [1, None])
def test_robots_txt_names_the_host_that_was_asked_while_no_site_can_be_read(
    client: Client, settings: Any, settings_of_robots: None, site_id: int | None
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BASE_URL": None}
    settings.SITE_ID, settings.ALLOWED_HOSTS = site_id, ["shop.example.org"]
    Site.objects.clear_cache()
    with away():
        answer = client.get("/robots.txt", headers={"host": "shop.example.org"})
    assert answer.status_code == 200
    assert answer.content.decode() == robots("http://shop.example.org")


def test_a_database_that_only_lets_read_is_503_until_a_page_is_built(
    client: Client, register: Any
) -> None:
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    articles(3)
    page = "/sitemap-article-1.xml"
    addresses = ("/sitemap.xml", page, "/sitemap-article.xml", f"{page}.gz")
    for _ in range(2):
        with read_only():
            for address in addresses:
                answer = client.get(address)
                assert answer.status_code == 503, address
                assert answer.headers["Retry-After"] == "60"
            # What is not stored needs nothing written.
            assert len(locations(client.get("/sitemap-pages-1.xml"))) == 2
        # The rows of sections and pages are there, and no bytes.
        client.get(page)
        Page.objects.update(checksum="", entries=None)
    for address in addresses:
        client.get(address)
    with read_only():
        found = [len(locations(client.get(address))) for address in addresses[:3]]
    assert found == [5, 3, 3]
