"""Times and numbers in words."""

from __future__ import annotations

import time

import pytest
from django.utils import translation

from django_sitemaps_plus.health.words import ago, number, seconds_of, until


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "just now"),
        (58, "just now"),
        (62, "1 minute ago"),
        (3 * 3600 + 120, "3 hours ago"),
        # A clock that is ahead by some seconds says nothing.
        (-58, "just now"),
        (-122, "in 2 minutes"),
    ],
)
def test_how_long_ago_something_was(seconds: float, text: str) -> None:
    assert ago(time.time() - seconds).replace("\xa0", " ") == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "now"),
        (1, "in under a minute"),
        (58, "in under a minute"),
        (62, "in 1 minute"),
    ],
)
def test_in_how_long_something_is_due(seconds: float, text: str) -> None:
    assert until(time.time() + seconds).replace("\xa0", " ") == text


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:01:00Z", 60),
        ("1970-01-01T02:00:00+02:00", 0),
        # Without a zone it is in UTC.
        ("1970-01-01T00:01:00", 60),
        ("1970-13-01T00:00:00Z", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_a_time_of_an_engine(text: str | None, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


def test_a_number_has_the_separators_of_the_language() -> None:
    assert number(1234567) == "1,234,567"


@pytest.mark.parametrize(
    ("language", "past", "future"),
    [
        ("en", "2 days ago", "in 3 months"),
        ("de", "vor 2 Tagen", "in 3 Monaten"),
        ("fr", "il y a 2 jours", "dans 3 mois"),
    ],
)
def test_a_time_has_the_case_that_its_language_wants(
    language: str, past: str, future: str
) -> None:
    now, day = time.time(), 86_400
    with translation.override(language):
        assert ago(now - 2.5 * day).replace("\xa0", " ") == past
        assert until(now + 100 * day).replace("\xa0", " ") == future
