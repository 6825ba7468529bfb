"""What goes wrong between the outbox and an engine: each fault, and then it is over."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
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

#: Gives the address of an engine for as long as its trouble lasts.
Trouble = Callable[[], AbstractContextManager[str]]


@contextlib.contextmanager
def listening(fault: Fault | None = None) -> Iterator[FakeIndexNow]:
    with FakeIndexNow() as engine:
        engine.trust("www.example.com", KEY)
        engine.fault = fault
        yield engine


def at(port: int, scheme: str = "http") -> str:
    return f"{scheme}://localhost:{port}/indexnow"


def answering(fault: Fault) -> Trouble:
    @contextlib.contextmanager
    def trouble() -> Iterator[str]:
        with listening(fault) as engine:
            yield engine.url

    return trouble


@contextlib.contextmanager
def no_such_name() -> Iterator[str]:
    yield "https://no-such-host.invalid/indexnow"


@contextlib.contextmanager
def refused() -> Iterator[str]:
    yield at(free_port())


@contextlib.contextmanager
def not_accepted() -> Iterator[str]:
    with full() as port:
        yield f"http://127.0.0.1:{port}/indexnow"


@contextlib.contextmanager
def handshake_not_finished() -> Iterator[str]:
    with deaf() as port:
        yield at(port, "https")


@contextlib.contextmanager
def unknown_authority() -> Iterator[str]:
    with secured("localhost") as (server, _):
        yield at(server.port, "https")


#: By trouble, the status that was read (None: no answer) and what is said of it.
TROUBLES: dict[str, tuple[Trouble, int | None, str]] = {
    "name": (no_such_name, None, "could not be resolved"),
    "refused": (refused, None, "Connection refused"),
    "connection": (not_accepted, None, "did not accept a connection"),
    "handshake": (handshake_not_finished, None, "did not finish the TLS handshake"),
    "authority": (unknown_authority, None, "local issuer certificate"),
    "request": (answering(Slow("request")), None, "did not answer within"),
    "answer": (answering(Slow("answer")), None, "did not answer within"),
    "headers": (answering(Drip("headers")), None, "too slow"),
    "closed": (answering(Cut("request")), None, "did not answer: "),
    "no HTTP": (answering(Cut("status")), None, "incomplete HTTP"),
    "cut": (answering(Cut("body", 503)), 503, "an internal error"),
    "endless": (answering(Endless(503)), 503, "an internal error"),
    "busy": (answering(reply(503)), 503, "an internal error"),
    "page": (answering(html()), 200, "a web page"),
    "moved": (answering(redirect("https://www.example.com/")), 301, "a redirect"),
    "throttled": (answering(throttle()), 429, "fewer requests"),
    "throttled for a time": (answering(throttle("90")), 429, "fewer requests"),
}


#: Where no engine was reached that might have received it.
UNSENT = (
    no_such_name,
    refused,
    not_accepted,
    handshake_not_finished,
    unknown_authority,
)


def name_engine(settings: Any, address: str) -> None:
    options = {"key": KEY, "endpoint": address, "timeout": 0.3}
    use(settings, one=("Trusted", options))


@pytest.mark.parametrize(("trouble", "status", "said"), TROUBLES.values(), ids=TROUBLES)
def test_what_goes_wrong_on_the_way_is_told_later(
    trouble: Trouble, status: int | None, said: str, settings: Any
) -> None:
    happened("/a/", "/b/")
    with trouble() as address:
        name_engine(settings, address)
        began = time.monotonic()
        run()
        assert time.monotonic() - began < 5
    assert rows() == [("/a/", "pending"), ("/b/", "pending")]
    for row in Submission.objects.all():
        assert (row.attempts, row.status) == (1, status)
        assert said in row.message
        assert KEY not in f"{row.message}{row.excerpt}"
    assert EngineState.objects.get().paused_until > 0
    wait = outbox.next_due()
    assert wait is not None
    assert wait > 40
    if status is None:
        assert (wait > 590) is (trouble not in UNSENT), "it may have been received"
    with listening() as engine:
        name_engine(settings, engine.url)
        later(wait - 5)
        run()
        assert engine.posts == []
        later(10)
        run()
        assert sorted(engine.accepted) == [f"{BASE}/a/", f"{BASE}/b/"]
        assert rows() == [("/a/", "accepted"), ("/b/", "accepted")]
        later(601)
        run()
        assert len(engine.posts) == 1


@pytest.mark.parametrize(
    "fault", [Endless(), Slow("body"), Drip("body"), Cut("body")], ids=repr
)
def test_the_status_is_the_answer_whatever_becomes_of_its_body(
    fault: Fault, settings: Any
) -> None:
    """To send it again would be to send it twice."""
    happened("/a/")
    with listening(fault) as engine:
        name_engine(settings, engine.url)
        began = time.monotonic()
        run()
        assert time.monotonic() - began < 5
        assert len(engine.requests) == 1
    assert rows() == [("/a/", "accepted")]
