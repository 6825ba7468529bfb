"""Times of several contestants, taken in turns so that all meet the same noise."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from . import bench


def nothing() -> None:
    """Prepare nothing."""


class Times(NamedTuple):
    """Seconds that a contestant took."""

    median: float
    #: Of all repetitions: what it takes where nothing else disturbs.
    quickest: float


@dataclass(frozen=True)
class Contestant:
    """Something to be timed: ``prepare()`` is not, ``run()`` is."""

    name: str
    run: Callable[[], object]
    prepare: Callable[[], object] = nothing
    #: How often in a round: quick ones more often, for a steadier median.
    times: int = 1


def medians(
    contestants: Sequence[Contestant],
    rounds: int,
    *,
    collect: bool = True,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Times]:
    """
    Return the times of each contestant, by name.

    ``collect`` empties the garbage before each run, which pays for what takes
    longer than that. With ``time.process_time`` as the ``clock`` only this process
    counts, not the database.
    """
    taken: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    for turn in range(rounds):
        # Every other round backwards: nobody always runs after the same one.
        for contestant in contestants[:: 1 if turn % 2 == 0 else -1]:
            for _ in range(contestant.times):
                contestant.prepare()
                if collect:
                    gc.collect()
                begun = clock()
                contestant.run()
                taken[contestant.name].append(clock() - begun)
    return {name: Times(median(times), min(times)) for name, times in taken.items()}


def ratio(over: Times, under: Times) -> tuple[float, str]:
    """Return how two medians compare, and the same in words, with the quickest."""
    quickest = over.quickest / under.quickest
    return over.median / under.median, (
        f"{shown(over.median)} / {shown(under.median)}; "
        f"quickest {bench.shown(quickest)}"
    )


def shown(seconds: float) -> str:
    """Return a time as a person reads it."""
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
