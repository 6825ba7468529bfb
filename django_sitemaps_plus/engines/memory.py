"""Store submissions in memory, for the tests of projects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from .base import Answer, Batch, Engine, Outcome


@dataclass(frozen=True, kw_only=True)
class Memory(Engine):
    """
    An engine that appends each batch to the list ``sent``.

    Each instance has its own list. Instances are reused until the settings change.
    """

    name: ClassVar[str] = "Memory"
    takes_urls: ClassVar[bool] = True
    takes_sitemaps: ClassVar[bool] = True
    max_urls: ClassVar[int] = 10_000

    sent: list[Batch] = field(default_factory=list, init=False, repr=False)

    def submit(self, batch: Batch) -> Answer:
        """Store a batch."""
        self.sent.append(batch)
        return Answer(outcome=Outcome.ACCEPTED)
