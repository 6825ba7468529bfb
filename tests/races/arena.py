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
from django.db.models import QuerySet

from django_sitemaps_plus.models import Change, UrlChange
from tests.support.processes import within
from tests.testapp.models import Article

from . import journal, writer
from .ground import FREE, Ground, Server
from .journal import Journal
from .reader import SECTIONS
from .site import INTERVAL
from .truth import Truth
from .verdict import Rules, Verdict

#: Rows that there are at the beginning: those of everybody, and of each writer.
SHARED, OWN = 24, 12

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


def a_seed() -> int:
    """Return a run's seed: another every time unless one is asked for."""
    asked = os.environ.get("SITEMAPS_PLUS_SEED")
    return int(asked) if asked else random.SystemRandom().randrange(10**9)


def unreported() -> QuerySet[Change]:
    """Return the changes of single keys that wait to be looked up."""
    return Change.objects.filter(reported_at=None, upto=None, related="").exclude(
        key=""
    )


class Arena(Ground):
    """The ground of one race, with those who take part."""

    def __init__(
        self,
        folder: Path,
        *,
        writers: int,
        rules: Rules,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.seed = a_seed()
        self.rng = random.Random(self.seed)  # noqa: S311 (nothing secret)
        self.writers = writers
        self.rules = rules
        #: When these are there writers and readers end, and then the workers.
        self.stop, self.rest = folder / "stop", folder / "rest"
        self.started = time.time()
        self.journal = Journal(folder, "arena")
        self.lives: dict[str, int] = defaultdict(int)
        #: When writers were killed that may have had something to record still.
        self.deaths: dict[str, float] = {}
        #: What runs, by its name: the role, how it was started, its process id.
        self.cast: dict[str, tuple[str, dict[str, Any], int]] = {}
        grace = int(rules.grace)
        super().__init__(folder, "race", options=options, SPLIT_GRACE=grace)

    # Before the race

    def prepare(self) -> None:
        """Make the rows, and build all pages."""
        self._make_rows()
        self.manage("build_sitemaps")
        self.manage("ping_sitemaps")
        assert not UrlChange.objects.exists(), "of what was there nobody is notified"

    def _make_rows(self) -> None:
        owners = [0] * SHARED
        owners += [n for n in range(1, self.writers + 1) for _ in range(OWN)]
        self.rng.shuffle(owners)
        step = writer.TOP // len(owners) // writer.OWNERS * writer.OWNERS
        articles = [
            Article(
                pk=place * step + owner,
                slug=f"first-{place}",
                title="set-up",
                updated=writer.FIRST,
            )
            for place, owner in enumerate(owners, 1)
        ]
        Article.objects.bulk_create(articles)
        rows = [(("article", made.pk), None, writer.row_of(made)) for made in articles]
        log = Journal(self.folder, "writer-setup")
        log.write(op="set-up", what="set up", at=0, rows=rows)
        log.write(op="set-up", end=0)

    def start(self, role: str, name: str, **more: Any) -> None:
        """Start a process that takes part."""
        self.lives[name] += 1
        life = self.lives[name]
        pid = self.nursery.start(
            role,
            name=f"{name}x{life}",
            life=life,
            seed=self.seed,
            folder=str(self.folder),
            stop=str(self.rest if role == "worker" else self.stop),
            started=self.started,
            **more,
        )
        self.cast[name] = role, more, pid

    def start_writers(self, pause: float) -> None:
        """Start the writers."""
        for number in range(1, self.writers + 1):
            self.start("writer", f"writer{number}", number=number, pause=pause)

    def start_reader(self, name: str) -> None:
        """Start a reader that reads all once more in the quiet after the race."""
        self.start("reader", name, quiet=str(self.folder / f"quiet-{name}"))

    # While it lasts

    def kill(self, name: str) -> None:
        """Kill a process, and start its successor."""
        role, more, pid = self.cast[name]
        self.journal.write(killed=name, at=time.time())
        if role == "writer" and not self.rules.prompt:
            self.deaths[f"w{more['number']}x{self.lives[name]}"] = time.time()
        found = self.nursery.kill(pid, signal.SIGKILL)
        assert "crash" not in found, found
        self.start(role, name, **more)

    def kill_worker_of(self, server: Server) -> None:
        """Kill one of the processes that answer requests; gunicorn replaces it."""
        workers = server.workers()
        if workers:
            pid = self.rng.choice(workers)
            self.journal.write(killed="server", pid=pid, at=time.time())
            self.rules.ended.append(time.time())
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def kill_a_command(self, arguments: Sequence[str], seconds: float) -> None:
        """Start a command of ``manage.py``, and kill it before it is done."""
        pid = self.nursery.start("command", arguments=arguments)
        time.sleep(seconds)
        self.journal.write(killed=arguments, at=time.time())
        found = self.nursery.kill(pid, signal.SIGKILL)
        assert "crash" not in found, found

    def end_a_connection(self) -> None:
        """End one of the database's connections, whoever has it."""
        with connection.cursor() as cursor:
            cursor.execute(_FIND[connection.vendor])
            found = sorted(number for (number,) in cursor.fetchall())
            if not found:
                return
            number = self.rng.choice(found)
            self.journal.write(ended=number, at=time.time())
            self.rules.ended.append(time.time())
            with suppress(DatabaseError):
                cursor.execute(_END[connection.vendor].format(number))

    def check_cast(self) -> None:
        """Fail if a process has ended that was not killed."""
        for name, (_, _, pid) in self.cast.items():
            assert self.nursery.is_running(pid), (name, self.nursery.wait(pid))

    # After it

    def finish(self) -> None:
        """Let all come to their end; readers read once more when nobody writes."""
        self.stop.touch()
        late = [name for name, (_, more, _) in self.cast.items() if "quiet" in more]
        workers = [name for name, (role, _, _) in self.cast.items() if role == "worker"]
        for name in [name for name in self.cast if name not in late + workers]:
            self._await(name)
        # A page that was empty is in the index when its first entry was reported.
        assert within(FREE, lambda: not unreported().exists()), list(unreported())
        self.rest.touch()
        for name in workers:
            self._await(name)
        self.wait_until_free()
        # One after the other: who finds a page being built gets its former bytes.
        for name in late:
            Path(self.cast[name][1]["quiet"]).touch()
            self._await(name)

    def _await(self, name: str) -> None:
        _, _, pid = self.cast.pop(name)
        found = self.nursery.wait(pid)
        assert "crash" not in found, (name, found["crash"])

    def read_in_quiet(self) -> None:
        """Have a reader come when everything has ended."""
        self.start_reader("late")
        Path(self.cast["late"][1]["quiet"]).touch()
        self._await("late")

    def check(self) -> None:
        """Hold all that anybody was given against what was committed."""
        written = journal.read(self.folder, "writer")
        self.truth = Truth(written, writer.all_rows(), self.rules.ended, self.deaths)
        answers = list(journal.read(self.folder, "reader"))
        found = Verdict(self.truth, self.events(), self.posts(), answers, self.rules)
        deeds = [
            *journal.read(self.folder, "writer"),
            *journal.read(self.folder, "worker"),
        ]
        found.check_errors([line for line in deeds if "error" in line])
        found.check_events()
        found.check_posts(INTERVAL)
        found.check_answers()
        found.check_crawls()
        found.check_slow_crawls()
        found.conclude()

    def check_pages(self) -> None:
        """Hold every page's bytes against the rows: entry by entry, in their order."""
        self.let_grace_pass()
        for section in SECTIONS:
            found = self.shown(section)
            expected = list(self.truth.listed(section).values())
            lacking, extra = set(expected) - set(found), set(found) - set(expected)
            assert sorted(found) == sorted(expected), (section, lacking, extra)
            assert found == expected, f"{section}: in another order than its keys"

    def check_nothing_to_mend(self) -> None:
        """Comparing everything finds nothing that was not known."""
        events, versions = self.events(), self.versions()
        report = self.manage("build_sitemaps", "--reconcile", "--deep")
        more = self.events()[len(events) :]
        known = [self.truth.about((event.section, event.location)) for event in more]
        assert not more, (report, more, "\n".join(known))
        assert self.versions() == versions, report


@contextmanager
def arena(folder: Path, **given: Any) -> Iterator[Arena]:
    """Hold a race; what fails says the seed, and where the journals are."""
    race = Arena(folder, **given)
    with race.stack:
        try:
            race.prepare()
            yield race
        except BaseException as error:
            note = f"SITEMAPS_PLUS_SEED={race.seed}; journals are in {folder}"
            error.add_note(note)
            raise
