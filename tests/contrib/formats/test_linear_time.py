"""A feed of others is read in linear time."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.contrib.formats import websub
from tests.support.linear_time import (
    PACKAGE,
    PAGE,
    TAGS,
    Reads,
    patterns_are_known,
    takes_twice_as_long,
)

LINKS = ("<link ", "<link rel=", "<link/>", "<a:link rel='a a' href=''/>", "&a;", "<b>")
#: What reads a text, what it may consist of, and the most characters.
READERS: dict[str, tuple[Reads, tuple[str, ...], int]] = {
    "a feed": (lambda text: websub._links(text.encode()), TAGS, PAGE),
    "its links": (lambda text: websub._links(f"<feed>{text}".encode()), LINKS, PAGE),
}


@pytest.mark.parametrize("name", READERS)
def test_twice_as_much_takes_twice_as_long(name: str) -> None:
    takes_twice_as_long(*READERS[name])


def test_it_is_known_of_each_pattern_whom_it_reads() -> None:
    patterns_are_known(PACKAGE / "contrib/formats", "websub", "llms text")
