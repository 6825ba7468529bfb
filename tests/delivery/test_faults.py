"""
Processes that deliver at once, that are killed, and databases that fail.

After each test: nothing lost, and nothing twice within the interval. The engine writes
to a file what it is told, from whichever process.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction

from django_sitemaps_plus.delivery import dispatcher, gate
from django_sitemaps_plus.models import EngineState, Section, Submission, UrlChange
from tests.support.fault_worker import Workers
from tests.support.helpers import later
from tests.support.ledger_kinds import VENDOR
from tests.support.outbox_engines import logged
from tests.support.outbox_world import BASE, happened, use
from tests.support.processes import THOROUGH, database_names, elsewhere, within

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


class World:
    """Processes that notify one engine, and what it was told."""

    def __init__(self, folder: Path, settings: Any, workers: Workers) -> None:
        self.file = folder / "told"
        self.options = {"file": str(self.file)}
        self.workers = workers
        # Here, too.
        use(settings, log=("Log", self.options))

    def together(self, *commands: dict[str, Any]) -> list[dict[str, Any]]:
        """Run commands in processes that start at the same moment."""
        given = {"do": "deliver", "options": self.options}
        found = self.workers.together([{**given, **one} for one in commands])
        assert not [one for one in found if "error" in one], found
        return found

    def deliver(self, kill: int = 0, **options: Any) -> dict[str, Any]:
        """Deliver in a process of its own."""
        [found] = self.together({"kill": kill, "options": {**self.options, **options}})
        return found

    def told(self) -> Counter[str]:
        """Return how often the engine was told of each path."""
        return Counter(line["url"].removeprefix(BASE) for line in logged(self.file))

    def empty(self) -> None:
        for model in (Submission, EngineState, UrlChange, Section):
            model._default_manager.all().delete()
        self.file.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def workers(django_db_setup: None) -> Iterator[Workers]:
    made = Workers(database_names(), "tests.support.delivery_worker")
    yield made
    made.close()


@pytest.fixture
def world(tmp_path: Path, settings: Any, workers: Workers) -> World:
    return World(tmp_path, settings, workers)


def urls(count: int) -> Counter[str]:
    """Have something happen to some URLs; return how often each is to be told."""
    paths = [f"/{number}/" for number in range(count)]
    happened(*paths)
    return Counter(paths)


def waits() -> bool:
    return Submission.objects.filter(live=True).exists()


# At once


def test_four_processes_submit_each_url_once(world: World) -> None:
    expected = urls(400)
    found = world.together({}, {}, {}, {})
    assert world.told() == expected
    assert sum(one["accepted"] for one in found) == 400
    assert not waits()


def test_what_is_written_meanwhile_is_submitted(world: World) -> None:
    writers = [{"do": "change", "times": 20, "name": f"w{n}"} for n in range(2)]
    world.together(*writers, {"times": 15}, {"times": 15})
    world.deliver()
    assert len(world.told()) == 400
    assert set(world.told().values()) == {1}


if VENDOR != "sqlite":
    # Which has one writer at a time.

    def test_what_is_committed_late_is_submitted(world: World) -> None:
        """Its number is lower than that of what was submitted before."""
        written, over = threading.Event(), threading.Event()

        def late() -> None:
            with transaction.atomic():
                happened("/late/")
                written.set()
                assert over.wait(30)

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(elsewhere, late)
            assert written.wait(30)
            happened("/early/")
            world.deliver()
            assert world.told() == Counter(["/early/"])
            over.set()
            running.result()
        world.deliver()
        assert world.told() == Counter(["/early/", "/late/"])


# kill -9


@pytest.mark.parametrize("dies", ["before", "after"])
def test_killed_between_claim_and_answer(world: World, dies: str) -> None:
    """What the engine may have been told is submitted once more, but much later."""
    expected = urls(25)
    assert world.deliver(dies=dies) == {"killed": 9}
    sent = 10 if dies == "after" else 0
    assert world.deliver()["accepted"] == 15, "the rest is claimed"
    for seconds in (0, 880):
        later(seconds)
        world.deliver()
        assert world.told().total() == 15 + sent, "not within the interval"
    later(21)
    world.deliver()
    assert set(world.told()) == set(expected)
    assert world.told().total() == 25 + sent
    assert not waits()


def test_killed_at_any_step(world: World) -> None:
    """Before each statement, and before and after each commit."""
    # The first delivery of a day has more to do: it adds the rows of its counts.
    urls(12)
    world.deliver()
    world.empty()
    urls(12)
    every = range(1, world.deliver()["steps"] + 1)
    assert len(every) > 20
    for moment in every if THOROUGH else sorted(random.sample(every, 8)):
        world.empty()
        expected = urls(12)
        assert world.deliver(kill=moment) == {"killed": 9}
        world.deliver()
        assert set(world.told().values()) <= {1}, moment
        for _ in range(2):
            later(601)
            world.deliver()
        assert set(world.told()) == set(expected), moment
        assert not waits(), moment
        assert not UrlChange.objects.filter(queued_at=None).exists(), moment


# The database


#: Seconds that the engine takes to answer.
PAUSE = 1.0
#: Statements that list the other connections, and end one of them.
KILLERS = {
    "postgresql": (
        "SELECT pid FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()",
        "SELECT pg_terminate_backend({})",
    ),
    "mysql": (
        "SELECT id FROM information_schema.processlist "
        "WHERE db = DATABASE() AND id <> CONNECTION_ID()",
        "KILL {}",
    ),
}


def fail_for_a_moment() -> None:
    """End all other connections; SQLite has none, so lock it beyond an answer."""
    if VENDOR == "sqlite":
        with transaction.atomic():
            EngineState.objects.update(message="locked")
            time.sleep(1.5 * PAUSE)
        return
    find, kill = KILLERS[VENDOR]
    with connection.cursor() as cursor:
        cursor.execute(find)
        for (number,) in cursor.fetchall():
            # It may have ended by itself.
            with suppress(DatabaseError):
                cursor.execute(kill.format(number))


def test_the_database_fails_while_the_engine_answers(world: World) -> None:
    """What was sent is stored when it is back, and not sent again."""
    expected = urls(25)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(world.deliver, pause=PAUSE)
        assert within(30, world.file.exists)
        fail_for_a_moment()
        assert running.result()["accepted"] >= 10
    world.deliver()
    assert world.told() == expected


def test_the_database_is_down_for_long(world: World) -> None:
    """A run fails, its claim ends, and another run submits the rest."""
    expected = urls(25)
    gate.pass_on()

    def fail(run: Any, sql: str, *args: Any) -> Any:
        if sql.startswith("UPDATE") and "answered_at" in sql:
            raise OperationalError("gone away")
        return run(sql, *args)

    with connection.execute_wrapper(fail), pytest.raises(OperationalError):
        dispatcher.deliver()
    assert world.told().total() == 10
    dispatcher.deliver()
    assert set(world.told().values()) == {1}
    later(901)
    dispatcher.deliver()
    assert set(world.told()) == set(expected)
    assert world.told().total() == 35
    assert not waits()
