"""
Processes that save, delete and refresh articles, and die where they are told.

Run as a module, this is ``ledger_worker`` with other commands:

- ``{"do": "operate", "what": "save"}`` does one of ``OPERATIONS``;
- ``"kill": 7`` kills the process before its seventh step. A step is a statement that
  really reaches the database, or a commit: before it, and after it;
- ``{"do": "background"}`` saves until a time, with the server's own thread running;
- ``{"do": "serve"}`` is a server with threads;
- ``{"do": "deploy"}`` asks for pages again and again, and counts what it makes.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import ledger_worker

#: The section that all processes know.
NAME = "faults"
LIMIT = 10
#: Of the variable by which two processes have different code.
PRIORITY = "SITEMAPS_PLUS_TEST_PRIORITY"
#: How often to go on after a connection was ended.
_TRIES = 5
#: Of an object that an operation creates.
NEW = 1_000


def register_section(log: Path | None = None) -> None:
    """Register the section of all processes."""
    from django_sitemaps_plus.sitemaps.registry import registry

    if NAME in registry.sources():
        registry.remove(NAME)
    registry.add(NAME, article_sitemap())


def article_sitemap() -> type[Any]:
    """Return the section's class, as the environment has it."""
    from django.db.models import F

    from django_sitemaps_plus import Route, Sitemap
    from tests.testapp.models import Article

    def items(self: Any) -> Any:
        return Article.objects.filter(live=True)

    declared = {
        "items": items,
        "limit": LIMIT,
        "location": Route("article", slug=F("slug")),
        "priority": float(os.environ.get(PRIORITY, "0.5")),
    }
    return type("FaultSitemap", (Sitemap,), {"__module__": __name__, **declared})


# Operations: each is prepared, then done


def _save() -> Callable[[], object]:
    article = _article(5)
    article.slug = "saved"
    return article.save


def _save_fields() -> Callable[[], object]:
    article = _article(5)
    article.slug = "saved"
    return lambda: article.save(update_fields=["slug"])


def _save_over() -> Callable[[], object]:
    from tests.testapp.models import Article

    return Article(pk=5, slug="saved").save


def _unpublish() -> Callable[[], object]:
    article = _article(12)
    article.live = False
    return article.save


def _create() -> Callable[[], object]:
    from tests.testapp.models import Article

    return lambda: Article.objects.create(pk=NEW, slug="created")


def _create_child() -> Callable[[], object]:
    from tests.testapp.models import Story

    return lambda: Story.objects.create(pk=NEW, slug="created")


def _save_child() -> Callable[[], object]:
    from tests.testapp.models import Story

    story = Story.objects.get()
    story.slug = "saved"
    return story.save


def _delete() -> Callable[[], object]:
    return _article(20).delete


def _delete_child() -> Callable[[], object]:
    from tests.testapp.models import Story

    return Story.objects.get().delete


def _delete_many() -> Callable[[], object]:
    from tests.testapp.models import Article

    return Article.objects.filter(pk__gt=7, pk__lt=23).delete


def _atomic(*operations: Callable[[], Callable[[], object]]) -> Callable[[], Any]:
    """Do operations together, in one transaction."""

    def prepare() -> Callable[[], object]:
        from django.db import transaction

        prepared = [operation() for operation in operations]

        def run() -> None:
            with transaction.atomic():
                for one in prepared:
                    one()

        return run

    return prepare


def _gathered() -> Callable[[], object]:
    from django.db import transaction

    from django_sitemaps_plus import gather_changes

    prepared = [_save(), _create(), _delete_many()]

    def run() -> None:
        with transaction.atomic(), gather_changes():
            for one in prepared:
                one()

    return run


def _refresh() -> Callable[[], object]:
    from django_sitemaps_plus.publishing import refresh
    from django_sitemaps_plus.sitemaps import sections
    from django_sitemaps_plus.sitemaps.site import configured

    found, place = sections.source(NAME), configured()
    assert place is not None
    return lambda: refresh.refresh(found, place)


def _request(path: str) -> Callable[[], Callable[[], object]]:
    def prepare() -> Callable[[], object]:
        from django.test import Client

        return lambda: Client().get(path)

    return prepare


def _article(pk: int) -> Any:
    from tests.testapp.models import Article

    return Article.objects.get(pk=pk)


#: By name. Those that change objects come first.
OPERATIONS: dict[str, Callable[[], Callable[[], object]]] = {
    "save": _save,
    "save fields": _save_fields,
    "save over": _save_over,
    "save in a transaction": _atomic(_save),
    "unpublish": _unpublish,
    "create": _create,
    "create in a transaction": _atomic(_create),
    "create a child": _create_child,
    "save a child": _save_child,
    "delete": _delete,
    "delete a child": _delete_child,
    "delete many": _delete_many,
    "all in a transaction": _atomic(_save, _unpublish, _create, _delete_many),
    "gathered": _gathered,
    "refresh": _refresh,
    "ask for a page": _request(f"/sitemap-{NAME}-1.xml"),
    "ask for the index": _request(f"/sitemap-{NAME}.xml"),
}


def _operate(command: dict[str, Any]) -> dict[str, Any]:
    run = OPERATIONS[command["what"]]()
    steps = _kill_before(command["kill"])
    run()
    return {"steps": steps()}


def _kill_before(moment: int) -> Callable[[], int]:
    """Kill this process before its ``moment``-th step (kill -9); counts them."""
    from django.db.backends.base.base import BaseDatabaseWrapper
    from django.db.backends.utils import CursorWrapper

    count = 0

    def step() -> None:
        nonlocal count
        count += 1
        if count == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    execute, commit = CursorWrapper._execute, BaseDatabaseWrapper._commit

    def stepping(self: Any, *args: Any) -> Any:
        step()
        return execute(self, *args)

    def committing(self: Any) -> Any:
        step()
        try:
            return commit(self)
        finally:
            step()

    CursorWrapper._execute = stepping
    BaseDatabaseWrapper._commit = committing
    return lambda: count


# A server's process


def _background(command: dict[str, Any]) -> dict[str, Any]:
    """Save for some seconds, while the server's own thread makes the pages."""
    from django.db import Error, connection

    from django_sitemaps_plus.delivery.background import background
    from tests.testapp.models import Article

    background.request_started()
    end = time.monotonic() + command["seconds"]
    failed = turn = 0
    while time.monotonic() < end:
        turn += 1
        number = turn % 25 + 1
        try:
            article = Article.objects.get(pk=number)
            article.slug = f"turn-{turn}"
            article.save()
        except (Error, connection.Database.Error):
            # As the next request does, which finds the connection closed. The driver's
            # own error is what mysqlclient raises when Django closes a lost cursor.
            failed += 1
            connection.close_if_unusable_or_obsolete()
        time.sleep(0.02)
    return {"failed": failed, "waiting": _wait_for_pages(command["rest"])}


def _wait_for_pages(seconds: float) -> int:
    """Wait until no change waits any more; returns how many do in the end."""
    from django.db import Error, connection

    from django_sitemaps_plus.models import Change, Page, Section
    from tests.testapp.models import Article

    for _ in range(_TRIES):
        try:
            # It may be the last one that was ended.
            connection.close()
            # Those who were cut off hold their leases for minutes: let these pass.
            Section.objects.update(refresh_until=0, lease_until=0)
            Page.objects.update(making_until=0)
            Article.objects.get(pk=1).save()
            break
        except (Error, connection.Database.Error):
            time.sleep(0.5)
    end, waiting = time.monotonic() + seconds, -1
    while waiting and time.monotonic() < end:
        time.sleep(0.1)
        try:
            waiting = Change.objects.count()
        except (Error, connection.Database.Error):
            # On a busy machine the last one is ended by now.
            connection.close()
    return waiting


def _serve(command: dict[str, Any]) -> dict[str, Any]:
    """Answer requests over a socket, a thread for each, until it is told to stop."""
    from wsgiref.simple_server import WSGIRequestHandler

    from django.core.handlers.wsgi import WSGIHandler
    from django.core.servers.basehttp import ThreadedWSGIServer

    class Quiet(WSGIRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing."""

    class Server(ThreadedWSGIServer):
        request_queue_size = 500
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Quiet)
    server.set_app(WSGIHandler())
    Path(command["address"]).write_text(str(server.server_address[1]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    while not Path(command["stop"]).exists():
        time.sleep(0.05)
    server.shutdown()
    return {}


def _deploy(command: dict[str, Any]) -> dict[str, Any]:
    """Ask for pages again and again; count how often rows were read for one."""
    from django.db import connection
    from django.test import Client

    read = 0

    def counted(run: Any, sql: str, *args: Any) -> Any:
        nonlocal read
        read += sql.startswith("SELECT") and "testapp_article" in sql
        return run(sql, *args)

    connection.execute_wrappers.append(counted)
    client, bodies = Client(), dict[str, str]()
    for _ in range(command["times"]):
        for path in command["paths"]:
            answer = client.get(path)
            assert answer.status_code == 200, answer.content
            bodies[path] = answer.content.decode()
        time.sleep(0.02)
    return {"read": read, "bodies": bodies}


if __name__ == "__main__":
    ledger_worker.COMMANDS.update(
        operate=_operate, background=_background, serve=_serve, deploy=_deploy
    )
    ledger_worker.main(register_section)
