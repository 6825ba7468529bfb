"""What engines send about a site is read in linear time."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.contrib.webmasters import bing, google_indexing, yandex
from django_sitemaps_plus.contrib.webmasters.answers import as_count
from django_sitemaps_plus.contrib.webmasters.google_auth import _TOKEN
from django_sitemaps_plus.contrib.webmasters.structured_data import types_in
from tests.support.linear_time import (
    JSON,
    PACKAGE,
    PAGE,
    TAGS,
    Reads,
    patterns_are_known,
    takes_twice_as_long,
)


def engine_fields(text: str) -> None:
    """What stands in the JSON of engines."""
    as_count(text)
    bing._moment(f"/Date({text}")
    yandex._renewed_in({"exceeded_until": text})
    for pattern in (google_indexing._MINUTE, google_indexing._DAY):
        pattern.search(text)


#: What reads a text, what it may consist of, and the most characters.
READERS: dict[str, tuple[Reads, tuple[str, ...], int]] = {
    "a token in an answer": (
        lambda text: _TOKEN.sub("", text),
        ("eyJ", "eyJ.", "ya29.", "1//", "a", "-", "1//a"),
        65_536,
    ),
    "fields of an answer": (
        engine_fields,
        ("1", "per", "per ", "per d", "a", "-", "+", "2026-", " "),
        65_536,
    ),
    "a page with structured data": (types_in, TAGS, PAGE),
    "JSON-LD": (
        lambda text: types_in(f'<script type="application/ld+json">{text}</script>'),
        JSON,
        PAGE,
    ),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.costly
def test_twice_as_much_takes_twice_as_long(name: str) -> None:
    takes_twice_as_long(*READERS[name])


def test_it_is_known_of_each_pattern_whom_it_reads() -> None:
    measured = "answers bing google_auth google_indexing structured_data"
    patterns_are_known(PACKAGE / "contrib/webmasters", measured, "google")
