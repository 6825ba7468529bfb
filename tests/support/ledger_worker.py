"""
Other processes: they do what they are told, and die when they are told.

Run as a module it is a process that starts others by fork, so that each costs
milliseconds. It reads a command a line, and answers a line each:

- ``{"do": "get", "path": "/sitemap.xml"}`` asks for a path;
- ``{"do": "live"}`` changes rows and asks for pages until it is killed;
- ``"die": 7`` kills it before its seventh statement, by itself;
- ``"after": 0.05`` kills it from outside after so many seconds.

Commands in a list start at the same moment, in a process each.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_HURRY = {
    "sqlite": "PRAGMA synchronous = OFF",
    "postgresql": "SET synchronous_commit = off",
}
#: The section that all processes know.
NAME = "shared"
LIMIT = 10


class Workers:
    """The processes, as the test sees them."""

    def __init__(
        self, databases: dict[str, str], log: Path, module: str = __name__
    ) -> None:
        given = {"databases": databases, "log": str(log)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, json.dumps(given)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent.parent,
        )

    def __call__(self, **command: Any) -> dict[str, Any]:
        """Run one command, and return its result."""
        (result,) = self.together([command])
        return result

    def together(self, commands: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Run commands at the same time, and return their results in order."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(list(commands)) + "\n")
        stdin.flush()
        results: list[dict[str, Any]] = json.loads(stdout.readline())
        return results

    def close(self) -> None:
        """End it."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.close()
        self._process.wait()
        stdout.close()


def register_section(log: Path | None = None) -> None:
    """Register the section of all processes; with a log it takes note of each entry."""
    from django_sitemaps_plus.sitemaps.registry import registry
    from tests.support.ledger_kinds import KINDS
    from tests.support.ledger_world import sitemap_class

    attributes: dict[str, Any] = {}
    if log is not None:

        def changefreq(self: Any, item: Any) -> str:
            with log.open("a") as file:
                file.write(f"{item.pk}\n")
            return "daily"

        attributes["changefreq"] = changefreq
    if NAME in registry.sources():
        registry.remove(NAME)
    registry.add(NAME, sitemap_class(KINDS["integers"], LIMIT, **attributes))


def main(register: Callable[[Path | None], None] = register_section) -> None:
    """Set up what tests.settings say, with the test's database, and obey."""
    given = json.loads(sys.argv[1])
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    from tests import settings

    settings.use_given(given)
    import django
    from django.db.backends.signals import connection_created

    django.setup()
    connection_created.connect(hurry)
    _warm(register)
    log = Path(given["log"])
    for line in sys.stdin:
        commands = json.loads(line)
        register(log if commands[0].get("logged") else None)
        print(json.dumps(_all(commands)), flush=True)  # noqa: T201


def hurry(connection: Any, **kwargs: Any) -> None:
    """Have a new connection's commits not wait for the disk."""
    if connection.vendor in _HURRY:
        with connection.cursor() as cursor:
            cursor.execute(_HURRY[connection.vendor])


def _warm(register: Callable[[Path | None], None]) -> None:
    """
    Import here what every request would import in a process of its own.

    As in a test, which has no thread of ours: a child that is forked while SQLite is
    used by another thread would wait for that thread for ever.
    """
    from django.core import mail
    from django.db import connections
    from django.test import Client

    mail.outbox = []  # type: ignore[attr-defined]  # what Django's tests have
    register(None)
    Client().get("/robots.txt")
    del mail.outbox  # type: ignore[attr-defined]  # the same
    connections.close_all()


def _all(commands: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Start a process for each command, let them go at once, and await them."""
    ready, go = os.pipe()
    children = []
    for command in commands:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(go)
            os.read(ready, 1)
            _obey(command, write)
        os.close(write)
        children.append((pid, read, command.get("after")))
    os.close(ready)
    os.close(go)
    return [_outcome(*child) for child in children]


def _obey(command: dict[str, Any], write: int) -> None:
    """Run a command in this process, write its result, and end."""
    from django.db import connections

    try:
        if "die" in command:
            _die_before(command["die"])
        result = COMMANDS[command["do"]](command)
    except BaseException as error:
        result = {"error": repr(error)}
    os.write(write, json.dumps(result).encode())
    connections.close_all()
    os._exit(0)


def _outcome(pid: int, read: int, after: float | None) -> dict[str, Any]:
    """Await a process, or kill it when its time is over."""
    ready, _, _ = select.select([read], [], [], after)
    if not ready:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read()
    if os.WIFSIGNALED(status):
        return {"killed": os.WTERMSIG(status)}
    result: dict[str, Any] = json.loads(text)
    return result


def _die_before(moment: int) -> None:
    """Kill this process before its ``moment``-th statement: kill -9."""
    from django.db import connections

    count = 0

    def execute(run: Any, *args: Any) -> Any:
        nonlocal count
        count += 1
        if count == moment:
            os.kill(os.getpid(), signal.SIGKILL)
        return run(*args)

    for connection in connections.all():
        connection.execute_wrappers.append(execute)


def _get(command: dict[str, Any]) -> dict[str, Any]:
    from django.test import Client

    answer = Client().get(command["path"])
    return {
        "status": answer.status_code,
        "tag": answer.headers.get("ETag"),
        "body": answer.content.decode(),
    }


def _live(command: dict[str, Any]) -> dict[str, Any]:
    """Change rows and ask for what there is, for ever."""
    from django.db import OperationalError
    from django.test import Client

    from tests.support.ledger_kinds import KINDS
    from tests.support.ledger_world import age

    kind = KINDS["integers"]
    client = Client()
    rng = random.Random(command["seed"])  # noqa: S311 (nothing secret)
    started = time.monotonic()
    while time.monotonic() < started + 60:
        numbers = sorted(rng.sample(range(400), 12))
        rows = [{"id": number, "slug": f"r{number}-0"} for number in numbers]
        there = sorted(kind.all().values_list("id", flat=True))
        # Two who write the same rows may block each other: their affair, not ours.
        with contextlib.suppress(OperationalError):
            kind.insert(rows, ignore=True)
            if len(there) > 60:
                kind.all().filter(id__in=rng.sample(there, 20)).delete()
        age(verified=rng.random() < 0.5, grace=rng.random() < 0.2)
        client.get(f"/sitemap-{NAME}.xml")
        for number in rng.sample(range(1, 12), 4):
            client.get(f"/sitemap-{NAME}-{number}.xml")
    return {}


#: What a process can be told to do; other modules that run this one add to it.
COMMANDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "get": _get,
    "live": _live,
}

if __name__ == "__main__":
    main()
