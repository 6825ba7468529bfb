"""What a process of the nursery can be told to be."""

from __future__ import annotations

import io
import time
import traceback
from collections import Counter
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
from .nursery import Role

#: Seconds that a worker waits at most before it looks for work again.
LOOK = 0.2


def be_worker(command: dict[str, Any]) -> int:
    """Do the background's work until the race is over."""
    stop = Path(command["stop"])
    journal = Journal(Path(command["folder"]), f"worker-{command['name']}")
    turns = 0
    while not stop.exists():
        turns += 1
        try:
            wait = work()
        except Exception:
            # As the server's thread does, which looks again after a while.
            journal.write(at=time.time(), error=traceback.format_exc())
            connection.close()
            wait = LOOK
        time.sleep(LOOK if wait is None else max(0.02, min(LOOK, wait)))
    return turns


def run_command(command: dict[str, Any]) -> dict[str, Any]:
    """Run ``manage.py``: what it wrote, its exit code, and the seconds it took."""
    started = time.monotonic()
    out, err, code = io.StringIO(), io.StringIO(), 0
    try:
        with redirect_stdout(out):
            call_command(*command["arguments"], "--no-color", stdout=out, stderr=err)
    except CommandError as error:
        err.write(f"{error}\n")
        code = error.returncode
    seconds = time.monotonic() - started
    return {
        "out": out.getvalue(),
        "err": err.getvalue(),
        "code": code,
        "seconds": seconds,
    }


def get(command: dict[str, Any]) -> list[dict[str, Any]]:
    """Ask for some addresses."""
    ask = reader.from_client()
    found = []
    for path in command["paths"]:
        begun = time.monotonic()
        answer = ask(path, command.get("headers", {}))
        found.append(
            {
                "status": answer.status,
                "headers": answer.headers,
                "body": answer.body.decode(),
                "seconds": time.monotonic() - begun,
            }
        )
    connections.close_all()
    return found


def save(command: dict[str, Any]) -> None:
    """Give articles other slugs, one after the other."""
    for pk, slug in command["slugs"]:
        article = Article.objects.get(pk=pk)
        article.slug = slug
        article.save()
        time.sleep(command.get("pause", 0))


def do_all(command: dict[str, Any]) -> None:
    """Save, create and delete, in transactions and out of them."""
    first, second, third, *_ = Article.objects.order_by("pk")
    first.slug = "saved"
    first.save()
    second.delete()
    Article.objects.create(pk=command["new"], slug="created")
    with transaction.atomic():
        category = Category.objects.create(slug="new")
        third.category = category
        third.save()
        Tag.objects.create(article=third, name="new")
        Article.objects.filter(pk=third.pk).update(title="updated")
        touch(Article.objects.filter(pk=third.pk))
    category.delete()


def be_asker(command: dict[str, Any]) -> dict[str, int]:
    """Ask for some addresses until the end; how often each status was the answer."""
    stop, ask = Path(command["stop"]), reader.from_client()
    found: Counter[str] = Counter()
    while not stop.exists():
        for path in command["paths"]:
            found[str(ask(path, {}).status)] += 1
        time.sleep(0.02)
    return found


ROLES: dict[str, Role] = {
    "writer": writer.write,
    "reader": reader.read,
    "worker": be_worker,
    "command": run_command,
    "get": get,
    "save": save,
    "do all": do_all,
    "asker": be_asker,
}
