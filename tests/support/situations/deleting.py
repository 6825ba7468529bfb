"""Ways to delete objects."""

from __future__ import annotations

from django.db import transaction

from tests.support.alike import World
from tests.testapp.models import (
    Article,
    Category,
    Label,
    Note,
    Region,
    Spot,
    Story,
    Tag,
)

from . import situation


@situation(inserts=2, recorded=[1])
def delete(world: World) -> None:
    article = Article.objects.get(pk=1)
    world.note(article.delete(), Note.objects.get(pk=1).delete())
    world.state(article)
    world.tries(article.delete)


@situation(recorded=[1, 101])
def delete_in_atomic(world: World) -> None:
    with transaction.atomic():
        article = Article.objects.get(pk=1)
        article.save()
        world.note(article.delete(), Note.objects.get(pk=1).delete())
        article.save()
        world.state(article)


@situation(inserts=2, in_atomic=True, recorded=[1, 2, 6, 7])
def querysets(world: World) -> None:
    world.note(Article.objects.filter(live=False).delete())
    world.note(Article.objects.filter(category__slug="news").delete())
    world.note(Article.objects.filter(category__slug="none").delete())


@situation(inserts=2, in_atomic=True, recorded=[1, 2, 5, 7])
def cascades(world: World) -> None:
    for pk in (1, 3):
        world.note(Category.objects.get(pk=pk).delete())


@situation(inserts=3, recorded=[7, 101])
def a_child_and_its_parent(world: World) -> None:
    world.note(Story.objects.get(pk=7).delete(keep_parents=True))
    world.note(Article.objects.get(pk=7).delete())
    made = Story.objects.create(slug="made")
    with transaction.atomic():
        world.note(made.delete())
        transaction.set_rollback(True)


@situation(inserts=(2, 4), in_atomic=True)
def related_objects_are_deleted(world: World) -> None:
    world.note(Label.objects.get(pk=1).delete())
    world.note(Label.objects.filter(pk=2).delete())
    world.note(Region.objects.get(pk=1).delete())
    world.note(Spot.objects.get(pk=1).delete())


@situation(inserts=0, recorded=[])
def objects_that_nobody_lists(world: World) -> None:
    """Django deletes them without loading them."""
    world.note(Tag.objects.all().delete())
    with transaction.atomic():
        Tag.objects.create(article_id=1, name="z").save()
        world.note(Tag.objects.filter(name="z").delete())


@situation(inserts=(0, 1), listens=False, sections=("fast",))
def a_section_that_does_not_record_deletes(world: World) -> None:
    """Django's fast path stays: see ``record_deletes``."""
    world.note(Note.objects.filter(number__lt=3).delete())
    with transaction.atomic():
        world.note(Note.objects.get(number=3).delete())
        Note.objects.create(number=4)
