"""Pages that no section lists: of models, and of routes without arguments."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Register
from tests.contrib.audit import kinds
from tests.contrib.audit.looked import findings
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, PagesSitemap, run_command
from tests.testapp.models import Note

pytestmark = pytest.mark.django_db(databases=["default", "other"])


def unlisted(*options: str) -> dict[str, str]:
    """Return what no section lists by its path."""
    run_command("build_sitemaps")
    return {
        one["url"].split("/", 3)[-1]: one["text"]
        for one in findings(*options)
        if one["id"] == kinds.UNLISTED
    }


@pytest.fixture
def base(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com"}
    settings.ALLOWED_HOSTS = ["*"]


def test_a_model_with_urls_in_no_section_is_said(
    base: None, register: Register, settings: Any
) -> None:
    register("static", PagesSitemap)
    [article] = articles(1)
    Note.objects.create(number=1)
    path = article.get_absolute_url()[1:]
    said = {path: "testapp.Article has 1 row with get_absolute_url()"}
    assert said.items() <= unlisted().items()
    settings.SILENCED_SYSTEM_CHECKS = [f"{kinds.UNLISTED}.testapp.Article"]
    assert path not in unlisted()
    settings.SILENCED_SYSTEM_CHECKS = []
    register("article", ArticleSitemap)
    assert path not in unlisted()


def test_a_route_that_answers_and_is_not_listed_is_said(
    base: None, register: Register
) -> None:
    register("article", ArticleSitemap)
    articles(1)
    assert "about/" not in unlisted()
    assert unlisted("--fetch").get("about/") == "the route 'about' answers 200"
    register("static", PagesSitemap)
    assert "about/" not in unlisted("--fetch")
