"""Tenants with a database each, in one process; those of schemas: ``compat``."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.engines.setups import KEY
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.processes import within
from tests.tenants.worker import Worker, django

TENANTS = ("t1", "t2", "t3")

Manage = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def engine() -> Iterator[FakeIndexNow]:
    with FakeIndexNow("api") as running:
        for tenant in TENANTS:
            running.trust(f"{tenant}.example.com", KEY)
        yield running


@pytest.fixture
def given(engine: FakeIndexNow, tmp_path: Path) -> dict[str, Any]:
    """What the project is told."""
    options = {"key": KEY, "endpoint": engine.url, "interval": 0}
    entry = {"BACKEND": "tests.support.outbox_engines.Trusted", "OPTIONS": options}
    settings = {"ENGINES": {"one": entry, "two": entry}, "NOTIFY_AFTER": 0.5}
    return {"folder": str(tmp_path), "settings": settings}


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a database that has its tables."""
    folder = tmp_path_factory.mktemp("migrated")
    command = "migrate", "--run-syncdb", "--database", "t1", "--skip-checks"
    done = django("databases", *command, folder=str(folder))
    assert done.returncode == 0, done.stderr
    return (folder / "t1.sqlite3").read_bytes()


@pytest.fixture
def manage(given: dict[str, Any], migrated: bytes) -> Manage:
    """Run a command of the project, whose databases have their tables."""

    def run(*command: str, **told: Any) -> subprocess.CompletedProcess[str]:
        return django("databases", *command, **{**given, **told})

    for tenant in (*TENANTS, "default"):
        Path(given["folder"], f"{tenant}.sqlite3").write_bytes(migrated)
    return run


def count(given: dict[str, Any], tenant: str, table: str) -> int:
    path = f"{given['folder']}/{tenant}.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        statement = f"SELECT count(*) FROM sitemaps_plus_{table}"  # noqa: S608 (names)
        return int(connection.execute(statement).fetchone()[0])


def test_a_save_is_announced_by_the_tenant_whose_database_has_it(
    given: dict[str, Any], manage: Manage, engine: FakeIndexNow
) -> None:
    worker = Worker("databases", **given)
    expected = []
    # The first request says that this process serves.
    for tenant in TENANTS:
        assert worker("get", host=f"{tenant}.example.com")[0] == 200
    for tenant in TENANTS:
        worker("save", tenant=tenant, slug=f"of-{tenant}")
        expected += [f"https://{tenant}.example.com/posts/of-{tenant}/"] * 2
    assert within(60, lambda: len(engine.accepted) >= len(expected))
    for tenant in TENANTS:
        text = worker("get", host=f"{tenant}.example.com")[1]
        assert re.findall("<loc>(.*?)</loc>", text) == [
            f"https://{tenant}.example.com/posts/of-{tenant}/"
        ]
        assert count(given, tenant, "submission") == 2
    worker.close()
    assert sorted(engine.accepted) == sorted(expected)


def test_a_command_works_for_all_tenants(
    given: dict[str, Any], manage: Manage, engine: FakeIndexNow
) -> None:
    worker = Worker("databases", **given)
    for tenant in TENANTS:
        worker("save", tenant=tenant, slug="a")
    _out, err, code = worker("manage", arguments=["build_sitemaps"])
    assert code == 0, err
    out, err, code = worker("manage", arguments=["ping_sitemaps", "--force"])
    worker.close()
    assert code == 0, err
    for tenant in TENANTS:
        assert f"Site '{tenant}':" in out
        assert f"https://{tenant}.example.com/posts/a/" in engine.accepted
    # One that fails does not keep the others from their turn.
    os.truncate(f"{given['folder']}/t1.sqlite3", 0)
    done = manage("ping_sitemaps", "--force")
    assert done.returncode == 1
    missing = (
        "The tables of django_sitemaps_plus are missing for the tenant 't1': run "
        "'manage.py migrate --database t1'."
    )
    assert f"CommandError: Site t1: {missing}" in done.stderr
    assert "Site 't3':" in done.stdout


def test_a_command_passes_over_a_tenant_without_an_address(
    given: dict[str, Any], manage: Manage
) -> None:
    worker = Worker("databases", **given, without=["t1"])
    commands = [["build_sitemaps"], ["ping_sitemaps", "--force"], ["check_sitemaps"]]
    for command in commands:
        out, err, code = worker("manage", arguments=command)
        assert (code, err) == (0, "")
        assert "Site 't1':\nSkipped. The site's address is not known" in out
        assert "Site 't3':" in out
    worker.close()
    assert count(given, "t1", "pagefile") == 0
    assert count(given, "t3", "pagefile") == 1


BING = {
    "BACKEND": "django_sitemaps_plus.contrib.webmasters.bing.BingWebmaster",
    "OPTIONS": {"site": "https://t1.example.com/", "key": KEY},
}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"BASE_URL": "https://www.example.com"}, "sitemaps_plus.E070"),
        ({"TENANTS": "tests.tenants.routing.Router"}, "not a subclass"),
        ({"TENANTS": "tests.nowhere.Tenants"}, "cannot be imported"),
        ({"ENGINES": {"bing": BING}}, "sitemaps_plus.E073"),
        ({"SITEMAPS": "tests.tenants.asking.SITEMAPS"}, "sitemaps_plus.E071"),
    ],
)
@pytest.mark.costly
def test_what_cannot_be_right_is_refused(
    given: dict[str, Any], manage: Manage, settings: dict[str, Any], said: str
) -> None:
    done = manage("check", settings={**given["settings"], **settings})
    assert done.returncode == 1
    assert said in done.stderr, done.stderr
    # Nothing was saved, so the end of the process has nothing to write.
    assert "Exception ignored" not in done.stderr
