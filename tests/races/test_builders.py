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

from . import slow
from .ground import FREE, START, Ground
from .truth import LIMIT

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

#: Articles of as many pages as three claims of many have.
COUNT = 500


@contextmanager
def ground(folder: Path) -> Iterator[Ground]:
    """Stand where no page is built, and whoever builds one waits in its middle."""
    with slow.ground(folder, "slow", COUNT) as site:
        site.manage("build_sitemaps", "--ledger")
        assert Page.objects.count() > COUNT // LIMIT
        (folder / "wait").touch()
        yield site


def wait_for_builders(count: int) -> None:
    """Wait until so many build pages."""
    owners = Page.objects.exclude(claimed_by="").values("claimed_by").distinct()
    assert within(START, lambda: owners.count() == count)


def go_on(site: Ground) -> None:
    """Have nobody wait any longer: in the end not even for one who is dead."""
    (site.folder / "wait").unlink()
    unbuilt = Page.objects.filter(version=0)
    assert within(START, lambda: unbuilt.count() <= 1)
    site.let_claims_pass()


def check(site: Ground) -> None:
    """All is listed, and no page was built twice."""
    assert slow.locations(site.shown("slow")) == slow.expected()
    assert set(Page.objects.values_list("version", flat=True)) == {1}
    assert not site.held()


def number_built(said: dict[str, Any]) -> int:
    """Return how many pages a command says that it has built."""
    # Where it takes long it says how far it is.
    assert said["code"] == 0, said
    found = re.search(r"; (\d+) built", said["out"])
    assert found is not None, said
    return int(found[1])


def begin_commands(site: Ground) -> list[int]:
    """Have two commands build pages."""
    command = {"arguments": ["build_sitemaps"]}
    pids = [site.nursery.start("command", **command) for _ in range(2)]
    wait_for_builders(2)
    return pids


def test_two_commands_share_the_pages(tmp_path: Path) -> None:
    with ground(tmp_path) as site:
        pids = begin_commands(site)
        (site.folder / "wait").unlink()
        built = [number_built(site.nursery.wait(pid)) for pid in pids]
        assert sum(built) == Page.objects.count()
        assert all(built)
        check(site)


def test_the_pages_of_a_command_that_is_killed_are_built_by_the_other(
    tmp_path: Path,
) -> None:
    with ground(tmp_path) as site:
        killed, other = begin_commands(site)
        site.nursery.kill(killed)
        go_on(site)
        assert number_built(site.nursery.wait(other)) == Page.objects.count()
        check(site)


# Workers


class Workers:
    """Real workers, that are told nothing but where the project is."""

    def __init__(self, site: Ground, module: str, **told: Any) -> None:
        self.site, self.command = site, [sys.executable, "-m", f"tests.races.{module}"]
        given = json.dumps({**site.given, **told})
        self.environment = {**os.environ, "SITEMAPS_PLUS_TEST_RACE": given}
        self.processes: list[subprocess.Popen[bytes]] = []
        site.stack.callback(self.close)

    def run(self, *arguments: str) -> None:
        """Run a command to its end."""
        command = [*self.command, *arguments]
        subprocess.run(command, env=self.environment, cwd=ROOT, check=True)

    def start(self, count: int, *arguments: str) -> None:
        """Start some of them."""
        command = [*self.command, *arguments]
        self.processes = [
            subprocess.Popen(command, env=self.environment, cwd=ROOT)
            for _ in range(count)
        ]

    def build_all_but_for_a_kill(self) -> None:
        """Have two of them build all pages; one is killed in the middle."""
        wait_for_builders(2)
        self.processes[0].kill()
        self.processes[0].wait()
        go_on(self.site)
        unbuilt = Page.objects.filter(checksum="")
        assert within(START, lambda: not unbuilt.exists())
        assert within(FREE, lambda: not self.site.held())
        check(self.site)

    def close(self) -> None:
        """Kill who still runs."""
        for process in self.processes:
            process.kill()
            process.wait()


#: Workers of Celery that do not talk to each other.
QUIET = ["--without-mingle", "--without-gossip", "-l", "INFO"]


def of_celery(site: Ground) -> Workers:
    """Return workers with a queue of their own."""
    queue = f"sitemaps-plus-{uuid.uuid4().hex}"
    return Workers(site, "celery_app", broker=REDIS, queue=queue)


@pytest.mark.redis
def test_workers_of_celery_build_all_pages_though_one_is_killed(
    tmp_path: Path,
) -> None:
    with ground(tmp_path) as site:
        workers = of_celery(site)
        enqueue = ["build_sitemaps", "--enqueue", "celery", "--jobs", "2"]
        workers.run("manage", *enqueue, "--skip-checks")
        workers.start(2, "worker", "-P", "solo", *QUIET)
        workers.build_all_but_for_a_kill()


@pytest.mark.redis
def test_a_worker_of_celery_that_is_stopped_gives_back_what_it_holds(
    tmp_path: Path,
) -> None:
    with slow.ground(tmp_path, "slow") as site:
        slow.begin_slowly(site)
        workers = of_celery(site)
        workers.start(1, "worker", "-c", "1", *QUIET)
        workers.run("call", "django_sitemaps_plus.work")
        assert within(START, lambda: len(site.built()) == 1)
        slow.stop(site, workers.processes[0])
        slow.check_given_back(site)


def test_workers_of_django_tasks_build_all_pages_though_one_is_killed(
    tmp_path: Path,
) -> None:
    """Their queue is in a database of its own: the tests have no tables for it."""
    with ground(tmp_path) as site:
        workers = Workers(site, "tasks_manage")
        workers.run("migrate", "--database", "tasks")
        workers.run("build_sitemaps", "--enqueue", "tasks", "--jobs", "2")
        workers.start(2, "db_worker", "--interval", "0.1", "--no-startup-delay")
        workers.build_all_but_for_a_kill()
