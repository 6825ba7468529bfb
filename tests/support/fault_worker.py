"""
Processes that save, delete and refresh articles, and die where they are told.

Run as a module, this is ``ledger_worker`` with another command:

- ``{"do": "operate", "what": "save"}`` does one of ``OPERATIONS``;
- ``"kill": 7`` kills the process before its seventh step. A step is a statement that
  really reaches the database, or a commit: before it, and after it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support import ledger_worker

#: The section that all processes know.
NAME = "faults"
LIMIT = 10
#: Of an object that an operation creates.
NEW = 1_000


def register_section(log: Path | None = None) -> None:
    """Register the section of all processes."""
    from django_sitemaps_plus.sitemaps.registry import registry

    if NAME in registry.sources():
        registry.remove(NAME)
    registry.add(NAME, article_sitemap())


def article_sitemap() -> type[Any]:
    """Return the section's class."""
    from django.db.models import F

    from django_sitemaps_plus import Route, Sitemap
    from tests.testapp.models import Article

    def items(self: Any) -> Any:
        return Article.objects.filter(live=True)

    declared = {
        "items": items,
        "limit": LIMIT,
        "location": Route("article", slug=F("slug")),
    }
    # One name wherever it runs: another would be another definition.
    module = "tests.support.fault_worker"
    return type("FaultSitemap", (Sitemap,), {"__module__": module, **declared})


# Operations: each is prepared, then done


def _article(pk: int, **values: Any) -> Any:
    from tests.testapp.models import Article

    article = Article.objects.get(pk=pk)
    vars(article).update(values)
    return article


def _save() -> Callable[[], object]:
    return _article(5, slug="saved").save


def _unpublish() -> Callable[[], object]:
    return _article(12, live=False).save


def _create() -> Callable[[], object]:
    from tests.testapp.models import Article

    return lambda: Article.objects.create(pk=NEW, slug="created")


def _save_child() -> Callable[[], object]:
    from tests.testapp.models import Story

    story = Story.objects.get()
    story.slug = "child"
    return story.save


def _delete_many() -> Callable[[], object]:
    from tests.testapp.models import Article

    return Article.objects.filter(pk__gt=7, pk__lt=11).delete


def _in_a_transaction() -> Callable[[], object]:
    from django.db import transaction

    prepared = [one() for one in (_save, _unpublish, _create, _delete_many)]

    def run() -> None:
        with transaction.atomic():
            for one in prepared:
                one()

    return run


def _refresh() -> Callable[[], object]:
    from django_sitemaps_plus.publishing.refresh import refresh_all, report_all
    from django_sitemaps_plus.sitemaps import sections
    from django_sitemaps_plus.sitemaps.site import configured

    found, place = [sections.source(NAME)], configured()
    assert place is not None
    return lambda: (report_all(found), refresh_all(found, place))


def _ask() -> Callable[[], object]:
    from django.test import Client

    return lambda: Client().get(f"/sitemap-{NAME}-1.xml")


#: By name. Those that change objects come first.
OPERATIONS: dict[str, Callable[[], Callable[[], object]]] = {
    "save": _save,
    "create": _create,
    "save a child": _save_child,
    "delete many": _delete_many,
    "all in a transaction": _in_a_transaction,
    "refresh": _refresh,
    "ask for a page": _ask,
}


def _operate(command: dict[str, Any]) -> dict[str, Any]:
    run = OPERATIONS[command["what"]]()
    steps = kill_before(command["kill"])
    run()
    return {"steps": steps()}


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
    ledger_worker.COMMANDS.update(operate=_operate)
    ledger_worker.main(register_section)
