"""
A transaction that the database ends while something is recorded.

What the project does next must not be committed without what it did before.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import DatabaseError, connection, connections, transaction
from django.db.utils import InterfaceError

from tests.conftest import Register
from tests.support.recorded import Articles
from tests.testapp.models import Article, Note

pytestmark = pytest.mark.django_db(transaction=True)

TRIGGER = {
    "sqlite": """
        CREATE TRIGGER disaster BEFORE INSERT ON sitemaps_plus_change
        BEGIN SELECT RAISE(ROLLBACK, 'disk full'); END""",
    "postgresql": """
        CREATE FUNCTION disaster() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END';
        CREATE TRIGGER disaster BEFORE INSERT ON sitemaps_plus_change
        FOR EACH ROW EXECUTE FUNCTION disaster()""",
}
NO_TRIGGER = {
    "sqlite": "DROP TRIGGER disaster",
    "postgresql": "DROP FUNCTION disaster CASCADE",
}


@contextmanager
def trigger() -> Iterator[Callable[[], None]]:
    """Have the database end the transaction at the next INSERT of ours."""
    with connection.cursor() as cursor:
        cursor.execute(TRIGGER[connection.vendor])
    try:
        yield lambda: None
    finally:
        connection.close()
        with connection.cursor() as cursor:
            cursor.execute(NO_TRIGGER[connection.vendor])


@contextmanager
def deadlock() -> Iterator[Callable[[], None]]:
    """Have the next INSERT of ours meet another transaction, and lose."""
    held, go = threading.Event(), threading.Event()

    def other() -> None:
        try:
            with connections["default"].cursor() as cursor:
                cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE")
            with transaction.atomic():
                # Who has changed more rows wins.
                Note.objects.bulk_create(Note(number=n) for n in range(100, 200))
                with connections["default"].cursor() as cursor:
                    cursor.execute("SELECT * FROM sitemaps_plus_change FOR UPDATE")
                held.set()
                go.wait(30)
                Article.objects.update(title="waits")
                transaction.set_rollback(True)
        finally:
            connections.close_all()

    def wait() -> None:
        go.set()
        with connection.cursor() as cursor:
            for _ in range(100):
                time.sleep(0.2)
                cursor.execute(
                    "SELECT COUNT(*) FROM information_schema.innodb_trx "
                    "WHERE trx_state = 'LOCK WAIT'"
                )
                if cursor.fetchone()[0]:
                    return
        raise AssertionError("nobody waits")

    thread = threading.Thread(target=other)
    thread.start()
    held.wait(30)
    try:
        yield wait
    finally:
        go.set()
        thread.join()


def test_nothing_is_committed_by_half(register: Register) -> None:
    register("news", Articles)
    first, second = (Article.objects.create(slug=slug) for slug in "ab")
    disaster = deadlock if connection.vendor == "mysql" else trigger

    def work(ready: Callable[[], None]) -> None:
        with transaction.atomic():
            Note.objects.create(number=1)
            Article.objects.filter(pk=first.pk).update(title="locked")
            ready()
            second.slug = "c"
            second.save()
            Note.objects.create(number=2)

    with disaster() as ready, pytest.raises((DatabaseError, InterfaceError)):
        work(ready)
    assert not Note.objects.exists()
    assert Article.objects.get(pk=second.pk).slug == "b"
