"""What a process of the nursery can be told to be."""

from __future__ import annotations

import io
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from django.core.management import CommandError, call_command
from django.db import connection, connections, transaction

from django_sitemaps_plus import touch
from django_sitemaps_plus.delivery.background import work
from tests.testapp.models import Article, Category, Tag

from . import reader, writer
from .journal import Journal

Told = dict[str, Any]
#: Seconds that a worker waits at most before it looks for work again.
LOOK = 0.2


def be_worker(told: Told) -> None:
    """Do the background's work until the race is over."""
    journal = Journal(Path(told["folder"]), f"worker-{told['name']}")
    while not Path(told["stop"]).exists():
        begun = time.time()
        try:
            wait = work()
            journal.write(looked=[begun, time.time()])
        except Exception:
            # As the server's thread does, which looks again after a while.
            journal.write(at=time.time(), error=traceback.format_exc())
            connection.close()
            wait = LOOK
        time.sleep(LOOK if wait is None else max(0.02, min(LOOK, wait)))


def run_command(told: Told) -> dict[str, Any]:
    """Run ``manage.py``: what it wrote, and its exit code."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        with redirect_stdout(out):
            call_command(*told["arguments"], "--no-color", stdout=out, stderr=err)
    except CommandError as error:
        err.write(f"{error}\n")
        code = error.returncode
    return {"out": out.getvalue(), "err": err.getvalue(), "code": code}


def get(told: Told) -> list[dict[str, Any]]:
    """Ask for some addresses."""
    ask, found = reader.from_client(), []
    for path in told["paths"]:
        answer = ask(path, {})
        found.append(vars(answer) | {"body": answer.body.decode()})
    connections.close_all()
    return found


def save(told: Told) -> None:
    """Give articles other slugs, one after the other."""
    for pk, slug in told["slugs"]:
        article = Article.objects.get(pk=pk)
        article.slug = slug
        article.save()
        time.sleep(told.get("pause", 0))


def do_all(told: Told) -> None:
    """Save, create and delete, in transactions and out of them."""
    first, second, third, *_ = Article.objects.order_by("pk")
    first.save()
    second.delete()
    with transaction.atomic():
        third.category = Category.objects.create(slug="new")
        third.save()
        Tag.objects.create(article=third, name="new")
        touch(Article.objects.filter(pk=third.pk))
    third.category.delete()


def be_asker(told: Told) -> dict[str, int]:
    """Ask for some addresses until the end; how often each status was the answer."""
    ask, found = reader.from_client(), Counter[str]()
    while not Path(told["stop"]).exists():
        for path in told["paths"]:
            found[str(ask(path, {}).status)] += 1
        time.sleep(0.02)
    return found


ROLES: dict[str, Callable[[Told], Any]] = {
    "writer": writer.write,
    "reader": reader.read,
    "worker": be_worker,
    "command": run_command,
    "get": get,
    "save": save,
    "do all": do_all,
    "asker": be_asker,
}
