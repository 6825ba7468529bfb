"""What projects attach to saves: receivers, and execute wrappers."""

from __future__ import annotations

from contextlib import ExitStack, nullcontext, suppress
from typing import Any

from django.db import connection, transaction
from django.db.models.signals import (
    m2m_changed,
    post_delete,
    post_save,
    pre_delete,
    pre_save,
)

from tests.support.alike import World
from tests.testapp.models import Article, Category, Note, Spot

from . import receiving, run, situation
from .saving import changed
from .transactions import Stop


def work(world: World) -> None:
    """Do something of each kind in a transaction."""
    with transaction.atomic():
        article = changed()
        article.save()
        article.save(update_fields=["slug"])
        made = Article.objects.create(slug="made")
        Category.objects.get(pk=1).save()
        with transaction.atomic():
            made.delete()
            Note.objects.create(number=4)
            transaction.set_rollback(True)
        Spot.objects.get(pk=1).labels.set([3])
        Article.objects.get(pk=2).delete()
    world.state(article)


#: The articles that ``work`` writes.
WORKED = (1, 2, 101)


# Receivers


@situation(recorded=WORKED)
def receivers_of_theirs(world: World) -> None:
    def note(signal: Any, sender: Any, **values: Any) -> None:
        values.pop("instance", None)
        world.note(sender.__name__, sorted(values.items(), key=str))

    signals = [pre_save, post_save, pre_delete, post_delete]
    with ExitStack() as stack:
        for signal in signals:
            for model in (Article, Category, Note):
                stack.enter_context(receiving(signal, note, model))
        stack.enter_context(receiving(m2m_changed, note, Spot.labels.through))
        work(world)


@situation(inserts=(1, 3), recorded=[2, 3])
def receivers_that_raise(world: World) -> None:
    """In autocommit a row that is saved by then stays."""

    def stop(instance: Any, **kwargs: Any) -> None:
        if instance.pk != 2:
            raise Stop(type(instance).__name__)

    one, three, four = changed(1), changed(3), changed(4)
    for signal in (pre_save, post_save, pre_delete, post_delete):
        with receiving(signal, stop, Article):
            with transaction.atomic(), suppress(Stop), transaction.atomic():
                one.save()
                one.delete()
            is_saved = signal in (pre_save, post_save)
            world.tries(three.save if is_saved else four.delete)
    changed(2).save()


@situation(inserts=(4, 5), at_once=2, recorded=[1, 2])
def receivers_that_save(world: World) -> None:
    def follow(instance: Any, **kwargs: Any) -> None:
        if instance.pk == 1:
            changed(2, f"{instance.slug}-2").save()
            with transaction.atomic():
                Note.objects.update_or_create(pk=1, defaults={"number": 9})

    with receiving(post_save, follow, Article):
        with transaction.atomic():
            changed(1, "atomic").save()
        changed(1, "autocommit").save()


# Execute wrappers


@situation(inserts=3, recorded=[*WORKED, 3])
def a_wrapper_that_looks(world: World) -> None:
    def look(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        result = execute(sql, params, many, context)
        world.statement(sql, params, many, context["cursor"].rowcount)
        return result

    with connection.execute_wrapper(look):
        work(world)
        changed(3).save()
        Article.objects.get(pk=3).delete()
        world.note(len(connection.execute_wrappers))


@situation()
def a_wrapper_that_refuses_all_but_some(world: World) -> None:
    def refuse(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        if "testapp_" not in sql and "SAVEPOINT" not in sql:
            raise Stop(f"not allowed: {sql.split()[0]}")
        return execute(sql, params, many, context)

    article = changed()
    for block in (nullcontext(), transaction.atomic()):
        with block, connection.execute_wrapper(refuse):
            article.save()
            world.state(article)
            world.tries(lambda: run("SELECT 1"))
