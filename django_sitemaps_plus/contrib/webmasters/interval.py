"""
How many of a section are indexed, by a sample: the exact interval.

The sample is drawn without replacement, so the count is hypergeometric. The interval
has all totals under which a count as high, and one as low, has a probability of at
least 2.5 %: it holds the truth in 95 % of samples or more, however small the section.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache, partial

#: What may be missed at each end.
_TAIL = 0.025
#: A term after which the rest of a sum, which decreases, does not matter.
_LITTLE = 1e-12


@lru_cache(maxsize=4096)
def interval(total: int, drawn: int, found: int) -> tuple[float, float]:
    """Return the least and the greatest share, if ``found`` of ``drawn`` have it."""
    if drawn >= total:
        return found / drawn, found / drawn
    most = _most(total, drawn, found)
    least = total - _most(total, drawn, drawn - found)
    return least / total, most / total


def _most(total: int, drawn: int, found: int) -> int:
    """Return the greatest number in the section with which ``found`` is likely."""
    more = range(found + 1, total - (drawn - found) + 1)
    # The more of the section have it, the less likely so few of the sample have.
    unlikely = partial(_is_unlikely, total, drawn, found)
    return found + bisect_left(more, True, key=unlikely)


def _is_unlikely(total: int, drawn: int, found: int, marked: int) -> bool:
    """Return whether few samples (2.5 %) have at most ``found``, of ``marked``."""
    if found * total >= drawn * marked:
        # No fewer than the mean: half of all samples, or nearly.
        return False
    least = max(0, drawn + marked - total)
    if found < least:
        return True
    ways = _log_choices(marked, found) + _log_choices(total - marked, drawn - found)
    term, below = math.exp(ways - _log_choices(total, drawn)), 0.0
    for count in range(found, least - 1, -1):
        below += term
        if below >= _TAIL or term < _LITTLE:
            break
        others = total - marked - drawn + count
        term *= count * others / ((marked - count + 1) * (drawn - count + 1))
    return below < _TAIL


def _log_choices(number: int, chosen: int) -> float:
    """Return the logarithm of a binomial coefficient."""
    rest = number - chosen
    return math.lgamma(number + 1) - math.lgamma(chosen + 1) - math.lgamma(rest + 1)
