"""Checks of robots.txt."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.test_checks import Found, found
from tests.support.outbox_world import BASE

ALL = {"user_agent": "*", "disallow": ["/cart/"]}


def of(number: str) -> list[Found]:
    return [one for one in found() if one[0] == number]


def test_a_group_that_does_not_repeat_the_rules_for_all_is_named(settings: Any) -> None:
    groups = [ALL, {"crawlers": "ai-search", "allow": "/"}]
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ROBOTS": groups}
    [(_, text, _)] = of("W050")
    assert "a group for OAI-SearchBot, " in text
    assert ", so these do not follow these rules of '*': /cart/." in text
    groups[1]["disallow"] = "/cart/"
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ROBOTS": groups}
    assert of("W050") == []
    # Who is kept out needs no other rules.
    groups[1] = {"crawlers": ["ai-training", "ai-user"], "disallow": "/"}
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
