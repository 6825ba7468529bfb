"""Locks, isolation, time limits, and what a session may not do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import OperationalError, connection, connections, transaction
from django.db.models import F

from tests.support.alike import TABLE, World, code
from tests.support.somebody_else import process
from tests.testapp.models import Article, Category, Note

from . import MYSQL, POSTGRESQL, SQLITE, run, situation
from .saving import changed

SERVER = POSTGRESQL or MYSQL
#: What transactions of these codes failed with may go well if they are tried again.
AGAIN = ("40001", "40P01", "1213", "1020")
#: What somebody else does to the first article.
HOLD = "UPDATE testapp_article SET title = 'held' WHERE id = 1"


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


def isolation(level: str) -> None:
    """Set the isolation level of the transaction that begins here."""
    run(f"SET TRANSACTION ISOLATION LEVEL {level}")


def again_and_again(world: World, work: Callable[[int], object]) -> list[str]:
    """
    Try a transaction again while it is in conflict with others, as sites do.

    Returns the codes that it failed with.
    """
    codes: list[str] = []
    for turn in range(3):
        try:
            with transaction.atomic():
                work(turn)
        except OperationalError as error:
            codes.append(code(error))
            world.note("turn", turn, codes[-1], error.args)
            if codes[-1] not in AGAIN:
                raise
        else:
            break
    return codes


# Waiting


@situation(on=SERVER, recorded=[1])
def a_lock_that_is_waited_for(world: World) -> None:
    article = changed()
    world.somebody.begins(HOLD)
    world.somebody.commits_when_waited_for()
    article.save()
    world.state(article)


@situation(on=SERVER, recorded=[1])
def a_lock_that_is_waited_for_in_atomic(world: World) -> None:
    world.somebody.begins(HOLD)

    def work(turn: int) -> None:
        if turn == 0:
            world.somebody.commits_when_waited_for()
        changed().save(update_fields=["slug"])
        world.note(Article.objects.values_list("title").get(pk=1))

    # Not in vain, but under REPEATABLE READ.
    again_and_again(world, work)


@situation(on=SERVER, recorded=[1])
def an_expression_that_waits_for_a_lock(world: World) -> None:
    """From Django 6 on an UPDATE … RETURNING, where the database has it."""
    article = Article.objects.get(pk=1)
    article.weight = F("weight") + 1
    world.somebody.begins("UPDATE testapp_article SET weight = 10 WHERE id = 1")
    world.somebody.commits_when_waited_for()
    article.save()
    world.state(article)


@situation(on=SERVER, recorded=[5])
def a_delete_that_waits_for_a_lock(world: World) -> None:
    article = Article.objects.get(pk=5)
    world.somebody.begins("UPDATE testapp_article SET title = 'held' WHERE id = 5")
    world.somebody.commits_when_waited_for()
    if world.tries(article.delete) in AGAIN:
        world.tries(article.delete)


@situation()
def select_for_update(world: World) -> None:
    with transaction.atomic():
        for model in (Article, Category):
            found = model._default_manager.select_for_update().get(pk=1)
            found.slug = "locked"
            found.save()
    world.tries(lambda: list(Article.objects.select_for_update()))


# Errors that locks cause


_LOCK_TIMEOUT: dict[str, str] = (
    {"lock_timeout": "'60ms'"} if POSTGRESQL else {"innodb_lock_wait_timeout": "0"}
)


@situation(on=SERVER, recorded=[2])
def lock_timeout(world: World) -> None:
    article = changed()
    world.somebody.begins(HOLD)

    def work() -> None:
        with transaction.atomic():
            Note.objects.create(number=4)
            article.save()

    with session(**_LOCK_TIMEOUT):
        world.tries(article.save)
        assert world.tries(work) in ("55P03", "1205")
        with transaction.atomic():
            changed(2, "2").save()
            with suppress(OperationalError), transaction.atomic():
                article.delete()
    world.state(article)


@situation(on=POSTGRESQL, inserts=0, recorded=[])
def statement_timeout(world: World) -> None:
    """What was cancelled is not sent again."""
    article = changed()
    world.somebody.begins(HOLD)

    def work() -> None:
        with transaction.atomic():
            world.tries(article.save)
            world.tries(Article.objects.count)
            article.save()

    with session(statement_timeout="'60ms'"):
        assert world.tries(article.save) == "57014"
        world.tries(work)


@situation(on=SERVER, recorded=[1, 2])
def deadlock(world: World) -> None:
    """The one that is the victim tries again, as sites do."""
    somebody = world.somebody
    labels = ", ".join(["('weight')"] * 60)
    somebody.begins(
        # The transaction that wrote less is MySQL's victim.
        f"INSERT INTO testapp_label (name) VALUES {labels}",  # noqa: S608 (names of our own)
        "UPDATE testapp_article SET title = 'held' WHERE id = 2",
    )

    def work(turn: int) -> None:
        if POSTGRESQL and turn == 0:
            # Who looks first is PostgreSQL's.
            run("SET LOCAL deadlock_timeout = '10ms'")
        changed(1, f"turn {turn}").save(update_fields=["slug"])
        if turn == 0:
            somebody.runs_meanwhile(HOLD)
        try:
            Article(pk=2, slug="2").save(update_fields=["slug"])
        except OperationalError:
            world.tries(Note.objects.count)
            somebody.rolls_back()
            raise

    assert again_and_again(world, work) in (["40P01"], ["1213"])


# PostgreSQL's conflicts

_LEVELS = ("REPEATABLE READ", "SERIALIZABLE")


def _conflicts(level: str) -> Callable[[World], None]:
    """Return a save of what somebody else has saved meanwhile."""

    def act(world: World) -> None:
        def work(turn: int) -> None:
            isolation(level)
            article = changed(1, f"turn {turn}")
            if turn == 0:
                world.somebody.runs(HOLD)
            article.save()
            article.refresh_from_db()

        assert again_and_again(world, work) == ["40001"]

    return act


def _is_doomed(model: Any, work: Callable[[Any], object]) -> Callable[[World], None]:
    """
    Return what somebody's commit dooms, which its next statement finds out.

    Somebody has read what it wrote, as it was before, and written what it has read.
    """

    def act(world: World) -> None:
        def in_turn(turn: int) -> None:
            isolation("SERIALIZABLE")
            Note.objects.count()
            changed(4, f"turn {turn}").save()
            instance = model.objects.get(pk=3)
            instance.slug = "doomed"
            if turn == 0:
                world.somebody.runs(
                    "BEGIN ISOLATION LEVEL SERIALIZABLE",
                    "SELECT * FROM testapp_article",
                    "INSERT INTO testapp_note (number) VALUES (77)",
                    "COMMIT",
                )
            work(instance)

        assert again_and_again(world, in_turn) == ["40001"]

    return act


for _level in _LEVELS:
    situation(
        on=POSTGRESQL, name=f"a_conflict_under_{_level}".lower().replace(" ", "_")
    )(_conflicts(_level))
for _name, _doomed in {
    "a_save": _is_doomed(Article, lambda article: article.save()),
    "a_category": _is_doomed(Category, lambda category: category.save()),
    "a_delete": _is_doomed(Article, lambda article: article.delete()),
}.items():
    situation(on=POSTGRESQL, name=f"{_name}_that_is_doomed_under_serializable")(_doomed)


@situation(on=POSTGRESQL, recorded=[1])
def no_conflict_under_serializable(world: World) -> None:
    """Neither reads what the other writes; a query of ours would make it a conflict."""

    def work(turn: int) -> None:
        isolation("SERIALIZABLE")
        Note.objects.create(number=50)
        Article(pk=1, slug=f"turn {turn}").save(update_fields=["slug"])
        if turn == 0:
            world.somebody.runs(
                "BEGIN ISOLATION LEVEL SERIALIZABLE",
                "SELECT count(*) FROM testapp_note",
                "UPDATE testapp_category SET slug = 'x' WHERE id = 1",
                "COMMIT",
            )

    assert again_and_again(world, work) == []


@situation(on=SERVER)
def the_snapshot_begins_with_their_first_query(world: World) -> None:
    """A query of ours before it would make the snapshot older."""
    article = changed(1)
    article.pk, article._state.adding = None, True
    update = "UPDATE testapp_article SET title = 'x' WHERE id = "
    if MYSQL:
        isolation("REPEATABLE READ")
    with transaction.atomic():
        if POSTGRESQL:
            isolation("REPEATABLE READ")
        world.somebody.runs(f"{update} 2")
        article.save(force_insert=True)
        world.note(Article.objects.values_list("title").get(pk=2))
        world.somebody.runs(f"{update} 3")
        changed(4, "4").save()
        world.note(Article.objects.values_list("title").get(pk=3))


# What a session may not do


@situation(inserts=0, recorded=[])
def a_session_that_may_only_read(world: World) -> None:
    article = changed()

    def work() -> None:
        with transaction.atomic():
            if POSTGRESQL:
                run("SET TRANSACTION READ ONLY")
            world.tries(article.save)
            world.tries(Note.objects.count)
            transaction.set_rollback(True)

    if SQLITE:
        run("PRAGMA query_only = ON")
        world.tries(article.save)
        world.tries(article.delete)
    if MYSQL:
        run("SET TRANSACTION READ ONLY")
    world.tries(work)
    if SQLITE:
        run("PRAGMA query_only = OFF")


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


@situation(on=SERVER, inserts=0, recorded=[])
def the_server_ends_the_connection(world: World) -> None:
    def work() -> None:
        with transaction.atomic():
            changed(1).save()
            world.somebody.ends(process(connection))
            world.tries(Article(pk=2, slug="2").save)
            Article(pk=3, slug="3").save()

    world.tries(work)
    world.note(connection.in_atomic_block, connection.connection is None)


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
    world.somebody.commits_when_waited_for()
    world.tries(work)
    world.somebody.rolls_back()


def _writes(world: World) -> None:
    """Each of these waits for the lock, and is not told "database is locked"."""
    article, category = changed(), Category.objects.get(pk=1)
    category.slug = "no"
    note = Note.objects.get(pk=1)
    for work in (article.save, category.save, note.delete):
        _held(world, work)
        _held(world, transaction.atomic(work))


def _read_before_it_is_saved(world: World) -> None:
    """Without IMMEDIATE an error, app or not: who has read may not wait to write."""

    def work() -> None:
        with transaction.atomic():
            changed().save()

    _held(world, work)


def _a_reader_keeps_the_commit_waiting(world: World) -> None:
    world.somebody.runs("BEGIN", "SELECT * FROM testapp_article")
    world.tries(
        transaction.atomic(lambda: Article(pk=1, slug="1").save(update_fields=["slug"]))
    )


def _locked_when_ours_is_written(world: World) -> None:
    with transaction.atomic():
        transaction.on_commit(lambda: world.somebody.begins(_LABEL))
        changed().save()
        transaction.on_commit(world.callback("after"))


for _journal in ("DELETE", "WAL"):
    _short: dict[str, Any] = {"transaction_mode": None, "timeout": 0.1}
    for _case, _act, _inserts, _options in (
        ("deferred", _writes, (5, 6), {"transaction_mode": "DEFERRED"}),
        ("immediate", _writes, (5, 6), {"transaction_mode": "IMMEDIATE"}),
        ("reads_first", _read_before_it_is_saved, 0, {"transaction_mode": None}),
        ("has_a_reader", _a_reader_keeps_the_commit_waiting, (0, 1), _short),
        ("locks_ours", _locked_when_ours_is_written, (0, 2), _short),
    ):
        situation(
            on=SQLITE,
            name=f"sqlite_{_journal.lower()}_{_case}",
            around=options(_journal, **_options),
            inserts=_inserts,
            at_once=2,
        )(_act)
