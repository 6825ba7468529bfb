"""What a run is to deliver, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass
class EngineResult:
    """What a run did for one engine and one host."""

    engine: str
    host: str
    requests: int = 0
    accepted: int = 0
    rejected: int = 0
    failed: int = 0
    #: To be submitted later.
    postponed: int = 0
    #: The engine's last message, or why nothing was submitted.
    note: str = ""


@dataclass
class Report:
    """What a run did."""

    #: Why nothing at all may be submitted.
    refusal: str = ""
    results: list[EngineResult] = field(default_factory=list)

    def total(self, name: str) -> int:
        """Return the sum of a number over all results."""
        return sum(getattr(result, name) for result in self.results)


@dataclass(frozen=True, kw_only=True)
class DeliveryOptions:
    """What to deliver, and how."""

    #: Aliases of engines, and names of sections; empty for all.
    engines: Sequence[str] = ()
    sections: Sequence[str] = ()
    #: Also submit from where nothing should be submitted, such as a private address.
    force: bool = False
    #: Somebody requested it: an ownership proof that was missing is verified at once.
    is_requested: bool = False
    #: Asked before each request: whether to stop.
    is_over: Callable[[], bool] = lambda: False
    #: Called with an engine's result after each request.
    progress: Callable[[EngineResult], object] = lambda result: None
