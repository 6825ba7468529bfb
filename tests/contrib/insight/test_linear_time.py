"""What crawlers and people send is read in linear time."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.contrib.insight.admin.entered import alike
from django_sitemaps_plus.contrib.insight.crawlers import crawler_of
from tests.support.linear_time import (
    PACKAGE,
    Reads,
    patterns_are_known,
    takes_twice_as_long,
)

#: What reads a text, what it may consist of, and the most characters.
READERS: dict[str, tuple[Reads, tuple[str, ...], int]] = {
    "User-Agent": (crawler_of, ("a", "Google", "bot", "-", " ", "Googlebot-"), 65_536),
    "what people enter": (
        lambda text: alike(f"/a/?{text}"),
        ("a", "&", "utm_", "clid", "%", "%2e", "./"),
        65_536,
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_twice_as_much_takes_twice_as_long(name: str) -> None:
    takes_twice_as_long(*READERS[name])


def test_it_is_known_of_each_pattern_whom_it_reads() -> None:
    patterns_are_known(PACKAGE / "contrib/insight", "crawlers entered", "display")
