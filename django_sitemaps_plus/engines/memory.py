"""Keeps what it is told: for the tests of projects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from .base import Answer, Batch, Engine, Outcome


@dataclass(frozen=True, kw_only=True)
class Memory(Engine):
    """
    Accepts everything and remembers it in ``sent``, a list of batches.

    Each instance has a list of its own, which ``delivery.engines.engines()`` keeps for
    as long as the settings stay.
    """

    name: ClassVar[str] = "Memory"
    takes_urls: ClassVar[bool] = True
    takes_sitemaps: ClassVar[bool] = True
    max_urls: ClassVar[int] = 10_000

    sent: list[Batch] = field(default_factory=list, init=False, repr=False)

    def submit(self, batch: Batch) -> Answer:
        """Remember a batch."""
        self.sent.append(batch)
        return Answer(outcome=Outcome.ACCEPTED)
