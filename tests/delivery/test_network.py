"""What goes wrong between the outbox and an engine: each fault, and then it is over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from django_sitemaps_plus.delivery import outbox
from django_sitemaps_plus.models import EngineState, Submission
from tests.engines.setups import KEY
from tests.support.fakes.faults import (
    Cut,
    Drip,
    Endless,
    Fault,
    Slow,
    html,
    redirect,
    reply,
    throttle,
)
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.fakes.ports import deaf, free_port, full, secured
from tests.support.outbox_world import BASE, happened, later, rows, run, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


@contextmanager
def listening(fault: Fault | None = None) -> Iterator[FakeIndexNow]:
    with FakeIndexNow() as engine:
        engine.trust("www.example.com", KEY)
        engine.fault = fault
        yield engine


@contextmanager
def unreachable(trouble: str) -> Iterator[str]:
    """Yield an address at which no engine receives anything."""
    if trouble == "name":
        yield "https://no-such-host.invalid/indexnow"
    elif trouble == "refused":
        yield f"http://localhost:{free_port()}/indexnow"
    elif trouble == "full":
        with full() as port:
            yield f"http://127.0.0.1:{port}/indexnow"
    elif trouble == "deaf":
        with deaf() as port:
            yield f"https://localhost:{port}/indexnow"
    else:
        with secured("localhost") as (server, _):
            yield f"https://localhost:{server.port}/indexnow"


#: What is said of each, or of a fault the status that was read and what is said of it.
UNREACHABLE = {
    "name": "could not be resolved",
    "refused": "Connection refused",
    "full": "did not accept a connection",
    "deaf": "did not finish the TLS handshake",
    "authority": "local issuer certificate",
}
FAULTS: list[tuple[Fault, int | None, str]] = [
    (Slow("request"), None, "did not answer within"),
    (Slow("answer"), None, "did not answer within"),
    (Drip("headers"), None, "too slow"),
    (Cut("request"), None, "did not answer: "),
    (Cut("status"), None, "incomplete HTTP"),
    (Cut("body", 503), 503, "an internal error"),
    (Endless(503), 503, "an internal error"),
    (reply(503), 503, "an internal error"),
    (html(), 200, "a web page"),
    (redirect("https://www.example.com/"), 301, "a redirect"),
    (throttle(), 429, "fewer requests"),
    (throttle("90"), 429, "fewer requests"),
]


def submit(settings: Any, address: str) -> None:
    """Submit to the engine at an address, which must not take long."""
    options = {"key": KEY, "endpoint": address, "timeout": 0.3}
    use(settings, one=("Trusted", options))
    started = time.monotonic()
    run()
    assert time.monotonic() - started < 5


def check(
    settings: Any, status: int | None, said: str, least: float, most: float
) -> None:
    """Check what was stored, and that it is submitted later, and then once."""
    assert rows() == [("/a/", "pending"), ("/b/", "pending")]
    for row in Submission.objects.all():
        assert (row.attempts, row.status) == (1, status)
        assert said in row.message
        assert KEY not in f"{row.message}{row.excerpt}"
    assert EngineState.objects.get().paused_until > 0
    wait = outbox.next_due()
    assert wait is not None
    assert least <= wait <= most
    with listening() as engine:
        later(wait - 5)
        submit(settings, engine.url)
        assert engine.posts == []
        later(10)
        submit(settings, engine.url)
        later(601)
        submit(settings, engine.url)
        assert sorted(engine.accepted) == [f"{BASE}/a/", f"{BASE}/b/"]
        assert len(engine.posts) == 1
    assert rows() == [("/a/", "accepted"), ("/b/", "accepted")]


@pytest.mark.parametrize(("trouble", "said"), UNREACHABLE.items(), ids=UNREACHABLE)
def test_what_cannot_be_sent_is_submitted_a_minute_later(
    trouble: str, said: str, settings: Any
) -> None:
    happened("/a/", "/b/")
    with unreachable(trouble) as address:
        submit(settings, address)
    check(settings, None, said, 40, 90)


@pytest.mark.parametrize(("fault", "status", "said"), FAULTS, ids=repr)
def test_what_may_have_been_received_is_submitted_after_the_interval(
    fault: Fault, status: int | None, said: str, settings: Any
) -> None:
    """Unless the engine answered that it did not take it."""
    happened("/a/", "/b/")
    with listening(fault) as engine:
        submit(settings, engine.url)
    check(settings, status, said, 590 if status is None else 40, 600)


@pytest.mark.parametrize(
    "fault", [Endless(), Slow("body"), Drip("body"), Cut("body")], ids=repr
)
def test_the_status_counts_whatever_becomes_of_the_body(
    fault: Fault, settings: Any
) -> None:
    happened("/a/")
    with listening(fault) as engine:
        submit(settings, engine.url)
        assert len(engine.requests) == 1
    assert rows() == [("/a/", "accepted")]
