"""What each process did: a file for each, a line of JSON for each deed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Line = dict[str, Any]


class Journal:
    """
    The journal of one process.

    Every line is one write, so that what was written before a kill is there after it.
    """

    def __init__(self, folder: Path, name: str) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._file = os.open(folder / f"{name}.jsonl", flags)

    def write(self, **line: Any) -> None:
        """Add a line."""
        os.write(self._file, json.dumps(line).encode() + b"\n")


def read(folder: Path, kind: str) -> Iterator[Line]:
    """Yield the lines of all journals whose name begins with ``kind``."""
    for path in sorted(folder.glob(f"{kind}*.jsonl")):
        for text in path.read_text().splitlines():
            yield {"by": path.stem, **json.loads(text)}
