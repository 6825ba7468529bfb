"""What crawlers and people send is read in linear time."""

from __future__ import annotations

from pathlib import Path

import pytest

from django_sitemaps_plus import contrib
from django_sitemaps_plus.contrib.insight.admin.entered import alike
from django_sitemaps_plus.contrib.insight.crawlers import crawler_of
from tests.support.linear_time import (
    Reads,
    patterns_are_linear,
    readers_in,
    takes_twice_as_long,
)

ENTERED = ("a", "&", "utm_", "clid", "%", "%2e", "./")
#: What reads a text, what it may consist of, and the most characters.
READERS: dict[str, tuple[Reads, tuple[str, ...], int]] = {
    "User-Agent": (crawler_of, ("a", "Google", "bot", "-", " ", "Googlebot-"), 65_536),
    "what people enter": (lambda text: alike(f"/a/?{text}"), ENTERED, 65_536),
}


@pytest.mark.parametrize("name", READERS)
def test_twice_as_much_takes_twice_as_long(name: str) -> None:
    takes_twice_as_long(*READERS[name])


def test_it_is_known_of_each_pattern_whom_it_reads() -> None:
    #: What reads others is measured here; the rest reads what is the project's own.
    measured, own = "crawlers entered", "display"
    folder = Path(contrib.__path__[0], "insight")
    assert readers_in(folder) == {*measured.split(), *own.split()}
    patterns_are_linear(folder, measured.split())
