"""Options and secrets of every engine, and engines without network."""

from __future__ import annotations

import dataclasses
import math
import string
import urllib.parse
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.delivery.engines import reports_of
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import (
    EXCERPT,
    Answer,
    Batch,
    CheckResult,
    Engine,
    OptionError,
    Outcome,
    SitemapStatus,
    secret_option,
)
from django_sitemaps_plus.engines.console import Console
from django_sitemaps_plus.engines.indexnow import IndexNow
from django_sitemaps_plus.engines.memory import Memory
from django_sitemaps_plus.engines.ping import Ping
from django_sitemaps_plus.engines.webhook import Webhook
from tests.support.outbox_engines import Scripted

SITE = "https://a.example"
REDACTED = Engine.REDACTED
BATCH = Batch(origin=SITE, urls=["https://a.example/1", "…/2"])

PING = partial(Ping, url="https://hub.example/ping?sitemap=")
WEBHOOK = partial(Webhook, url="https://a.example/")
INDEXNOW = partial(IndexNow, key="0123456789abcdef")

keys = st.text(string.hexdigits, min_size=8, max_size=128)


NO_SECONDS = "not a number of seconds"
NO_TEXTS = "not a list of texts."
HUB = "https://hub.example/ping"
KEY = "s3cr3t-0123456789"


@pytest.mark.parametrize(
    ("engine", "option", "value", "problem"),
    [
        (Console, "timeout", 0, "is 0; use a positive number of seconds."),
        *((Console, "timeout", value, NO_SECONDS) for value in ("9", True, math.nan)),
        *((Console, "interval", value, NO_SECONDS) for value in (-1, math.inf, None)),
        (Console, "sections", "article", f"is 'article', {NO_TEXTS}"),
        (Console, "exclude", [7], f"is [7], {NO_TEXTS}"),
        (Console, "events", {"added"}, f"is {{'added'}}, {NO_TEXTS}"),
        (
            Console,
            "events",
            ["added", "gone"],
            "has 'gone'; use some of 'added', 'changed', 'removed'.",
        ),
        (PING, "sections", ["article"], "Ping takes no URLs of pages"),
        (PING, "token", KEY, ""),
        (partial(Ping, url=f"{HUB}?token={{token}}&sitemap="), "token", "", ""),
        (partial(Ping, url=f"{HUB}?token={{token}}&sitemap="), "token", 7, ""),
        (Ping, "url", HUB, ""),
        (Ping, "url", f"{HUB}?a={{sitemap}}&b={{sitemap}}", ""),
        (Ping, "url", "hub.example/ping?sitemap=", ""),
        (Ping, "url", f"https://user:{KEY}@hub.example/ping?sitemap=", ""),
        (Ping, "url", f"{HUB}?token={KEY}&sitemap=", ""),
        (Ping, "url", f"{HUB}?from=us&API_Key={KEY}&sitemap={{sitemap}}", ""),
        (Ping, "url", None, ""),
        *((WEBHOOK, "secret", value, "token_hex") for value in ("", "short", None, 7)),
        (IndexNow, "key", "", "token_hex"),
        *((IndexNow, "key", f"{KEY}{more}", "") for more in ("\n", "x" * 112)),
        *((IndexNow, "key", value, "") for value in ("short-7", 12345678)),
        (INDEXNOW, "keys", {"a.example": "short"}, ""),
        (INDEXNOW, "keys", ["a.example"], ""),
        (INDEXNOW, "old_keys", ["short"], ""),
        (INDEXNOW, "old_keys", KEY, "is a string"),
        (INDEXNOW, "key_location", "indexnow.txt", ""),
        (INDEXNOW, "key_location", f"{SITE}/indexnow.txt", ""),
        (INDEXNOW, "endpoint", "http://engine.example/indexnow", ""),
        (INDEXNOW, "fallbacks", ["engine.example"], ""),
        (INDEXNOW, "fallbacks", HUB, "is a string"),
    ],
)
def test_an_option_that_cannot_work_is_refused(
    engine: Any, option: str, value: Any, problem: str
) -> None:
    with pytest.raises(OptionError) as caught:
        engine(alias="it", **{option: value})
    assert caught.value.option == option
    assert problem in caught.value.problem
    assert KEY not in str(caught.value)
    assert isinstance(caught.value, ValueError)


@given(
    st.lists(keys, min_size=2, max_size=4), st.lists(st.text(), min_size=5, max_size=5)
)
def test_no_key_is_left_in_any_text(secrets: list[str], between: list[str]) -> None:
    """Neither those of hosts, nor old ones, nor one that starts with another."""
    key, *others = [*secrets, secrets[0] + "-longer"[: 128 - len(secrets[0])]]
    engine = IndexNow(alias="it", key=key, keys={"a.example": key}, old_keys=others)
    text = "".join(
        part + secret for part, secret in zip(between, [key, *others], strict=False)
    )
    assert not any(secret in engine.redact(text) for secret in secrets)
    assert not any(secret in repr(engine) for secret in secrets)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Secretive(IndexNow):
    more: Any = secret_option(default=())


@pytest.mark.parametrize(
    ("more", "text", "redacted"),
    [
        ("a b/c&d", "?t=a%20b%2Fc%26d and a b/c&d", "?t=… and …"),
        (["12345678", "12345678-and-more"], "12345678-and-more 12345678", "… …"),
        ({"a": ["one-secret"], "b": {"c": "two-secret"}}, "a one-secret b", "a … b"),
    ],
)
def test_secrets_are_redacted(more: Any, text: str, redacted: str) -> None:
    engine = Secretive(alias="it", key="k" * 8, more=more)
    assert engine.redact(text) == redacted


@given(st.text(min_size=8).filter(lambda text: REDACTED not in text))
def test_a_secret_in_a_url_is_redacted(token: str) -> None:
    quoted = urllib.parse.quote(token, safe="")
    engine = Ping(alias="it", url=f"https://hub.example/?t={quoted}&s=")
    assert engine.redact(f"<{quoted}> <{token}>") == f"<{REDACTED}> <{REDACTED}>"


@given(st.text(), st.text())
def test_an_answer_is_one_line_that_every_database_can_store(
    message: str, body: str
) -> None:
    given = Answer(outcome=Outcome.ACCEPTED, message=message, excerpt=body * 100)
    engine = Scripted(alias="it")
    engine.answers.append(given)
    answer = asking.submit(engine, BATCH)
    assert len(answer.excerpt) <= EXCERPT
    for text in (answer.message, answer.excerpt):
        assert not set(text) & {"\x00", "\n", "\r", "\x1b"}
        text.encode()  # no lone surrogate


@dataclasses.dataclass(frozen=True, kw_only=True)
class Careless(Secretive):
    """Says its key wherever it can."""

    def submit(self, batch: Batch) -> Answer:
        return Answer(outcome=Outcome.ACCEPTED, message=self.key, excerpt=self.key)

    def verify(self, origin: str, *, force: bool = False) -> CheckResult:
        return CheckResult.bad(self.key, self.key)

    def check_machine(self) -> list[CheckResult]:
        return [self.verify("")]

    def status(self, locations: Sequence[str]) -> list[SitemapStatus]:
        raise LookupError(self.key)


def test_nothing_that_an_engine_is_asked_shows_its_secrets() -> None:
    engine = Careless(alias="it", key="s3cr3t-key")
    answered = [
        asking.submit(engine, BATCH),
        asking.verify(engine, SITE),
        *asking.check_engine(engine, SITE),
        *asking.check_machine(engine),
        *reports_of(engine, [SITE]),
    ]
    assert len(answered) == 5
    assert not [one for one in answered if "s3cr3t" in repr(one)]
    assert answered[1] == CheckResult.bad(REDACTED, REDACTED)


# Engines without network, and a missing extra


@pytest.mark.parametrize(("are_sitemaps", "kind"), [(False, "URL"), (True, "sitemap")])
def test_the_console_prints_a_line_for_each_url(
    capsys: pytest.CaptureFixture[str], are_sitemaps: bool, kind: str
) -> None:
    batch = dataclasses.replace(BATCH, are_sitemaps=are_sitemaps)
    answer = asking.submit(Console(alias="screen"), batch)
    assert answer.outcome is Outcome.ACCEPTED
    assert capsys.readouterr().out == (
        f"[screen] {kind} https://a.example/1\n[screen] {kind} …/2\n"
    )


def test_a_memory_stores_its_own_batches() -> None:
    first, second = Memory(alias="first"), Memory(alias="second")
    asking.submit(first, BATCH)
    assert first.sent == [BATCH]
    assert second.sent == []
