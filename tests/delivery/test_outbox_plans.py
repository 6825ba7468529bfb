"""Every claim is looked up in an index, however much was told before."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from django_sitemaps_plus.changes import events
from django_sitemaps_plus.delivery import dispatcher, outbox
from django_sitemaps_plus.delivery.models import digest_of
from django_sitemaps_plus.models import EngineState, Submission, UrlChange
from tests.pagination.test_plans import VENDOR, Statement, analyze, explained
from tests.support.outbox_world import happened, use

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

#: Enough rows that no planner prefers to read them all.
ROWS = 6_000
TABLES = [Submission._meta.db_table, UrlChange._meta.db_table]


@pytest.fixture
def full(settings: Any) -> Any:
    """Give an engine that was told very much, and has some more to be told."""
    engine = use(settings, one="Few")
    now = time.time()
    submissions = (
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
    )
    Submission.objects.bulk_create(submissions, batch_size=500)
    EngineState.objects.create(engine="one", host="www.example.com")
    happened(*(f"/{number}/" for number in range(ROWS)), queued_at=now)
    happened(*(f"/new-{number}/" for number in range(5)))
    for table in TABLES:
        analyze(table)
    return engine


def statements(action: Callable[[], object]) -> list[Statement]:
    """Collect what is read from the tables of the outbox."""
    found: list[Statement] = []

    def execute(run: Any, sql: str, params: Any, *args: Any) -> Any:
        if sql.startswith("SELECT") and any(table in sql for table in TABLES):
            found.append((sql, params))
        return run(sql, params, *args)

    with connection.execute_wrapper(execute):
        action()
    return found


def assert_indexed(statement: Statement) -> None:
    plan = "\n".join(explained(statement))
    if VENDOR == "sqlite":
        assert "SEARCH" in plan or "USING INTEGER PRIMARY KEY" in plan, (
            statement,
            plan,
        )
        assert "SCAN" not in plan, (statement, plan)
    elif VENDOR == "postgresql":
        assert "Index" in plan, (statement, plan)
        assert "Seq Scan" not in plan, (statement, plan)
    else:
        assert "'type': 'ALL'" not in plan, (statement, plan)
        assert "'type': 'index'" not in plan, (statement, plan)


def test_what_is_queued_is_found_by_an_index(full: Any) -> None:
    found = statements(outbox.enqueue)
    assert len(found) >= 4
    for statement in found:
        assert_indexed(statement)
    assert Submission.objects.filter(url__contains="new").count() == 5


def test_where_nothing_was_queued_yet_it_is_the_index_of_what_is_not(
    settings: Any,
) -> None:
    """A planner may think that the first rows are of this kind, whichever they are."""
    use(settings, one="Few")
    happened(*(f"/{number}/" for number in range(ROWS)))
    analyze(UrlChange._meta.db_table)
    found = statements(outbox.enqueue)
    first = [one for one in found if "queued_at" in one[0].partition(" WHERE ")[2]]
    assert len(first) == ROWS // outbox.CHUNK + 1
    for statement in first:
        plan = "\n".join(explained(statement))
        assert "sitemaps_plus_url_queue" in plan, (statement, plan)
        assert "sort" not in plan.lower().replace("'possible_keys'", ""), plan


def test_what_is_due_is_found_by_an_index(full: Any) -> None:
    outbox.enqueue()
    for table in TABLES:
        analyze(table)
    found = statements(dispatcher.deliver)
    assert len(full.sent) == 2
    assert len(found) >= 6
    for statement in found:
        assert_indexed(statement)


def test_when_to_go_on_is_found_by_an_index(full: Any) -> None:
    for statement in statements(outbox.next_due):
        assert_indexed(statement)


def test_what_is_old_is_found_at_the_beginning(full: Any) -> None:
    """By the primary key, and some rows only."""
    found = statements(outbox.prune) + statements(events.prune)
    assert found
    for sql, params in found:
        assert "ORDER BY" in sql, (sql, params)
        assert f"LIMIT {events.ROWS}" in sql
