"""Ways to save an object."""

from __future__ import annotations

from asgiref.sync import async_to_sync, sync_to_async
from django.core import serializers
from django.db import transaction

from tests.support.alike import World
from tests.testapp.models import (
    Article,
    Category,
    Elsewhere,
    Label,
    Spot,
    Story,
)

from . import situation

#: Those with a section of their own for children.
CHILD = ("many", "one", "child")


def changed(pk: int = 1, slug: str = "new") -> Article:
    """Return an article that has to be saved."""
    article = Article.objects.get(pk=pk)
    article.slug = slug
    return article


@situation(in_atomic=True, recorded=[1])
def save(world: World) -> None:
    article = changed()
    article.save()
    world.state(article)


@situation(inserts=3, in_atomic=True, recorded=[101, 102])
def create(world: World) -> None:
    world.state(Article.objects.create(slug="made", category_id=1))
    article = Article(slug="saved")
    article.save()
    article.title = "again"
    article.save()
    world.state(article)


@situation(recorded=[2, 98, 101])
def save_under_another_key(world: World) -> None:
    with transaction.atomic():
        article = Article(pk=2, slug="over")
        article.save()
        for pk in (98, None):
            article.pk = pk
            article.save()
            world.state(article)


@situation(inserts=3, in_atomic=True, recorded=[1, 2, 3])
def deferred_fields(world: World) -> None:
    only = Article.objects.only("slug").get(pk=1)
    rest = Article.objects.defer("slug", "live", "category").get(pk=2)
    key = Article.objects.only("pk").get(pk=3)
    only.slug, rest.title = "only", "deferred"
    for article in (only, rest, key):
        article.save()
        world.state(article)


@situation(inserts=2, recorded=[1, 2])
def what_a_fixture_loads(world: World) -> None:
    articles = Article.objects.filter(pk__lte=2).order_by("pk")
    text = serializers.serialize("json", articles)
    for loaded in serializers.deserialize("json", text.replace('"a1"', '"loaded"')):
        loaded.save()


# Inheritance


@situation(inserts=(5, 6), sections=CHILD, in_atomic=True, recorded=[7, 101])
def a_child_of_multi_table_inheritance(world: World) -> None:
    story = Story.objects.create(slug="made", source="s")
    story.slug, story.source = "again", "t"
    story.save()
    story.save(update_fields=["title"])
    world.state(story)
    own = Story.objects.get(pk=7)
    own.source = "own"
    own.save(update_fields=["source"])
    changed(7, "parent").save()
    world.note(Story.objects.values_list("slug", "source").get(pk=7))


# Related objects


@situation(inserts=(2, 4), recorded=[])
def a_category_that_is_read(world: World) -> None:
    category = Category.objects.get(pk=1)
    category.slug = "top"
    category.save()
    category.save()
    with transaction.atomic():
        category.slug = "no"
        category.save(update_fields=["slug"])
        category.save()
    Category.objects.create(slug="new")
    world.state(category)


@situation(inserts=(4, 7), in_atomic=True)
def many_to_many(world: World) -> None:
    spot = Spot.objects.get(pk=1)
    spot.labels.add(3, 2)
    spot.labels.remove(1)
    spot.labels.set([1])
    spot.labels.create(name="made")
    spot.labels.clear()
    spot.friends.add(1)
    world.note(spot.labels.count())


@situation(inserts=(2, 5), in_atomic=True)
def many_to_many_from_the_other_side(world: World) -> None:
    label = Label.objects.get(pk=1)
    label.spots.add(2)
    label.spots.set([1])
    label.name = "hidden"
    label.save()
    label.spots.clear()
    world.note(label.spots.count())


# Elsewhere


@situation(inserts=(4, 5), at_once=2)
def an_object_in_another_database(world: World) -> None:
    far = Elsewhere.objects.get(pk=1)
    far.slug = "farther"
    far.save()
    with transaction.atomic(using="other"):
        far.save()
        world.state(far)
    with transaction.atomic(), transaction.atomic(using="other"):
        far.save()
        changed().save()
    with transaction.atomic():
        with transaction.atomic(using="other"):
            far.save()
        with transaction.atomic(using="other"):
            far.slug = "undone"
            far.save()
            transaction.set_rollback(True, using="other")
    world.note(Elsewhere.objects.get().slug)


@situation(inserts=4, recorded=[1, 2, 101])
def coroutines(world: World) -> None:
    @transaction.atomic
    def work() -> None:
        changed(2).save()

    async def main() -> None:
        article = await Article.objects.aget(pk=1)
        article.slug = "async"
        await article.asave()
        made = await Article.objects.acreate(slug="amade")
        await made.adelete()
        await sync_to_async(work)()

    async_to_sync(main)()


@situation(inserts=(1, 2), at_once=2, recorded=[*range(1, 8), *range(200, 500)])
def hundreds_of_saves_in_one_transaction(world: World) -> None:
    with transaction.atomic():
        for number in range(200, 500):
            Article(pk=number, slug=f"s{number}").save(force_insert=True)
        for article in Article.objects.filter(pk__lt=300).order_by("pk"):
            for _ in range(2):
                article.save()
