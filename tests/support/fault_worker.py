"""
Other processes: they do what they are told, and die where they are told.

Run as a module it is a process that starts others by fork, so that each costs
milliseconds. It reads a list of commands a line, starts a process for each at the same
moment, and answers a line each:

- ``{"do": "operate", "what": "save"}`` does one of ``OPERATIONS``;
- ``"kill": 7`` kills the process before its seventh step (kill -9). A step is a
  statement that really reaches the database, or a commit: before it, and after it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from tests.support.processes import Spoken

#: The section that all processes know.
NAME = "faults"
LIMIT = 10
#: Of an object that an operation creates.
NEW = 1_000


class Workers(Spoken):
    """The processes, as the test sees them."""

    def __init__(self, databases: dict[str, str], module: str = __name__) -> None:
        super().__init__(module, {"databases": databases})

    def __call__(self, **command: Any) -> dict[str, Any]:
        """Run one command, and return its result."""
        (result,) = self.together([command])
        return result

    def together(self, commands: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Run commands at the same time, and return their results in order."""
        results: list[dict[str, Any]] = self.ask(list(commands))
        return results


def section_class() -> type[Any]:
    """Return the class of the section that all processes register."""
    from django.db.models import F

    from django_sitemaps_plus import Route, Sitemap
    from tests.testapp.models import Article

    def items(self: Any) -> Any:
        return Article.objects.filter(live=True)

    declared = {
        # One name wherever it runs: another would be another definition.
        "__module__": "tests.support.fault_worker",
        "items": items,
        "limit": LIMIT,
        "location": Route("article", slug=F("slug")),
    }
    return type("FaultSitemap", (Sitemap,), declared)


def main() -> None:
    """Set up what tests.settings say, with the test's database, and obey."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    from tests import settings

    settings.use_given(json.loads(sys.argv[1]))
    import django

    django.setup()
    _warm()
    for line in sys.stdin:
        print(json.dumps(_all(json.loads(line))), flush=True)  # noqa: T201 (the parent reads it)


def _warm() -> None:
    """
    Import here what every request would import in a process of its own.

    As in a test, which has no thread of ours: a child that is forked while SQLite is
    used by another thread would wait for that thread for ever.
    """
    from django.core import mail
    from django.db import connections
    from django.test import Client

    from django_sitemaps_plus.sitemaps.registry import registry

    mail.outbox = []
    registry.add(NAME, section_class())
    Client().get("/robots.txt")
    del mail.outbox
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
        children.append((pid, read))
    os.close(ready)
    os.close(go)
    return [_outcome(*child) for child in children]


def _obey(command: dict[str, Any], write: int) -> None:
    """Run a command in this process, write its result, and end."""
    from django.db import connections

    try:
        result = COMMANDS[command["do"]](command)
    except BaseException as error:
        result = {"error": repr(error)}
    os.write(write, json.dumps(result).encode())
    connections.close_all()
    os._exit(0)


def _outcome(pid: int, read: int) -> dict[str, Any]:
    """Await a process."""
    with os.fdopen(read, "rb") as pipe:
        text = pipe.read()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return {"killed": os.WTERMSIG(status)}
    result: dict[str, Any] = json.loads(text)
    return result


# Operations: each is prepared, then done


def _article(pk: int, **values: Any) -> Any:
    from tests.testapp.models import Article

    article = Article.objects.get(pk=pk)
    vars(article).update(values)
    return article


def _save() -> Callable[[], object]:
    return _article(5, slug="saved").save


def _create() -> Callable[[], object]:
    from tests.testapp.models import Article

    return lambda: Article.objects.create(pk=NEW, slug="created")


def _save_child() -> Callable[[], object]:
    from tests.testapp.models import Story

    story = Story.objects.get()
    story.slug = "child"
    return story.save


def _in_a_transaction() -> Callable[[], object]:
    from django.db import transaction

    from tests.testapp.models import Article

    many = Article.objects.filter(pk__gt=7, pk__lt=11)
    unpublished = _article(12, live=False)
    prepared = [_save(), unpublished.save, _create(), many.delete]

    def run() -> None:
        with transaction.atomic():
            for one in prepared:
                one()

    return run


def _refresh() -> Callable[[], object]:
    from django_sitemaps_plus.building.refresh import assign_all, refresh_all
    from django_sitemaps_plus.sitemaps import sections
    from django_sitemaps_plus.sitemaps.site import Site

    found, place = [sections.source(NAME)], Site.current().address()
    assert place is not None
    return lambda: (assign_all(found), refresh_all(found, place))


def _ask() -> Callable[[], object]:
    from django.test import Client

    return lambda: Client().get(f"/sitemap-{NAME}-1.xml")


#: By name. Those that change objects come first.
OPERATIONS: dict[str, Callable[[], Callable[[], object]]] = {
    "save": _save,
    "create": _create,
    "save a child": _save_child,
    "all in a transaction": _in_a_transaction,
    "refresh": _refresh,
    "ask for a page": _ask,
    "ask for the first page ever": _ask,
}


def _operate(command: dict[str, Any]) -> dict[str, Any]:
    run = OPERATIONS[command["what"]]()
    steps = kill_before(command["kill"])
    run()
    return {"steps": steps()}


#: What a process can be told to do; other modules that run this one add to it.
COMMANDS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"operate": _operate}


def kill_before(moment: int) -> Callable[[], int]:
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


if __name__ == "__main__":
    main()
