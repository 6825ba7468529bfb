"""A race, from its first row to its verdict."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from django.db import DatabaseError, connection

from django_sitemaps_plus.engines.base import EVENTS
from django_sitemaps_plus.models import Change, UrlChange
from tests.support.processes import within
from tests.testapp.models import Article, Label

from . import journal, writer
from .ground import FREE, Ground, Server
from .journal import Journal
from .reader import SECTIONS
from .site import INTERVAL
from .truth import Truth, committed
from .verdict import Rules, Verdict

#: Rows that there are at the beginning: those of everybody, and of each writer.
SHARED, OWN = 24, 12
#: Operations of each writer, in a race that is not too slow.
TURNS = 80

_FIND = {
    "postgresql": (
        "SELECT pid FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    ),
    "mysql": (
        "SELECT id FROM information_schema.processlist "
        "WHERE db = DATABASE() AND id <> CONNECTION_ID()"
    ),
}
_END = {"postgresql": "SELECT pg_terminate_backend({})", "mysql": "KILL {}"}


class Arena(Ground):
    """The ground of one race, with those who take part."""

    def __init__(
        self, folder: Path, *, writers: int, rules: Rules, options: dict[str, Any]
    ) -> None:
        self.writers, self.rules = writers, rules
        #: When these are there writers and readers end, and then the workers.
        self.stop, self.rest = folder / "stop", folder / "rest"
        self.started = 0.0
        self.rng = random.Random()  # noqa: S311 (nothing secret)
        self.journal = Journal(folder, "arena")
        self.lives: dict[str, int] = defaultdict(int)
        #: What runs, by its name: the role, how it was started, its process id.
        self.cast: dict[str, tuple[str, dict[str, Any], int]] = {}
        webhooks = ("all", *EVENTS)
        super().__init__(folder, "race", options=options, webhooks=webhooks)

    # Before the race

    def prepare(self) -> None:
        """Make the rows, and build all pages."""
        owners = [0] * SHARED
        owners += [n for n in range(1, self.writers + 1) for _ in range(OWN)]
        self.rng.shuffle(owners)
        step = writer.TOP // len(owners) // writer.OWNERS * writer.OWNERS
        articles = [
            Article(pk=n * step + owner, slug=f"first-{n}", updated=writer.FIRST)
            for n, owner in enumerate(owners, 1)
        ]
        Article.objects.bulk_create(articles)
        rows = [(writer.key_of(made), writer.row_of(made)) for made in articles]
        log = Journal(self.folder, "writer-first")
        log.write(op="first", what="set up", at=0, rows=rows, hints=[])
        log.write(op="first", end=0, late=False)
        self.manage("build_sitemaps")
        self.manage("ping_sitemaps")
        assert not UrlChange.objects.exists(), "of what was there nobody is notified"

    def start(self, role: str, name: str, **more: Any) -> None:
        """Start a process that takes part."""
        self.lives[name] += 1
        pid = self.nursery.start(
            role,
            name=f"{name}x{self.lives[name]}",
            life=self.lives[name],
            folder=str(self.folder),
            stop=str(self.rest if role == "worker" else self.stop),
            quiet=str(self.folder / f"quiet-{name}"),
            started=self.started,
            marks=self.rules.kills,
            **more,
        )
        self.cast[name] = role, more, pid

    def start_writers(self, pause: float) -> None:
        """Start the writers, and with them the race."""
        self.started = time.time()
        for number in range(1, self.writers + 1):
            self.start("writer", f"writer{number}", number=number, pause=pause)

    # While it lasts

    def lasts(self, seconds: float) -> bool:
        """Return whether it goes on: longer where the machine is slow."""
        for name, (_, _, pid) in self.cast.items():
            assert self.nursery.is_running(pid), (name, self.nursery.wait(pid))
        passed = time.time() - self.started
        texts = [path.read_text() for path in self.folder.glob("writer*")]
        done = sum(text.count('"end":') for text in texts)
        few = done < TURNS * self.writers and passed < 4 * seconds
        return passed < seconds or few

    def kill(self, name: str) -> None:
        """Kill a process, and start its successor."""
        role, more, pid = self.cast[name]
        self.journal.write(killed=name, at=time.time())
        self.nursery.kill(pid)
        self.start(role, name, **more)

    def kill_worker_of(self, server: Server) -> None:
        """Kill one of the processes that answer requests; gunicorn replaces it."""
        workers = server.workers()
        for pid in self.rng.sample(workers, min(1, len(workers))):
            self.journal.write(killed="server", pid=pid, at=time.time())
            self.rules.ended.append(time.time())
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def kill_a_command(self, arguments: Sequence[str], seconds: float) -> None:
        """Start a command of ``manage.py``, and kill it before it is done."""
        pid = self.nursery.start("command", arguments=arguments)
        time.sleep(seconds)
        self.journal.write(killed=arguments, at=time.time())
        self.nursery.kill(pid)

    def end_a_connection(self) -> None:
        """End one of the database's connections, whoever has it."""
        with connection.cursor() as cursor:
            cursor.execute(_FIND[connection.vendor])
            found = [number for (number,) in cursor.fetchall()]
            for number in self.rng.sample(found, min(1, len(found))):
                self.journal.write(ended=number, at=time.time())
                self.rules.ended.append(time.time())
                with suppress(DatabaseError):
                    cursor.execute(_END[connection.vendor].format(number))

    # After it

    def finish(self) -> None:
        """Let all come to their end; readers read once more when nobody writes."""
        self.stop.touch()
        self._await("writer")
        # A page that was empty is in the index once it was built.
        waiting = Change.objects.filter(upto=None, related="").exclude(key="")
        assert within(3 * FREE, lambda: not waiting.exists()), list(waiting)
        self.rest.touch()
        self._await("worker")
        self.wait_until_free()
        # One after the other: who finds a page being built gets its former bytes.
        for name in [name for name in self.cast if name.startswith("reader")]:
            (self.folder / f"quiet-{name}").touch()
            self._await(name)

    def _await(self, names: str) -> None:
        for name in [name for name in self.cast if name.startswith(names)]:
            found = self.nursery.wait(self.cast.pop(name)[2])
            assert found != "killed", name

    def check(self) -> None:
        """Hold all that anybody was given against what was committed."""
        lines = list(journal.read(self.folder, "writer"))
        marks = set(Label.objects.values_list("name", flat=True))
        operations = committed(lines, marks, self.rules.ended)
        truth = Truth(operations, writer.all_rows())
        work = list(journal.read(self.folder, "worker"))
        rounds = [line["looked"] for line in work if "looked" in line]
        found = Verdict(truth, self.events(), self.posts(), self.rules, rounds)
        found.check_errors([*lines, *work])
        found.check_events()
        found.check_posts(INTERVAL)
        found.check_webhooks(self.heard())
        found.check_reading(journal.read(self.folder, "reader"))
        found.conclude()
        self._check_pages(truth)
        self._check_nothing_to_mend(truth)

    def _check_pages(self, truth: Truth) -> None:
        """Hold every page's bytes against the rows: entry by entry, in their order."""
        for section in SECTIONS:
            found, expected = self.shown(section), truth.listed(section)
            lacking, extra = set(expected) - set(found), set(found) - set(expected)
            assert found == expected, (section, lacking, extra)

    def _check_nothing_to_mend(self, truth: Truth) -> None:
        """Comparing everything finds nothing that was not known."""
        events, versions = self.events(), self.versions()
        report = self.manage("build_sitemaps", "--reconcile", "--deep")
        more = self.events()[len(events) :]
        known = [truth.about((event.section, event.location)) for event in more]
        assert not more, (report, more, "\n".join(known))
        assert self.versions() == versions, report


@contextmanager
def arena(folder: Path, **given: Any) -> Iterator[Arena]:
    """Hold a race; what fails says where the journals are."""
    race = Arena(folder, **given)
    with race.stack:
        try:
            race.prepare()
            yield race
        except BaseException as error:
            error.add_note(f"The journals are in {folder}")
            raise
