"""
Errors of the engines.

::

    EngineError                            do not raise directly
    ├── OptionError                        also a ValueError: an invalid option
    │   └── MissingExtra                   a package that the engine needs is missing
    ├── NoThread                           this process can send nothing any more
    ├── NoToken                            an engine wants a token, and there is none
    ├── base.Refused                       what had to be asked first was refused
    └── TransportError                     a request that got no answer

An engine's constructor raises ``OptionError``, and nothing else does. Its methods may
raise the others: ``asking`` turns them into answers, except ``NoThread``, where nothing
was sent.
"""

from __future__ import annotations


class EngineError(Exception):
    """The base class of the engines' errors. Do not raise directly."""


class OptionError(EngineError, ValueError):
    """
    An invalid option.

    ``option`` is its name; ``problem`` says what is wrong and what to write instead,
    so that ``f"{path}[{option!r}] {problem}"`` is a sentence. Neither contains a
    secret.
    """

    def __init__(self, option: str, problem: str) -> None:
        super().__init__(f"{option!r} {problem}")
        self.option = option
        self.problem = problem


class MissingExtra(OptionError):
    """The package of an engine is not installed; ``problem`` names the command."""


class NoThread(EngineError):
    """
    This process cannot start a thread, which a request needs; nothing was sent.

    It is ending, or has too many. No engine is to blame for that.
    """


class NoToken(EngineError):
    """
    There is no access token; the message says why.

    ``may_pass``: whoever gives out tokens could not be asked just now.
    """

    def __init__(self, message: str, *, may_pass: bool = False) -> None:
        super().__init__(message)
        self.may_pass = may_pass

    #: Whether the engine cannot have received the request.
    is_unsent = True
    #: What to do about it.
    fix = "Check the option 'credentials'."


class TransportError(EngineError):
    """
    There is no answer. The message is one sentence without the path of a URL.

    ``stage`` is where the request failed: "url", "name", "private" (the address),
    "connection", "tls", "request" or "answer". In the last two the engine may have
    received it.
    """

    #: What to do about it.
    fix = "Check 'endpoint' and the network."

    def __init__(self, stage: str, message: str) -> None:
        super().__init__(message)
        self.stage = stage

    @property
    def is_unsent(self) -> bool:
        """Whether the engine cannot have received the request."""
        return self.stage not in ("request", "answer")
