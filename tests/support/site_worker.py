"""
A process of one Site: it has a ``SITE_ID``, and sections of its own.

Run as a module it reads a command a line, and answers a line each:

- ``{"do": "get", "path": "/sitemap.xml"}`` asks its site for a path;
- ``{"do": "save", "slugs": ["a"]}`` and ``{"do": "delete", "slugs": ["a"]}`` save and
  delete articles, ``{"do": "note", "number": 1}`` saves a note;
- ``{"do": "ping"}`` runs ``ping_sitemaps``.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from tests.support.processes import Spoken, given


class SiteProcess(Spoken):
    """The process, as the test sees it."""

    def __init__(self, site_id: int | None, *sections: str, **settings: Any) -> None:
        told = {"site_id": site_id, "sections": sections}
        super().__init__(__name__, {**given(**settings), **told})

    def __call__(self, do: str, **command: Any) -> Any:
        """Run one command, and return its result."""
        return self.ask({"do": do, **command})


def _register(names: list[str]) -> None:
    from django.db.models import F

    from django_sitemaps_plus import Route, Sitemap
    from django_sitemaps_plus.sitemaps.registry import registry
    from tests.testapp.models import Article, Note

    class Articles(Sitemap):
        model = Article
        limit = 10
        location = Route("article", slug=F("slug"))

    class Notes(Sitemap):
        model = Note
        location = Route("number", number=F("number"))

    for name in names:
        registry.add(name, {"article": Articles, "note": Notes}[name])


def _obey(do: str, command: dict[str, Any]) -> Any:
    from django.db import transaction
    from django.test import Client

    from tests.support.helpers import run_command
    from tests.testapp.models import Article, Note

    if do == "get":
        response = Client().get(command["path"], secure=True)
        return [response.status_code, response.content.decode()]
    if do == "ping":
        return run_command("ping_sitemaps", "--force")
    with transaction.atomic():
        if do == "note":
            Note.objects.create(number=command["number"])
        for slug in command.get("slugs", ()):
            if do == "save":
                Article.objects.get_or_create(slug=slug)[0].save()
            else:
                Article.objects.get(slug=slug).delete()
    return None


def main() -> None:
    """Set up what tests.settings say, with the test's database, and obey."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    from tests import settings

    told = json.loads(sys.argv[1])
    settings.SITEMAPS_PLUS = {}
    settings.use_given(told)
    settings.SITE_ID = told["site_id"]
    import django
    from django.core import mail

    django.setup()
    # What Django's tests have: the command does the work, not a thread.
    mail.outbox = []
    from django_sitemaps_plus.changes import hints

    # No save misses a Site that is new.
    hints.READ_AGAIN = -1.0
    _register(told["sections"])
    for line in sys.stdin:
        command = json.loads(line)
        print(json.dumps(_obey(command.pop("do"), command)), flush=True)  # noqa: T201 (the parent reads it)


if __name__ == "__main__":
    main()
