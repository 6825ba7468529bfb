"""
How many rows each page gets: the one place that decides how pages are cut.

Numbers only. ``bounds`` finds the keys for them, and the tests' model of the ledger
asks here, too: whoever changes how a page is cut changes this module and its test.
"""

from __future__ import annotations

import math
from itertools import pairwise

#: The share of a page that is filled where rows may come between others: a few late
#: ones do not divide it at once.
FILL = 0.9


def filled_to(limit: int) -> int:
    """Return how many of the ``limit`` rows of a page are filled at first."""
    return max(1, math.floor(limit * FILL))


def tail(limit: int, fitting: int, most: int) -> list[int]:
    """
    Return the rows of the pieces of a last page, except the last piece.

    ``most`` at most. What fits stays where it is: nothing moves while keys grow.
    """
    return [max(1, fitting), *[filled_to(limit)] * (most - 1)]


def halves(limit: int, fitting: int, most: int, count: int) -> list[int]:
    """
    Return the rows of the pieces of a page of ``count`` rows that others follow.

    But for the last piece, and at most ``most``. All are of one size, and there are as
    many as it needs, two at least. The first has to fit: what it has listed is known of
    it alone.
    """
    pieces = min(most + 1, max(2, math.ceil(count / filled_to(limit))))
    ends = [count * piece // pieces for piece in range(pieces)]
    ends[1] = max(1, min(ends[1], fitting))
    return [max(1, stop - start) for start, stop in pairwise(ends)]
