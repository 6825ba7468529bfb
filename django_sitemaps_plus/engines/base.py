"""
The base class of engines, and what they take and return.

An engine is one module with one keyword-only dataclass, whose fields are the options
that the project's settings may contain. It implements its protocol and nothing else:
what to submit and when to retry is up to the outbox.
"""

from __future__ import annotations

import dataclasses
import enum
import urllib.parse
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from django_sitemaps_plus.protocol.errors import printable

from .errors import NoToken, OptionError, TransportError

if TYPE_CHECKING:
    # Not urllib3, where nothing is sent.
    from .http import Response

#: The most characters of an answer's body that are stored.
EXCERPT = 500
#: What can happen to a URL.
EVENTS = ("added", "changed", "removed")
#: Seconds after which a quota that was used up is asked for again. Hardly an engine
#: says when it renews a day's quota.
RENEWED_IN = 3_600.0
#: Replaces secrets in everything that is stored or shown.
REDACTED = "…"


class Outcome(enum.Enum):
    """What an answer means for the submission."""

    #: Received, which does not mean crawled or indexed.
    ACCEPTED = "accepted"
    #: Refused for good: it would be refused again.
    REJECTED = "rejected"
    #: Too many requests: retry later, and more slowly.
    THROTTLED = "throttled"
    #: Not now: the network or the engine fails, or somebody has to fix something.
    UNAVAILABLE = "unavailable"
    #: The quota is used up, which is no failure: retry when it may be renewed.
    EXHAUSTED = "exhausted"
    #: Not submitted yet, which is no failure: other URLs do not wait for these.
    DEFERRED = "deferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An engine's answer to one submission."""

    outcome: Outcome
    #: The HTTP status; None if there was no answer.
    status: int | None = None
    #: The beginning of the body, without secrets.
    excerpt: str = ""
    #: What it means and what to do about it, in a sentence or two.
    message: str = ""
    #: Seconds after which the engine, or its protocol, asks for a retry.
    retry_after: float | None = None
    #: Whether single URLs may be to blame, so that halves of the batch may pass.
    is_divisible: bool = False
    #: Whether the engine cannot have received it, so that a retry may be immediate.
    is_unsent: bool = False
    #: How many URLs were submitted, the first of the batch, as many as the quota
    #: allows. None for all.
    taken: int | None = None
    #: URLs that were refused for good, although the others were accepted.
    refused: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """
    The URLs of one submission: at most ``max_urls`` of one host, or one sitemap.

    For an engine that takes feeds: all feeds that changed.
    """

    #: Scheme and host of the site, ``https://www.example.com``.
    origin: str
    urls: Sequence[str]
    #: Whether the URLs are sitemaps.
    are_sitemaps: bool = False
    #: What happened to each URL: "added", "changed", "removed" or "requested".
    kinds: Sequence[str] = ()
    #: The URLs that the engine has deferred before.
    deferred: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of checking one prerequisite."""

    is_good: bool
    #: The result in one sentence.
    text: str
    #: What to do next; empty if nothing is wrong.
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapStatus:
    """An engine's report on a sitemap."""

    location: str
    #: RFC 3339, as the engine writes it; None if unknown.
    last_submitted: str | None = None
    last_downloaded: str | None = None
    is_pending: bool | None = None
    errors: int | None = None
    warnings: int | None = None
    #: The number of entries by kind of content ("web", "image").
    submitted: Mapping[str, int] = field(default_factory=dict)
    #: Why there is no report; empty if there is one.
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class Engine(ABC):
    """
    The client of one search engine.

    Subclasses are keyword-only dataclasses. Declare options that must never be shown
    with ``secret()``.
    """

    #: The engine's own name.
    name: ClassVar[str]
    #: Whether it accepts single URLs.
    takes_urls: ClassVar[bool] = False
    #: Whether it accepts sitemaps that changed.
    takes_sitemaps: ClassVar[bool] = False
    #: Whether it accepts feeds that changed: those that ``feeds_of_site()`` names.
    takes_feeds: ClassVar[bool] = False
    #: The most URLs per request.
    max_urls: ClassVar[int] = 1

    #: The key in ``ENGINES``.
    alias: str
    #: The least seconds between two submissions of the same URL.
    interval: float = 600.0
    #: The most seconds for each stage of a request.
    timeout: float = 10.0
    #: The sections whose URLs it is notified of; empty for all.
    sections: Sequence[str] = ()
    #: Sections whose URLs it is not notified of.
    exclude: Sequence[str] = ()
    #: What it is notified of: "added", "changed", "removed"; empty for all.
    events: Sequence[str] = ()

    def __post_init__(self) -> None:
        """
        Check the options.

        Raises:
            OptionError: One of them is invalid.
        """
        for option in ("interval", "timeout"):
            value = getattr(self, option)
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not is_number or not 0 <= value < float("inf"):
                raise OptionError(option, f"is {value!r}, not a number of seconds.")
        if not self.timeout:
            raise OptionError("timeout", "is 0; use a positive number of seconds.")
        for option in ("sections", "exclude", "events"):
            self._check_texts(option, getattr(self, option))
        unknown = [event for event in self.events if event not in EVENTS]
        if unknown:
            known = ", ".join(map(repr, EVENTS))
            raise OptionError("events", f"has {unknown[0]!r}; use some of {known}.")

    def _check_texts(self, option: str, value: object) -> None:
        parts = value if isinstance(value, (list, tuple)) else [None]
        if not all(isinstance(part, str) for part in parts):
            raise OptionError(option, f"is {value!r}, not a list of texts.")
        if value and not self.takes_urls:
            problem = f"does nothing: {self.name} takes no URLs of pages. Remove it."
            raise OptionError(option, problem)

    def _has_text(self, option: str) -> bool:
        """Tell whether an option is a text with more than spaces."""
        value: object = getattr(self, option)
        return isinstance(value, str) and bool(value.strip())

    def feeds_of_site(self) -> Sequence[str]:
        """Return the feeds to submit after a change: paths on the site, or URLs."""
        return ()

    def wants(self, section: str, event: str) -> bool:
        """
        Tell whether it is to be notified of an event in a section.

        What is no event of a section, as a URL that somebody requested, it is.
        """
        if section and section in self.exclude:
            return False
        if section and self.sections and section not in self.sections:
            return False
        return event not in EVENTS or not self.events or event in self.events

    def interval_of(self, *, is_sitemap: bool) -> float:
        """Return the least seconds between two submissions of the same URL."""
        return self.interval

    @abstractmethod
    def submit(self, batch: Batch) -> Answer:
        """
        Submit URLs, or a sitemap, and return the answer.

        Never raises an error because of the network or the engine. The answer contains
        no secrets.
        """

    def files(self, host: str) -> Mapping[str, str]:
        """Return the files that a host must serve at its root: contents by name."""
        return {}

    def hosts(self) -> Iterable[str]:
        """Return the hosts that the options name, which may have files of their own."""
        return ()

    def proof(self, host: str) -> str:
        """
        Return an identifier of the ownership proof for a host; empty if none is needed.

        A proof is verified before the first submission, and again when its identifier
        changes, for example with a new key.
        """
        return ""

    def verify(self, origin: str, *, force: bool = False) -> CheckResult:
        """
        Check that the engine can fetch the ownership proof of a site.

        ``force`` allows private addresses.
        """
        return CheckResult(is_good=True, text=f"{self.name} needs no ownership proof.")

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Check everything that submissions need."""
        return [self.verify(origin, force=force)]

    def check_machine(self) -> list[CheckResult]:
        """Return what is wrong on this machine, such as a file that cannot be read."""
        return []

    def status(self, locations: Sequence[str]) -> list[SitemapStatus]:
        """Return the engine's reports on sitemaps; empty if it has none."""
        return []

    def redact(self, text: str) -> str:
        """Return a text without this engine's secrets, even if percent-encoded."""
        values = {str(value) for value in self._secrets() if value}
        values |= {urllib.parse.quote(value, safe="") for value in values}
        # The longest first: a secret may start with another one.
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
        taken: int | None = None,
        refused: Collection[str] = (),
    ) -> Answer:
        """Return an answer without secrets; the excerpt is the start of ``body``."""
        return Answer(
            outcome=outcome,
            status=status,
            # Redacted before it is cut: half a secret would not be found.
            excerpt=printable(self.redact(body))[:EXCERPT],
            message=printable(self.redact(message)),
            retry_after=retry_after,
            is_divisible=is_divisible,
            is_unsent=is_unsent,
            taken=taken,
            refused=refused,
        )

    def _answer_to(
        self,
        response: Response,
        outcome: Outcome,
        message: str,
        *,
        is_divisible: bool = False,
    ) -> Answer:
        """Return what a response means; when to retry, unless it is a success."""
        is_over = response.is_success or outcome == Outcome.ACCEPTED
        return self._answer(
            outcome,
            message,
            status=response.status,
            body=response.text,
            retry_after=None if is_over else response.retry_after,
            is_divisible=is_divisible,
        )

    def _exhausted(
        self, message: str, *, status: int | None = None, body: str = ""
    ) -> Answer:
        """Return what is said where the quota is used up: nothing was submitted."""
        return self._answer(
            Outcome.EXHAUSTED,
            message,
            status=status,
            body=body,
            retry_after=RENEWED_IN,
            is_unsent=True,
        )

    def _unreachable(self, error: TransportError | NoToken) -> Answer:
        """Return what is said where no answer came."""
        return self._answer(Outcome.UNAVAILABLE, str(error), is_unsent=error.is_unsent)

    def _finding(self, problem: str, fix: str = "") -> CheckResult:
        """Return a problem without secrets."""
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
    """Yield the values in nested lists and mappings."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from _leaves(part)
    elif value:
        yield str(value)


def secret(**options: Any) -> Any:
    """Declare an option that no repr shows and that ``redact()`` removes from texts."""
    return field(repr=False, metadata={"secret": True}, **options)
