"""
A process that answers requests, and obeys one line after the other.

It says its port first, and after each line what came of it: ``save <pk> <slug>``,
``atomic <pk> <slug>``, ``thread`` (does ours run?), ``break`` and ``mend``
(its database), ``fork`` (does a child's thread run, before and after a request?).
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    def log_message(self, *args: Any) -> None:
        """Say nothing: the tests read what this process writes."""


def main() -> None:
    given = json.loads(sys.argv[1])
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    from tests import settings

    settings.use_given(given)
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    settings.INSTALLED_APPS.remove("django.contrib.sites")
    from django.core.wsgi import get_wsgi_application

    application = get_wsgi_application()
    from django_sitemaps_plus.delivery import background
    from django_sitemaps_plus.sitemaps.registry import registry
    from tests.publishing.test_freshness import News

    registry.add("news", News)
    background.IDLE = given["idle"]
    server = make_server("127.0.0.1", 0, application, handler_class=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)  # noqa: T201
    for line in sys.stdin:
        print(_obey(*line.split()), flush=True)  # noqa: T201


def _obey(what: str, *arguments: str) -> str:
    from django.db import connections

    known: dict[str, Callable[..., str | None]] = {
        "save": _save,
        "atomic": _atomic,
        "thread": _thread,
        "break": _break,
        "mend": _mend,
        "fork": _fork,
    }
    try:
        return known[what](*arguments) or "done"
    finally:
        connections.close_all()


def _save(pk: str, slug: str) -> None:
    from tests.testapp.models import Article

    article = Article.objects.get(pk=pk)
    article.slug = slug
    article.save()


def _atomic(pk: str, slug: str) -> None:
    from django.db import transaction

    with transaction.atomic():
        _save(pk, slug)


def _thread() -> str:
    return str("django-sitemaps-plus" in {t.name for t in threading.enumerate()})


def _break() -> None:
    """Have every look for work fail, as a database does that went away."""
    from django.db import OperationalError

    from django_sitemaps_plus.publishing import refresh

    def fail(*args: Any) -> Any:
        raise OperationalError("gone away")

    refresh.__dict__["kept_waiting"] = refresh.waiting
    refresh.waiting = fail


def _mend() -> None:
    from django_sitemaps_plus.publishing import refresh

    refresh.waiting = refresh.__dict__["kept_waiting"]


def _fork() -> str:
    """Answer a request in a child of this process, and tell whether its thread runs."""
    from django.test import Client

    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        before = _thread()
        Client().get("/robots.txt")
        os.write(write, f"{before} {_thread()}".encode())
        os._exit(0)
    os.waitpid(pid, 0)
    return os.read(read, 100).decode()


if __name__ == "__main__":
    main()
