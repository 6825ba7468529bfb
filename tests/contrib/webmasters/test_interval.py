"""The interval of the share that is indexed is the exact one of a sample."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from django_sitemaps_plus.contrib.webmasters.interval import interval


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
