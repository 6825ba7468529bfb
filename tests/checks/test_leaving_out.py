"""Checks of what sections leave out."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db.models import F

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.checks.attributes import check_settings_patterns
from django_sitemaps_plus.checks.sections import check_sections
from tests.conftest import Register
from tests.support.helpers import ArticleSitemap
from tests.testapp.models import Badge, Note


class Notes(Sitemap):
    model = Note
    location = Route("note", number=F("number"))
    i18n = True
    languages = ("en", "de")


def found() -> list[tuple[str, str]]:
    """Return the ids and the texts of the checks of leaving out."""
    checks = [
        (str(check.id).removeprefix("sitemaps_plus."), check.msg)
        for check in (*check_sections(), *check_settings_patterns())
    ]
    return [(name, text) for name, text in checks if name[1:3] == "06"]


@pytest.mark.parametrize(
    ("pattern", "number", "text"),
    [
        ("/articles/draft-", "", ""),
        ("/*/print/", "", ""),
        ("*draft", "", ""),
        (re.compile("x"), "", ""),
        ("/private/", "W060", "because the URLs begin with '/articles/'"),
        ("/private/*/x", "W060", "leaves nothing out"),
        ("/articles/", "W061", "leaves everything out"),
        ("/art*", "W061", "leaves everything out"),
        ("articles", "E060", "nor *: write '/articles'"),
        (re.compile(b"x"), "E060", "pattern of bytes"),
    ],
)
def test_a_pattern_of_a_class_is_held_against_its_route(
    register: Register, pattern: Any, number: str, text: str
) -> None:
    register("rows", type("Some", (ArticleSitemap,), {"exclude": [pattern]}))
    messages = found()
    assert [name for name, _ in messages] == ([number] if number else [])
    assert all(text in message for _, message in messages)


def test_a_pattern_of_one_language_may_match(register: Register) -> None:
    register("rows", type("Some", (Notes,), {"exclude": ["/de/notes/"]}))
    assert found() == []


@pytest.mark.parametrize(
    ("pattern", "number"),
    [("/articles/draft", ""), ("/nothing/", "W060"), ("/", "W061"), ("/*", "W061")],
)
def test_a_pattern_of_the_settings_is_held_against_all_routes(
    register: Register, settings: Any, pattern: str, number: str
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "EXCLUDE": [pattern]}
    register("rows", ArticleSitemap)
    register("notes", Notes)
    assert [name for name, _ in found()] == ([number] if number else [])


def test_nothing_is_said_where_not_all_urls_are_known(
    register: Register, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "EXCLUDE": ["/nothing/"]}
    register("rows", type("Some", (ArticleSitemap,), {"location": F("slug")}))
    assert found() == []


def test_a_list_that_is_none_is_a_check_error(register: Register) -> None:
    register("rows", type("Some", (ArticleSitemap,), {"exclude": "/private/"}))
    assert [name for name, _ in found()] == ["E060"]


def test_a_column_in_sitemap_that_is_no_boolean_is_a_warning(
    register: Register,
) -> None:
    class Badges(ArticleSitemap):
        model = Badge
        location = Route("article", slug=F("name"))
        lastmod = None

    register("rows", Badges)
    assert [name for name, _ in found()] == ["W062"]
