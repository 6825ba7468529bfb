"""Settings that all of ``SITES`` share are right where they are for one of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db.models import F

from django_sitemaps_plus import Route
from django_sitemaps_plus.sitemaps.registry import registry
from tests.checks.test_checks import found
from tests.conftest import Register
from tests.support.helpers import ArticleSitemap
from tests.support.outbox_world import BASE

pytestmark = pytest.mark.django_db

BLOG = "https://blog.example.com"
SITES = {"blog": {"BASE_URL": BLOG, "URLCONF": "tests.support.blog_urls"}}


class Posts(ArticleSitemap):
    location = Route("post", slug=F("slug"))


@pytest.fixture
def posts(register: Register) -> Iterator[None]:
    register("article", ArticleSitemap)
    registry.add("posts", Posts, "blog")
    yield
    registry.remove("posts", "blog")


def indexnow(section: str) -> dict[str, Any]:
    options = {"key": "0123456789abcdef", "sections": [section]}
    backend = "django_sitemaps_plus.engines.indexnow.IndexNow"
    return {"ENGINES": {"indexnow": {"BACKEND": backend, "OPTIONS": options}}}


@pytest.mark.usefixtures("posts")
@pytest.mark.parametrize(
    ("number", "right", "wrong"),
    [
        ("E034", indexnow("posts"), indexnow("post")),
        (
            "W063",
            {
                "EXTRA_SITEMAPS": [
                    {"url": f"{BLOG}/a.xml", "index": True},
                    "https://b.example/for-robots-txt.xml",
                ]
            },
            {"EXTRA_SITEMAPS": [{"url": "https://a.example/a.xml", "index": True}]},
        ),
    ],
)
def test_what_holds_for_a_further_site_is_fine(
    settings: Any, number: str, right: dict[str, Any], wrong: dict[str, Any]
) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "SITES": SITES, **right}
    assert found() == []
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "SITES": SITES, **wrong}
    assert [name for name, _, _ in found()] == [number]
