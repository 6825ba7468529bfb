"""
Real servers, whose processes fork, thread and are replaced, notify a real engine.

After each test: nothing lost, nothing twice within the interval, nothing that was
rolled back. Nobody but the servers' own threads delivers.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from django_sitemaps_plus.models import Change, Submission, UrlChange
from tests.delivery.conftest import Serve
from tests.engines.setups import KEY
from tests.support.fakes.faults import Slow
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.ledger_kinds import VENDOR
from tests.support.outbox_world import BASE
from tests.support.processes import within
from tests.support.servers import SOON

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

GUNICORN = "-m gunicorn tests.support.server_app --bind 127.0.0.1:{port}"
SERVERS = {
    "gunicorn-preload": f"{GUNICORN} --workers 2 --preload",
    "uvicorn": "-m uvicorn tests.support.server_app:asgi --port {port}",
}
#: Of the server that saves a hundred at once. A thread has a connection, of which
#: servers allow a hundred or so; there the other requests wait for a thread.
AT_ONCE, THREADS = 100, 100 if VENDOR == "sqlite" else 40


@pytest.fixture
def engine() -> Iterator[FakeIndexNow]:
    with FakeIndexNow("api") as found:
        found.trust("www.example.com", KEY)
        yield found


def notifying(engine: FakeIndexNow, after: float = 1.0) -> dict[str, Any]:
    """Return the settings of a site that notifies an engine."""
    # A busy machine is no engine that may have heard: that is tried again much later.
    options = {"key": KEY, "endpoint": engine.url, "timeout": SOON}
    entry = {"BACKEND": "tests.support.outbox_engines.Trusted", "OPTIONS": options}
    return {"NOTIFY_AFTER": after, "ENGINES": {"one": entry}}


def posted(engine: FakeIndexNow) -> Counter[str]:
    """Return how often an engine was sent each path, whatever it answered."""
    return Counter(
        url.removeprefix(BASE)
        for request in list(engine.requests)
        for url in json.loads(request.body)["urlList"]
    )


def both(*numbers: int) -> Counter[str]:
    """Return where articles were before they were saved, and where they are."""
    return Counter(f"/articles/{slug}{n}/" for slug in "ab" for n in numbers)


def waiting() -> list[Any]:
    """Return what waits: changes, what became of URLs, and what engines are to hear."""
    return [
        *Change.objects.values(),
        *UrlChange.objects.filter(queued_at=None).values(),
        *Submission.objects.filter(live=True).values(),
    ]


def check(engine: FakeIndexNow, expected: Counter[str]) -> None:
    """Wait until the engine has just this, each once."""
    is_told = within(SOON, lambda: posted(engine) >= expected)
    assert is_told, expected - posted(engine)
    assert within(SOON, lambda: not waiting()), str(waiting())
    assert posted(engine) == expected
    assert set(Submission.objects.values_list("state", flat=True)) == {"accepted"}


@pytest.mark.parametrize("command", SERVERS.values(), ids=SERVERS)
@pytest.mark.costly
def test_each_change_is_submitted_once(
    serve: Serve, keys: list[int], engine: FakeIndexNow, command: str
) -> None:
    server = serve(command.split(), **notifying(engine))
    processes: set[str] = set()
    saved = 0
    with ThreadPoolExecutor(8) as pool:
        # Until each process has saved something.
        while len(processes) < 1 + ("--workers" in command) and saved < 100:
            some = range(saved, saved + 8)
            paths = [f"/save/{keys[n]}/b{n}/" for n in some]
            processes |= set(pool.map(server.get, paths))
            saved += 8
        undone = [f"/undo/{keys[n]}/never{n}/" for n in range(110, 118)]
        assert set(pool.map(server.get, undone)) == {"undone"}
    check(engine, both(*range(saved)))


@pytest.mark.usefixtures("crowd")
def test_a_hundred_saves_at_once(
    serve: Serve, keys: list[int], engine: FakeIndexNow
) -> None:
    server = serve(f"{GUNICORN} --threads {THREADS}".split(), **notifying(engine))
    together = threading.Barrier(AT_ONCE)

    def save(number: int) -> None:
        together.wait()
        how, slug = ("undo", "never") if number % 10 == 9 else ("save", "b")
        server.get(f"/{how}/{keys[number]}/{slug}{number}/")

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(save, range(AT_ONCE)))
    check(engine, both(*(number for number in range(AT_ONCE) if number % 10 != 9)))


@pytest.mark.parametrize("seconds", [0.0, 4.0])
@pytest.mark.costly
def test_workers_that_are_replaced(
    serve: Serve, keys: list[int], engine: FakeIndexNow, seconds: float
) -> None:
    """Before they have looked for changes, and while they wait for an answer."""
    few = "--max-requests 3" if not seconds else "--max-requests 12"
    command = f"{GUNICORN} --threads 2 {few} --graceful-timeout 1"
    server = serve(command.split(), **notifying(engine, after=2))
    former = server.get(f"/save/{keys[0]}/b0/")
    if seconds:
        engine.fault = Slow("answer", seconds)
        assert within(SOON, lambda: len(engine.requests) == 1)

    def is_another() -> bool:
        try:
            return str(server.thread()["pid"]) != former
        except OSError:
            return False

    assert within(SOON, is_another)
    engine.fault = None
    server.get(f"/save/{keys[1]}/b1/")
    check(engine, both(0, 1))
