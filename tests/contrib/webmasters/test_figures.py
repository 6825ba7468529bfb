"""What keeps Search Console from showing figures by section."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus.contrib.webmasters import figures
from django_sitemaps_plus.models import Page, Section
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, PagesSitemap, run_command

pytestmark = pytest.mark.django_db

CONSOLE = {
    "BACKEND": "django_sitemaps_plus.contrib.webmasters.google.SearchConsole",
    "OPTIONS": {
        "site": "https://www.example.com/",
        "credentials": {
            "type": "authorized_user",
            "client_id": "id",
            "client_secret": "secret",
            "refresh_token": "token",
        },
    },
}


def said() -> list[str]:
    return [one.text for one in figures.check()]


@pytest.fixture
def submits(settings: Any) -> None:
    given = {**settings.SITEMAPS_PLUS, "ENGINES": {"google": CONSOLE}}
    settings.SITEMAPS_PLUS = given


def test_sections_in_one_file_are_noted_where_search_console_has_the_sitemap(
    submits: None, register: Any, settings: Any
) -> None:
    register("article", ArticleSitemap)
    articles(2)
    run_command("build_sitemaps")
    assert said() == [], "one section is the file"
    register("pages", PagesSitemap)
    assert said() == [
        "2 sections are in one file, so Search Console shows no figures by section."
    ]
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "INDEX": True}
    assert said() == []
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com"}
    assert said() == [], "nobody looks there"


def test_more_pages_than_search_console_lists_are_noted(
    submits: None, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("article", ArticleSitemap)
    articles(2)
    run_command("build_sitemaps")
    section = Section.objects.get(name="article")
    Page.objects.bulk_create(
        Page(section=section, number=number, position=number, lower=f"[{number}]")
        for number in range(2, figures.MOST + 1)
    )
    assert said() == [], "a thousand are listed"
    Page.objects.create(section=section, number=5_000, position=5_000, lower="[5000]")
    assert said() == [
        "The index lists 1,001 sitemaps. Search Console shows only 1,000 of them, "
        "though it reads all."
    ]
