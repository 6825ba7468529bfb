"""
A process that writes to an SQLite database, as others do at the same time.

Run as a module it reads ``{"file": …, "mode": …, "watched": …, "work": …, "times": …}``
from its command line, waits for a line, works, and says how often it met a lock.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from tests.support.processes import ROOT

#: Processes that write at once.
WRITERS = 4


def locks_met(**told: Any) -> int:
    """Have several processes write at once, and return how often one met a lock."""
    command = [sys.executable, "-m", __name__, json.dumps(told)]
    processes = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for _ in range(WRITERS)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return sum(int(process.communicate()[0]) for process in processes)


def _set_up(told: dict[str, Any]) -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    from tests import settings

    options: dict[str, Any] = {
        "timeout": 60,
        "init_command": "PRAGMA synchronous = OFF",
    }
    if told["mode"]:
        options["transaction_mode"] = told["mode"]
    settings.DATABASES["default"]["NAME"] = told["file"]
    settings.DATABASES["default"]["OPTIONS"] = options
    import django

    django.setup()
    if told["watched"]:
        from django.db.models import F

        from django_sitemaps_plus import Route, Sitemap
        from django_sitemaps_plus.sitemaps.registry import registry
        from tests.testapp.models import Article, Spot

        class Articles(Sitemap):
            model = Article
            location = Route("article", slug=F("slug"))

        class Spots(Sitemap):
            location = Route("article", slug=F("name"))

            def items(self) -> Any:
                return Spot.objects.filter(labels__name="shown")

        registry.add("articles", Articles)
        registry.add("spots", Spots)


def _adds() -> Callable[[], object]:
    from tests.testapp.models import Label, Spot

    spot, labels = Spot.objects.create(name="a"), iter(Label.objects.all())
    return lambda: spot.labels.add(next(labels))


def _deletes() -> Callable[[], object]:
    from django.db import transaction

    from tests.testapp.models import Article

    slug = f"of-{os.getpid()}"

    def work() -> None:
        Article.objects.create(slug=slug)
        with transaction.atomic():
            Article.objects.filter(slug=slug).delete()

    return work


def main() -> None:
    """Write, as often as told."""
    told = json.loads(sys.argv[1])
    _set_up(told)
    from django.db import OperationalError, connection

    connection.ensure_connection()
    work = {"adds": _adds, "deletes": _deletes}[told["work"]]()
    print("ready", flush=True)  # noqa: T201 (the parent reads it)
    sys.stdin.readline()
    locks = 0
    for _ in range(told["times"]):
        try:
            work()
        except OperationalError as error:
            if "locked" not in str(error):
                raise
            locks += 1
    print(locks)  # noqa: T201 (the parent reads it)


if __name__ == "__main__":
    main()
