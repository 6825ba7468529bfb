"""Pages are made by a thread of the server's process, which nobody has to ask."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from django.core import mail
from django.test import Client

from django_sitemaps_plus.changes import assignment, marks
from django_sitemaps_plus.delivery import background as background_jobs
from django_sitemaps_plus.models import Change, Page, Section, Submission, UrlChange
from tests.conftest import Register
from tests.publishing.test_freshness import News
from tests.support.helpers import run_command
from tests.support.processes import ROOT, given, within
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

#: Seconds within which a page is made again, on a slow machine too. Not so long that
#: the look once a minute would do.
SOON = 30


class Server:
    """A process that answers requests."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        told = {**given(**settings), "idle": 1.0}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.background_server", json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        self.port = int(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def __call__(self, line: str) -> str:
        """Have it do something."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self._line()

    def get(self, path: str) -> bytes:
        """Ask it for a path."""
        with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
            body: bytes = answer.read()
        return body

    def close(self) -> str:
        """End it; returns what it logged."""
        self.process.terminate()
        return self.process.communicate()[1]


@pytest.fixture
def serve(tmp_path: Path, register: Register) -> Iterator[Callable[..., Server]]:
    register("news", News)
    Article.objects.bulk_create(Article(slug=f"a{number}") for number in range(15))
    for number in ("", "-1", "-2"):
        Client().get(f"/sitemap-news{number}.xml")
    started: list[Server] = []

    def start(**given: Any) -> Server:
        server = Server(tmp_path, **given)
        started.append(server)
        return server

    yield start
    for server in started:
        if server.process.poll() is None:
            server.close()


def told() -> list[str]:
    return sorted(UrlChange.objects.values_list("location", flat=True))


def first() -> Article:
    article = Article.objects.order_by("pk").first()
    assert article is not None
    return article


@pytest.mark.parametrize("how", ["save", "atomic"])
def test_what_the_server_saves_is_made_without_a_request(
    serve: Callable[..., Server], how: str
) -> None:
    server = serve()
    server.get("/robots.txt")
    assert within(SOON, lambda: server("thread") == "False"), "nothing to do"
    version = Page.objects.get(number=1).version
    server(f"{how} {first().pk} b")
    assert within(SOON, lambda: told() == ["/articles/b/"])
    assert within(SOON, lambda: not Change.objects.exists()), "they go last"
    assert Page.objects.get(number=1).version == version + 1
    assert within(SOON, lambda: server("thread") == "False"), "it ends when idle"


@pytest.mark.parametrize("atomic", [False, True])
def test_what_others_saved_is_looked_for_at_a_request(
    serve: Callable[..., Server], atomic: bool
) -> None:
    server = serve()
    article = first()
    article.slug = "b"
    article.save()
    assert server("thread") == "False"
    server.get("/robots.txt")
    assert server("thread") == "True"
    assert within(SOON, lambda: told() == ["/articles/b/"])


def test_two_processes_do_the_work_once(serve: Callable[..., Server]) -> None:
    one, two = serve(), serve()
    for server in (one, two):
        server.get("/robots.txt")
    version = Page.objects.get(number=1).version
    one(f"save {first().pk} b")
    two(f"save {first().pk} c")
    assert within(SOON, lambda: "/articles/c/" in told())
    assert within(SOON, lambda: one("thread") == two("thread") == "False")
    assert Page.objects.get(number=1).version <= version + 2
    assert Section.objects.get(name="news").refresh_owner == ""


def test_errors_are_logged_and_the_thread_lives(serve: Callable[..., Server]) -> None:
    server = serve()
    server.get("/robots.txt")
    server("break")
    server(f"save {first().pk} b")
    assert not within(assignment.WINDOW + 2, lambda: told() != [])
    server("mend")
    assert within(SOON, lambda: "/articles/b/" in told()), "nobody asks for it"
    assert "gone away" in server.close()


def test_a_fork_has_a_thread_of_its_own_once_it_answers(
    serve: Callable[..., Server],
) -> None:
    server = serve()
    server.get("/robots.txt")
    assert server("thread") == "True"
    assert server("fork") == "False True"


def test_it_can_be_turned_off(serve: Callable[..., Server]) -> None:
    server = serve(BACKGROUND=False)
    server.get("/robots.txt")
    server(f"save {first().pk} b")
    assert server("thread") == "False"
    assert b"/articles/b/" in server.get("/sitemap-news-1.xml"), "requests do it"


def test_without_an_address_there_is_none(serve: Callable[..., Server]) -> None:
    server = serve(BASE_URL=None)
    server.get("/robots.txt")
    server(f"save {first().pk} b")
    assert server("thread") == "False"


# Engines


def log_engine(file: Path, **settings: Any) -> dict[str, Any]:
    """Return settings that name an engine which writes to a file what it is told."""
    entry = {
        "BACKEND": "tests.support.outbox_engines.Log",
        "OPTIONS": {"file": str(file)},
    }
    return {"ENGINES": {"log": entry}, **settings}


def logged(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("how", ["save", "atomic"])
@pytest.mark.parametrize("seconds", [2, 8])
def test_engines_are_told_after_the_window_without_a_request(
    serve: Callable[..., Server], tmp_path: Path, how: str, seconds: float
) -> None:
    file = tmp_path / "told"
    server = serve(**log_engine(file, NOTIFY_AFTER=seconds))
    server.get("/robots.txt")
    assert within(SOON, lambda: server("thread") == "False"), "nothing to do"
    server(f"{how} {first().pk} b")
    committed = time.time()
    assert within(SOON, lambda: len(logged(file)) == 2)
    urls = {
        line["url"].removeprefix("https://www.example.com") for line in logged(file)
    }
    assert urls == {"/articles/a0/", "/articles/b/"}, "where it was, and where it is"
    took = max(line["at"] for line in logged(file)) - committed
    assert seconds - 0.5 <= took, "it waits for what belongs to it"
    found = Submission.objects.values_list("state", flat=True)
    assert within(SOON, lambda: set(found.all()) == {"accepted"})
    assert within(SOON, lambda: server("thread") == "False"), "it ends when idle"


def test_what_is_saved_meanwhile_goes_with_it(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    file = tmp_path / "told"
    server = serve(**log_engine(file, NOTIFY_AFTER=5))
    server.get("/robots.txt")
    pk = first().pk
    for slug in ("b", "b", "b"):
        server(f"save {pk} {slug}")
        time.sleep(0.7)
    assert within(SOON, lambda: len(logged(file)) > 0)
    time.sleep(1)
    urls = [line["url"] for line in logged(file)]
    assert len(urls) == len(set(urls)) == 2


def test_two_servers_tell_each_url_once(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    file = tmp_path / "told"
    given = log_engine(file, NOTIFY_AFTER=2)
    servers = [serve(**given), serve(**given)]
    articles = list(Article.objects.order_by("pk")[:6])
    for server in servers:
        server.get("/robots.txt")
    for number, article in enumerate(articles):
        servers[number % 2](f"save {article.pk} n{number}")
    assert within(SOON, lambda: len(logged(file)) == 12)
    time.sleep(1)
    urls = [line["url"] for line in logged(file)]
    assert len(set(urls)) == len(urls) == 12


def test_a_server_that_may_not_tell_anybody_goes_on(
    serve: Callable[..., Server], tmp_path: Path
) -> None:
    file = tmp_path / "told"
    server = serve(**log_engine(file, BASE_URL="http://localhost:8000"))
    server.get("/robots.txt")
    server(f"save {first().pk} b")
    assert within(SOON, lambda: told() == ["/articles/b/"])
    assert within(SOON, lambda: server("thread") == "False")
    assert logged(file) == []
    assert not Submission.objects.exists()


# In this process


def running() -> bool:
    return "django-sitemaps-plus" in {thread.name for thread in threading.enumerate()}


def test_there_is_no_thread_in_tests_and_commands(
    register: Register, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("news", News)
    client.get("/robots.txt")
    Article.objects.create(slug="a")
    assert not running()
    monkeypatch.delattr(mail, "outbox")
    monkeypatch.setattr(background_jobs.background, "_serves", False)
    assert background_jobs.is_allowed()
    Article.objects.create(slug="b")
    run_command("build_sitemaps")
    assert not running(), "this process has answered no request"


@pytest.mark.parametrize(
    ("opt", "allowed"),
    [
        ({}, False),
        ({"processes": b"4"}, False),
        ({"enable-threads": b"true"}, True),
        ({"threads": b"4"}, True),
    ],
)
def test_uwsgi_must_allow_threads(
    opt: dict[str, Any],
    allowed: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    background_jobs._warn_of_uwsgi.cache_clear()
    monkeypatch.delattr(mail, "outbox")
    monkeypatch.setitem(sys.modules, "uwsgi", type("uwsgi", (), {"opt": opt}))
    assert background_jobs.is_allowed() is allowed
    assert background_jobs.is_allowed() is allowed
    assert caplog.text.count("have cron run") == (not allowed), "once"


@pytest.mark.parametrize("trouble", ["address", "threads"])
def test_what_keeps_the_thread_from_starting_harms_nobody(
    trouble: str,
    register: Register,
    client: Client,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    register("news", News)
    article = Article.objects.create(slug="a")
    monkeypatch.delattr(mail, "outbox")
    monkeypatch.setattr(
        background_jobs, "background", background := background_jobs.Background()
    )
    monkeypatch.setattr(marks, "listeners", [background.wake])
    if trouble == "address":
        # As where somebody types the scheme into the Site's domain.
        settings.SITEMAPS_PLUS = {"BASE_URL": "https://example.com/?a"}
    else:

        def full(self: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", full)
    background.request_started()
    assert caplog.text.count("Changed pages cannot be looked for.") == 1
    article.slug = "b"
    article.save()
    assert caplog.text.count("Changed pages cannot be looked for.") == 2
    assert Article.objects.get().slug == "b"
    assert Change.objects.count() == 2
