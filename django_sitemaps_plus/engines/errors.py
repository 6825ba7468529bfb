"""
What the engines raise.

::

    EngineError                            do not raise directly
    ├── OptionError                        also a ValueError: an impossible option
    │   └── MissingExtra                   the package that an engine needs is not there
    └── TransportError                     a request that got no answer

Only ``OptionError`` leaves an engine, and only when it is made: ``submit()`` answers,
whatever the network does.
"""

from __future__ import annotations


class EngineError(Exception):
    """The base of the engines' errors. Do not raise directly."""


class OptionError(EngineError, ValueError):
    """
    An option that cannot work.

    ``option`` is its name; ``problem`` says what is wrong and what to type, so that
    ``f"{path}[{option!r}] {problem}"`` is a sentence. Neither has a secret in it.
    """

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(f"{option!r} {problem}")
        self.option = option
        self.problem = problem


class MissingExtra(OptionError):
    """An engine whose package is not installed; ``problem`` is the command."""


class TransportError(EngineError):
    """
    There is no answer; the message says why, in one sentence that has no path of a URL.

    ``stage`` is how far it came: "url", "name", "connection", "tls", "request" or
    "answer". In the last two the engine may have taken what was sent.
    """

    def __init__(self, stage: str, message: str) -> None:
        super().__init__(message)
        self.stage = stage

    @property
    def is_unsent(self) -> bool:
        """Whether the engine surely got nothing."""
        return self.stage not in ("request", "answer")
