"""
What every engine is: declared options, capabilities, and an answer of one kind.

An engine is one file with one keyword-only dataclass, whose fields are the options
that the project's settings may give. It knows its protocol and nothing else: what is
due, what was sent before and when to try again is the outbox's business.
"""

from __future__ import annotations

import dataclasses
import enum
import re
import urllib.parse
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .errors import OptionError

#: Characters of an answer's body that are kept.
EXCERPT = 500
#: What stands for a secret in texts that people see.
REDACTED = "…"

#: What cannot be stored in every database, or would break a line.
_UNPRINTABLE = re.compile("[\x00-\x20\x7f-\x9f\ud800-\udfff]+")


class Outcome(enum.Enum):
    """What an answer means for what was sent."""

    #: Received. Never: crawled, or indexed.
    ACCEPTED = "accepted"
    #: Refused for good: the same would be refused again.
    REJECTED = "rejected"
    #: Too much, too soon: later, and more slowly.
    THROTTLED = "throttled"
    #: Not now: the network, the engine, or something that a person must mend first.
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What an engine said to one request."""

    outcome: Outcome
    #: The HTTP status; None if there was no answer.
    status: int | None = None
    #: The beginning of the body, without secrets.
    excerpt: str = ""
    #: What it means and what to do, one or two sentences for people.
    message: str = ""
    #: Seconds after which the engine, or its protocol, wants to be asked again.
    retry_after: float | None = None
    #: Whether single URLs may be why all were refused: in halves, the others pass.
    is_divisible: bool = False
    #: Whether the engine surely got nothing: it need not rest for the interval.
    is_unsent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """URLs for one request: of one host, at most ``max_urls``; or one sitemap."""

    #: Scheme and host of the site, ``https://www.example.com``.
    origin: str
    urls: Sequence[str]
    #: Whether the URLs are those of sitemaps.
    are_sitemaps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What one look at a prerequisite showed."""

    is_good: bool
    #: One sentence: what is so.
    text: str
    #: What to do next; empty if nothing is wrong.
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapStatus:
    """What an engine says of one of our sitemaps."""

    location: str
    #: RFC 3339, as the engine wrote it; None if it does not say.
    last_submitted: str | None = None
    last_downloaded: str | None = None
    is_pending: bool | None = None
    errors: int | None = None
    warnings: int | None = None
    #: By kind of content ("web", "image"): how many were submitted.
    submitted: Mapping[str, int] = field(default_factory=dict)
    #: Why there is nothing to say; empty if there is.
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Engine(ABC):
    """
    The client of one search engine.

    Subclasses are keyword-only dataclasses. ``secret()`` declares an option that is in
    no repr and no text.
    """

    #: The engine's name, as it writes it.
    name: ClassVar[str]
    #: Whether it can be told of single URLs.
    takes_urls: ClassVar[bool] = False
    #: Whether it can be told that a sitemap changed.
    takes_sitemaps: ClassVar[bool] = False
    #: The most URLs of one request.
    max_urls: ClassVar[int] = 1

    #: The key in ``ENGINES``.
    alias: str
    #: Seconds within which nothing is sent twice.
    interval: float = 600.0
    #: Seconds for which each stage of a request may take.
    timeout: float = 10.0

    def __post_init__(self) -> None:
        """
        Look at the options.

        Raises:
            OptionError: One of them is impossible.
        """
        for option in ("interval", "timeout"):
            value = getattr(self, option)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise OptionError(option, f"is {value!r}; use a number of seconds.")
            if not 0 <= value < float("inf") or (option == "timeout" and not value):
                raise OptionError(option, f"is {value!r}; use some seconds.")

    @abstractmethod
    def submit(self, batch: Batch) -> Answer:
        """
        Tell the engine; never raises for what the network or the engine does.

        Everything in the answer is free of secrets.
        """

    def files(self, host: str) -> Mapping[str, str]:
        """Return the texts that a host must serve at its root, by file name."""
        return {}

    def hosts(self) -> Iterable[str]:
        """Return the hosts that the options name: their files may be others."""
        return ()

    def proof(self, host: str) -> str:
        """
        Return what must be verified before the first submission for a host.

        Empty: nothing. Another text, as after a new key, must be verified again.
        """
        return ""

    def verify(self, origin: str, *, force: bool = False) -> CheckResult:
        """
        Look whether the engine will find what proves that the host is ours.

        ``force`` allows private addresses.
        """
        return CheckResult(is_good=True, text=f"{self.name} needs no proof.")

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Look at all that submissions need: a sentence each, with the fix."""
        return [self.verify(origin, force=force)]

    def status(self, locations: Sequence[str]) -> list[SitemapStatus]:
        """Return what the engine says of sitemaps; nothing if it cannot be asked."""
        return []

    def redact(self, text: str) -> str:
        """Return a text without this engine's secrets, percent-encoded ones too."""
        values = {str(value) for value in self._secrets() if value}
        values |= {urllib.parse.quote(value, safe="") for value in values}
        # The longest first: one secret may be the beginning of another.
        for value in sorted(values, key=len, reverse=True):
            text = text.replace(value, REDACTED)
        return text

    def _answer(
        self,
        outcome: Outcome,
        message: str,
        *,
        status: int | None = None,
        body: str = "",
        retry_after: float | None = None,
        is_divisible: bool = False,
        is_unsent: bool = False,
    ) -> Answer:
        """Return an answer without secrets, and with the beginning of a body."""
        return Answer(
            outcome=outcome,
            status=status,
            # First without secrets, then shorter: half a secret would not be found.
            excerpt=printable(self.redact(body))[:EXCERPT],
            message=printable(self.redact(message)),
            retry_after=retry_after,
            is_divisible=is_divisible,
            is_unsent=is_unsent,
        )

    def _finding(self, problem: str, fix: str = "") -> CheckResult:
        """Return what is wrong, without secrets."""
        return CheckResult(
            is_good=False,
            text=printable(self.redact(problem)),
            fix=printable(self.redact(fix)),
        )

    def _secrets(self) -> Iterable[str]:
        """Yield the values of the options that ``secret()`` declares."""
        for known in dataclasses.fields(self):
            if known.metadata.get("secret"):
                yield from _leaves(getattr(self, known.name))


def _leaves(value: object) -> Iterator[str]:
    """Yield the texts in lists and mappings."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from _leaves(part)
    elif value:
        yield str(value)


def printable(text: str) -> str:
    """Return a text as one line, without what not every database can store."""
    return _UNPRINTABLE.sub(" ", text).strip()


def secret(**options: Any) -> Any:
    """Declare an option that is in no repr and, by ``redact()``, in no text."""
    return field(repr=False, metadata={"secret": True}, **options)
