"""The rows of the overview, as they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from django.utils.translation import ngettext

from django_sitemaps_plus.health.alerts import Alert
from django_sitemaps_plus.pagination.queries import Sums

from . import display


class ShownAlert(NamedTuple):
    """Something that somebody should do, and where."""

    text: str
    link: str = ""
    #: "error" or "warning".
    level: str = Alert.ERROR


@dataclass
class SectionRow:
    """A section, or the sum of all."""

    name: str
    link: str = ""
    entries: int = 0
    #: How many URLs more than a week ago; None if that is not known.
    growth: int | None = None
    pages: int = 0
    size: int = 0
    lastmod: float | None = None
    waiting: int = 0
    bad: int = 0
    never: int = 0
    wrong: int = 0
    #: Why it cannot be used, or is not stored.
    problem: str = ""
    note: str = ""

    def read(self, sums: Sums) -> None:
        """Take the numbers over that the ledger has."""
        self.entries, self.pages, self.size = sums.entries, sums.pages, sums.size
        self.lastmod, self.bad = sums.lastmod, sums.bad
        self.never, self.wrong = sums.unbuilt, sums.wrong

    def add(self, other: SectionRow) -> None:
        """Add another section's numbers."""
        for name in ("entries", "pages", "size", "waiting", "bad", "never", "wrong"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.lastmod is not None:
            self.lastmod = max(self.lastmod or 0.0, other.lastmod)
        if other.growth is not None:
            self.growth = (self.growth or 0) + other.growth

    @property
    def shown(self) -> dict[str, str]:
        """The numbers as texts."""
        growth = "–" if self.growth is None else display.number(self.growth)
        return {
            "entries": display.number(self.entries),
            "growth": f"+{growth}" if (self.growth or 0) > 0 else growth,
            "pages": display.number(self.pages),
            "size": display.size(self.size),
            "lastmod": display.ago(self.lastmod),
            "waiting": display.number(self.waiting),
        }

    @property
    def problems(self) -> list[str]:
        """What is wrong, in a few words each."""
        if self.problem:
            return [self.problem]
        wrong, bad, never = self.wrong, self.bad, self.never
        texts = (
            (wrong, ngettext("%s page in error", "%s pages in error", wrong)),
            (bad, ngettext("%s row left out", "%s rows left out", bad)),
            (never, ngettext("%s page not built yet", "%s pages not built yet", never)),
        )
        return [text % display.number(count) for count, text in texts if count]
