"""
A hundred schemas of django-tenants, each a site of its own, in one process.

They run on a PostgreSQL server of their own, which does not wait for the disk.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.engines.setups import KEY
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.postgresql_cluster import Cluster
from tests.support.processes import ROOT, within
from tests.support.run_python import python
from tests.tenants.worker import Worker, django, environment

pytestmark = pytest.mark.tenants

TENANTS = [f"t{number:03}" for number in range(100)]
TEN = TENANTS[10:20]
#: The tables of the first tenant, in a schema for each other one: a hundred times
#: ``migrate_schemas`` would take a minute.
CLONE = """
DO $$ DECLARE name text; BEGIN
    CREATE SCHEMA {schema};
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 't000' LOOP
        EXECUTE format(
            'CREATE TABLE {schema}.%1$I (LIKE t000.%1$I INCLUDING ALL)', name
        );
    END LOOP;
    INSERT INTO {schema}.django_migrations SELECT * FROM t000.django_migrations;
END $$
"""
PREPARE = """
from django.core.management import call_command
from django.db import connection
from tests.compat.test_tenants import CLONE, TENANTS
import django; django.setup()
from tests.tenants.customers.models import Customer, Domain

call_command("migrate_schemas", shared=True, run_syncdb=True, verbosity=0)
names = ["public", *TENANTS]
Customer.objects.bulk_create(Customer(schema_name=name) for name in names)
for prefix in ("", "old-"):
    Domain.objects.bulk_create(
        Domain(
            domain=f"{prefix}{one.schema_name}.example.com",
            tenant=one,
            is_primary=not prefix,
        )
        for one in Customer.objects.all()
    )
with connection.cursor() as cursor:
    cursor.execute("CREATE SCHEMA t000")
call_command("migrate_schemas", schema_name="t000", run_syncdb=True, verbosity=0)
with connection.cursor() as cursor:
    for name in TENANTS[1:]:
        cursor.execute(CLONE.format(schema=name))
"""


def ask(url: str, *statements: str) -> list[Any]:
    """Run statements in a database; return the rows of the last one."""
    psycopg = import_module("psycopg")
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """The URL of a database with a schema for each tenant, on a server of its own."""
    memory = Path("/dev/shm")  # noqa: S108 (a folder of its own within)
    is_roomy = memory.is_dir() and shutil.disk_usage(memory).free > 2**30
    folder = Path(tempfile.mkdtemp(dir=memory if is_roomy else None))
    cluster = Cluster(folder)
    try:
        url = f"postgres://root@127.0.0.1:{cluster.port}/postgres"
        done = python("-c", PREPARE, **environment("schemas", database=url))
        assert done.returncode == 0, done.stderr
        yield url
    finally:
        cluster.stop()
        shutil.rmtree(folder)


@pytest.fixture
def engines() -> Iterator[list[FakeIndexNow]]:
    with FakeIndexNow("api") as one, FakeIndexNow("api") as two:
        for tenant in TENANTS:
            one.trust(f"{tenant}.example.com", KEY)
            two.trust(f"{tenant}.example.com", KEY)
        yield [one, two]


@pytest.fixture
def given(database: str, engines: list[FakeIndexNow]) -> dict[str, Any]:
    """What the project is told; nothing is left of the test before."""
    used = ask(
        database,
        "SELECT schemaname, tablename FROM pg_tables WHERE schemaname LIKE 't0%' "
        "AND tablename ~ '^(sitemaps_plus|blog)_'",
    )
    # The first one has foreign keys.
    names = [f"{schema}.{table}" for schema, table in used]
    first = [name for name in names if name.startswith("t000")]
    deletes = [f"DELETE FROM {name}" for name in names if name not in first]  # noqa: S608 (names)
    ask(database, f"TRUNCATE {', '.join(first)}", *deletes)
    trusted = "tests.support.outbox_engines.Trusted"
    settings = {
        "ENGINES": {
            f"to-{number}": {
                "BACKEND": trusted,
                "OPTIONS": {"key": KEY, "endpoint": engine.url, "interval": 0},
            }
            for number, engine in enumerate(engines)
        },
        "NOTIFY_AFTER": 0.5,
    }
    return {"database": database, "settings": settings}


@pytest.fixture
def worker(given: dict[str, Any]) -> Iterator[Worker]:
    running = Worker("schemas", **given)
    yield running
    running.close()


def rows(given: dict[str, Any], table: str) -> dict[str, int]:
    """Return how many rows of a table each tenant has that has any."""
    counts = " UNION ALL ".join(
        f"SELECT '{tenant}', count(*) FROM {tenant}.sitemaps_plus_{table}"  # noqa: S608 (names)
        for tenant in TENANTS
    )
    found = ask(given["database"], counts)
    return {tenant: number for tenant, number in found if number}


def manage(
    given: dict[str, Any], *command: str, **told: Any
) -> subprocess.CompletedProcess[str]:
    return django("schemas", *command, **{**given, **told})


def listed(worker: Worker, host: str) -> list[str]:
    status, text = worker("get", host=host)
    assert status == 200, text
    return re.findall("<loc>(.*?)</loc>", text)


def test_each_save_is_announced_by_the_address_of_its_tenant_alone(
    worker: Worker, given: dict[str, Any], engines: list[FakeIndexNow]
) -> None:
    expected = [f"https://{tenant}.example.com/posts/a/" for tenant in TENANTS]
    # The first request says that this process serves.
    assert listed(worker, "t000.example.com") == []
    for tenant in TENANTS:
        worker("save", tenant=tenant, slug="a")
    one, two = engines
    assert within(120, lambda: min(len(one.accepted), len(two.accepted)) >= 100)
    assert sorted(one.accepted) == sorted(two.accepted) == expected
    assert rows(given, "urlchange") == dict.fromkeys(TENANTS, 1)
    assert rows(given, "submission") == dict.fromkeys(TENANTS, 2)
    assert worker("logged") == []


def test_what_another_process_has_left_is_found_for_all_tenants(
    given: dict[str, Any], engines: list[FakeIndexNow]
) -> None:
    # No request says that this one serves.
    former = Worker("schemas", **given)
    for tenant in TEN:
        former("save", tenant=tenant, slug="left")
    former.close()
    worker = Worker("schemas", **given, each=0.01)
    worker("get", host="t099.example.com", path="/robots.txt")
    expected = [f"https://{tenant}.example.com/posts/left/" for tenant in TEN]
    assert within(120, lambda: len(engines[0].accepted) >= len(TEN))
    worker.close()
    assert sorted(engines[0].accepted) == expected


def test_each_tenant_has_pages_of_its_own_at_its_primary_domain(worker: Worker) -> None:
    for tenant in TEN:
        worker("save", tenant=tenant, slug=f"of-{tenant}")
    # Once built, and once stored; the schema is set by no statement before ours.
    for tenant in [*TEN, *TEN]:
        own = f"https://{tenant}.example.com"
        assert listed(worker, f"{tenant}.example.com") == [f"{own}/posts/of-{tenant}/"]
        assert listed(worker, f"old-{tenant}.example.com") == [
            f"{own}/posts/of-{tenant}/"
        ]
        robots = worker("get", host=f"{tenant}.example.com", path="/robots.txt")[1]
        assert f"Sitemap: {own}/sitemap.xml" in robots
        key = worker("get", host=f"{tenant}.example.com", path=f"/{KEY}.txt")
        assert key == [200, KEY]


def test_what_is_remembered_is_written_where_it_happened(
    worker: Worker, given: dict[str, Any]
) -> None:
    worker("together", tenants=["t001", "t002"], slug="a")
    assert rows(given, "change") == {"t001": 1, "t002": 1}
    worker("away", tenant="t003", slug="a")
    assert "t003" not in rows(given, "change")
    worker("write_late", tenant="t004")
    assert rows(given, "change") == {"t001": 1, "t002": 1, "t003": 1}
    listed(worker, "t001.example.com")
    listed(worker, "t002.example.com")
    worker("store_reads", tenant="t004")
    assert rows(given, "insight_read") == {"t001": 1, "t002": 1}
    for tenant in ("t001", "t002"):
        assert worker("schema_of_bytes", tenant=tenant) == tenant


@pytest.fixture
def ten_tenants(database: str) -> Iterator[None]:
    """Have no tenants but ten: a command checks the project once for each."""
    ten = ", ".join(f"'{tenant}'" for tenant in TEN)
    tables = ("customers_customer", "customers_domain")
    ask(database, *(f"CREATE TABLE all_{name} AS TABLE {name}" for name in tables))
    others = f"(SELECT id FROM all_customers_customer WHERE schema_name NOT IN ({ten}))"  # noqa: S608 (names)
    ask(
        database,
        f"DELETE FROM customers_domain WHERE tenant_id IN {others}",  # noqa: S608 (names)
        f"DELETE FROM customers_customer WHERE id IN {others}",  # noqa: S608 (names)
    )
    yield
    for name in tables:
        ask(
            database,
            f"INSERT INTO {name} SELECT * FROM all_{name} ON CONFLICT DO NOTHING",  # noqa: S608 (names)
            f"DROP TABLE all_{name}",
        )


def test_the_commands_of_django_tenants_run_ours(
    worker: Worker,
    given: dict[str, Any],
    engines: list[FakeIndexNow],
    ten_tenants: None,
) -> None:
    for tenant in TEN:
        worker("save", tenant=tenant, slug="a")
    done = manage(given, "tenant_command", "build_sitemaps", "-s", "t010")
    assert done.returncode == 0, done.stderr
    assert rows(given, "pagefile") == {"t010": 1}
    done = manage(given, "tenant_command", "ping_sitemaps", "-s", "t010", "--force")
    assert done.returncode == 0, done.stderr
    assert engines[0].accepted == ["https://t010.example.com/posts/a/"]
    done = manage(given, "all_tenants_command", "--no-public", "build_sitemaps")
    assert done.returncode == 0, done.stderr
    assert rows(given, "pagefile") == dict.fromkeys(TEN, 1)
    # Without any of them: all tenants, one after another.
    done = manage(given, "ping_sitemaps", "--force")
    assert done.returncode == 0, done.stderr
    assert len(engines[0].accepted) == len(engines[1].accepted) == len(TEN)


def test_a_project_begins_with_an_empty_database(given: dict[str, Any]) -> None:
    ask(given["database"], "CREATE DATABASE empty")
    empty = f"{given['database'].rpartition('/')[0]}/empty"
    extra = {"url": "https://t000.example.com/shop.xml", "index": True}
    told = {"database": empty, "settings": {"EXTRA_SITEMAPS": [extra]}}
    for command, *options in (
        ["check"],
        ["makemigrations", "--check", "--dry-run"],
        ["check", "--database", "default"],
        ["migrate_schemas", "--run-syncdb"],
    ):
        done = manage(given, command, *options, **told)
        assert done.returncode == 0, done.stderr
        # Only who asks for the tables hears that they are missing, and what to run.
        is_said = "'manage.py migrate_schemas' creates them" in done.stderr
        assert is_said == ("--database" in options), done.stderr


@pytest.mark.parametrize("own", [{"TENANTS": "tests.tenants.elsewhere.Elsewhere"}, {}])
def test_an_audit_stays_with_its_tenant_whatever_its_requests_make_current(
    given: dict[str, Any], ten_tenants: None, own: dict[str, Any]
) -> None:
    if not own:
        domains = "customers_domain WHERE domain LIKE '%t010.example.com'"
        ask(given["database"], f"DELETE FROM {domains}")  # noqa: S608 (names)
    done = manage(
        given,
        *("tenant_command", "check_sitemaps", "-s", "t010", "--fetch"),
        settings={**given["settings"], **own},
    )
    # Its page was never built.
    assert "Audit: 0 URLs" in done.stdout, done.stderr
    assert rows(given, "audit_audit") == {"t010": 1}


def test_a_comparison_stays_with_its_tenant_too(
    worker: Worker, given: dict[str, Any], ten_tenants: None
) -> None:
    worker("save", tenant="t010", slug="a")
    worker("save", tenant="t010", slug="b")
    worker("save", tenant="t011", slug="a")
    # Contrib's view asks for it.
    row = "VALUES (1, 't011.example.com', '') ON CONFLICT DO NOTHING"
    ask(given["database"], f"INSERT INTO t011.django_site {row}")
    own = {"TENANTS": "tests.tenants.elsewhere.Elsewhere"}
    command = ("tenant_command", "check_sitemaps", "-s", "t010")
    done = manage(
        given,
        *(*command, "--compare", "former", "--format", "json"),
        settings={**given["settings"], **own},
    )
    assert done.returncode == 0, done.stderr
    compared = json.loads(done.stdout)
    # The one is asked of the host, which is of another tenant.
    assert (compared["before"], compared["after"]) == (1, 2)


def test_the_numbers_of_all_tenants_as_documented(
    worker: Worker, ten_tenants: None
) -> None:
    from tests.support.documented import blocks

    worker("save", tenant="t013", slug="a")
    (block,) = (
        block
        for block in blocks(ROOT / "docs" / "insight.md", "python")
        if "Schemas()" in block
    )
    waiting = worker("read_as_documented", block=block)
    assert {key: waiting[key] for key in TEN} == {key: key == "t013" for key in TEN}


def test_threads_and_processes_race_over_ten_tenants_and_nothing_leaks(
    worker: Worker, given: dict[str, Any], engines: list[FakeIndexNow]
) -> None:
    other = Worker("schemas", **given)
    racing = {"a": worker, "b": other}
    for name, process in racing.items():
        process.begin("race", tenants=TEN, name=name, threads=5, count=12)
    assert [process.end() for process in racing.values()] == [[], []]
    # Two tenants have what was saved together.
    expected = 2 * 5 * (8 + 2 * 4)
    accepted = engines[0].accepted
    assert within(120, lambda: len(set(accepted)) >= expected)
    other.close()
    hosts = re.compile(r"https://(t\d+)\.example\.com/posts/(t\d+)-\w-\d+-\d+/")
    for url in set(accepted):
        host, of = hosts.fullmatch(url).groups()  # type: ignore[union-attr]
        # Saved together: with that of the tenant before.
        assert host in (of, TEN[(TEN.index(of) + 1) % 10]), url
    assert len(set(accepted)) == expected
    assert set(rows(given, "urlchange")) == set(TEN)


def test_tenants_who_would_share_one_ledger_are_refused(given: dict[str, Any]) -> None:
    assert manage(given, "check").returncode == 0
    done = manage(given, "check", shared=True)
    assert done.returncode == 1
    assert "sitemaps_plus.E072" in done.stderr
