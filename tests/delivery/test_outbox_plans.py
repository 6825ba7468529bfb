"""Every look at the outbox uses an index, however much was submitted before."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from django_sitemaps_plus import db
from django_sitemaps_plus.changes import url_changes
from django_sitemaps_plus.db import digest_of
from django_sitemaps_plus.delivery import dispatcher, gate, outbox, requests
from django_sitemaps_plus.delivery.announcing import announce
from django_sitemaps_plus.delivery.engines import EngineHealth
from django_sitemaps_plus.models import EngineState, Submission, UrlChange
from django_sitemaps_plus.signals import urls_changed
from tests.support.ledger_kinds import VENDOR
from tests.support.ledger_world import place
from tests.support.outbox_world import Kind, happened, use
from tests.support.plans import Statement, analyze, explained, scans, statements

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

#: Enough rows that no planner prefers to read them all; SQLite never does.
ROWS = 600 if VENDOR == "sqlite" else 6_000
TABLES = [Submission._meta.db_table, UrlChange._meta.db_table]


@pytest.fixture(autouse=True)
def _purged() -> None:
    """MySQL plans by rows that earlier tests deleted until it has purged them."""
    if VENDOR == "mysql":
        with connection.cursor() as cursor:
            for table in TABLES:
                cursor.execute(f"TRUNCATE TABLE {table}")


@pytest.fixture
def full(settings: Any) -> Any:
    """An engine to which very much was submitted, and a bit more is to be."""
    engine = use(settings, one="Few")
    now = time.time()
    Submission.objects.bulk_create(
        (
            Submission(
                engine="one",
                url=f"/{number}/",
                digest=digest_of(f"/{number}/"),
                host="www.example.com",
                kind="changed",
                state="accepted" if number % 50 else "pending",
                live=None if number % 50 else True,
                due_at=None if number % 50 else now + number,
                created_at=now,
            )
            for number in range(ROWS)
        ),
        batch_size=500,
    )
    EngineState.objects.create(engine="one", host="www.example.com")
    happened(*(f"/{number}/" for number in range(ROWS)), queued_at=now)
    happened(*(f"/new-{number}/" for number in range(5)))
    happened(*(f"/gone-{number}/" for number in range(5)), kind=Kind.REMOVED)
    for table in TABLES:
        analyze(table)
    return engine


def read_by(action: Callable[[], object]) -> list[Statement]:
    """Return what an action reads from the tables of the outbox."""
    with statements("sitemaps_plus_") as found:
        action()
    return [one for one in found if any(table in one[0] for table in TABLES)]


def check_plans(action: Callable[[], object], count: int) -> None:
    """Check that an action reads by an index, in ``count`` statements at least."""
    found = read_by(action)
    assert len(found) >= count
    for statement in found:
        assert scans(statement) == [], statement


def test_what_is_queued_and_due_is_found_by_an_index(full: Any, settings: Any) -> None:
    check_plans(gate.pass_on, 8)
    assert Submission.objects.filter(url__contains="new").count() == 5
    assert Submission.objects.filter(url__contains="gone").count() == 5
    for table in TABLES:
        analyze(table)
    check_plans(dispatcher.deliver, 6)
    assert len(full.sent) == 4
    # And a sitemap, however many URLs wait for a quota.
    use(settings, one="Limited")
    EngineState.objects.update(exhausted_until=time.time() + 1000)
    check_plans(dispatcher.deliver, 1)


def test_what_waits_and_what_is_to_be_announced_is_found_by_an_index(full: Any) -> None:
    check_plans(outbox.next_due, 1)
    check_plans(lambda: EngineHealth.all(""), 1)
    check_plans(lambda: requests.plan([], place(), ["one"], []), 2)
    assert [one.waiting for one in EngineHealth.all("")] == [ROWS // 50]
    [plan] = requests.plan([], place(), ["one"], [])
    assert (plan.urls, plan.postponed) == (1, ROWS // 50 - 1)
    # And what is old, at the start of the table.
    found = read_by(outbox.prune) + read_by(url_changes.prune_url_changes)
    assert len(found) == 2
    for sql, params in found:
        assert "ORDER BY" in sql, (sql, params)
        assert f"LIMIT {db.ROWS}" in sql
    heard: list[Any] = []

    def receiver(**kwargs: Any) -> None:
        heard.append(kwargs)

    urls_changed.connect(receiver)
    happened(*(f"/{number}/" for number in range(5)), announce_at=time.time())
    analyze(UrlChange._meta.db_table)
    try:
        check_plans(announce, 2)
        check_plans(announce, 1)
    finally:
        urls_changed.disconnect(receiver)
    assert [len(one["changed"]) for one in heard] == [5]


def test_where_nothing_was_queued_yet_an_index_is_used(settings: Any) -> None:
    """A planner may expect every row to match, and read the table from its start."""
    use(settings, one="Few")
    happened(*(f"/{number}/" for number in range(ROWS)))
    analyze(UrlChange._meta.db_table)
    found = read_by(gate.pass_on)
    first = [
        (sql, params)
        for sql, params in found
        if "queued_at" in sql.partition(" WHERE ")[2] and "LIMIT" in sql
    ]
    assert len(first) > ROWS // outbox.AT_ONCE
    for statement in first:
        plan = "\n".join(explained(statement))
        assert "sitemaps_plus_url_queue" in plan, (statement, plan)
        assert "sort" not in plan.lower().replace("'possible_keys'", ""), plan
