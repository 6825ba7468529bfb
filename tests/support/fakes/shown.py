"""Print the submissions to a fake engine that runs as a script."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def show(start: str, items: Sequence[Item], describe: Callable[[Item], str]) -> None:
    """Print ``start`` and every item that is added to ``items``, until interrupted."""
    _say(start)
    shown = 0
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(0.2)
            for item in items[shown:]:
                shown += 1
                _say(describe(item))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
