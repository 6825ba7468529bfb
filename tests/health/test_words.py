"""Times and numbers in words."""

from __future__ import annotations

import time

from django.utils import translation

from django_sitemaps_plus.health.words import ago, number, seconds_of, until


def test_how_long_ago_something_was_and_in_how_long_it_is_due() -> None:
    for how, seconds, text in (
        (ago, 0, "just now"),
        (ago, -58, "just now"),
        (ago, -62, "1 minute ago"),
        (ago, -3 * 3600 - 120, "3 hours ago"),
        # A clock that is ahead by some seconds says nothing.
        (ago, 58, "just now"),
        (ago, 122, "in 2 minutes"),
        (until, -5, "now"),
        (until, 1, "in under a minute"),
        (until, 58, "in under a minute"),
        (until, 62, "in 1 minute"),
    ):
        assert how(time.time() + seconds).replace("\xa0", " ") == text


def test_a_time_of_an_engine() -> None:
    for text, seconds in (
        ("1970-01-01T00:01:00Z", 60),
        ("1970-01-01T02:00:00+02:00", 0),
        # Without a zone it is in UTC.
        ("1970-01-01T00:01:00", 60),
        ("1970-13-01T00:00:00Z", None),
        ("yesterday", None),
        (None, None),
    ):
        assert seconds_of(text) == seconds


def test_a_number_has_the_separators_of_the_language() -> None:
    assert number(1234567) == "1,234,567"


def test_a_time_has_the_case_that_its_language_wants() -> None:
    now, day = time.time(), 86_400
    for language, past, future in (
        ("en", "2 days ago", "in 3 months"),
        ("de", "vor 2 Tagen", "in 3 Monaten"),
        ("fr", "il y a 2 jours", "dans 3 mois"),
    ):
        with translation.override(language):
            assert ago(now - 2.5 * day).replace("\xa0", " ") == past
            assert until(now + 100 * day).replace("\xa0", " ") == future
