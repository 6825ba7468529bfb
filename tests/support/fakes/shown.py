"""What a fake engine was told, line by line, for whoever runs it by hand."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

Told = TypeVar("Told")


def show(start: str, told: Sequence[Told], describe: Callable[[Told], str]) -> None:
    """Write ``start``, and what is added to ``told``, until somebody interrupts."""
    _say(start)
    said = 0
    with contextlib.suppress(KeyboardInterrupt):
        while True:
            time.sleep(0.2)
            for one in told[said:]:
                said += 1
                _say(describe(one))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
