"""Texts without secrets, whatever stands in them."""

from __future__ import annotations

import string
import urllib.parse
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.engines.base import EXCERPT, REDACTED, Outcome, secret
from django_sitemaps_plus.engines.indexnow import IndexNow
from django_sitemaps_plus.engines.ping import Ping

keys = st.text(string.hexdigits, min_size=8, max_size=128)


@given(
    st.lists(keys, min_size=2, max_size=4), st.lists(st.text(), min_size=5, max_size=5)
)
def test_no_key_is_left_in_any_text(secrets: list[str], between: list[str]) -> None:
    """Those of hosts and former ones, and of two the one that begins like the other."""
    key, *others = [*secrets, secrets[0] + "-longer"[: 128 - len(secrets[0])]]
    engine = IndexNow(alias="it", key=key, keys={"a.example": key}, old_keys=others)
    text = "".join(
        part + secret for part, secret in zip(between, [key, *others], strict=False)
    )
    clean = engine.redact(text)
    assert not any(secret in clean for secret in secrets)
    assert not any(secret in repr(engine) for secret in secrets)


@dataclass(frozen=True, kw_only=True)
class Secretive(IndexNow):
    token: str = secret(default="")
    more: Any = secret(default=())


def test_a_secret_is_found_percent_encoded() -> None:
    engine = Secretive(alias="it", key="k" * 8, token="a b/c&d")
    assert engine.redact("?t=a%20b%2Fc%26d and a b/c&d") == "?t=… and …"


def test_of_two_secrets_that_begin_alike_the_longer_is_found_first() -> None:
    engine = Secretive(alias="it", key="k" * 8, more=["12345678", "12345678-and-more"])
    assert engine.redact("12345678-and-more 12345678") == "… …"


def test_secrets_are_found_in_whatever_holds_them() -> None:
    more = {"first": ["one-secret"], "second": {"third": "two-secret"}}
    engine = Secretive(alias="it", key="k" * 8, more=more)
    assert engine.redact("first one-secret two-secret") == "first … …"


@given(st.text(min_size=8).filter(lambda text: REDACTED not in text))
def test_a_secret_is_found_as_it_is_written_in_an_address(token: str) -> None:
    quoted = urllib.parse.quote(token, safe="")
    engine = Ping(alias="it", url=f"https://hub.example/?t={quoted}&s=")
    assert engine.redact(f"<{quoted}> <{token}>") == f"<{REDACTED}> <{REDACTED}>"


@given(st.text(), st.text())
def test_what_is_kept_is_one_line_that_every_database_takes(
    message: str, body: str
) -> None:
    answer = IndexNow(alias="it", key="k" * 8)._answer(
        Outcome.ACCEPTED, message, body=body * 100
    )
    assert len(answer.excerpt) <= EXCERPT
    for text in (answer.message, answer.excerpt):
        assert not set(text) & {"\x00", "\n", "\r", "\x1b"}
        text.encode()  # no lone surrogate
