"""
URLs that are listed more than once, found by their hashes.

Of each URL only a hash and its section are remembered, in files where there are many,
so that memory does not grow with the site.
"""

from __future__ import annotations

import math
import tempfile
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO

#: How many hashes are compared in memory at a time, and in how many files they are.
AT_ONCE, MOST_FILES = 100_000, 400


@dataclass(frozen=True, slots=True)
class Part:
    """Some hashes, and the number of the section of each."""

    hashes: array[int]
    sections: array[int]

    def repeated(self) -> tuple[set[int], set[int]]:
        """Return the hashes that a section has twice, and those of several sections."""
        within, shared = set[int](), set[int]()
        if len(set(self.hashes)) == len(self.hashes):
            return within, shared
        several = {one for one, count in Counter(self.hashes).items() if count > 1}
        seen: dict[int, set[int]] = {}
        for one, section in zip(self.hashes, self.sections, strict=True):
            if one in several:
                known = seen.setdefault(one, set())
                if section in known:
                    within.add(one)
                elif known:
                    shared.add(one)
                known.add(section)
        return within, shared


class Hashes:
    """The hashes of many texts, divided into so many parts that each fits in memory."""

    def __init__(self, expected: int) -> None:
        self.count = min(MOST_FILES, max(1, math.ceil(expected / AT_ONCE)))
        self._files = ExitStack()
        self._parts: list[IO[bytes]] = []

    def __enter__(self) -> Hashes:
        self._parts = [
            self._files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (ends with the stack)
            for _ in range(self.count)
        ]
        return self

    def __exit__(self, *error: object) -> None:
        self._files.close()

    def add(self, section: int, texts: Sequence[str]) -> None:
        """Remember the hashes of some texts of a section, by its number."""
        divided: list[list[int]] = [[] for _ in self._parts]
        if self.count == 1:
            divided[0] = list(map(hash, texts))
        else:
            for one in map(hash, texts):
                divided[one % self.count].append(one)
        for file, some in zip(self._parts, divided, strict=True):
            # How many, of which section, and the hashes.
            array("q", [len(some), section, *some]).tofile(file)

    def parts(self) -> Iterator[Part]:
        """Yield the parts: equal texts are in the same."""
        for file in self._parts:
            file.seek(0)
            found = Part(array("q"), array("q"))
            while header := file.read(16):
                count, section = array("q", header)
                found.hashes.fromfile(file, count)
                found.sections.extend(array("q", [section]) * count)
            yield found
