"""Transactions and savepoints, callbacks, and errors within."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import IntegrityError, connection, transaction

from tests.support.alike import World
from tests.testapp.models import Article, Note

from . import situation
from .saving import changed

#: Django 6.1 has another name for it.
savepoint: Any = getattr(transaction, "savepoint_create", None) or transaction.savepoint


class Stop(Exception):
    """An error of the project's own."""


# Blocks


@situation(inserts=(1, 4), at_once=4, recorded=[1, 2, 3, 4, 5])
def nested_blocks(world: World) -> None:
    with transaction.atomic(durable=True):
        changed(1, "outer").save()
        with transaction.atomic():
            changed(2, "inner").save()
            with transaction.atomic():
                changed(3, "innermost").save()
        with transaction.atomic(savepoint=False):
            changed(5, "no savepoint").save()
        changed(4, "after").save()
        world.note(connection.savepoint_ids)


@situation(inserts=(1, 2), at_once=2, recorded=[1, 2, 3])
def an_inner_block_is_rolled_back(world: World) -> None:
    with transaction.atomic():
        changed(1, "outer").save()
        with suppress(Stop), transaction.atomic():
            changed(2, "inner").save()
            with transaction.atomic():
                Article.objects.create(slug="innermost")
            raise Stop
        with transaction.atomic():
            changed(4, "inner").save()
            transaction.set_rollback(True)
        changed(3, "after").save()
        with transaction.atomic():
            changed(2, "kept").save()


@situation(inserts=0, recorded=[])
def the_whole_block_is_rolled_back(world: World) -> None:
    @transaction.atomic
    def work() -> None:
        changed().save()
        Article.objects.create(slug="made").delete()
        raise Stop("of theirs")

    world.tries(work)
    with transaction.atomic():
        changed().save()
        transaction.set_rollback(True)


@situation(inserts=0, recorded=[])
def an_error_in_a_block_without_a_savepoint(world: World) -> None:
    def work() -> None:
        with transaction.atomic():
            changed().save()
            with suppress(Stop), transaction.atomic(savepoint=False):
                changed(2, "inner").save()
                raise Stop
            world.note(connection.needs_rollback)
            world.tries(changed(3).save)
            changed(3).save()

    world.tries(work)


# Savepoints by hand


@situation(recorded=[1, 5])
def savepoint_rolled_back_by_hand(world: World) -> None:
    """What was rolled back stays remembered: one look too many."""
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


# Autocommit


@contextmanager
def _by_hand() -> Iterator[None]:
    transaction.set_autocommit(False)
    try:
        yield
    finally:
        transaction.rollback()
        transaction.set_autocommit(True)


@situation(inserts=0, by_hand=True, recorded=[1, 2, 101])
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


# Callbacks


@situation(inserts=(1, 2), at_once=2, recorded=[1, 3, 4])
def callbacks_in_their_order(world: World) -> None:
    transaction.on_commit(world.callback("at once"))
    with transaction.atomic():
        transaction.on_commit(world.callback("before"))
        changed().save()
        with transaction.atomic():
            transaction.on_commit(world.callback("dropped"))
            changed(2, "2").save()
            transaction.set_rollback(True)
        with transaction.atomic():
            changed(3, "3").save()
            transaction.on_commit(world.callback("inner"))
        transaction.on_commit(world.callback("raises", Stop("robust")), robust=True)
        changed(4, "4").save()
        transaction.on_commit(world.callback("last"))


@situation(recorded=[1])
def a_callback_that_raises_after_ours(world: World) -> None:
    def work() -> None:
        with transaction.atomic():
            changed().save()
            transaction.on_commit(world.callback("raises", Stop("callback")))
            transaction.on_commit(world.callback("never called"))

    world.tries(work)


@situation(inserts=(1, 2), recorded=[2, 3])
def errors_that_are_kept(world: World) -> None:
    """With all that their tracebacks refer to, as loggers and debuggers keep them."""
    kept = []
    try:
        with transaction.atomic():
            transaction.on_commit(world.callback("raises", Stop("before ours")))
            changed(1).save()
    except Stop as error:
        kept.append(error)
    try:
        with transaction.atomic():
            changed(1).save()
            Article.objects.get(pk=5).delete()
            raise Stop
    except Stop as error:
        kept.append(error)
    with transaction.atomic():
        changed(2, "2").save()
        changed(3, "3").save()
    world.note(kept)


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


@situation(recorded=[1, 2])
def an_integrity_error_and_going_on(world: World) -> None:
    note = Note(pk=2, number=1)
    world.tries(note.save)
    with transaction.atomic():
        changed(1).save()
        try:
            with transaction.atomic():
                note.save()
        except IntegrityError as error:
            world.note("caught", type(error.__cause__).__name__)
        changed(2, "2").save()
    world.state(note)


@situation(inserts=7, in_atomic=True, recorded=range(1, 8))
def iterating_while_saving(world: World) -> None:
    for article in Article.objects.order_by("pk").iterator(chunk_size=2):
        article.title = "seen"
        article.save()
        world.note(article.pk)


# Connections


@situation(recorded=[3])
def the_connection_is_closed(world: World) -> None:
    def work() -> None:
        with transaction.atomic():
            changed().save()
            connection.close()
            changed(2, "2").save()

    world.tries(work)
    article = changed(3)
    connection.close()
    article.save()
    connection.close()


@situation(inserts=2, recorded=[1, 3])
def threads_that_commit_and_roll_back(world: World) -> None:
    """Each with rows of its own; nothing is recorded twice or for the other."""
    changed(3, "here").save()

    def commits() -> None:
        with transaction.atomic():
            changed(1, "thread").save()

    def rolls_back() -> None:
        with transaction.atomic(), transaction.atomic():
            changed(2, "undone").save()
            transaction.set_rollback(True)

    world.threads(commits=commits)
    world.threads(rolls_back=rolls_back)
    with transaction.atomic():
        changed(2, "undone").save()
        transaction.set_rollback(True)
