"""What every engine does. A new one needs a line in ``setups``."""

from __future__ import annotations

import contextlib
import dataclasses
import email.utils
import inspect
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest

from django_sitemaps_plus.engines import errors
from django_sitemaps_plus.engines.base import EXCERPT, Answer, Engine, Outcome
from tests.engines.setups import REMOTE, SETUPS, Setup, found
from tests.support.fakes.faults import (
    Cut,
    Drip,
    Endless,
    Raw,
    Slow,
    html,
    redirect,
    reply,
    throttle,
)
from tests.support.fakes.server import FakeServer
from tests.support.fakes.site import FakeSite

ENGINES = found()


@contextlib.contextmanager
def made(name: str, site: FakeSite, timeout: float = 5.0) -> Iterator[Setup]:
    with SETUPS[name](site, timeout) as setup:
        yield setup


def listening(setup: Setup) -> FakeServer:
    assert setup.server is not None
    return setup.server


def is_clean(answer: Answer, setup: Setup) -> bool:
    """Tell whether an answer can be kept and shown."""
    text = f"{answer.message} {answer.excerpt}"
    return (
        len(answer.excerpt) <= EXCERPT
        and text.isprintable()
        and not any(secret in text for secret in setup.secrets)
    )


def test_every_engine_that_was_found_is_set_up() -> None:
    known = {*SETUPS, "google"}  # which an env without extras cannot make
    assert set(ENGINES) == known


# What it declares


@pytest.mark.parametrize("name", ENGINES)
def test_declares_what_it_is(name: str) -> None:
    engine = ENGINES[name]
    assert engine.name
    assert engine.takes_urls or engine.takes_sitemaps
    assert engine.max_urls >= 1
    assert engine.__doc__
    assert inspect.getdoc(inspect.getmodule(engine))


@pytest.mark.parametrize("name", ENGINES)
def test_options_are_the_fields_of_a_frozen_keyword_only_dataclass(name: str) -> None:
    fields = dataclasses.fields(ENGINES[name])
    assert all(field.kw_only for field in fields if field.init)
    assert ENGINES[name].__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert {"alias", "interval", "timeout"} <= {field.name for field in fields}


@pytest.mark.parametrize("name", SETUPS)
def test_an_unknown_option_is_refused(name: str, site: FakeSite) -> None:
    with made(name, site) as setup:
        engine: Any = type(setup.engine)
        with pytest.raises(TypeError, match="'kee'"):
            engine(alias="it", kee="x")


@pytest.mark.parametrize("name", SETUPS)
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
def test_an_impossible_number_of_seconds_is_refused(
    name: str, option: str, value: Any, site: FakeSite
) -> None:
    with made(name, site) as setup, pytest.raises(errors.OptionError) as caught:
        dataclasses.replace(setup.engine, **{option: value})
    assert caught.value.option == option
    assert isinstance(caught.value, ValueError)


# What it answers


@pytest.mark.parametrize("name", SETUPS)
def test_takes_what_it_is_told(name: str, site: FakeSite) -> None:
    with made(name, site) as setup:
        answer = setup.engine.submit(setup.batch)
        assert answer.outcome is Outcome.ACCEPTED
        assert answer.retry_after is None
        assert is_clean(answer, setup)


FAULTS = {
    "503": (reply(503, "busy"), Outcome.UNAVAILABLE, 503),
    "500": (reply(500), Outcome.UNAVAILABLE, 500),
    "404": (reply(404), Outcome.UNAVAILABLE, 404),
    "410": (reply(410), Outcome.UNAVAILABLE, 410),
    "400": (reply(400), Outcome.REJECTED, 400),
    "418": (reply(418), Outcome.UNAVAILABLE, 418),
    "a redirect": (redirect("http://127.0.0.1/x"), Outcome.UNAVAILABLE, 301),
    "a page with an error": (html(502), Outcome.UNAVAILABLE, 502),
    "half of an error": (Cut("body", status=503), Outcome.UNAVAILABLE, 503),
    "half of a success": (Cut("body", status=200), Outcome.ACCEPTED, 200),
    "a success without end": (Endless(), Outcome.ACCEPTED, 200),
    "an error without end": (Endless(status=500), Outcome.UNAVAILABLE, 500),
    "closed before": (Cut("request"), Outcome.UNAVAILABLE, None),
    "closed instead": (Cut("answer"), Outcome.UNAVAILABLE, None),
    "half a status line": (Cut("status"), Outcome.UNAVAILABLE, None),
    "no HTTP": (Raw(b"\x16\x03\x01\x00"), Outcome.UNAVAILABLE, None),
}


@pytest.mark.parametrize("name", REMOTE)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_failure_is_an_answer(name: str, fault: str, site: FakeSite) -> None:
    played, outcome, status = FAULTS[fault]
    with made(name, site) as setup:
        listening(setup).fault = played
        answer = setup.engine.submit(setup.batch)
        assert (answer.outcome, answer.status) == (outcome, status)
        assert answer.message.endswith((".", "?"))
        assert is_clean(answer, setup)


@pytest.mark.parametrize("name", REMOTE)
@pytest.mark.parametrize(
    "fault", [Slow("answer"), Slow("body"), Drip("headers"), Drip("body")], ids=repr
)
def test_what_is_slow_comes_to_an_end(name: str, fault: Any, site: FakeSite) -> None:
    with made(name, site, timeout=0.5) as setup:
        listening(setup).fault = fault
        started = time.monotonic()
        answer = setup.engine.submit(setup.batch)
        assert time.monotonic() - started < 5
        # The status of a body that came to no end counts.
        is_answered = fault in (Slow("body"), Drip("body"))
        assert answer.outcome is (
            Outcome.ACCEPTED if is_answered else Outcome.UNAVAILABLE
        )
        assert is_clean(answer, setup)


@pytest.mark.parametrize("name", REMOTE)
def test_nobody_at_the_address(name: str, site: FakeSite) -> None:
    with made(name, site) as setup:
        listening(setup).stop()
        answer = setup.engine.submit(setup.batch)
        assert (answer.outcome, answer.status) == (Outcome.UNAVAILABLE, None)
        assert "refuses connections" in answer.message


@pytest.mark.parametrize("name", REMOTE)
@pytest.mark.parametrize(
    ("status", "outcome"), [(429, Outcome.THROTTLED), (503, Outcome.UNAVAILABLE)]
)
def test_retry_after_is_handed_on_in_both_forms(
    name: str, status: int, outcome: Outcome, site: FakeSite
) -> None:
    with made(name, site) as setup:
        date = email.utils.formatdate(time.time() + 90, usegmt=True)
        listening(setup).faults = [
            reply(status, retry_after="77"),
            reply(status, retry_after=date),
        ]
        first = setup.engine.submit(setup.batch)
        second = setup.engine.submit(setup.batch)
        assert (first.outcome, first.retry_after) == (outcome, 77.0)
        assert second.outcome is outcome
        assert second.retry_after is not None
        assert 80 < second.retry_after <= 90


@pytest.mark.parametrize("name", REMOTE)
def test_throttled_without_a_time(name: str, site: FakeSite) -> None:
    with made(name, site) as setup:
        listening(setup).fault = throttle()
        answer = setup.engine.submit(setup.batch)
        assert answer.outcome is Outcome.THROTTLED
        assert answer.retry_after in (None, 600.0)


# Secrets


@pytest.mark.parametrize("name", REMOTE)
@pytest.mark.parametrize("status", [200, 400, 403, 404, 422, 500])
def test_an_answer_that_repeats_secrets_is_kept_without_them(
    name: str, status: int, site: FakeSite
) -> None:
    """In clear, percent-encoded, and where the excerpt would end amid one."""
    with made(name, site) as setup:
        in_clear = " ".join(setup.secrets)
        encoded = urllib.parse.quote(in_clear, safe="")
        for body in (
            f"{in_clear}\x00{encoded}",
            *("x" * (EXCERPT - 10) + secret for secret in setup.secrets),
        ):
            listening(setup).fault = reply(status, body)
            answer = setup.engine.submit(setup.batch)
            assert is_clean(answer, setup)
            for secret in setup.secrets:
                assert secret[:8] not in answer.excerpt


@pytest.mark.parametrize("name", REMOTE)
def test_a_repr_has_no_secrets(name: str, site: FakeSite) -> None:
    with made(name, site) as setup:
        shown = f"{setup.engine!r} {setup.engine}"
        assert "it" in shown
        assert not any(secret in shown for secret in setup.secrets)


@pytest.mark.parametrize("name", REMOTE)
def test_an_error_of_the_network_has_no_secrets(name: str, site: FakeSite) -> None:
    with made(name, site) as setup:
        listening(setup).fault = Cut("answer")
        answer = setup.engine.submit(setup.batch)
        assert answer.status is None
        assert is_clean(answer, setup)


# The rest of the interface


@pytest.mark.parametrize("name", SETUPS)
def test_every_question_has_an_answer(name: str, site: FakeSite) -> None:
    with made(name, site) as setup:
        engine: Engine = setup.engine
        assert all(text for text in engine.files("www.example.com").values())
        assert isinstance(engine.proof("www.example.com"), str)
        assert engine.proof("www.example.com") == engine.proof("WWW.example.com:443")
        assert engine.verify(site.origin, force=True).is_good
        for finding in engine.check(site.origin, force=True):
            assert finding.text.endswith(".")
            assert finding.is_good or finding.fix
        asked = ["https://www.example.com/sitemap.xml"]
        assert [s.location for s in engine.status(asked)] in ([], asked)
