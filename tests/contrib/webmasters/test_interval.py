"""The interval of the share that is indexed holds the truth as often as it says."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from django_sitemaps_plus.contrib.webmasters.coverage import drawn
from django_sitemaps_plus.contrib.webmasters.interval import interval

#: Pages of a section by their size and how many of their URLs are indexed, and how many
#: URLs are inspected: old pages and new ones, nearly all, nearly none, and few left.
SHAPES = {
    "large, new pages are worse": ([(195_000, 170_000)] * 2 + [(10_000, 2_000)], 630),
    "nine of ten pages": ([(3_000, 2_700)] * 11 + [(333, 20)], 1_100),
    "nearly all": ([(9_000, 8_990), (500, 497)], 200),
    "nearly none": ([(20_000, 30), (13_333, 500)], 300),
    "most were inspected": ([(1_000, 840), (200, 100)], 1_000),
}


@pytest.mark.parametrize("name", SHAPES)
def test_it_holds_the_truth_in_nineteen_of_twenty_samples(name: str) -> None:
    """They are drawn as those of the background, and seeded."""
    shape, count = SHAPES[name]
    sizes = [size for size, _ in shape]
    total, truth = sum(sizes), sum(indexed for _, indexed in shape)
    random.seed(f"{name} 33")
    held, runs = 0, 2_000
    for _ in range(runs):
        sample = drawn(sizes, count)
        found = sum(
            place < shape[page][1]
            for page, places in sample.items()
            for place in places
        )
        low, high = interval(total, count, found)
        held += low <= truth / total <= high
    assert held / runs >= 0.93


def likely(total: int, marked: int, drawn: int, found: int) -> Fraction:
    """Return the probability that at most so many are found, from the definition."""
    ways = sum(
        math.comb(marked, one) * math.comb(total - marked, drawn - one)
        for one in range(found + 1)
        if one <= drawn
    )
    return Fraction(ways, math.comb(total, drawn))


@pytest.mark.parametrize(("total", "drawn"), [(12, 5), (30, 29), (40, 1), (53, 20)])
def test_it_is_the_exact_one(total: int, drawn: int) -> None:
    tail = Fraction(25, 1_000)
    for found in range(drawn + 1):
        possible = [
            marked
            for marked in range(found, total - drawn + found + 1)
            if likely(total, marked, drawn, found) >= tail
            and 1 - likely(total, marked, drawn, found - 1) >= tail
        ]
        expected = possible[0] / total, possible[-1] / total
        assert interval(total, drawn, found) == expected


def test_a_whole_section_has_no_interval() -> None:
    assert interval(800, 800, 640) == (0.8, 0.8)


def test_a_section_of_a_hundred_million_takes_no_longer() -> None:
    low, high = interval(100_000_000, 1_000, 820)
    assert 0.79 < low < 0.8 < 0.84 < high < 0.85
    assert interval(100_000_000, 1_000, 0)[0] == 0
    assert interval(100_000_000, 1_000, 1_000)[1] == 1
