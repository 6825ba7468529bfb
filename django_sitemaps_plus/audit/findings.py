"""Findings while they are collected: counted all, remembered up to a limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace

from .kinds import KINDS, LEVELS, Kind

#: Findings of one kind that are remembered of a section; more are counted.
MOST = 1_000


@dataclass(frozen=True, slots=True)
class Found:
    """One finding: of a URL, of a page or of a whole section."""

    kind: str
    section: str = ""
    page: str = ""
    url: str = ""
    #: What is wrong, in a few words.
    text: str = ""
    #: The key of the row, where it is known.
    row: str = ""

    @property
    def about(self) -> Kind:
        """What it means, and what to do."""
        return KINDS[self.kind]


class Findings:
    """What an audit has found so far, without the kinds that are silenced."""

    def __init__(self, silenced: Collection[str] = ()) -> None:
        self._silenced = frozenset(silenced)
        self._found: dict[tuple[str, str], list[Found]] = {}
        #: How many there are, by kind and section.
        self.counts: Counter[tuple[str, str]] = Counter()

    def add(self, found: Found) -> None:
        """Count a finding, and remember it if it is one of the first."""
        self.more(found.kind, found.section, 1)
        if found.kind not in self._silenced:
            some = self._found.setdefault((found.kind, found.section), [])
            if len(some) < MOST:
                some.append(found)

    def more(self, kind: str, section: str, count: int) -> None:
        """Count findings that are not described."""
        if count and kind not in self._silenced:
            self.counts[kind, section] += count

    def sorted(self) -> list[Found]:
        """Return what is remembered: errors first, then by kind and section."""
        keys = sorted(
            self._found, key=lambda key: (LEVELS.index(KINDS[key[0]].level), *key)
        )
        return [found for key in keys for found in self._found[key]]

    def set_rows(self, rows: dict[tuple[str, str], str]) -> None:
        """Say which rows list some URLs: by page and URL."""
        for some in self._found.values():
            some[:] = [
                replace(found, row=rows.get((found.page, found.url), found.row))
                for found in some
            ]

    def total(self, level: str) -> int:
        """Return how many findings of a level there are."""
        return sum(
            count
            for (kind, _), count in self.counts.items()
            if KINDS[kind].level == level
        )

    def by_kind(self) -> dict[str, dict[str, int]]:
        """Return how many there are: by kind, then by section."""
        found: dict[str, dict[str, int]] = {}
        for (kind, section), count in sorted(self.counts.items()):
            found.setdefault(kind, {})[section] = count
        return found
