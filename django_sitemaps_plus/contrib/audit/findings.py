"""Findings while they are collected: all are counted, the first are remembered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from django_sitemaps_plus.protocol.errors import printable

from .kinds import LEVELS, known
from .models import Finding
from .rules import Problem

#: Findings of one kind that are remembered of a section; more are counted.
MOST_FINDINGS = 1_000


class Findings:
    """What an audit has found so far, without the kinds that are silenced."""

    def __init__(self, silenced: Collection[str] = ()) -> None:
        self._silenced = frozenset(silenced)
        self._first: dict[tuple[str, str], list[Finding]] = {}
        #: How many there are, by kind and section.
        self.counts: dict[str, Counter[str]] = {}

    def add(self, kind: str, section: str = "", text: str = "", **fields: str) -> None:
        """Count a finding, and remember it if it is one of the first."""
        self.more(kind, section, 1)
        if kind not in self._silenced:
            some = self._first.setdefault((kind, section), [])
            if len(some) < MOST_FINDINGS:
                level = known()[kind].level
                # What pages and servers say may have characters of any kind.
                fields |= {"section": section, "text": printable(text)}
                some.append(Finding(kind=kind, level=level, **fields))

    def note(self, problem: Problem, section: str = "", page: str = "") -> None:
        """Add what a rule found on a page, unless the problem says where it is."""
        section, page = problem.section or section, problem.page or page
        self.add(problem.kind, section, problem.text, page=page, url=problem.url)

    def more(self, kind: str, section: str, count: int) -> None:
        """Count findings that are not described."""
        if count and kind not in self._silenced:
            self.counts.setdefault(kind, Counter())[section] += count

    def sorted(self) -> list[Finding]:
        """Return what is remembered: errors first, then by kind and section."""
        keys = sorted(
            self._first, key=lambda key: (LEVELS.index(known()[key[0]].level), *key)
        )
        return [finding for key in keys for finding in self._first[key]]

    def by_kind(self) -> dict[str, dict[str, int]]:
        """Return how many there are: by kind, then by section."""
        return {
            kind: dict(sorted(some.items()))
            for kind, some in sorted(self.counts.items())
        }
