"""Builders side by side: commands, and workers of Celery and of Django Tasks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps_plus.models import Page
from tests.conftest import REDIS
from tests.support.processes import ROOT, within
from tests.testapp.models import Article

from .ground import FREE, START, Ground
from .truth import LIMIT
from .writer import FIRST

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

#: Articles of as many pages as three claims of many have.
COUNT = 500


@contextmanager
def ground(folder: Path) -> Iterator[Ground]:
    """Stand where no page is built, and whoever builds one waits in its middle."""
    Article.objects.bulk_create(
        Article(pk=pk, slug=f"a{pk}", updated=FIRST) for pk in range(1, COUNT + 1)
    )
    made = Ground(folder, "slow")
    with made.stack:
        made.manage("build_sitemaps", "--ledger")
        assert Page.objects.count() > COUNT // LIMIT
        (folder / "wait").touch()
        yield made


def owners() -> set[str]:
    """Return who builds pages just now."""
    found = Page.objects.exclude(claimed_by="")
    return set(found.values_list("claimed_by", flat=True))


def unbuilt() -> int:
    """Return how many pages are still to be built."""
    return Page.objects.filter(checksum="").count()


def go_on(site: Ground) -> None:
    """Have nobody wait any longer."""
    (site.folder / "wait").unlink()


def check(site: Ground) -> None:
    """All is listed, and no page was built twice."""
    shown = [entry.location for entry in site.shown("slow")]
    assert shown == [f"/articles/a{pk}/" for pk in range(1, COUNT + 1)]
    assert set(Page.objects.values_list("version", flat=True)) == {1}
    assert not site.held()


def number_built(said: dict[str, Any]) -> int:
    """Return how many pages a command says that it has built."""
    # Where it takes long it says how far it is.
    assert said["code"] == 0, said
    found = re.search(r"; (\d+) built", said["out"])
    assert found is not None, said
    return int(found[1])


# Two commands


def test_two_commands_share_the_pages(tmp_path: Path) -> None:
    with ground(tmp_path) as site:
        command = {"arguments": ["build_sitemaps"]}
        pids = [site.nursery.start("command", **command) for _ in range(2)]
        assert within(START, lambda: len(owners()) == 2)
        go_on(site)
        built = [number_built(site.nursery.wait(pid)) for pid in pids]
        assert sum(built) == Page.objects.count()
        assert all(built)
        check(site)


def test_the_pages_of_a_command_that_is_killed_are_built_by_the_other(
    tmp_path: Path,
) -> None:
    with ground(tmp_path) as site:
        command = {"arguments": ["build_sitemaps"]}
        pids = [site.nursery.start("command", **command) for _ in range(2)]
        assert within(START, lambda: len(owners()) == 2)
        site.nursery.kill(pids[0])
        go_on(site)
        site.let_claims_pass()
        assert number_built(site.nursery.wait(pids[1])) == Page.objects.count()
        check(site)


# Workers


class Workers:
    """Two real workers, that are told nothing but where the project is."""

    def __init__(self, site: Ground, command: list[str], **told: Any) -> None:
        self.site, self.command = site, [sys.executable, "-m", *command]
        given = json.dumps({**site.given, **told})
        self.environment = {**os.environ, "SITEMAPS_PLUS_TEST_RACE": given}
        self.log = site.folder / "workers.log"
        self.processes: list[subprocess.Popen[bytes]] = []

    def run(self, *arguments: str) -> None:
        """Run a command to its end."""
        done = subprocess.run(
            [*self.command, *arguments],
            env=self.environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def start(self, *arguments: str) -> None:
        """Start two of them."""
        with self.log.open("ab") as log:
            self.processes = [
                subprocess.Popen(
                    [*self.command, *arguments],
                    env=self.environment,
                    cwd=ROOT,
                    stdout=log,
                    stderr=log,
                )
                for _ in range(2)
            ]

    def build_all_but_for_a_kill(self) -> None:
        """Have them build all pages; one is killed in the middle."""
        assert within(START, lambda: len(owners()) == 2), self.log.read_text()
        self.processes[0].kill()
        self.processes[0].wait()
        go_on(self.site)
        self.site.let_claims_pass()
        assert within(START, lambda: not unbuilt()), self.log.read_text()
        assert within(FREE, lambda: not self.site.held())
        check(self.site)

    def close(self) -> None:
        """Kill who still runs."""
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.mark.redis
def test_workers_of_celery_build_all_pages_though_one_is_killed(
    tmp_path: Path,
) -> None:
    with ground(tmp_path) as site:
        queue = f"sitemaps-plus-{uuid.uuid4().hex}"
        module = "tests.races.celery_app"
        workers = Workers(site, [module], broker=REDIS, queue=queue)
        site.stack.callback(workers.close)
        enqueue = ["build_sitemaps", "--enqueue", "celery", "--jobs", "2"]
        workers.run("manage", *enqueue, "--skip-checks")
        options = ["-P", "solo", "--without-mingle", "--without-gossip", "-l", "INFO"]
        workers.start("worker", *options)
        workers.build_all_but_for_a_kill()


def test_workers_of_django_tasks_build_all_pages_though_one_is_killed(
    tmp_path: Path,
) -> None:
    """Their queue is in a database of its own: the tests have no tables for it."""
    with ground(tmp_path) as site:
        workers = Workers(site, ["tests.races.tasks_manage"])
        site.stack.callback(workers.close)
        workers.run("migrate", "--database", "tasks")
        workers.run("build_sitemaps", "--enqueue", "tasks", "--jobs", "2")
        workers.start("db_worker", "--interval", "0.1", "--no-startup-delay")
        workers.build_all_but_for_a_kill()
