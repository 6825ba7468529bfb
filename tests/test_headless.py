"""Behind a front end Django has a host of its own, and answers for the public one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.test import Client

from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, run_command

pytestmark = pytest.mark.django_db

BASE = "https://www.example.com"
KEY = "0123456789abcdef"
PATHS = [
    *("/robots.txt", f"/{KEY}.txt", "/sitemap-style", "/sitemap.xml"),
    *("/sitemap.xml.gz", "/sitemap-article.xml"),
    *("/sitemap-article-1.xml", "/sitemap-article-1.xml.gz"),
]


@pytest.fixture
def site(settings: Any, register: Any) -> Any:
    """A site whose address is not the host that Django is asked for."""
    indexnow = "django_sitemaps_plus.engines.indexnow.IndexNow"
    entry = {"BACKEND": indexnow, "OPTIONS": {"key": KEY}}
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ENGINES": {"indexnow": entry}}
    register("article", ArticleSitemap)
    articles(2)
    run_command("build_sitemaps")
    return settings


def answers(
    host: str, paths: Sequence[str] = PATHS, **headers: str
) -> dict[str, tuple[int, bytes, str]]:
    """Return status, body and tag of each address."""
    found = {}
    for path in paths:
        client = Client(headers={"host": host, **headers})
        response = client.get(path, secure=True)
        tag = response.headers.get("ETag", "")
        found[path] = (response.status_code, response.getvalue(), tag)
    return found


@pytest.mark.parametrize("is_trusted", [False, True])
def test_every_address_answers_alike_whatever_the_front_end_sends(
    site: Any, is_trusted: bool
) -> None:
    site.ALLOWED_HOSTS = ["api.example.com", "www.example.com"]
    site.USE_X_FORWARDED_HOST = is_trusted
    expected = answers("www.example.com")
    assert {status for status, _, _ in expected.values()} == {200}
    assert answers("api.example.com") == expected
    assert answers("api.example.com", x_forwarded_host="www.example.com") == expected
    text = b"".join(body for _, body, _ in expected.values())
    assert text.count(b"https://www.example.com/") > 5
    assert b"api.example.com" not in text


def test_the_host_need_not_be_known_where_no_middleware_asks_for_it(site: Any) -> None:
    site.MIDDLEWARE = []
    site.ALLOWED_HOSTS = ["www.example.com"]
    assert answers("10.0.0.7:8000") == answers("www.example.com")
