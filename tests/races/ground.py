"""Where races and accidents happen: processes, servers, an engine, and the ledger."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from django.db.models import QuerySet

from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.models import Change, Page, Section, Submission, UrlChange
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.fakes.ports import free_port
from tests.support.fakes.webhook import FakeWebhook, Heard
from tests.support.processes import ROOT, THOROUGH, given, within

from . import reader
from .nursery import Nursery
from .site import HOST, INTERVAL, KEY, ORIGIN, settings_of
from .truth import Entry
from .verdict import Event

#: Seconds for which at most the dead keep others away, and in which all that they held
#: has to be free.
CLAIM, FREE = 16.0, 20.0
#: Seconds for a server to start, and to end politely.
START, END = 60.0, 20.0

_URL = re.compile(
    r"<url><loc>[^<]+</loc>(?:<lastmod>[^<]+</lastmod>)?"
    r"(?:<priority>[^<]+</priority>)?</url>\n"
)
_EMPTY = re.compile(r"(<\?xml\b[^>]*>\s*){1,2}<urlset\b[^>]*>\s*</urlset>\s*")

SERVERS = {
    "gunicorn": ["gunicorn", "tests.races.server", "--bind", "127.0.0.1:{port}"],
    "uvicorn": ["uvicorn", "tests.races.server:asgi", "--port", "{port}"],
}


class Server:
    """A real server on the site."""

    def __init__(self, kind: str, given: dict[str, Any], *options: str) -> None:
        self.port = free_port()
        self.get = reader.from_server(self.port)
        command = [part.format(port=self.port) for part in SERVERS[kind]]
        self.log = Path(given["folder"]) / f"{kind}.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *command, *options],
                env={**os.environ, "SITEMAPS_PLUS_TEST_RACE": json.dumps(given)},
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )

    def answers(self) -> bool:
        """Return whether it has started."""
        return self.get("/robots.txt", {}).status == 200

    def workers(self) -> list[int]:
        """Return the process ids of those that answer requests."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return [int(child) for child in children.split()]

    def close(self) -> None:
        """End it politely."""
        self.process.terminate()
        self.process.wait(END)


class Ground:
    """The site: its processes, what engines are told, and what is in the ledger."""

    def __init__(
        self,
        folder: Path,
        sections: str,
        *,
        options: dict[str, Any] | None = None,
        webhooks: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        self.folder = folder
        self.stack = ExitStack()
        self.engine = self.stack.enter_context(FakeIndexNow("api", rest=INTERVAL - 0.5))
        self.engine.trust(HOST, KEY)
        enter = self.stack.enter_context
        self.webhooks = {event: enter(FakeWebhook(KEY)) for event in webhooks}
        urls = {event: webhook.url for event, webhook in self.webhooks.items()}
        self.settings = settings_of(self.engine.url, urls, **settings)
        self.given = {
            **given(**self.settings),
            "options": options or {},
            "sections": sections,
            "folder": str(folder),
        }
        self.nursery = self.another()

    def another(self, **more: Any) -> Nursery:
        """Start a nursery, of which more may be told."""
        made = Nursery({**self.given, **more})
        self.stack.callback(made.close)
        return made

    def serve(self, kind: str, *options: str) -> Server:
        """Start a server that has the background's own thread."""
        settings = {**self.settings, "BACKGROUND": True}
        server = Server(kind, {**self.given, "settings": settings}, *options)
        self.stack.callback(server.close)
        assert within(START, server.answers), server.log.read_text()
        return server

    def manage(self, *arguments: str) -> dict[str, Any]:
        """Run a command of ``manage.py`` in a process of its own."""
        found: dict[str, Any] = self.nursery.run("command", arguments=arguments)
        assert found["code"] == 0, found
        return found

    def get(self, *paths: str) -> list[dict[str, Any]]:
        """Have a process of its own answer some requests."""
        found: list[dict[str, Any]] = self.nursery.run("get", paths=paths)
        return found

    # What is to be done, and who does it

    def settle(self, *, kills: bool = False) -> None:
        """Notify until nothing is left to notify of."""
        deadline = time.monotonic() + 120
        while self.waiting():
            assert time.monotonic() < deadline, self.waiting()
            if kills:
                self._let_minutes_pass()
            self.manage("ping_sitemaps")
            # Few rows are left of some sections, and their writers meant it.
            if UrlChange.objects.filter(on_hold=True).exists():
                self.manage("ping_sitemaps", "--confirm")
            time.sleep(0.3)

    def waiting(self) -> dict[str, list[Any]]:
        """Return the first of what is still to be done."""
        left: dict[str, QuerySet[Any]] = {
            "changes": Change.objects.all(),
            "events": UrlChange.objects.filter(queued_at=None),
            "submissions": Submission.objects.filter(live=True),
        }
        found = {name: list(rows.values()[:5]) for name, rows in left.items()}
        return {name: rows for name, rows in found.items() if rows}

    def _let_minutes_pass(self) -> None:
        """
        Let the time be over for which who was killed still has what he was sending.

        But no sooner than the engine's interval is.
        """
        latest = max((post.at for post in list(self.engine.posts)), default=0.0)
        if time.monotonic() - latest > INTERVAL:
            sending = Submission.objects.filter(state="sending", live=True)
            sending.update(due_at=0)

    def wait_until_free(self) -> None:
        """Wait until the dead hold nothing, which is a matter of seconds."""
        self.let_claims_pass()
        assert within(FREE, lambda: not self.held()), self.held()

    def let_claims_pass(self) -> None:
        """Look how long the dead's claims last still, and let most of that pass."""
        now = time.time()
        assert all(until - now < CLAIM for until in self.held().values()), self.held()
        if not THOROUGH:
            soon = now + 2
            for model in (Page, Section):
                rows = model.objects.filter(claimed_until__gt=soon)
                # The living write rows of it in another order.
                retrying(rows.db, partial(rows.update, claimed_until=soon))

    def held(self) -> dict[str, float]:
        """Return the pages and sections that somebody has claimed, and until when."""
        sections = Section.objects.filter(claimed_until__gt=time.time())
        return self.built() | {str(row): row.claimed_until for row in sections}

    def built(self) -> dict[str, float]:
        """Return the pages that somebody builds."""
        pages = Page.objects.filter(claimed_until__gt=time.time())
        return {str(page): page.claimed_until for page in pages}

    # What came of it

    def events(self) -> list[Event]:
        """Return all that was recorded of URLs."""
        rows = UrlChange.objects.order_by("pk").values_list(*Event._fields)
        return [Event(*row) for row in rows]

    def posts(self) -> dict[str, list[float]]:
        """Return when the engine was told of each path."""
        offset = time.time() - time.monotonic()
        found = defaultdict(list)
        for post in list(self.engine.posts):
            for url in post.urls:
                found[url.removeprefix(ORIGIN)].append(post.at + offset)
        return found

    def heard(self) -> dict[str, dict[str, list[Heard]]]:
        """Return what each webhook heard of each path."""
        return {
            event: {
                url.removeprefix(ORIGIN): list(heard)
                for url, heard in webhook.heard.items()
            }
            for event, webhook in self.webhooks.items()
        }

    def pages(self, section: str) -> list[str]:
        """Return the addresses of a section's pages, in the order of their keys."""
        rows = Page.objects.filter(section__name=section).order_by("position")
        numbers = rows.values_list("number", flat=True)
        return [f"/sitemap-{section}-{number}.xml" for number in numbers]

    def shown(self, section: str) -> list[Entry]:
        """Return what the pages of a section show; all of it is understood."""
        found: list[Entry] = []
        for answer in self.get(*self.pages(section)):
            assert answer["status"] == 200, answer
            body = answer["body"]
            assert _EMPTY.fullmatch(_URL.sub("", body)), body
            found += [Entry(*entry) for entry in reader.parse(body.encode())]
        return found

    def versions(self) -> list[Any]:
        """Return what is to stay as it is where nothing changes."""
        columns = ("section__name", "number", "version", "checksum", "lastmod")
        return list(Page.objects.order_by("pk").values_list(*columns))
