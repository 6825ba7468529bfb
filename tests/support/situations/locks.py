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

from . import BOTH, MYSQL, POSTGRESQL, SQLITE, run, situation
from .saving import changed

SERVER = POSTGRESQL or MYSQL
#: What transactions of these codes failed with may go well if they are tried again.
AGAIN = ("40001", "40P01", "1213", "1020")


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


def again_and_again(world: World, work: Callable[[int], object]) -> None:
    """Try a transaction again while it is in conflict with others, as sites do."""
    for turn in range(3):
        try:
            with transaction.atomic():
                work(turn)
        except OperationalError as error:
            world.note("turn", turn, code(error), error.args)
            if code(error) not in AGAIN:
                raise
        else:
            world.note("turn", turn, "done")
            return


# Waiting


@situation(on=SERVER, sections=BOTH, recorded=[1])
def a_lock_that_is_waited_for_in_autocommit(world: World) -> None:
    article = changed()
    world.somebody.begins("UPDATE testapp_article SET title = 'held' WHERE id = 1")
    world.somebody.commits_when_waited_for()
    article.save()
    world.state(article)


@situation(on=SERVER, sections=BOTH, recorded=[1])
def a_lock_that_is_waited_for_in_atomic(world: World) -> None:
    world.somebody.begins("UPDATE testapp_article SET title = 'held' WHERE id = 1")

    def work(turn: int) -> None:
        if turn == 0:
            world.somebody.commits_when_waited_for()
        article = changed()
        article.save(update_fields=["slug"])
        world.note(Article.objects.values_list("title").get(pk=1))

    # Not in vain, but under REPEATABLE READ.
    again_and_again(world, work)


@situation(on=SERVER, sections=BOTH, recorded=[1])
def an_expression_that_waits_for_a_lock(world: World) -> None:
    """From Django 6 on an UPDATE … RETURNING, where the database has it."""
    article = Article.objects.get(pk=1)
    article.weight = F("weight") + 1
    world.somebody.begins("UPDATE testapp_article SET weight = 10 WHERE id = 1")
    world.somebody.commits_when_waited_for()
    article.save()
    world.state(article)
    world.note(Article.objects.values_list("weight").get(pk=1))


@situation(on=SERVER, sections=BOTH, recorded=[5])
def a_delete_that_waits_for_a_lock(world: World) -> None:
    article = Article.objects.get(pk=5)
    world.somebody.begins("UPDATE testapp_article SET title = 'held' WHERE id = 5")
    world.somebody.commits_when_waited_for()
    if world.tries(article.delete) in AGAIN:
        world.tries(article.delete)


@situation(on=SERVER, sections=BOTH, recorded=[5])
def a_row_that_is_deleted_while_it_is_waited_for(world: World) -> None:
    article = Article.objects.get(pk=5)
    world.somebody.begins("DELETE FROM testapp_article WHERE id = 5")
    world.somebody.commits_when_waited_for()
    article.slug = "back"
    article.save()
    world.state(article)


@situation()
def select_for_update(world: World) -> None:
    with transaction.atomic():
        article = Article.objects.select_for_update().get(pk=1)
        article.slug = "locked"
        article.save()
        category = Category.objects.select_for_update().get(pk=1)
        category.slug = "locked"
        category.save()
        rows = Article.objects.select_for_update().filter(pk__lt=3)
        world.note(list(rows.order_by("pk")))
    world.tries(lambda: list(Article.objects.select_for_update()))


@situation(on=SERVER)
def rows_that_others_have_locked(world: World) -> None:
    world.somebody.begins("SELECT id FROM testapp_article WHERE id = 1 FOR UPDATE")
    with transaction.atomic():
        rows = Article.objects.order_by("pk")
        with suppress(OperationalError), transaction.atomic():
            world.tries(rows.select_for_update(nowait=True).first)
            transaction.set_rollback(True)
        free = rows.filter(pk__in=[1, 2]).select_for_update(skip_locked=True)
        for article in free:
            article.slug = "skipped to"
            article.save()
            world.note(article.pk)


@situation(on=POSTGRESQL)
def a_lock_of_the_whole_table(world: World) -> None:
    with transaction.atomic():
        run("LOCK TABLE testapp_article IN SHARE ROW EXCLUSIVE MODE")
        changed().save()
    world.somebody.begins("LOCK TABLE testapp_category IN ACCESS EXCLUSIVE MODE")
    # Nobody has asked to read categories.
    article = Article(pk=2, slug="2")
    with session(lock_timeout="'200ms'"), transaction.atomic():
        article.save(update_fields=["slug"])
        transaction.set_rollback(True)


# Errors that locks cause


_LOCK_TIMEOUT: dict[str, str] = (
    {"lock_timeout": "'60ms'"} if POSTGRESQL else {"innodb_lock_wait_timeout": "0"}
)


@situation(on=SERVER, sections=BOTH, recorded=[2])
def lock_timeout(world: World) -> None:
    article = changed()
    world.somebody.begins("UPDATE testapp_article SET title = 'held' WHERE id = 1")
    with session(**_LOCK_TIMEOUT):
        world.tries(article.save)

        def work() -> None:
            with transaction.atomic():
                Note.objects.create(number=4)
                article.save()

        assert world.tries(work) in ("55P03", "1205")
        with transaction.atomic():
            changed(2, "2").save()
            with suppress(OperationalError), transaction.atomic():
                article.delete()
            Note.objects.create(number=5)
    world.state(article)


@situation(on=POSTGRESQL, inserts=0, sections=BOTH)
def statement_timeout(world: World) -> None:
    article = changed()
    world.somebody.begins("UPDATE testapp_article SET title = 'held' WHERE id = 1")
    with session(statement_timeout="'60ms'"):
        assert world.tries(article.save) == "57014"

        def work() -> None:
            with transaction.atomic():
                Note.objects.create(number=4)
                world.tries(article.save)
                world.tries(Article.objects.count)
                article.save()

        world.tries(work)


@situation(on=SERVER, sections=BOTH)
def deadlock(world: World) -> None:
    """The one that is the victim tries again, as sites do."""
    somebody = world.somebody
    labels = ", ".join(["('weight')"] * 60)
    somebody.begins(
        # The transaction that wrote less is MySQL's victim.
        f"INSERT INTO testapp_label (name) VALUES {labels}",  # noqa: S608
        "UPDATE testapp_article SET title = 'held' WHERE id = 2",
    )
    codes: list[str] = []

    def work(turn: int) -> None:
        if POSTGRESQL and turn == 0:
            # Who looks first is PostgreSQL's.
            run("SET LOCAL deadlock_timeout = '10ms'")
        changed(1, f"turn {turn}").save(update_fields=["slug"])
        if turn == 0:
            somebody.runs_meanwhile(
                "UPDATE testapp_article SET title = 'waits' WHERE id = 1"
            )
        try:
            Article(pk=2, slug="2").save(update_fields=["slug"])
        except OperationalError as error:
            codes.append(code(error))
            world.tries(Note.objects.count)
            somebody.rolls_back()
            raise

    again_and_again(world, work)
    assert codes in (["40P01"], ["1213"])


@situation(on=POSTGRESQL, sections=BOTH)
def a_conflict_under_repeatable_read(world: World) -> None:
    codes = []

    def work(turn: int) -> None:
        isolation("REPEATABLE READ")
        article = changed(1, f"turn {turn}")
        if turn == 0:
            world.somebody.runs("UPDATE testapp_article SET title = 'x' WHERE id = 1")
        try:
            article.save()
        except OperationalError as error:
            codes.append(code(error))
            raise
        article.refresh_from_db()

    again_and_again(world, work)
    assert codes == ["40001"]


@situation(on=POSTGRESQL, sections=BOTH)
def a_conflict_under_serializable(world: World) -> None:
    """Each writes what the other has read."""

    def work(turn: int) -> None:
        isolation("SERIALIZABLE")
        number = Article.objects.filter(live=True).count()
        if turn == 0:
            world.somebody.runs(
                "BEGIN ISOLATION LEVEL SERIALIZABLE",
                "SELECT count(*) FROM testapp_note",
                "UPDATE testapp_article SET live = false WHERE id = 3",
                "COMMIT",
            )
        Note.objects.create(number=100 + number)
        changed(4, f"turn {turn}").save()

    again_and_again(world, work)


@situation(on=POSTGRESQL, sections=BOTH)
def a_save_that_conflicts_under_serializable(world: World) -> None:
    codes = []

    def work(turn: int) -> None:
        isolation("SERIALIZABLE")
        article, category = changed(1, f"turn {turn}"), Category.objects.get(pk=1)
        if turn == 0:
            world.somebody.runs("UPDATE testapp_category SET slug = 'x' WHERE id = 1")
        article.save()
        category.slug = "y"
        try:
            category.save()
        except OperationalError as error:
            codes.append(code(error))
            raise

    again_and_again(world, work)
    assert codes == ["40001"]


def _is_doomed(world: World, model: Any, work: Callable[[Any], object]) -> None:
    """
    Have somebody's commit doom a transaction, which its next statement finds out.

    Somebody has read what it wrote, as it was before, and written what it has read.
    """
    codes = []

    def in_turn(turn: int) -> None:
        isolation("SERIALIZABLE")
        Note.objects.count()
        changed(4, f"turn {turn}").save()
        instance = model.objects.get(pk=3)
        if turn == 0:
            world.somebody.runs(
                "BEGIN ISOLATION LEVEL SERIALIZABLE",
                "SELECT * FROM testapp_article",
                "INSERT INTO testapp_note (number) VALUES (77)",
                "COMMIT",
            )
        try:
            work(instance)
        except OperationalError as error:
            codes.append(code(error))
            raise

    again_and_again(world, in_turn)
    assert codes == ["40001"]


@situation(on=POSTGRESQL, sections=BOTH)
def a_save_that_is_doomed_under_serializable(world: World) -> None:
    def work(article: Article) -> None:
        article.slug = "doomed"
        article.save()

    _is_doomed(world, Article, work)


@situation(on=POSTGRESQL, sections=BOTH)
def a_category_that_is_doomed_under_serializable(world: World) -> None:
    def work(category: Category) -> None:
        category.slug = "top"
        category.save()

    _is_doomed(world, Category, work)


@situation(on=POSTGRESQL, sections=BOTH)
def a_delete_that_is_doomed_under_serializable(world: World) -> None:
    _is_doomed(world, Article, lambda article: article.delete())


@situation(on=POSTGRESQL, sections=BOTH)
def a_delete_that_conflicts_under_serializable(world: World) -> None:
    def work(turn: int) -> None:
        isolation("SERIALIZABLE")
        found = list(Article.objects.filter(pk__in=[3, 4]).order_by("pk"))
        if turn == 0:
            world.somebody.runs("UPDATE testapp_article SET title = 'x' WHERE id = 4")
        world.note(Article.objects.filter(pk__in=[a.pk for a in found]).delete())

    again_and_again(world, work)


@situation(on=POSTGRESQL, sections=BOTH)
def no_conflict_under_serializable(world: World) -> None:
    """Neither reads what the other writes; a query of ours would make it a conflict."""

    def work(turn: int) -> None:
        isolation("SERIALIZABLE")
        Note.objects.create(number=50)
        article = Article(pk=1, slug=f"turn {turn}")
        article.save(update_fields=["slug"])
        if turn == 0:
            world.somebody.runs(
                "BEGIN ISOLATION LEVEL SERIALIZABLE",
                "SELECT count(*) FROM testapp_note",
                "UPDATE testapp_category SET slug = 'x' WHERE id = 1",
                "COMMIT",
            )

    again_and_again(world, work)


@situation(on=SERVER, sections=BOTH)
def what_a_transaction_goes_on_seeing(world: World) -> None:
    if MYSQL:
        isolation("REPEATABLE READ")
    with transaction.atomic():
        if POSTGRESQL:
            isolation("REPEATABLE READ")
        changed(1).save()
        world.somebody.runs("UPDATE testapp_article SET title = 'x' WHERE id = 2")
        world.note(Article.objects.values_list("title").get(pk=2))
        changed(3, "3").save()
        world.note(Article.objects.values_list("title").get(pk=2))


@situation(on=SERVER, sections=BOTH)
def the_snapshot_begins_with_their_first_query(world: World) -> None:
    """A query of ours before it would make the snapshot older."""
    article = changed(1)
    if MYSQL:
        isolation("REPEATABLE READ")
    with transaction.atomic():
        if POSTGRESQL:
            isolation("REPEATABLE READ")
        article.pk, article._state.adding = None, True
        world.somebody.runs("UPDATE testapp_article SET title = 'x' WHERE id = 2")
        article.save(force_insert=True)
        world.note(Article.objects.values_list("title").get(pk=2))


# What a session may not do


@situation(on=SERVER, inserts=0, sections=BOTH)
def a_read_only_transaction(world: World) -> None:
    def work() -> None:
        with transaction.atomic():
            if POSTGRESQL:
                run("SET TRANSACTION READ ONLY")
            article = changed()
            world.tries(article.save)
            world.tries(Note.objects.count)
            transaction.set_rollback(True)

    if MYSQL:
        run("SET TRANSACTION READ ONLY")
    world.tries(work)


@situation(on=SQLITE, inserts=0)
def a_read_only_session(world: World) -> None:
    article = changed()
    run("PRAGMA query_only = ON")
    world.tries(article.save)
    world.tries(article.delete)

    def work() -> None:
        with transaction.atomic():
            article.save()

    world.tries(work)
    run("PRAGMA query_only = OFF")


@contextmanager
def _role() -> Iterator[None]:
    """Make a role that may write to the project's tables, and to none of ours."""
    name = role()
    drop = (f"DROP OWNED BY {name}", f"DROP ROLE {name}")
    run(f"CREATE ROLE {name}")
    try:
        ((tables,),) = run(
            "SELECT string_agg(quote_ident(relname), ', ') FROM pg_class "
            "WHERE relname LIKE 'testapp%' AND relkind IN ('r', 'S')"
        )
        run(f"GRANT ALL ON {tables} TO {name}")
        yield
    finally:
        for sql in drop:
            run(sql)


def role() -> str:
    """Return the name of the role: roles belong to all databases of a server."""
    return f"role_of_{connection.settings_dict['NAME']}"[:60].replace("-", "_")


@situation(on=POSTGRESQL, around=_role, inserts=(1, 2), sections=BOTH)
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
    world.note("done")


@situation(on=SERVER, inserts=0, sections=BOTH)
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


def _held(world: World) -> None:
    """Have somebody else hold SQLite's lock for a moment."""
    world.somebody.begins("INSERT INTO testapp_label (name) VALUES ('held')")
    world.somebody.commits_when_waited_for()


def _article_in_autocommit(world: World) -> None:
    article = changed()
    _held(world)
    world.tries(article.save)


def _article_in_atomic(world: World) -> None:
    article = changed()

    def work() -> None:
        with transaction.atomic():
            article.save()
            Article(pk=2, slug="2").save(update_fields=["slug"])

    _held(world)
    world.tries(work)


def _category_in_atomic(world: World) -> None:
    category = Category.objects.get(pk=1)
    category.slug = "no"

    def work() -> None:
        with transaction.atomic():
            category.save()

    _held(world)
    world.tries(work)


def _delete_in_autocommit(world: World) -> None:
    note = Note.objects.get(pk=1)
    _held(world)
    world.tries(note.delete)


def _read_before_it_is_saved(world: World) -> None:
    """Without IMMEDIATE an error, app or not: who has read may not wait to write."""

    def work() -> None:
        with transaction.atomic():
            changed().save()

    world.somebody.begins("INSERT INTO testapp_label (name) VALUES ('held')")
    world.somebody.commits_when_waited_for()
    world.tries(work)


def _a_reader_keeps_the_commit_waiting(world: World) -> None:
    somebody = world.somebody
    somebody.runs("BEGIN", "SELECT * FROM testapp_article")

    def work() -> None:
        with transaction.atomic():
            Article(pk=1, slug="1").save(update_fields=["slug"])

    world.tries(work)


def _locked_when_ours_is_written(world: World) -> None:
    def locks() -> None:
        world.somebody.begins("INSERT INTO testapp_label (name) VALUES ('held')")

    with transaction.atomic():
        transaction.on_commit(locks)
        changed().save()
        transaction.on_commit(world.callback("after"))


for _journal in ("DELETE", "WAL"):
    for _mode in ("DEFERRED", "IMMEDIATE"):
        for _act in (
            _article_in_autocommit,
            _article_in_atomic,
            _category_in_atomic,
            _delete_in_autocommit,
        ):
            situation(
                on=SQLITE,
                name=f"sqlite_{_journal}_{_mode}{_act.__name__}".lower(),
                around=options(_journal, transaction_mode=_mode),
            )(_act)
    situation(
        on=SQLITE,
        name=f"sqlite_{_journal}_read_before_it_is_saved".lower(),
        around=options(_journal, transaction_mode=None),
        inserts=0,
    )(_read_before_it_is_saved)
    situation(
        on=SQLITE,
        name=f"sqlite_{_journal}_a_reader_keeps_the_commit_waiting".lower(),
        around=options(_journal, transaction_mode=None, timeout=0.1),
        inserts=(0, 1),
    )(_a_reader_keeps_the_commit_waiting)
    situation(
        on=SQLITE,
        name=f"sqlite_{_journal}_locked_when_ours_is_written".lower(),
        around=options(_journal, transaction_mode=None, timeout=0.1),
        inserts=(0, 2),
        at_once=2,
    )(_locked_when_ours_is_written)
