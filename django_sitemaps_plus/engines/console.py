"""Print submissions to the standard output, for development."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import ClassVar

from .base import Answer, Batch, Engine, Outcome


@dataclass(frozen=True, kw_only=True)
class Console(Engine):
    """An engine that prints a line for each URL."""

    name: ClassVar[str] = "Console"
    takes_urls: ClassVar[bool] = True
    takes_sitemaps: ClassVar[bool] = True
    max_urls: ClassVar[int] = 10_000

    def submit(self, batch: Batch) -> Answer:
        """Print a batch in one go, so that two of them do not mix."""
        kind = "sitemap" if batch.are_sitemaps else "URL"
        lines = [f"[{self.alias}] {kind} {url}\n" for url in batch.urls]
        sys.stdout.write("".join(lines))
        sys.stdout.flush()
        message = "Printed to the standard output."
        return Answer(outcome=Outcome.ACCEPTED, message=message)
