"""
The base class of engines, and what they take and return.

An engine is one module with one keyword-only dataclass, whose fields are the options
that the project's settings may contain. It implements its protocol and nothing else:
what to submit and when to retry is up to the outbox.

Its errors::

    EngineError                            do not raise directly
    ├── OptionError                        also a ValueError: an invalid option
    │   └── MissingExtra                   a package that the engine needs is missing
    ├── NoThread                           this process can send nothing any more
    └── NoAnswer                           do not raise directly
        ├── NoToken                        an engine wants a token, and there is none
        ├── Refused                        what had to be asked first was refused
        └── TransportError                 a request that got no answer

An engine's constructor raises ``OptionError``, and nothing else does. Its methods may
raise the others: ``asking`` turns them into answers, except ``NoThread``, where nothing
was sent.
"""

from __future__ import annotations

import dataclasses
import enum
import urllib.parse
import uuid
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    # Not urllib3, where nothing is sent.
    from .http import Response

#: What is in the User-Agent of this package, also where it asks as a crawler does.
OURS = "django-sitemaps-plus"
#: The most characters of an answer's body that are stored.
EXCERPT = 500
#: How somebody gets a secret.
CREATE_ONE = 'Create one: python -c "import secrets; print(secrets.token_hex(16))"'
#: What can happen to a URL.
EVENTS = ("added", "changed", "removed")
#: That sitemaps are served with other bytes.
DOCUMENTS = "documents"
#: Seconds after which a quota that was used up is asked for again. Hardly an engine
#: says when it renews a day's quota.
RENEWED_IN = 3_600.0


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
    #: The quota is used up. Not a failure: retry when it may be renewed.
    EXHAUSTED = "exhausted"
    #: Not submitted yet. Not a failure: other URLs do not wait for these.
    DEFERRED = "deferred"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An engine's answer to one submission."""

    outcome: Outcome
    #: The HTTP status; None if there was no answer, 0 if something is missing here that
    #: is needed to ask.
    status: int | None = None
    #: The beginning of the body; an engine may give all of it, with secrets.
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
    #: How many URLs it takes after these; None if it does not say. If none, the next
    #: are submitted after ``retry_after``.
    left: int | None = None


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


class NoAnswer(EngineError):
    """
    Nothing was submitted, as far as is known. Do not raise directly.

    ``answer`` is what it counts as, and says why; ``fix`` is what to do about it.
    """

    def __init__(self, answer: Answer, fix: str) -> None:
        super().__init__(answer.message)
        self.answer = answer
        self.fix = fix


class NoToken(NoAnswer):
    """
    There is no access token; the message says why.

    ``may_pass``: whoever gives out tokens could not be asked just now.
    """

    def __init__(self, message: str, *, may_pass: bool = False) -> None:
        status = None if may_pass else 0
        answer = Answer(
            outcome=Outcome.UNAVAILABLE, status=status, message=message, is_unsent=True
        )
        what = "the network" if may_pass else "the option 'credentials'"
        super().__init__(answer, f"Check {what}.")


class TransportError(NoAnswer):
    """
    There is no answer. The message is one sentence without the path of a URL.

    ``stage`` is where the request failed: "url", "name", "private" (the address),
    "connection", "tls", "request" or "answer". In the last two the engine may have
    received it.
    """

    def __init__(self, stage: str, message: str) -> None:
        is_unsent = stage not in ("request", "answer")
        answer = Answer(
            outcome=Outcome.UNAVAILABLE, message=message, is_unsent=is_unsent
        )
        super().__init__(answer, "Check 'endpoint' and the network.")
        self.stage = stage


class Refused(NoAnswer):
    """A question was refused without whose answer nothing can be submitted."""

    def __init__(self, answer: Answer, fix: str) -> None:
        super().__init__(dataclasses.replace(answer, is_unsent=True), fix)


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
    #: What happened to each URL: "added", "changed", "removed" or "requested", or
    #: "document" for a sitemap with other bytes.
    kinds: Sequence[str] = ()
    #: The cache tags of the documents among the URLs.
    tags: Sequence[str] = ()
    #: The URLs that the engine has deferred before.
    deferred: Collection[str] = ()
    #: Whether the last answer was 429, too, though the site has sent little: perhaps
    #: because of others who share its address.
    throttled: bool = False
    #: The same for each attempt to submit this and nothing else, and for nothing else.
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of checking one prerequisite."""

    #: Seconds for each request, in all that is asked: one answer is not red and green.
    TIMEOUT: ClassVar = 30.0

    is_good: bool
    #: The result in one sentence.
    text: str
    #: What to do next; empty if nothing is wrong.
    fix: str = ""

    @property
    def is_warning(self) -> bool:
        """Whether something is to be done, though nothing is kept from working."""
        return self.is_good and bool(self.fix)

    @classmethod
    def good(cls, text: str) -> CheckResult:
        """Return that nothing is wrong."""
        return cls(is_good=True, text=text)

    @classmethod
    def warning(cls, text: str, fix: str) -> CheckResult:
        """Return what should be better, and what to do next."""
        return cls(is_good=True, text=text, fix=fix)

    @classmethod
    def bad(cls, text: str, fix: str = "") -> CheckResult:
        """Return what is wrong, and what to do next."""
        return cls(is_good=False, text=text, fix=fix)


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
    with ``secret_option()``.
    """

    #: Replaces secrets in everything that is stored or shown.
    REDACTED: ClassVar = "…"
    #: The engine's own name.
    name: ClassVar[str]
    #: Whether it accepts single URLs.
    takes_urls: ClassVar[bool] = False
    #: Whether it accepts sitemaps that changed.
    takes_sitemaps: ClassVar[bool] = False
    #: Whether it may be notified of documents with other bytes: sitemaps, for caches.
    takes_documents: ClassVar[bool] = False
    #: The most URLs per request.
    max_urls: ClassVar[int] = 1
    #: Whether it passes on what happened to each URL. It is then told nothing of a URL
    #: that was added and removed before it was notified, and what failed is submitted
    #: again as one batch, without other URLs.
    tells_kinds: ClassVar[bool] = False
    #: Of how many files of an index it shows its users what became of their URLs.
    shows_files: ClassVar[int] = 0

    #: The key in ``ENGINES``.
    alias: str
    #: The least seconds between two submissions of the same URL.
    interval: float = 600.0
    #: The most seconds for a request.
    timeout: float = 10.0
    #: The sections whose URLs it is notified of; empty for all.
    sections: Sequence[str] = ()
    #: Sections whose URLs it is not notified of.
    exclude: Sequence[str] = ()
    #: What it is notified of: "added", "changed", "removed"; empty for all of these.
    #: Some also take "documents".
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
        possible = (*EVENTS, DOCUMENTS) if self.takes_documents else EVENTS
        unknown = [event for event in self.events if event not in possible]
        if unknown:
            events = ", ".join(map(repr, possible))
            raise OptionError("events", f"has {unknown[0]!r}; use some of {events}.")

    def _check_texts(self, option: str, value: object) -> None:
        parts = value if isinstance(value, (list, tuple)) else [None]
        if not all(isinstance(part, str) for part in parts):
            raise OptionError(option, f"is {value!r}, not a list of texts.")
        if value and not self.takes_urls:
            problem = f"does nothing: {self.name} takes no URLs of pages. Remove it."
            raise OptionError(option, problem)

    def _has_text(self, option: str) -> bool:
        """Return whether an option is a text with more than spaces."""
        value: object = getattr(self, option)
        return isinstance(value, str) and bool(value.strip())

    @property
    def service(self) -> str:
        """What receives its submissions; empty if no other engine may submit there."""
        return ""

    def feeds_of_site(self) -> Sequence[str]:
        """Return the feeds to submit after a change: paths on the site, or URLs."""
        return ()

    @property
    def wants_documents(self) -> bool:
        """Whether it is to be notified of sitemaps that are served with other bytes."""
        return DOCUMENTS in self.events

    def wants(self, section: str, event: str) -> bool:
        """
        Return whether it is to be notified of an event in a section.

        It is notified of URLs that somebody requested, whatever the options say.
        """
        is_other = bool(self.sections) and section not in self.sections
        if section and (is_other or section in self.exclude):
            return False
        return event not in EVENTS or not self.events or event in self.events

    def interval_of(self, *, is_sitemap: bool) -> float:
        """Return the least seconds between two submissions of the same URL."""
        return self.interval

    @abstractmethod
    def submit(self, batch: Batch) -> Answer:
        """
        Submit URLs, or a sitemap, and return the answer.

        Called by ``asking.submit()``, which removes secrets and answers for the errors
        of ``http.send()``.
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
        return CheckResult.good(f"{self.name} needs no ownership proof.")

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
        return redacted(text, list(self._secrets()))

    def _answer_to(
        self, response: Response, outcome: Outcome, message: str, **details: Any
    ) -> Answer:
        """
        Return what a response means; when to retry, unless it is a success.

        ``details`` are further fields of the answer, or others in place of these.
        """
        fields: dict[str, Any] = {"status": response.status, "excerpt": response.text}
        if outcome != Outcome.ACCEPTED:
            fields["retry_after"] = response.retry_after
        return Answer(outcome=outcome, message=message, **{**fields, **details})

    def _exhausted(
        self, response: Response, what: str, wait: float | None = None
    ) -> Answer:
        """Return what is said where the quota of ``what`` is used up: nothing sent."""
        message = f"{self.name} accepts no more URLs: the quota of {what} is used up."
        details = {"retry_after": wait or RENEWED_IN, "is_unsent": True}
        return self._answer_to(response, Outcome.EXHAUSTED, message, **details)

    def _secrets(self) -> Iterable[str]:
        """Yield the values of the options that ``secret_option()`` declares."""
        for option in dataclasses.fields(self):
            if option.metadata.get("secret"):
                yield from _leaves(getattr(self, option.name))


def redacted(text: str, secrets: object) -> str:
    """Return a text without secrets, in nested lists too, even if percent-encoded."""
    values = set(_leaves(secrets))
    values |= {urllib.parse.quote(value, safe="") for value in values}
    # The longest first: a secret may start with another one.
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, Engine.REDACTED)
    return text


def _leaves(value: object) -> Iterator[str]:
    """Yield the values in nested lists and mappings."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        for part in value:
            yield from _leaves(part)
    elif value:
        yield str(value)


def secret_option(**options: Any) -> Any:
    """Declare an option that no repr shows and that ``redact()`` removes from texts."""
    return field(repr=False, metadata={"secret": True}, **options)
