from __future__ import annotations

import gc
import math
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, find, settings
from hypothesis.strategies import just

from django_sitemaps_plus.sitemaps.registry import registry

Register = Callable[..., Any]

# Images of containers often forbid bytecode: hundreds of processes would compile all
# anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

#: Where Redis is, for tests that are marked ``redis``; they run nowhere else.
REDIS = os.environ.get("SITEMAPS_PLUS_REDIS", "")
#: Whether all variants of what is marked ``costly`` run, and more random examples; with
#: "others" only the variants that do not run without it.
COSTLY = os.environ.get("SITEMAPS_PLUS_COSTLY_TESTS", "")

# Slow machines are no failures of ours. A test that needs fixtures for each of its
# examples undoes by itself what an example did. Workers that run side by side share no
# files with examples: what failed is printed.
settings.register_profile(
    "ours",
    max_examples=100 if COSTLY else 30,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("ours")


def pytest_configure() -> None:
    """
    Empty databases after each test that commits in another way than Django's.

    And let what tests start be interrupted: a script's background ignores SIGINT.
    """
    from tests.support.cleaning import clean_quickly

    clean_quickly()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# A wrapper as the one that shuffles, which comes after: always the same variant runs.
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Leave out what needs Redis where there is none, and most of what is costly."""
    unwanted, seen = set[pytest.Item](), set[Any]()
    for item in items:
        function = getattr(item, "function", None)
        is_repeated = bool(item.get_closest_marker("costly")) and function in seen
        seen.add(function)
        if (
            (is_repeated and not (COSTLY or config.option.keyword))
            or (COSTLY == "others" and not is_repeated)
            or (item.get_closest_marker("redis") and not REDIS)
        ):
            unwanted.add(item)
    if unwanted:
        config.hook.pytest_deselected(items=list(unwanted))
        items[:] = [item for item in items if item not in unwanted]
    yield


def pytest_collection_finish() -> None:
    """
    Have the garbage collector pass over what stays until the end.

    Hypothesis asks it who refers to its random numbers: they have to be there before.
    """
    find(just(None), lambda _: True)
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def started_long_ago() -> None:
    """
    Have all tests run the same statements, whichever is the first.

    No page is compared once more because this process was started lately, no save
    reads which other Sites there are, and no command on a busy machine shows progress.
    """
    from django_sitemaps_plus.changes import hints
    from django_sitemaps_plus.management import utils
    from django_sitemaps_plus.pagination import deploys

    deploys.STARTED -= 30 * 86_400
    hints.READ_AGAIN = math.inf
    utils.LINE_EVERY = math.inf


@pytest.fixture
def crowd() -> Iterator[None]:
    """
    Let no other test have dozens of connections meanwhile, in whatever process it is.

    Servers allow a hundred or so to all together.
    """
    import fcntl  # which only Unix has

    name = f"sitemaps-plus-crowd-{os.getuid()}.lock"
    with (Path(tempfile.gettempdir()) / name).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def ledger_tables(django_db_setup: None, django_db_blocker: Any) -> None:
    """Have the tables of ``ledger_kinds``, one for each kind of key."""
    from tests.support.ledger_kinds import create_tables

    with django_db_blocker.unblock():
        create_tables()


@pytest.fixture
def sleepers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note which threads sleep; how long things take says little on a busy machine."""
    threads: list[int] = []
    sleep = time.sleep

    def note(seconds: float) -> None:
        threads.append(threading.get_ident())
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", note)
    return threads


@pytest.fixture
def register() -> Iterator[Register]:
    """Register sections for one test: ``register(name, sitemap class)``."""
    added: list[str] = []

    def add(name: str, source: Any) -> Any:
        if name in added:
            added.remove(name)
            registry.remove(name)
        registry.add(name, source)
        added.append(name)
        return source

    yield add
    with told_once():
        for name in added:
            registry.remove(name)


@contextmanager
def told_once() -> Iterator[None]:
    """Tell whoever listens to models of several sections together, in the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_tell", lambda: None)
        yield
    registry.changed()
