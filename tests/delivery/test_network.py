"""
What goes wrong between the outbox and an engine: each kind, and then it is over.

That engines class every fault as one of these kinds is for tests/engines to say.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from django_sitemaps_plus.delivery import outbox
from django_sitemaps_plus.models import EngineState, Submission
from tests.engines.setups import KEY
from tests.support.fakes.faults import Cut, Fault, Slow, reply, throttle
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.fakes.ports import free_port
from tests.support.helpers import later
from tests.support.outbox_world import BASE, happened, rows, run, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


def submit(settings: Any, address: str, timeout: float = 10) -> None:
    """Submit to the engine at an address, for so many seconds."""
    options = {"key": KEY, "endpoint": address, "timeout": timeout}
    use(settings, one=("Trusted", options))
    started = time.monotonic()
    run()
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    ("fault", "status", "said", "least"),
    [
        (None, None, "Connection refused", 40),
        (Slow("answer"), None, "did not answer within", 590),
        (Cut("status"), None, "incomplete HTTP", 590),
        (Cut("body"), 200, "not to the end", 590),
        (reply(503), 503, "an internal error", 40),
        (Cut("body", 503), 503, "an internal error", 40),
        (throttle("90"), 429, "fewer requests", 85),
    ],
    ids=repr,
)
@pytest.mark.costly
def test_what_is_not_accepted_is_submitted_later_and_then_once(
    settings: Any, fault: Fault | None, status: int | None, said: str, least: float
) -> None:
    """After the interval, if it may have been received; None is no engine at all."""
    happened("/a/", "/b/")
    with FakeIndexNow() as engine:
        engine.trust("www.example.com", KEY)
        engine.fault = fault
        nobody = f"http://localhost:{free_port()}/indexnow"
        # Only what never comes is waited for.
        timeout = 2.0 if isinstance(fault, Slow) else 10
        submit(settings, nobody if fault is None else engine.url, timeout)
        assert rows() == [("/a/", "pending"), ("/b/", "pending")]
        for row in Submission.objects.all():
            assert (row.attempts, row.status) == (1, status)
            assert said in row.message
            assert KEY not in f"{row.message}{row.excerpt}"
        assert EngineState.objects.get().paused_until > 0
        wait = outbox.next_due()
        assert wait is not None
        assert least <= wait <= (600 if least == 590 else 91)
        engine.fault = None
        engine.posts.clear()
        later(wait - 5)
        submit(settings, engine.url)
        assert engine.posts == []
        for seconds in (10, 601):
            later(seconds)
            submit(settings, engine.url)
        assert sorted(engine.accepted) == [f"{BASE}/a/", f"{BASE}/b/"]
        assert len(engine.posts) == 1
    assert rows() == [("/a/", "accepted"), ("/b/", "accepted")]
