"""
Deliverers that are killed, that work at once, and databases and engines that fail.

After each: nothing lost, nothing twice within the interval, nothing that was rolled
back. The engine writes to a file what it is told, from whichever process.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection, connections, transaction

from django_sitemaps_plus.delivery import background, dispatcher, outbox
from django_sitemaps_plus.delivery.dispatcher import DeliveryOptions
from django_sitemaps_plus.models import EngineState, Submission, UrlChange
from tests.publishing.test_faults import THOROUGH, commits_do_not_wait, end_connections
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, run_command
from tests.support.ledger_kinds import VENDOR
from tests.support.ledger_worker import Workers
from tests.support.outbox_world import BASE, happened, later, use
from tests.support.processes import database_names
from tests.testapp.models import Article

__all__ = ["commits_do_not_wait"]

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


class World:
    """Processes that tell one engine, and what it was told."""

    def __init__(self, folder: Path, settings: Any) -> None:
        self.folder = folder
        self.settings = settings
        self.file = folder / "told"
        self.trouble = folder / "trouble"
        module = "tests.support.delivery_worker"
        self.workers = Workers(database_names(), folder / "log", module)
        # Here, too.
        use(settings, log=("Log", self.options()))

    def options(self, **more: Any) -> dict[str, Any]:
        return {"file": str(self.file), "trouble": str(self.trouble), **more}

    def deliver(self, *given: dict[str, Any]) -> list[dict[str, Any]]:
        """Deliver in processes that begin at the same moment."""
        commands = [
            {
                "do": "deliver",
                **{k: v for k, v in one.items() if k in ("kill", "times")},
                "options": self.options(
                    **{k: v for k, v in one.items() if k not in ("kill", "times")}
                ),
            }
            for one in given or ({},)
        ]
        found = self.workers.together(commands)
        assert not [one for one in found if "error" in one], found
        return found

    def told(self) -> Counter[str]:
        """Return how often the engine was told of each path."""
        if not self.file.exists():
            return Counter()
        lines = [json.loads(line) for line in self.file.read_text().splitlines()]
        return Counter(line["url"].removeprefix(BASE) for line in lines)

    def forget(self) -> None:
        self.file.unlink(missing_ok=True)

    def empty(self) -> None:
        for model in (Submission, EngineState, UrlChange):
            model._default_manager.all().delete()
        self.forget()


@pytest.fixture
def world(tmp_path: Path, settings: Any, transactional_db: None) -> Iterator[World]:
    made = World(tmp_path, settings)
    yield made
    made.workers.close()


def paths(count: int) -> list[str]:
    return [f"/{number}/" for number in range(count)]


def once(count: int) -> Counter[str]:
    return Counter(paths(count))


# At once


def test_four_deliverers_tell_each_url_once(world: World) -> None:
    happened(*paths(400))
    found = world.deliver({}, {}, {}, {})
    assert world.told() == once(400)
    assert sum(one["accepted"] for one in found) == 400
    assert not Submission.objects.filter(live=True).exists()


def test_deliverers_and_writers_at_once(world: World) -> None:
    """What is committed late, behind ids that were read already, is told too."""
    commands: list[dict[str, Any]] = [
        {"do": "change", "times": 20, "name": f"w{n}", "options": world.options()}
        for n in range(2)
    ]
    commands += [
        {"do": "deliver", "times": 15, "options": world.options()} for _ in range(2)
    ]
    found = world.workers.together(commands)
    assert not [one for one in found if "error" in one], found
    world.deliver()
    told = world.told()
    assert len(told) == 400
    assert set(told.values()) == {1}


if VENDOR != "sqlite":
    # Which has one writer at a time.

    def test_what_is_committed_late_is_told(world: World) -> None:
        """Its number is lower than of those that were told before it was there."""
        seen = threading.Event()

        def late() -> None:
            try:
                with transaction.atomic():
                    happened("/late/")
                    assert seen.wait(30)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(late)
            time.sleep(0.3)
            happened("/early/")
            world.deliver()
            assert world.told() == Counter(["/early/"])
            seen.set()
            running.result()
        world.deliver()
        assert world.told() == Counter(["/early/", "/late/"])


# kill -9


@pytest.mark.parametrize("dies", ["before", "after"])
def test_killed_between_claim_and_answer(world: World, dies: str) -> None:
    """Before the engine was told it is told later; after it, once more."""
    happened(*paths(25))
    [killed] = world.deliver({"dies": dies})
    assert killed == {"killed": 9}
    [rest] = world.deliver()
    assert rest["accepted"] == 15, "what was claimed is left to who claimed it"
    sent = 10 if dies == "after" else 0
    assert sum(world.told().values()) == 15 + sent
    later(880)
    world.deliver()
    assert sum(world.told().values()) == 15 + sent, "not within the interval"
    assert set(world.told().values()) == {1}
    later(21)
    world.deliver()
    assert set(world.told()) == set(paths(25)), "nothing is lost"
    assert sum(world.told().values()) == 25 + sent
    assert not Submission.objects.filter(live=True).exists()


def test_killed_at_any_step(world: World) -> None:
    """Before each statement, and before and after each commit."""
    happened(*paths(12))
    [whole] = world.deliver({"kill": 0})
    every = list(range(1, whole["steps"] + 1))
    assert len(every) > 20
    for moment in every if THOROUGH else sorted(random.sample(every, 8)):
        world.empty()
        happened(*paths(12))
        world.deliver({"kill": moment})
        world.deliver()
        told = world.told()
        assert set(told.values()) <= {1}, moment
        later(601)
        world.deliver()
        later(601)
        world.deliver()
        assert set(world.told()) == set(paths(12)), moment
        assert not Submission.objects.filter(live=True).exists(), moment
        assert not UrlChange.objects.filter(queued_at=None).exists(), moment


# The database


def test_the_database_is_gone_when_the_answer_is_there(world: World) -> None:
    """What was sent is written down when it is back, and not sent again."""
    happened(*paths(25))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(world.deliver, {"pause": 3})
        deadline = time.monotonic() + 30
        while not world.file.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        _trouble()
        [result] = running.result()
    assert result["accepted"] >= 10
    world.deliver()
    assert world.told() == once(25)


def _trouble() -> None:
    """End all connections; SQLite has none, so lock it for a while."""
    if VENDOR == "sqlite":
        with transaction.atomic():
            EngineState.objects.update(message="locked")
            time.sleep(1)
        return
    end_connections()


def test_the_database_is_gone_for_long(world: World) -> None:
    """A run fails, the claim ends, and another run tells the rest."""
    happened(*paths(25))
    outbox.enqueue()

    def fail(run: Any, sql: str, *args: Any) -> Any:
        if sql.startswith("UPDATE") and "answered_at" in sql:
            raise OperationalError("gone away")
        return run(sql, *args)

    with connection.execute_wrapper(fail), pytest.raises(OperationalError):
        dispatcher.deliver()
    assert sum(world.told().values()) == 10
    dispatcher.deliver()
    assert set(world.told().values()) == {1}
    later(901)
    dispatcher.deliver()
    assert set(world.told()) == set(paths(25))
    assert max(world.told().values()) == 2


# Engines


def test_throttled_for_an_hour(world: World) -> None:
    """It is asked a few times only, everything waits, and then all is told."""
    happened(*paths(25))
    world.trouble.write_text("429")
    use(world.settings, log=("Log", world.options(pause=300)))
    requests = 0
    for _minute in range(60):
        outbox.enqueue()
        requests += dispatcher.deliver().total("requests")
        later(60)
    assert 10 <= requests <= 13, "once in five minutes, as it says"
    world.trouble.unlink()
    use(world.settings, log=("Log", world.options()))
    later(300)
    dispatcher.deliver()
    assert world.told() == once(25)


def test_one_engine_is_down_while_others_work(world: World) -> None:
    down = world.folder / "down"
    down.write_text("0")
    use(
        world.settings,
        down=("Log", world.options(trouble=str(down), file=str(world.folder / "b"))),
        log=("Log", world.options()),
    )
    happened(*paths(25))
    for _ in range(5):
        outbox.enqueue()
        dispatcher.deliver()
        later(60)
    assert world.told() == once(25)
    down.unlink()
    later(3_600)
    dispatcher.deliver()
    assert len((world.folder / "b").read_text().splitlines()) == 25


# What never was


def test_what_was_rolled_back_is_told_by_nobody(world: World, register: Any) -> None:
    register("article", ArticleSitemap)
    articles(3)
    run_command("build_sitemaps")
    background.drain(DeliveryOptions())
    world.empty()
    first, second, third = Article.objects.order_by("pk")

    def save() -> None:
        with transaction.atomic():
            first.slug = "rolled-back"
            first.save()
            Article.objects.create(slug="never")
            third.delete()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save()
    second.slug = "kept"
    second.save()
    time.sleep(2.1)
    background.drain(DeliveryOptions())
    old = {path for path in world.told() if path != "/articles/kept/"}
    assert "/articles/kept/" in world.told()
    assert len(old) == 1, "where it was before"
    assert not {path for path in old if "rolled" in path or "never" in path}
