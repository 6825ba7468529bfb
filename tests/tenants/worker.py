"""
A process of a project with tenants: it serves requests, and has a background.

Run as a module it reads a command a line, and answers a line each; ``DO`` has them.
"""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
from contextlib import AbstractContextManager, redirect_stderr, redirect_stdout
from importlib import import_module
from io import StringIO
from typing import Any

from tests.support.processes import ROOT
from tests.support.run_python import python


def environment(kind: str, **given: Any) -> dict[str, str]:
    """Return the variables of a project: ``schemas`` or ``databases``."""
    module = f"tests.tenants.{kind}"
    return {"DJANGO_SETTINGS_MODULE": module, "GIVEN": json.dumps(given)}


def django(kind: str, *command: str, **given: Any) -> subprocess.CompletedProcess[str]:
    """Run a command of a project to its end."""
    return python("-m", "django", *command, **environment(kind, **given))


class Worker:
    """The process, as the test sees it."""

    def __init__(self, kind: str, **given: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **environment(kind, **given)},
        )

    def begin(self, do: str, **command: Any) -> None:
        """Begin a command."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **command}) + "\n")
        self._process.stdin.flush()

    def end(self) -> Any:
        """Return the result of the command that was begun."""
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline())

    def __call__(self, do: str, **command: Any) -> Any:
        """Run one command, and return its result."""
        self.begin(do, **command)
        return self.end()

    def close(self) -> None:
        """End it politely."""
        self._process.communicate(timeout=60)


# In the process


def _inside(tenant: str) -> AbstractContextManager[object]:
    """Make a tenant current, as the project does."""
    if os.environ["DJANGO_SETTINGS_MODULE"].endswith("schemas"):
        utils = import_module("django_tenants.utils")
        context: AbstractContextManager[object] = utils.schema_context(tenant)
        return context
    from tests.tenants.routing import Databases

    return Databases().active(tenant)


def get(host: str, path: str = "/sitemap.xml") -> Any:
    """Ask a host for a path."""
    from django.test import Client

    response = Client().get(path, headers={"host": host}, secure=True)
    return [response.status_code, response.content.decode()]


def save(tenant: str, slug: str) -> None:
    """Save a post of a tenant."""
    from tests.tenants.blog.models import Post

    with _inside(tenant):
        Post.objects.create(slug=slug)


def together(tenants: list[str], slug: str) -> None:
    """Save posts of several tenants in one transaction, begun outside of them."""
    from django.db import transaction

    with transaction.atomic():
        for tenant in tenants:
            save(tenant, slug)


def away(tenant: str, slug: str) -> None:
    """Save a post while changes cannot be written."""
    from django_sitemaps_plus.changes import hints

    hints._away_until["default"] = time.monotonic() + 3600
    try:
        save(tenant, slug)
    finally:
        hints._away_until.clear()


def write_late(tenant: str) -> None:
    """Write what waits in memory, while a tenant is current."""
    from django_sitemaps_plus.changes import hints

    with _inside(tenant):
        hints.write_late()


def store_reads(tenant: str) -> None:
    """Store who read sitemaps, while a tenant is current."""
    from django_sitemaps_plus import hooks

    with _inside(tenant):
        hooks.store(process_ends=True)


def race(tenants: list[str], name: str, threads: int, count: int) -> list[str]:
    """
    Save and read in many threads, each in another tenant every time.

    Return the URLs that a tenant listed and that were not its own, and errors.
    """
    from django.db import connections

    wrong: list[str] = []

    def run(number: int) -> None:
        try:
            for step in range(count):
                tenant = tenants[(number + step) % len(tenants)]
                slug = f"{tenant}-{name}-{number}-{step}"
                if step % 3:
                    save(tenant, slug)
                else:
                    together([tenant, tenants[(number + step + 1) % 10]], slug)
                status, text = get(f"{tenant}.example.com")
                found = re.findall("<loc>(.*?)</loc>", text)
                own = f"https://{tenant}.example.com/"
                wrong.extend(url for url in found if not url.startswith(own))
                if status not in (200, 503):
                    wrong.append(f"{status} {tenant}")
        except Exception as error:
            wrong.append(repr(error))
        finally:
            connections.close_all()

    runners = [threading.Thread(target=run, args=(n,)) for n in range(threads)]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    return wrong


def manage(arguments: list[str]) -> Any:
    """Run a command: its output, errors, and exit code."""
    from django.core.management import execute_from_command_line

    out, err, code = StringIO(), StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            execute_from_command_line(["manage.py", *arguments])
        except SystemExit as end:
            code = int(end.code or 0)
    return out.getvalue(), err.getvalue(), code


def schema_of_bytes(tenant: str) -> str:
    """Return the schema from which stored bytes are read, by the first statement."""
    from django_sitemaps_plus.db import binary_cursor

    with _inside(tenant), binary_cursor("default") as cursor:
        cursor.execute("SELECT current_schema()")
        return str(cursor.fetchone()[0])


def read_as_documented(block: str) -> dict[str, int]:
    """Return what waits for each tenant, by the example of a page."""
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102 (of our own documentation)
    waiting: dict[str, int] = names["waiting"]
    return waiting


#: What this package has logged of errors.
_logged: list[str] = []


class _Handler(logging.Handler):
    """Remembers what is logged."""

    def emit(self, record: logging.LogRecord) -> None:
        _logged.append(self.format(record))


def logged() -> list[str]:
    """Return what was logged of errors."""
    return _logged


DO = {
    one.__name__: one
    for one in (
        *(get, save, together, away, write_late, store_reads, race),
        *(manage, schema_of_bytes, read_as_documented, logged),
    )
}


def main() -> None:
    """Set up the project, and obey."""
    import django

    django.setup()
    from django.conf import settings

    from django_sitemaps_plus.delivery import thread

    logging.getLogger("django_sitemaps_plus").addHandler(_Handler(logging.ERROR))
    if each := settings.GIVEN.get("each"):
        thread.EACH = each
    for line in sys.stdin:
        command = json.loads(line)
        print(json.dumps(DO[command.pop("do")](**command)), flush=True)  # noqa: T201 (the parent reads it)


if __name__ == "__main__":
    main()
