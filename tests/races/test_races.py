"""
Writers, readers, background work and an engine at once; then all of them killed.

``SITEMAPS_PLUS_THOROUGH=1`` has more of them race for longer, in more ways.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from tests.conftest import COSTLY

from .arena import Arena, arena
from .ground import THOROUGH, Server
from .verdict import Rules

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

#: By the database: the journal's kind, and options of the processes' connections.
KINDS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "sqlite": [
        ("DELETE", {"timeout": 60}),
        ("WAL", {"timeout": 60, "transaction_mode": "DEFERRED"}),
    ],
    "postgresql": [("", {})],
    "mysql": [("", {})],
}
if THOROUGH:
    KINDS["postgresql"] += [("", {"isolation_level": level}) for level in (3, 4)]
    KINDS["mysql"].append(("", {"isolation_level": "repeatable read"}))

SECONDS, WRITERS = (90.0, 6) if THOROUGH else (5.0 if COSTLY else 1.0, 3)
#: Seconds that a writer pauses at most.
PAUSE = 0.2 if THOROUGH else 0.04

#: Errors that are the writers' own affair: they lock the same rows.
LOCKED = {
    "sqlite": (),
    "postgresql": ("deadlock detected", "could not serialize access"),
    "mysql": ("1213", "Record has changed since last read"),
}[connection.vendor]
#: Errors of whose connection was ended, as databases and drivers say it; and of who
#: comes after a writer whose INSERT is only just done.
ENDED = {
    "sqlite": (),
    "postgresql": ("terminat", "closed", "connection", "SSL", "eof", "Integrity"),
    "mysql": (
        "2006",
        "2013",
        "1927",
        "2002",
        "closed",
        "killed",
        "interrupted",
        "1062",
    ),
}[connection.vendor]
#: Commands that begin while the others work.
COMMANDS = (
    ("build_sitemaps",),
    ("build_sitemaps", "--reconcile"),
    ("build_sitemaps", "--reconcile", "--deep"),
    ("ping_sitemaps",),
)


@pytest.fixture
def journal_mode(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have SQLite's file be of one kind or the other."""
    if request.param:
        _pragma(f"journal_mode = {request.param}")
    yield
    if request.param:
        _pragma("journal_mode = DELETE")


def _pragma(text: str) -> None:
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA {text}")


def each_kind(*, first: bool = False) -> Any:
    """Run a test for each kind of connection there is, or for the first one."""
    kinds = KINDS[connection.vendor]
    kinds = kinds[:1] if first and not THOROUGH else kinds
    names = [f"{journal}-{len(given)}" for journal, given in kinds]
    return pytest.mark.parametrize(
        ("journal_mode", "options"),
        kinds,
        ids=names,
        indirect=["journal_mode"],
    )


@each_kind()
@pytest.mark.costly
def test_all_at_once(
    journal_mode: None, options: dict[str, Any], tmp_path: Path
) -> None:
    """Nobody is killed: all is known, and told, without comparing anything."""
    deferred = "transaction_mode" in options
    errors = (*LOCKED, "database is locked") if deferred else LOCKED
    rules = Rules(errors=errors)
    with arena(tmp_path, writers=WRITERS, rules=rules, options=options) as race:
        race.start_writers(PAUSE)
        for number in (1, 2):
            race.start("worker", f"worker{number}")
            race.start("reader", f"reader{number}")
        while race.lasts(SECONDS):
            time.sleep(0.2)
        race.finish()
        race.settle()
        race.check()


@each_kind(first=True)
def test_all_are_killed(
    journal_mode: None, options: dict[str, Any], tmp_path: Path
) -> None:
    """Then a comparison finds what was not recorded, and all is as if nobody was."""
    rules = Rules(kills=True, errors=(*LOCKED, *ENDED, "database is locked"))
    with arena(tmp_path, writers=WRITERS, rules=rules, options=options) as race:
        server = race.serve("gunicorn", "--workers", "2")
        race.start_writers(PAUSE)
        race.start("worker", "worker1")
        for number in (1, 2):
            race.start("reader", f"reader{number}", port=server.port)
        while race.lasts(SECONDS):
            strike(race, server)
            time.sleep(race.rng.uniform(0.05, 0.3))
        race.finish()
        server.close()
        race.manage("build_sitemaps", "--reconcile", "--deep")
        race.settle(kills=True)
        race.check()


def strike(race: Arena, server: Server) -> None:
    """Kill somebody or something."""
    whom = ["writer", "writer", "worker", "server", "command", "command"]
    if connection.vendor != "sqlite":
        whom += ["connection"] * 3
    what = race.rng.choice(whom)
    if what == "connection":
        race.end_a_connection()
    elif what == "server":
        race.kill_worker_of(server)
    elif what == "command":
        race.kill_a_command(race.rng.choice(COMMANDS), race.rng.uniform(0.01, 0.4))
    else:
        race.kill(race.rng.choice([name for name in race.cast if what in name]))
