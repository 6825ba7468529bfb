"""Options and secrets of every engine, and engines without network."""

from __future__ import annotations

import dataclasses
import string
import urllib.parse
from collections.abc import Sequence
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
from tests.support.outbox_engines import Scripted

SITE = "https://a.example"
REDACTED = Engine.REDACTED
BATCH = Batch(origin=SITE, urls=["https://a.example/1", "…/2"])

keys = st.text(string.hexdigits, min_size=8, max_size=128)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("timeout", 0),
        ("timeout", "10"),
        ("timeout", True),
        ("timeout", float("nan")),
        ("interval", -1),
        ("interval", float("inf")),
        ("interval", None),
    ],
)
def test_an_invalid_number_of_seconds_is_refused(option: str, value: Any) -> None:
    with pytest.raises(OptionError) as caught:
        Console(alias="it", **{option: value})
    assert caught.value.option == option
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        ("sections", "article", "is 'article', not a list of texts."),
        ("exclude", [7], "is [7], not a list of texts."),
        ("events", {"added"}, "is {'added'}, not a list of texts."),
        (
            "events",
            ["added", "gone"],
            "has 'gone'; use some of 'added', 'changed', 'removed'.",
        ),
    ],
)
def test_what_it_is_notified_of_has_to_be_known(
    option: str, value: Any, problem: str
) -> None:
    with pytest.raises(OptionError) as caught:
        Console(alias="it", **{option: value})
    assert (caught.value.option, caught.value.problem) == (option, problem)


def test_an_engine_that_takes_sitemaps_only_has_no_choice() -> None:
    with pytest.raises(OptionError, match="Ping takes no URLs of pages"):
        Ping(alias="it", url="https://hub.example/?s=", sections=["article"])


def test_an_interval_may_be_zero() -> None:
    assert Console(alias="it", interval=0).interval == 0


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
