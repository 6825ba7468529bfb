"""
Real servers, whose processes fork, thread and are replaced, tell a real engine.

After each: nothing lost, nothing twice within the interval, nothing that was rolled
back. Nobody but the servers' own threads delivers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import urlopen

import pytest
from django.test import Client

from django_sitemaps_plus.models import Change, Submission, UrlChange
from tests.conftest import Register
from tests.engines.setups import KEY
from tests.publishing.test_freshness import News
from tests.support.fakes.faults import Slow
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.fakes.ports import free_port
from tests.support.ledger_kinds import VENDOR
from tests.support.outbox_world import BASE, later
from tests.support.processes import ROOT, given, within
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

GUNICORN = ["gunicorn", "tests.support.server_app", "--bind", "127.0.0.1:{port}"]
SERVERS = {
    "gunicorn": [*GUNICORN, "--workers", "2"],
    "gunicorn-preload": [*GUNICORN, "--workers", "2", "--preload"],
    "uvicorn": ["uvicorn", "tests.support.server_app:asgi", "--port", "{port}"],
}
#: Seconds from a save to the engine: the window, ``NOTIFY_AFTER``, and a slow machine.
SOON = 45
#: Threads of the server that saves two hundred at once. A thread has a connection, of
#: which servers give a hundred or so; there the other requests wait for a thread.
THREADS = 200 if VENDOR == "sqlite" else 40


class Server:
    """A server of several processes or threads."""

    def __init__(self, folder: Path, engine: FakeIndexNow, command: list[str]) -> None:
        self.engine = engine
        self.port = free_port()
        self.log = folder / "log"
        options = {"key": KEY, "endpoint": engine.url}
        entry = {"BACKEND": "tests.support.outbox_engines.Trusted", "OPTIONS": options}
        told = given(NOTIFY_AFTER=2, ENGINES={"one": entry})
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *(c.format(port=self.port) for c in command)],
                env={**os.environ, "SITEMAPS_PLUS_TEST_SERVER": json.dumps(told)},
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )

    def get(self, path: str) -> str:
        with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=200) as answer:
            return str(answer.read().decode())

    def answers(self) -> bool:
        try:
            return bool(self.get("/pid/"))
        except OSError:
            return False

    def posted(self) -> Counter[str]:
        """Return how often the engine was sent each path, whatever it answered."""
        return Counter(
            url.removeprefix(BASE)
            for request in list(self.engine.requests)
            for url in json.loads(request.body)["urlList"]
        )

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(30)


Serve = Callable[[list[str]], Server]


@pytest.fixture
def serve(tmp_path: Path, register: Register) -> Iterator[Serve]:
    """Start a server on a site with 220 articles, whose pages are made."""
    register("news", News)
    Article.objects.bulk_create(Article(slug=f"a{n}") for n in range(220))
    for page in ["", *(f"-{n}" for n in range(1, 26))]:
        Client().get(f"/sitemap-news{page}.xml")
    started = []
    with FakeIndexNow("api") as engine:
        engine.trust("www.example.com", KEY)

        def start(command: list[str]) -> Server:
            server = Server(tmp_path, engine, command)
            started.append(server)
            assert within(30, server.answers), server.log.read_text()
            return server

        yield start
        for server in started:
            server.close()


def paths(*slugs: str) -> set[str]:
    return {f"/articles/{slug}/" for slug in slugs}


def moved(numbers: range) -> set[str]:
    """Return where articles were, and where they are."""
    return paths(*(f"a{n}" for n in numbers), *(f"b{n}" for n in numbers))


def keys() -> list[int]:
    return list(Article.objects.order_by("pk").values_list("pk", flat=True))


def is_settled() -> bool:
    waiting = [
        Change.objects.exists(),
        UrlChange.objects.filter(queued_at=None).exists(),
        Submission.objects.filter(live=True).exists(),
    ]
    return not any(waiting)


def check(server: Server, expected: set[str]) -> None:
    """Wait until the engine has just this, each once."""
    assert within(SOON, lambda: set(server.posted()) >= expected), server.posted()
    assert within(SOON, is_settled)
    assert server.posted() == Counter(expected)
    assert {post.status for post in server.engine.posts} == {200}
    assert set(Submission.objects.values_list("state", flat=True)) == {"accepted"}


@pytest.mark.parametrize("command", SERVERS.values(), ids=SERVERS)
def test_what_a_server_saves_is_told_once(serve: Serve, command: list[str]) -> None:
    server = serve(command)
    pks = keys()
    processes: set[str] = set()
    saved = 0
    with ThreadPoolExecutor(8) as pool:
        # Until each process has saved something.
        while len(processes) < 1 + ("--workers" in command) and saved < 200:
            some = range(saved, saved + 8)
            processes |= set(
                pool.map(lambda n: server.get(f"/save/{pks[n]}/b{n}/"), some)
            )
            saved += 8
        undone = [f"/undo/{pks[n]}/never{n}/" for n in range(200, 208)]
        assert set(pool.map(server.get, undone)) == {"undone"}
    check(server, moved(range(saved)))


@pytest.mark.usefixtures("crowd")
def test_two_hundred_saves_at_once(serve: Serve) -> None:
    server = serve([*GUNICORN, "--threads", str(THREADS)])
    pks = keys()
    together = threading.Barrier(200)

    def ask(number: int) -> None:
        together.wait()
        undone = number % 10 == 9
        slug = f"never{number}" if undone else f"b{number}"
        server.get(f"/{'undo' if undone else 'save'}/{pks[number]}/{slug}/")

    with ThreadPoolExecutor(200) as pool:
        list(pool.map(ask, range(200)))
    kept = [number for number in range(200) if number % 10 != 9]
    check(server, set().union(*(moved(range(n, n + 1)) for n in kept)))


# Workers that are replaced after some requests


def recycled(server: Server, former: str) -> None:
    """Ask until another process answers."""

    def is_another() -> bool:
        return server.answers() and server.get("/pid/") != former

    assert within(SOON, is_another)


def test_a_worker_that_ends_before_it_has_looked(serve: Serve) -> None:
    """The next one looks with its first request."""
    few = ["--max-requests", "3", "--graceful-timeout", "1"]
    server = serve([*GUNICORN, "--threads", "2", *few])
    recycled(server, server.get(f"/save/{keys()[0]}/b0/"))
    assert server.posted() == Counter()
    check(server, moved(range(1)))


def test_a_worker_that_ends_while_it_tells(serve: Serve) -> None:
    """What it was telling is not told again within the interval, nor is it lost."""
    few = ["--max-requests", "12", "--graceful-timeout", "1"]
    server = serve([*GUNICORN, "--threads", "2", *few])
    server.engine.fault = Slow("answer", 4)
    pks = keys()
    former = server.get(f"/save/{pks[0]}/b0/")
    assert within(SOON, lambda: len(server.engine.requests) == 1)
    recycled(server, former)
    server.engine.fault = None
    server.get(f"/save/{pks[1]}/b1/")
    both = moved(range(2))
    assert within(SOON, lambda: set(server.posted()) == both), server.posted()
    time.sleep(1)
    assert server.posted() == Counter(both), "not within the interval"
    [state] = Submission.objects.filter(live=True).values_list("state").distinct()
    assert state == ("sending",)
    # A claim outlasts the interval by what a batch may take to be sent.
    later(901)
    server.get(f"/save/{pks[2]}/b2/")
    assert within(SOON, is_settled)
    assert server.posted() == Counter(moved(range(3))) + Counter(moved(range(1)))
    assert set(Submission.objects.values_list("state", flat=True)) == {"accepted"}
