"""Our table out of reach, and SQLite's one writer at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, connections, transaction

from tests.support.alike import TABLE, World
from tests.testapp.models import Article, Category, Note

from . import MYSQL, POSTGRESQL, SQLITE, run, situation
from .saving import changed

SERVER = POSTGRESQL or MYSQL


@contextmanager
def session(**values: str) -> Iterator[None]:
    """Set variables of the session; a pool hands it on to others."""
    for name, value in values.items():
        run(f"SET {name} = {value}")
    try:
        yield
    finally:
        for name in values:
            run(f"RESET {name}" if POSTGRESQL else f"SET {name} = DEFAULT")


@contextmanager
def _role() -> Iterator[None]:
    """Make a role that may write to the project's tables, and to none of ours."""
    name = role()
    run(f"CREATE ROLE {name}")
    try:
        ((tables,),) = run(
            "SELECT string_agg(quote_ident(relname), ', ') FROM pg_class "
            "WHERE relname LIKE 'testapp%' AND relkind IN ('r', 'S')"
        )
        run(f"GRANT ALL ON {tables} TO {name}")
        yield
    finally:
        run(f"DROP OWNED BY {name}")
        run(f"DROP ROLE {name}")


def role() -> str:
    """Return the name of the role: roles belong to all databases of a server."""
    return f"role_of_{connection.settings_dict['NAME']}"[:60].replace("-", "_")


@situation(on=POSTGRESQL, around=_role, inserts=(1, 2))
def a_role_with_few_rights(world: World) -> None:
    with transaction.atomic():
        run(f"SET LOCAL ROLE {role()}")
        article = changed()
        article.save()
        Article.objects.create(slug="made").delete()
        Category.objects.get(pk=1).save()
    run(f"SET ROLE {role()}")
    article.slug = "again"
    world.tries(article.save)
    run("RESET ROLE")


_TABLE_LOCK_TIMEOUT: dict[str, str] = (
    {"lock_timeout": "'60ms'"} if POSTGRESQL else {"lock_wait_timeout": "0"}
)


@situation(on=SERVER, inserts=2)
def our_table_is_locked(world: World) -> None:
    """As while it is migrated."""
    if POSTGRESQL:
        world.somebody.begins(f"LOCK TABLE {TABLE} IN ACCESS EXCLUSIVE MODE")
    else:
        world.somebody.runs(f"LOCK TABLES {TABLE} WRITE")
    with session(**_TABLE_LOCK_TIMEOUT):
        with transaction.atomic():
            transaction.on_commit(world.callback("before"))
            changed().save()
            transaction.on_commit(world.callback("after"))
        changed(2, "2").save()


# SQLite: one writer at a time


def options(journal: str, **values: Any) -> Callable[[], Any]:
    """Return a way to set up SQLite's journal, and the connection's options."""

    @contextmanager
    def around() -> Iterator[None]:
        found = connections["default"].settings_dict
        before = found["OPTIONS"]
        run(f"PRAGMA journal_mode = {journal}")
        found["OPTIONS"] = {**before, "timeout": 5, **values}
        connection.close()
        try:
            yield
        finally:
            found["OPTIONS"] = before
            connection.close()
            run("PRAGMA journal_mode = DELETE")

    return around


_LABEL = "INSERT INTO testapp_label (name) VALUES ('held')"


def _held(world: World, work: Callable[[], object]) -> None:
    """Do something while somebody else holds SQLite's lock for a moment."""
    world.somebody.begins(_LABEL)
    world.somebody.commits_soon()
    world.tries(work)
    world.somebody.leaves()


def _writes(world: World) -> None:
    """Each of these waits for the lock, and is not told "database is locked"."""
    article, category = changed(), Category.objects.get(pk=1)
    category.slug = "no"
    note = Note.objects.get(pk=1)
    for work in (article.save, category.save, note.delete):
        _held(world, work)
        _held(world, transaction.atomic(work))


def _locked_when_ours_is_written(world: World) -> None:
    with transaction.atomic():
        transaction.on_commit(lambda: world.somebody.begins(_LABEL))
        changed().save()
        transaction.on_commit(world.callback("after"))


for _journal in ("DELETE", "WAL"):
    for _case, _act, _inserts, _options in (
        ("deferred", _writes, (5, 6), {"transaction_mode": "DEFERRED"}),
        ("immediate", _writes, (5, 6), {"transaction_mode": "IMMEDIATE"}),
        (
            "locks_ours",
            _locked_when_ours_is_written,
            (0, 2),
            {"transaction_mode": None, "timeout": 0.1},
        ),
    ):
        situation(
            on=SQLITE,
            name=f"sqlite_{_journal.lower()}_{_case}",
            around=options(_journal, **_options),
            inserts=_inserts,
            at_once=2,
        )(_act)
