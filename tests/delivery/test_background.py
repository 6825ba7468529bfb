"""A thread of the server's process reports, notifies and rebuilds, unasked."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import Client

from django_sitemaps_plus.delivery import thread as jobs
from django_sitemaps_plus.delivery import workers
from django_sitemaps_plus.models import (
    Change,
    EngineState,
    Page,
    Section,
    Submission,
    UrlChange,
)
from django_sitemaps_plus.pagination import deploys
from tests.conftest import Register
from tests.delivery.conftest import Serve
from tests.engines.setups import KEY
from tests.storing.test_freshness import News
from tests.support.fakes.ports import free_port
from tests.support.helpers import later, run_command
from tests.support.outbox_engines import Log, logged
from tests.support.outbox_world import BASE, use
from tests.support.processes import within
from tests.support.servers import SOON
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


class Told:
    """An engine that writes to a file what it is told."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "told"
        entry = {
            "BACKEND": f"{Log.__module__}.Log",
            "OPTIONS": {"file": str(self.file)},
        }
        self.engines = {"log": entry}

    def paths(self) -> Counter[str]:
        return Counter(line["url"].removeprefix(BASE) for line in logged(self.file))


@pytest.fixture
def told(tmp_path: Path) -> Told:
    return Told(tmp_path)


def events() -> list[tuple[str, str]]:
    return sorted(UrlChange.objects.values_list("kind", "location"))


def paths(*slugs: str) -> Counter[str]:
    return Counter(f"/articles/{slug}/" for slug in slugs)


# What it does


@pytest.mark.parametrize("longest", [5.0, 0.0])
@pytest.mark.costly
def test_what_is_saved_reaches_engines_and_pages_without_a_request(
    serve: Serve, keys: list[int], told: Told, longest: float
) -> None:
    """By one connection, if the wait is short; and after mails and errors."""
    constants = {"delivery.thread.CONNECTED": longest}
    server = serve(constants=constants, ENGINES=told.engines, NOTIFY_AFTER=2)
    # Such a mail stays in memory, as in a test, of which there is no background.
    assert server.get("/mail/") == "sent"
    assert within(SOON, server.rests)
    version = Page.objects.get(number=1).version
    opened = server.thread()["opened"].count("default")
    server.get(f"/atomic/{keys[0]}/b/")
    committed = time.time()
    assert within(SOON, lambda: told.paths() == paths("a0", "b"))
    first = min(logged(told.file), key=lambda line: float(line["at"]))
    assert first["url"] == f"{BASE}/articles/b/", "it waits for no search"
    assert first["at"] - committed > 1.5, "it waits for what follows"
    assert events() == [("added", "/articles/b/"), ("removed", "/articles/a0/")]
    assert Page.objects.get(number=1).version == version + 1
    assert not Change.objects.exists()
    count = server.thread()["opened"].count("default") - opened
    assert (count == 1) is (longest > 0), count
    assert within(SOON, server.rests), "it ends when there is nothing to do"
    assert set(Submission.objects.values_list("state", flat=True)) == {"accepted"}
    assert Section.objects.get(name="").claimed_by == ""
    with gone("sitemaps_plus_urlchange"):
        server.get(f"/save/{keys[1]}/c/")
        assert within(SOON, lambda: "Background work failed." in server.log.read_text())
    assert within(SOON, lambda: told.paths() == paths("a0", "a1", "b", "c"))


def test_what_is_saved_is_published_without_a_request(
    serve: Serve, keys: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUBLISHED", str(tmp_path))
    server = serve(PUBLISH={"STORAGE": "sitemaps", "OPTIONS": {"every": 3}})
    server.get("/robots.txt")
    page = tmp_path / "sitemap-news-1.xml"
    assert within(SOON, page.exists)
    server.get(f"/save/{keys[0]}/b/")
    assert within(SOON, lambda: b"/articles/b/" in page.read_bytes())
    assert within(SOON, server.rests), "it ends when there is nothing to do"


def test_what_another_process_saved_is_found_at_a_request_and_a_fork_has_a_thread(
    serve: Serve, keys: list[int]
) -> None:
    """One of its own, once it answers."""
    server = serve()
    article = Article.objects.get(pk=keys[0])
    article.slug = "b"
    article.save()
    assert not within(2, UrlChange.objects.exists)
    assert server.thread()["runs"]
    assert within(SOON, lambda: ("added", "/articles/b/") in events())
    assert server.thread()["runs"]
    before, after = json.loads(server.get("/fork/"))
    assert (before["runs"], after["runs"]) == (False, True)


@contextmanager
def gone(table: str) -> Iterator[None]:
    """Do without a table, as if the database had failed."""
    names = [connection.ops.quote_name(name) for name in (table, f"{table}_gone")]
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE {} RENAME TO {}".format(*names))
        yield
        cursor.execute("ALTER TABLE {} RENAME TO {}".format(*reversed(names)))


# Where it runs


@pytest.mark.parametrize("given", [{"BACKGROUND": False}, {"BASE_URL": None}], ids=str)
@pytest.mark.costly
def test_there_is_none_without_an_address_or_where_it_is_off(
    serve: Serve, keys: list[int], given: dict[str, Any]
) -> None:
    server = serve(**given)
    server.get("/robots.txt")
    server.get(f"/save/{keys[0]}/b/")
    assert server.rests()
    assert "/articles/b/" in server.get("/sitemap-news-1.xml"), "requests rebuild it"


def test_pages_are_rebuilt_where_nothing_may_be_submitted(
    serve: Serve, keys: list[int], told: Told
) -> None:
    server = serve(ENGINES=told.engines, BASE_URL="http://localhost:8000")
    server.get(f"/save/{keys[0]}/b/")
    assert within(SOON, lambda: ("removed", "/articles/a0/") in events())
    assert within(SOON, server.rests)
    assert told.paths() == Counter()


# In this process


def is_running() -> bool:
    return "django-sitemaps-plus" in {thread.name for thread in threading.enumerate()}


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, register: Register) -> Iterator[Any]:
    """This process's background, as if it were no test's."""
    register("news", News)
    jobs.background_thread.arm()
    monkeypatch.delattr(mail, "outbox")
    yield jobs.background_thread
    jobs.background_thread.stop()
    jobs.background_thread.arm()


def test_commands_and_tests_have_no_thread(
    own: jobs.BackgroundThread, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert jobs.is_allowed()
    Article.objects.create(slug="b")
    run_command("build_sitemaps")
    assert not is_running(), "this process has answered no request"
    monkeypatch.setattr(mail, "outbox", [], raising=False)
    for hosts in (settings.ALLOWED_HOSTS, ["www.example.com"]):
        settings.ALLOWED_HOSTS = hosts
        own.arm()
        own.request_started()
        Article.objects.create(slug="c")
        assert not is_running(), "this is a test, whatever hosts it allows"


def test_a_server_without_a_thread_notes_which_code_it_runs(
    own: jobs.BackgroundThread, client: Client, settings: Any
) -> None:
    """So that no command of older code takes over, though no page is rebuilt."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BACKGROUND": False}
    client.get("/sitemap-news-1.xml")
    Section.objects.update(digest_served=0)
    # A minute later.
    own.arm()
    own.request_started()
    assert not is_running()
    section = Section.objects.get(name="news")
    assert abs(section.digest_served - time.time()) < 30
    later(9, "digest_since")
    section.refresh_from_db()
    with deploys.as_command():
        assert deploys.is_outdated(section, "of older code")


def test_the_thread_gives_up_what_it_holds_when_its_process_ends(
    own: jobs.BackgroundThread, settings: Any
) -> None:
    """Another process need not wait for as long as this one would have rested."""
    own.request_started()
    Article.objects.create(slug="b")
    assert is_running()
    own.stop()
    assert not is_running()
    assert Change.objects.count() == 1, "another process goes on with it"
    assert not Section.objects.exclude(claimed_by="").exists()
    own.arm()
    changed = {"BACKGROUND_SHARE": 0.0001, "NOTIFY_AFTER": 0}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **changed}
    own.request_started()
    site = Section.objects.filter(name="")
    assert within(SOON, site.filter(claimed_until__gt=time.time() + 60).exists)
    own.stop()
    assert site.get().claimed_by == ""
    assert site.get().claimed_until <= time.time()


@pytest.mark.parametrize("how", ["celery", "tasks"])
def test_the_thread_hands_its_work_to_workers(
    own: jobs.BackgroundThread, settings: Any, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """That of all tenants at a request, and the current one's after a commit."""
    handed: list[tuple[str, str | None]] = []
    monkeypatch.setattr(
        workers, "function", lambda how: lambda tenant: handed.append((how, tenant))
    )
    changed = {"BACKGROUND": how, "NOTIFY_AFTER": 0}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **changed}
    own.request_started()
    assert within(SOON, lambda: handed == [(how, None)])
    Article.objects.create(slug="b")
    assert within(SOON, lambda: handed == [(how, None), (how, "")])
    assert Change.objects.count() == 1, "it does none of it itself"


def no_room(self: threading.Thread) -> None:
    """Fail as Python does when it ends, or has no room for another thread."""
    raise RuntimeError("can't start new thread")


def test_an_engine_is_not_blamed_where_no_thread_can_be_started(
    own: jobs.BackgroundThread, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests need one: their names are resolved there."""
    options = {"key": KEY, "endpoint": f"http://127.0.0.1:{free_port()}/"}
    use(settings, one=("Trusted", options))
    Article.objects.create(slug="b")
    own.request_started()
    monkeypatch.setattr(threading.Thread, "start", no_room)
    assert within(SOON, Submission.objects.exists)
    own.stop()
    assert Submission.objects.get().attempts == 0
    assert EngineState.objects.get().paused_until == 0


def test_what_keeps_the_thread_from_starting_harms_nobody(
    own: jobs.BackgroundThread, settings: Any, monkeypatch: Any, caplog: Any
) -> None:
    known = settings.SITEMAPS_PLUS
    # As where somebody types the scheme into the Site's domain.
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://example.com/?a"}
    for number in (1, 2):
        own.arm()
        caplog.clear()
        own.request_started()
        assert caplog.text.count("The background thread cannot be started.") == 1
        Article.objects.create(slug="b")
        assert caplog.text.count("The background thread cannot be started.") == 2
        assert Change.objects.count() == number
        settings.SITEMAPS_PLUS = known
        monkeypatch.setattr(threading.Thread, "start", no_room)


def test_uwsgi_must_allow_threads(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr(mail, "outbox")
    for options, is_allowed in (
        ({}, False),
        ({"processes": b"4"}, False),
        ({"enable-threads": b"true"}, True),
        ({"threads": b"4"}, True),
    ):
        jobs._warn.cache_clear()
        caplog.clear()
        monkeypatch.setitem(sys.modules, "uwsgi", type("uwsgi", (), {"opt": options}))
        assert [jobs.is_allowed(), jobs.is_allowed()] == [is_allowed] * 2
        assert caplog.text.count("have cron run") == (not is_allowed), "once"
