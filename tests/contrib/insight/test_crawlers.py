"""Crawlers are recognized by the names that their owners publish."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.contrib.insight.crawlers import crawler_of


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/"
            "2.1; +http://www.google.com/bot.html) Chrome/99.0.0.0 Safari/537.36",
            "Googlebot",
        ),
        ("Googlebot-Image/1.0", "Googlebot-Image"),
        (
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; OAI-AdsBot"
            "/1.0; +https://openai.com/adsbot",
            "OAI-AdsBot",
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 "
            "(KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1)",
            "Applebot",
        ),
        ("Mozilla/5.0 (compatible; YANDEXBOT/3.0)", "YandexBot"),
        ("Mozilla/5.0 (compatible; Notgooglebot/1.0)", ""),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0", ""),
        ("", ""),
        ("x" * 600 + "Googlebot", ""),
    ],
)
def test_a_crawler_is_known_by_its_name(user_agent: str, name: str) -> None:
    assert crawler_of(user_agent) == name
