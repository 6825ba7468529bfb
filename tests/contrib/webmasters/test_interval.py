"""The interval of the share that is indexed holds the truth as often as it says."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from django_sitemaps_plus.contrib.webmasters.interval import interval

RUNS = 2_000
#: How many URLs a section has, how many are indexed, and how many are inspected.
SHAPES = {
    "large, new pages are worse": (400_000, 342_000, 630),
    "nine of ten pages": (33_333, 29_720, 1_100),
    "nearly all": (9_500, 9_487, 200),
    "nearly none": (33_333, 530, 300),
    "most were inspected": (1_200, 940, 1_000),
}


def found(total: int, indexed: int, count: int) -> list[int]:
    """Return how many of ``count`` URLs, drawn at random, are indexed, in each run."""
    least, most = max(0, count - total + indexed), min(count, indexed)
    ways = [
        math.lgamma(indexed + 1)
        - math.lgamma(one + 1)
        - math.lgamma(indexed - one + 1)
        + math.lgamma(total - indexed + 1)
        - math.lgamma(count - one + 1)
        - math.lgamma(total - indexed - count + one + 1)
        for one in range(least, most + 1)
    ]
    weights = [math.exp(way - max(ways)) for way in ways]
    return random.choices(range(least, most + 1), weights, k=RUNS)  # noqa: S311 - not a secret


def held(truth: float, total: int, count: int, runs: list[int]) -> float:
    """Return in what share of runs the interval holds the truth."""
    bounds = [interval(total, count, one) for one in runs]
    return sum(low <= truth <= high for low, high in bounds) / RUNS


@pytest.mark.parametrize("name", SHAPES)
def test_it_holds_the_truth_in_nineteen_of_twenty_samples(name: str) -> None:
    total, indexed, count = SHAPES[name]
    random.seed(f"{name} 33")
    runs = found(total, indexed, count)
    assert held(indexed / total, total, count, runs) >= 0.93


@pytest.mark.parametrize("new", [4, 17])
def test_of_a_section_that_grows_it_holds_the_average_of_its_days(new: int) -> None:
    """
    Of 20 new URLs a day 4 are indexed, or as many as of the others: 17.

    So if new URLs are as good as others, also what is true in the end.
    """
    random.seed(f"{new} 33")
    draws, runs = [100, *[36] * 27], [0] * RUNS
    sizes = [(20_000 + 20 * day, 17_000 + new * day) for day in range(28)]
    for count, size in zip(draws, sizes, strict=True):
        runs = [one + more for one, more in zip(runs, found(*size, count), strict=True)]
    parts = [
        count * indexed / total
        for count, (total, indexed) in zip(draws, sizes, strict=True)
    ]
    assert held(sum(parts) / sum(draws), sizes[-1][0], sum(draws), runs) >= 0.93
    total, indexed = sizes[-1]
    end = held(indexed / total, total, sum(draws), runs)
    assert new < 17 or end >= 0.93


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
