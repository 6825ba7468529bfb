"""Transactions and savepoints, callbacks, and errors within."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import IntegrityError, connection, connections, transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path

from tests.support.alike import World
from tests.support.somebody_else import PAUSE
from tests.testapp.models import Article, Category, Note, Story, Tag
from tests.urls import urlpatterns as project_urlpatterns

from . import BOTH, MYSQL, POSTGRESQL, run, situation
from .saving import changed

#: Django 6.1 has another name for it.
savepoint: Any = getattr(transaction, "savepoint_create", None) or transaction.savepoint


class Stop(Exception):
    """An error of the project's own."""


# Blocks


@situation(inserts=(1, 3), at_once=3, recorded=[1, 2, 3, 4])
def nested_blocks(world: World) -> None:
    with transaction.atomic():
        changed(1, "outer").save()
        with transaction.atomic():
            changed(2, "inner").save()
            with transaction.atomic():
                changed(3, "innermost").save()
        changed(4, "after").save()
        world.note(connection.savepoint_ids)


@situation(inserts=(1, 2), at_once=2, recorded=[1, 2, 3])
def an_inner_block_is_rolled_back_by_an_error(world: World) -> None:
    with transaction.atomic():
        changed(1, "outer").save()
        try:
            with transaction.atomic():
                changed(2, "inner").save()
                Article.objects.create(slug="inner")
                raise Stop
        except Stop:
            world.note("stopped")
        changed(3, "after").save()
        with transaction.atomic():
            changed(2, "kept").save()


@situation(inserts=0)
def the_whole_block_is_rolled_back_by_an_error(world: World) -> None:
    @transaction.atomic
    def work() -> None:
        changed().save()
        Article.objects.create(slug="made").delete()
        raise Stop("of theirs")

    world.tries(work)


@situation(inserts=0)
def set_rollback(world: World) -> None:
    with transaction.atomic():
        changed().save()
        transaction.set_rollback(True)
        world.note(transaction.get_rollback())


@situation(inserts=(1, 2), at_once=2, recorded=[1, 2, 3])
def blocks_without_savepoints(world: World) -> None:
    with transaction.atomic():
        changed(1).save()
        with transaction.atomic(savepoint=False):
            changed(2, "inner").save()
        changed(3, "after").save()


@situation(inserts=0)
def an_error_in_a_block_without_a_savepoint(world: World) -> None:
    def work() -> None:
        with transaction.atomic():
            changed().save()
            try:
                with transaction.atomic(savepoint=False):
                    changed(2, "inner").save()
                    raise Stop
            except Stop:
                world.note("stopped", connection.needs_rollback)
            world.tries(changed(3).save)
            changed(3).save()

    world.tries(work)


@situation(inserts=2, recorded=[1, 3])
def durable_blocks(world: World) -> None:
    with transaction.atomic(durable=True):
        changed().save()

    def durable() -> None:
        with transaction.atomic(durable=True):
            changed(2).save()

    with transaction.atomic():
        changed(3, "outer").save()
        world.tries(durable)


@situation(inserts=2)
def one_transaction_after_another(world: World) -> None:
    article = Article.objects.get(pk=1)
    for slug in ("first", "second"):
        with transaction.atomic():
            article.slug = slug
            article.save()


# Savepoints by hand


@situation(sections=BOTH, recorded=[1, 5])
def savepoint_rolled_back_by_hand(world: World) -> None:
    with transaction.atomic():
        article, other = changed(1, "attempt"), changed(5)
        sid = savepoint()
        article.save()
        other.save()
        transaction.savepoint_rollback(sid)
        article.slug = "second"
        article.save()
        other.delete()
        world.note(connection.savepoint_ids)


@situation(sections=BOTH, recorded=[1, 3])
def savepoint_released_by_hand(world: World) -> None:
    with transaction.atomic():
        transaction.clean_savepoints()
        first = savepoint()
        changed(1).save()
        second = savepoint()
        changed(2, "2").save()
        transaction.savepoint_rollback(second)
        transaction.savepoint_commit(first)
        changed(3, "3").save()


@situation(inserts=0)
def savepoint_by_hand_and_rolled_back_altogether(world: World) -> None:
    with transaction.atomic():
        changed(1).save()
        sid = savepoint()
        changed(2, "2").save()
        transaction.savepoint_commit(sid)
        transaction.set_rollback(True)


@situation(on=not MYSQL, sections=BOTH, recorded=[2])
def savepoints_in_sql(world: World) -> None:
    with transaction.atomic():
        run("SAVEPOINT mine")
        changed(1).save()
        run("ROLLBACK TO SAVEPOINT mine")
        changed(2, "2").save()
        run("RELEASE SAVEPOINT mine")


# Autocommit


@contextmanager
def _by_hand() -> Iterator[None]:
    transaction.set_autocommit(False)
    try:
        yield
    finally:
        transaction.rollback()
        transaction.set_autocommit(True)


@situation(inserts=0, by_hand=True, sections=BOTH, recorded=[1, 2, 101])
def autocommit_off(world: World) -> None:
    with _by_hand():
        article = changed(1, "undone")
        article.save()
        transaction.rollback()
        article.slug = "done"
        article.save()
        article.save()
        transaction.commit()
        changed(2, "done, too").save()
        Article.objects.create(slug="made")
        transaction.commit()
        world.tries(lambda: transaction.on_commit(world.callback("never")))
        changed(3, "undone").save()


@situation(inserts=(0, 4), at_once=2)
def blocks_while_autocommit_is_off(world: World) -> None:
    with _by_hand():
        with transaction.atomic():
            changed(1, "done").save()
            transaction.on_commit(world.callback("one"))
        transaction.commit()
        with transaction.atomic():
            changed(2, "undone").save()
        transaction.rollback()
    world.note(connection.get_autocommit())


# Requests


def _save(request: HttpRequest, slug: str) -> HttpResponse:
    changed(1, slug).save()
    if slug == "error":
        raise Stop
    return HttpResponse(Article.objects.values_list("slug").get(pk=1))


class _Urls:
    urlpatterns = (*project_urlpatterns, path("save/<slug:slug>/", _save))


@contextmanager
def _atomic_requests() -> Iterator[None]:
    settings = connections["default"].settings_dict
    settings["ATOMIC_REQUESTS"] = True
    try:
        with override_settings(ROOT_URLCONF=_Urls):
            yield
    finally:
        settings["ATOMIC_REQUESTS"] = False


@situation(around=_atomic_requests, sections=BOTH, recorded=[1])
def atomic_requests(world: World) -> None:
    client = Client(raise_request_exception=False)
    for slug in ("good", "error"):
        response = client.get(f"/save/{slug}/")
        world.note(response.status_code, response.content[:20])


# Callbacks


@situation(recorded=[1, 2])
def callbacks_in_their_order(world: World) -> None:
    transaction.on_commit(world.callback("at once"))
    with transaction.atomic():
        transaction.on_commit(world.callback("before"))
        changed().save()
        transaction.on_commit(world.callback("after"), robust=True)
        changed(2, "2").save()
        transaction.on_commit(world.callback("last"))
        world.note("body")


@situation(inserts=(1, 2), at_once=2, recorded=[3, 4])
def callbacks_of_savepoints(world: World) -> None:
    with transaction.atomic():
        transaction.on_commit(world.callback("outer"))
        with transaction.atomic():
            transaction.on_commit(world.callback("dropped"))
            changed(2, "2").save()
            transaction.set_rollback(True)
        with transaction.atomic():
            changed(3, "3").save()
            transaction.on_commit(world.callback("inner"))
        changed(4, "4").save()


@situation(recorded=[1])
def a_callback_that_raises_after_ours(world: World) -> None:
    def work() -> None:
        with transaction.atomic():
            changed().save()
            transaction.on_commit(world.callback("raises", Stop("callback")))
            transaction.on_commit(world.callback("never called"))

    world.tries(work)


@situation(inserts=(0, 1))
def a_callback_that_raises_before_ours(world: World) -> None:
    def work() -> None:
        with transaction.atomic():
            transaction.on_commit(world.callback("raises", Stop("callback")))
            changed().save()
            transaction.on_commit(world.callback("never called"))

    world.tries(work)


@situation(inserts=(1, 2), sections=BOTH, recorded=[2, 3])
def an_error_that_is_kept(world: World) -> None:
    """With all that its traceback refers to, as loggers and debuggers keep it."""
    kept = []
    try:
        with transaction.atomic():
            transaction.on_commit(world.callback("raises", Stop("callback")))
            changed(1).save()
    except Stop as error:
        kept.append(error)
    with transaction.atomic():
        changed(2, "2").save()
        changed(3, "3").save()
    world.note(kept)


@situation(inserts=0, sections=BOTH)
def an_error_that_is_kept_of_a_block(world: World) -> None:
    kept = []
    try:
        with transaction.atomic():
            changed(1).save()
            Article.objects.get(pk=5).delete()
            raise Stop
    except Stop as error:
        kept.append(error)
    with transaction.atomic():
        Article.objects.count()
        transaction.on_commit(world.callback("after"))
    world.note(kept)


@situation(recorded=[1])
def a_robust_callback_that_raises(world: World) -> None:
    with transaction.atomic():
        transaction.on_commit(world.callback("raises", Stop("robust")), robust=True)
        changed().save()
        transaction.on_commit(world.callback("called"))


@situation(inserts=(2, 4), at_once=2, recorded=[1, 2, 3])
def callbacks_that_save(world: World) -> None:
    def saves() -> None:
        world.note(connection.get_autocommit(), connection.in_atomic_block)
        changed(2, "in a callback").save()
        with transaction.atomic():
            changed(3, "in a block").save()
            transaction.on_commit(world.callback("inner"))

    with transaction.atomic():
        transaction.on_commit(saves)
        changed().save()
        transaction.on_commit(world.callback("outer"))


# Errors


@situation(sections=BOTH, recorded=[1, 2])
def an_integrity_error_and_going_on(world: World) -> None:
    with transaction.atomic():
        changed(1).save()
        try:
            with transaction.atomic():
                note = Note.objects.get(pk=2)
                note.number = 1
                note.save()
        except IntegrityError as error:
            world.note("caught", type(error.__cause__).__name__)
        Note.objects.create(number=4)
        changed(2, "2").save()


@situation(inserts=0, sections=BOTH)
def an_integrity_error_without_a_savepoint(world: World) -> None:
    def work() -> None:
        with transaction.atomic():
            changed(1).save()
            world.tries(lambda: Note.objects.create(number=1))
            world.note(connection.needs_rollback)
            world.tries(Article.objects.count)
            world.tries(changed(2).save)

    world.tries(work)


@situation(inserts=0)
def an_integrity_error_in_autocommit(world: World) -> None:
    note = Note.objects.get(pk=2)
    note.number = 1
    world.tries(note.save)
    world.state(note)
    world.tries(lambda: Note.objects.create(number=3))


@situation(inserts=0)
def a_foreign_key_that_fails(world: World) -> None:
    """At the commit, but on MySQL."""

    def work() -> None:
        with transaction.atomic():
            article = changed(1)
            article.category_id = 999
            article.save()
            world.note("saved")

    world.tries(work)
    article = changed(2)
    article.category_id = 999
    world.tries(article.save)


@situation(inserts=0)
def a_value_that_the_database_refuses(world: World) -> None:
    article = changed(1, "x" * 300)
    article.weight = "no number"
    world.tries(article.save)
    note = Note.objects.get(pk=1)
    note.number = 2**70

    def work() -> None:
        with transaction.atomic():
            note.save()

    world.tries(work)
    world.tries(note.save)


@situation(inserts=0, sections=BOTH)
def sql_that_fails(world: World) -> None:
    def work() -> None:
        with transaction.atomic():
            changed(1).save()
            world.tries(lambda: run("SELECT no_such_column FROM testapp_note"))
            world.tries(changed(2, "2").save)
            transaction.set_rollback(True)

    world.tries(work)


@situation(sections=BOTH, recorded=[1, 2])
def raw_sql_in_the_same_transaction(world: World) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE testapp_article SET title = %s WHERE id < 4", ["raw"])
        world.note(cursor.rowcount)
        changed().save()
        cursor.execute("SELECT slug, title FROM testapp_article ORDER BY id")
        world.note(cursor.fetchmany(2))
        changed(2, "2").save()
        world.note(cursor.fetchall())
        cursor.executemany(
            "UPDATE testapp_note SET number = %s WHERE id = %s", [(8, 1), (9, 2)]
        )
        world.note(cursor.rowcount, len(list(Article.objects.raw(_ALL))))


_ALL = "SELECT * FROM testapp_article"


@situation(sections=BOTH)
def the_key_that_was_given_last(world: World) -> None:
    """The session's own memory of the last INSERT."""
    sql = {
        "postgresql": "SELECT lastval()",
        "mysql": "SELECT LAST_INSERT_ID()",
        "sqlite": "SELECT last_insert_rowid(), changes()",
    }[connection.vendor]
    with transaction.atomic():
        Article.objects.create(slug="made")
        world.note(run(sql))
        changed().save()
        world.note(run(sql))


@situation(recorded=range(1, 8))
def iterating_while_saving(world: World) -> None:
    with transaction.atomic():
        for article in Article.objects.order_by("pk").iterator(chunk_size=2):
            article.title = "seen"
            article.save()
            world.note(article.pk)


@situation(inserts=7, sections=BOTH, recorded=range(1, 8))
def iterating_while_saving_in_autocommit(world: World) -> None:
    for article in Article.objects.order_by("pk").iterator(chunk_size=2):
        article.title = "seen"
        article.save()
        world.note(article.pk)


# Connections


@situation(inserts=0)
def the_connection_is_closed_within(world: World) -> None:
    def work() -> None:
        with transaction.atomic():
            changed().save()
            connection.close()
            changed(2, "2").save()

    world.tries(work)


@situation()
def the_connection_is_closed_between(world: World) -> None:
    article = changed()
    connection.close()
    article.save()
    connection.close()


@situation(inserts=0, sections=BOTH)
def two_threads(world: World) -> None:
    """Each with rows of its own; nothing is recorded twice or for the other."""

    def first() -> None:
        with transaction.atomic():
            changed(1, "first").save()
            transaction.set_rollback(True)

    def second() -> None:
        with transaction.atomic(), transaction.atomic():
            changed(2, "second").save()
            transaction.set_rollback(True)

    world.threads(first=first, second=second)


@situation(inserts=2, recorded=[1, 3])
def a_thread_commits_while_another_rolls_back(world: World) -> None:
    changed(3, "here").save()

    def commits() -> None:
        with transaction.atomic():
            changed(1, "thread").save()

    world.threads(commits=commits)
    with transaction.atomic():
        changed(2, "undone").save()
        transaction.set_rollback(True)


# What the server knows of a transaction


@situation(on=POSTGRESQL, sections=BOTH)
def rows_belong_to_the_transaction_itself(world: World) -> None:
    """In a savepoint they would have the number of a subtransaction."""
    with transaction.atomic():
        changed(1).save()
        Article.objects.create(slug="made")
        world.note(
            run(
                "SELECT id, xmin::text::bigint = txid_current() "
                "FROM testapp_article ORDER BY id"
            )
        )


@situation(on=POSTGRESQL, sections=BOTH)
def locks_that_a_transaction_holds(world: World) -> None:
    with transaction.atomic():
        changed(1).save()
        Category.objects.get(pk=1).save()
        Tag.objects.filter(article_id=1).update(name="z")
        changed(2).delete()
        ((pid,),) = run("SELECT pg_backend_pid()")
        held = world.somebody.runs(
            "SELECT DISTINCT locktype, relation::regclass::text, mode "  # noqa: S608
            f"FROM pg_locks WHERE pid = {pid} ORDER BY 1, 2, 3"
        )
        world.note(held)


@situation(on=MYSQL, sections=BOTH)
def locks_that_a_transaction_has(world: World) -> None:
    with transaction.atomic():
        changed(1).save()
        Category.objects.get(pk=1).save()
        changed(2).delete()
        ((pid,),) = run("SELECT CONNECTION_ID()")
        # InnoDB shows the same for a tenth of a second after somebody looked.
        time.sleep(PAUSE)
        held: Any = world.somebody.runs(
            "SELECT trx_tables_locked, trx_rows_modified "  # noqa: S608
            f"FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = {pid}"
        )
        world.note(held)


@situation(recorded=[1, 2])
def updates_beside_saves(world: World) -> None:
    with transaction.atomic():
        Article.objects.filter(category__slug="news").update(weight=F("weight") + 1)
        changed(1).save()
        Story.objects.filter(pk=7).update(source="updated", title="both")
        Category.objects.filter(pk=1).update(slug="top")
        changed(2, "2").save()
