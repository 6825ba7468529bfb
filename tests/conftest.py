from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps_plus.sitemaps.registry import registry

Register = Callable[..., Any]

#: Where Redis is, for tests that are marked ``redis``; they run nowhere else.
REDIS = os.environ.get("SITEMAPS_PLUS_REDIS", "")


def pytest_configure() -> None:
    """Empty databases after each test that commits in another way than Django's."""
    from tests.support.cleaning import clean_quickly

    clean_quickly()


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Select tests that need Redis only where there is one."""
    unwanted = [item for item in items if item.get_closest_marker("redis")]
    if unwanted and not REDIS:
        config.hook.pytest_deselected(items=unwanted)
        items[:] = [item for item in items if item not in unwanted]


@pytest.fixture(scope="session", autouse=True)
def started_long_ago() -> None:
    """Let no page be compared once more because this process was started lately."""
    from django_sitemaps_plus.pagination import deploys

    deploys.STARTED -= 30 * 86_400


@pytest.fixture
def crowd() -> Iterator[None]:
    """
    Let no other test have dozens of connections meanwhile, in whatever process it is.

    Servers allow a hundred or so to all together.
    """
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
def quick(transactional_db: None) -> Iterator[None]:
    """Let commits not wait for the disk."""
    from tests.support.processes import quick_commits

    with quick_commits():
        yield


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
    for name in added:
        registry.remove(name)
