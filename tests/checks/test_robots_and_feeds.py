"""Checks of robots.txt, llms.txt, and of the feeds that an engine submits."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.test_checks import Found, found
from tests.conftest import Register
from tests.support.helpers import ArticleSitemap
from tests.support.outbox_world import BASE, use

ALL = {"user_agent": "*", "disallow": ["/cart/"]}


def of(number: str) -> list[Found]:
    return [one for one in found() if one[0] == number]


def test_a_group_that_does_not_repeat_the_rules_for_all_is_named(
    settings: Any,
) -> None:
    groups = [ALL, {"crawlers": "ai-search", "allow": "/"}]
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ROBOTS": groups}
    [(_, text, _)] = of("W050")
    assert "a group for OAI-SearchBot, " in text
    assert ", so these do not follow these rules of '*': /cart/." in text
    groups[1]["disallow"] = "/cart/"
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ROBOTS": groups}
    assert of("W050") == []


def test_a_preset_that_is_kept_out_needs_no_other_rules(settings: Any) -> None:
    groups = [ALL, {"crawlers": ["ai-training", "ai-user"], "disallow": "/"}]
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ROBOTS": groups}
    assert of("W050") == []


@pytest.mark.parametrize(
    ("group", "missing"),
    [
        ({"allow": "/"}, ["/cart/", "Content-Signal: ai-train=no"]),
        ({"disallow": "/cart/"}, ["Content-Signal: ai-train=no"]),
        ({"disallow": "/cart/", "content_signal": {"ai-train": True}}, []),
        ({"disallow": "/"}, []),
    ],
)
def test_signals_for_all_do_not_hold_for_a_crawler_that_is_named(
    settings: Any, group: dict[str, Any], missing: list[str]
) -> None:
    groups = [
        {**ALL, "content_signal": {"ai-train": False}},
        {"user_agent": "GPTBot", **group},
    ]
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ROBOTS": groups}
    expected = [f"these rules of '*': {', '.join(missing)}. A"] if missing else []
    texts = [text for _, text, _ in of("W050")]
    assert len(texts) == len(expected)
    assert all(one in text for one, text in zip(expected, texts, strict=True))


def test_preferences_for_all_do_not_hold_for_a_crawler_that_is_named(
    settings: Any,
) -> None:
    usage = {"train-ai": False, "/docs/": {"train-ai": True}}
    named = {"user_agent": "GPTBot", "content_usage": {"train-ai": True}}
    groups = [{"content_usage": usage}, named]
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ROBOTS": groups}
    [(_, text, _)] = of("W050")
    assert "rules of '*': Content-Usage: /docs/ train-ai=y. A" in text
    groups[1] = {**named, "content_usage": usage}
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ROBOTS": groups}
    assert of("W050") == []


def test_an_llms_txt_without_a_section_is_named(
    settings: Any, register: Register
) -> None:
    register("article", ArticleSitemap)
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "LLMS": {"title": "Example"}}
    [(_, text, hint)] = of("W051")
    assert "no section declares a title" in text
    assert 'title = "Articles"' in hint
    titled = type("Titled", (ArticleSitemap,), {"title": "Articles"})
    register("titled", titled)
    assert of("W051") == []
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE}
    assert of("W051") == []


@pytest.mark.parametrize(
    ("feed", "is_served"),
    [
        ("/none.atom", False),
        ("/robots.txt?x=1", True),
        ("https://blog.example.com/feed.atom", True),
    ],
)
@pytest.mark.parametrize("base", [BASE, f"{BASE}/shop"])
def test_a_feed_that_the_site_does_not_serve_is_named(
    settings: Any, base: str, feed: str, is_served: bool
) -> None:
    path = "django_sitemaps_plus.engines.websub.WebSub"
    shop = "/shop" if base.endswith("/shop") and feed.startswith("/") else ""
    use(settings, BASE_URL=base, hub=(path, {"feeds": [f"{shop}{feed}"]}))
    messages = of("W032")
    assert (messages == []) is is_served
    assert all(f"{shop}{feed}" in text for _, text, _ in messages)


@pytest.mark.parametrize(
    ("backend", "options", "text"),
    [
        ("google_indexing.GoogleIndexing", {}, "['sections'] is empty"),
        ("bing.BingWebmaster", {"site": BASE}, "['key'] is missing"),
        ("yandex.YandexWebmaster", {"token": ""}, "['token'] is empty"),
        ("baidu.Baidu", {"site": "", "token": "x"}, "['site'] is ''"),
        ("websub.WebSub", {"sections": ["a"]}, "takes no URLs of pages"),
    ],
)
def test_options_that_cannot_work_are_named(
    settings: Any, backend: str, options: dict[str, Any], text: str
) -> None:
    path = f"django_sitemaps_plus.engines.{backend}"
    entry = {"BACKEND": path, "OPTIONS": options}
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ENGINES": {"it": entry}}
    [(_, message, _)] = of("E031")
    assert text in message or "pip install" in message
