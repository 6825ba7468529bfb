"""Engines of the tests, configured by dotted path as a project's own would be."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.engines.base import (
    Answer,
    Batch,
    CheckResult,
    Engine,
    Outcome,
    secret_option,
)
from django_sitemaps_plus.engines.indexnow import IndexNow
from django_sitemaps_plus.engines.memory import Memory
from tests.support.processes import within

ACCEPTED = Answer(outcome=Outcome.ACCEPTED, status=200)
OVER = Answer(outcome=Outcome.EXHAUSTED, status=200, message="No more today.")
GOOD = CheckResult(is_good=True, text="")


@dataclass(frozen=True, kw_only=True)
class Scripted(Memory):
    """Gives the answers that a test puts into ``answers``, then accepts."""

    takes_sitemaps: ClassVar[bool] = False

    answers: list[Answer] = field(default_factory=list, init=False, repr=False)
    #: URLs for which a batch is refused.
    bad: set[str] = field(default_factory=set, init=False, repr=False)

    def submit(self, batch: Batch) -> Answer:
        self.sent.append(batch)
        if self.answers:
            return self.answers.pop(0)
        if self.bad.intersection(batch.urls):
            return Answer(outcome=Outcome.REJECTED, status=422, is_divisible=True)
        return ACCEPTED


@dataclass(frozen=True, kw_only=True)
class TellsKinds(Scripted):
    """Passes on what happened to each URL."""

    tells_kinds: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class Few(Scripted):
    """Takes three URLs at a time."""

    max_urls: ClassVar[int] = 3


@dataclass(frozen=True, kw_only=True)
class Waits(Scripted):
    """Answers when each other engine has had two batches."""

    def submit(self, batch: Batch) -> Answer:
        others = [one for one in engines().values() if one is not self]
        if not within(20, lambda: all(len(one.sent) == 2 for one in others)):
            return Answer(outcome=Outcome.UNAVAILABLE, message="They wait for it.")
        return super().submit(batch)


@dataclass(frozen=True, kw_only=True)
class Limited(Scripted):
    """Takes URLs until its quota is used up, and sitemaps always."""

    takes_sitemaps: ClassVar[bool] = True

    quota: list[int] = field(default_factory=lambda: [0], init=False, repr=False)

    def submit(self, batch: Batch) -> Answer:
        if batch.are_sitemaps:
            return super().submit(batch)
        taken = min(self.quota[0], len(batch.urls))
        if not taken:
            return OVER
        self.quota[0] -= taken
        super().submit(dataclasses.replace(batch, urls=batch.urls[:taken]))
        return dataclasses.replace(ACCEPTED, taken=taken)


@dataclass(frozen=True, kw_only=True)
class Feeds(Scripted):
    """Takes two feeds, one of them on another host."""

    takes_urls: ClassVar[bool] = False

    def feeds_of_site(self) -> Sequence[str]:
        return ["/feed.atom", "/news.atom", "https://blog.example.com/feed.atom"]


@dataclass(frozen=True, kw_only=True)
class Sitemaps(Memory):
    """Takes sitemaps only."""

    takes_urls: ClassVar[bool] = False
    max_urls: ClassVar[int] = 1


@dataclass(frozen=True, kw_only=True)
class Keyed(Scripted):
    """Wants a key on the host."""

    key: str = secret_option()
    findings: list[CheckResult | Exception] = field(
        default_factory=list, init=False, repr=False
    )
    verified: list[str] = field(default_factory=list, init=False, repr=False)

    def files(self, host: str) -> Mapping[str, str]:
        return {f"{self.key}.txt": self.key}

    def proof(self, host: str) -> str:
        return self.key

    def verify(self, origin: str, *, force: bool = False) -> CheckResult:
        self.verified.append(origin)
        found = self.findings.pop(0) if self.findings else GOOD
        if isinstance(found, Exception):
            raise found
        return found


@dataclass(frozen=True, kw_only=True)
class Broken(Memory):
    """Raises, which no engine should."""

    takes_sitemaps: ClassVar[bool] = False
    key: str = secret_option(default="")

    def submit(self, batch: Batch) -> Answer:
        raise RuntimeError(f"no way with {self.key}")


@dataclass(frozen=True, kw_only=True)
class Log(Engine):
    """
    Writes what it is told to a file, a line for each URL: processes share it.

    ``dies`` has the process kill itself "before" or "after" that.
    """

    name: ClassVar[str] = "Log"
    takes_urls: ClassVar[bool] = True
    max_urls: ClassVar[int] = 10

    file: str
    dies: str = ""
    #: Seconds that it takes.
    pause: float = 0.0

    def submit(self, batch: Batch) -> Answer:
        if self.dies == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.pause)
        lines = [
            json.dumps({"url": url, "at": time.time(), "pid": os.getpid()})
            for url in batch.urls
        ]
        with Path(self.file).open("a") as log:
            log.write("".join(f"{line}\n" for line in lines))
        if self.dies == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return ACCEPTED


def logged(file: Path) -> list[dict[str, Any]]:
    """Return what is in the file of ``Log``."""
    text = file.read_text() if file.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


@dataclass(frozen=True, kw_only=True)
class Picky(Memory):
    """Refuses its key, and says it."""

    key: str = secret_option()

    def __post_init__(self) -> None:
        raise ValueError(f"{self.key} is no key.")


@dataclass(frozen=True, kw_only=True)
class PerHost(Memory):
    """Has a file of another name on each host."""

    def files(self, host: str) -> Mapping[str, str]:
        return {f"{host}.txt": host}


@dataclass(frozen=True, kw_only=True)
class Pinged(Memory):
    """Has an address."""

    url: str


@dataclass(frozen=True, kw_only=True)
class Trusted(IndexNow):
    """IndexNow without a look at the key file: the site's name leads nowhere."""

    def proof(self, host: str) -> str:
        return ""

    @property
    def service(self) -> str:
        """One of its own: a test has two of them."""
        return ""
