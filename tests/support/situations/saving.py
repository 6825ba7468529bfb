"""Ways to save an object."""

from __future__ import annotations

import copy
from contextlib import nullcontext

from asgiref.sync import async_to_sync, sync_to_async
from django.core import serializers
from django.db import connection, transaction
from django.db.models import F, Value
from django.db.models.functions import Concat, Upper

from tests.support.alike import World
from tests.testapp.models import (
    Article,
    ArticleProxy,
    Category,
    Elsewhere,
    Label,
    Note,
    Spot,
    Story,
)

from . import BOTH, situation


def changed(pk: int = 1, slug: str = "new") -> Article:
    """Return an article that has to be saved."""
    article = Article.objects.get(pk=pk)
    article.slug = slug
    return article


@situation(sections=BOTH, recorded=[1])
def save_in_autocommit(world: World) -> None:
    article = changed()
    article.save()
    world.state(article)


@situation(sections=BOTH, recorded=[1])
def save_in_atomic(world: World) -> None:
    with transaction.atomic():
        article = changed()
        article.save()
        world.state(article)
    world.state(article)


@situation(inserts=2, sections=BOTH, recorded=[101, 102])
def create_in_autocommit(world: World) -> None:
    world.state(Article.objects.create(slug="made", category_id=1))
    article = Article(slug="saved")
    article.save()
    world.state(article)


@situation(recorded=[101, 102])
def create_in_atomic(world: World) -> None:
    with transaction.atomic():
        world.state(Article.objects.create(slug="made", category_id=1))
        article = Article(slug="saved")
        article.save()
        article.title = "again"
        article.save()
        world.state(article)


@situation(inserts=(1, 2), sections=BOTH, recorded=[1])
def update_fields(world: World) -> None:
    article = changed()
    article.title = "not written"
    article.save(update_fields=["slug"])
    article.save(update_fields=[])
    with transaction.atomic():
        article.save(update_fields={"category", "live"})
    world.state(article)
    world.tries(lambda: article.save(update_fields=["nothing"]))


@situation(sections=BOTH, recorded=[101])
def force_insert(world: World) -> None:
    Article(slug="forced").save(force_insert=True)
    taken = Article(pk=1, slug="taken")
    world.tries(lambda: taken.save(force_insert=True))
    world.state(taken)
    with transaction.atomic():
        with transaction.atomic():
            world.tries(lambda: Article(pk=2).save(force_insert=True))
            transaction.set_rollback(True)
        world.note(Article.objects.count())


@situation(inserts=0)
def force_update_of_a_missing_row(world: World) -> None:
    missing = Article(pk=99, slug="missing")
    world.tries(lambda: missing.save(force_update=True))
    world.tries(lambda: missing.save(update_fields=["slug"]))
    with transaction.atomic():
        world.tries(lambda: missing.save(force_update=True))
        world.note(connection.needs_rollback)
        transaction.set_rollback(True)
    world.state(missing)


@situation(inserts=2, sections=BOTH, recorded=[4, 5])
def save_of_a_row_that_vanished(world: World) -> None:
    article, other = changed(4), changed(5)
    Article.objects.filter(pk__in=[4, 5]).update(slug="off")
    world.somebody.runs("DELETE FROM testapp_article WHERE id IN (4, 5)")
    article.save()
    with transaction.atomic():
        other.save()
    world.state(article)


@situation(sections=BOTH, recorded=[2, 98])
def save_under_the_key_of_another(world: World) -> None:
    with transaction.atomic():
        article = Article(pk=2, slug="over")
        article.save()
        world.state(article)
        article.pk = 98
        article.save()
        world.state(article)


@situation(inserts=2, sections=BOTH, recorded=[1])
def expressions(world: World) -> None:
    article = Article.objects.get(pk=1)
    article.weight = F("weight") + 1
    article.slug = Concat(F("slug"), Value("-x"))
    article.save()
    world.state(article)
    with transaction.atomic():
        article.refresh_from_db()
        article.slug = Upper("slug")
        article.save(update_fields=["slug"])
        world.state(article)
        world.note(Article.objects.values_list("slug", "weight").get(pk=1))


@situation(inserts=3, sections=BOTH, recorded=[1, 2, 3])
def deferred_fields(world: World) -> None:
    only = Article.objects.only("slug").get(pk=1)
    only.slug = "only"
    only.save()
    world.state(only)
    with transaction.atomic():
        rest = Article.objects.defer("slug", "live", "category").get(pk=2)
        rest.title = "deferred"
        rest.save()
        world.state(rest)
    key = Article.objects.only("pk").get(pk=3)
    key.save()
    world.state(key)


@situation(recorded=[101, 102])
def a_copy_without_its_key(world: World) -> None:
    with transaction.atomic():
        article = changed()
        article.pk = None
        article.save()
        world.state(article)
        second = copy.copy(article)
        second.pk, second._state.adding = None, True
        second.save()
        world.state(second)


@situation(inserts=3)
def get_or_create_and_update_or_create(world: World) -> None:
    note = Note.objects
    world.note(note.get_or_create(number=1))
    world.note(note.get_or_create(number=4))
    world.note(note.update_or_create(number=4, defaults={"number": 5}))
    world.note(note.update_or_create(number=6))


@situation(inserts=(1, 2), at_once=2)
def get_or_create_in_atomic(world: World) -> None:
    note = Note.objects
    with transaction.atomic():
        world.note(note.get_or_create(number=7))
        world.tries(lambda: note.get_or_create(number=8, defaults={"number": 1}))
        world.note(note.update_or_create(number=2, defaults={"number": 9}))
        world.tries(lambda: note.update_or_create(number=9, defaults={"number": 1}))
        world.note(note.count())


@situation(recorded=[101, 4])
def related_managers(world: World) -> None:
    category = Category.objects.get(pk=1)
    with transaction.atomic():
        made = category.article_set.create(slug="from-category")
        category.article_set.add(Article.objects.get(pk=4), bulk=False)
        category.article_set.remove(made)
        world.state(made)


@situation(inserts=0)
def bulk_writes(world: World) -> None:
    for block in (transaction.atomic, nullcontext):
        with block():
            made = Article.objects.bulk_create([Article(slug="b1"), Article(slug="b2")])
            world.note([article.pk for article in made])
            for article in made:
                article.title = "bulk"
            world.note(Article.objects.bulk_update(made, ["title"]))
            world.note(Article.objects.filter(live=True).update(title="all"))
            world.note(Article.objects.filter(pk=2).update(weight=F("weight") + 1))


# Inheritance


@situation(inserts=(2, 3), sections=("many", "one", "child"), recorded=[101])
def a_child_of_multi_table_inheritance(world: World) -> None:
    story = Story.objects.create(slug="made", source="s")
    with transaction.atomic():
        story.slug, story.source = "again", "t"
        story.save()
        world.state(story)
    story.save(update_fields=["title"])
    world.state(story)


@situation(inserts=(2, 3), sections=("many", "one", "child"), recorded=[7])
def a_childs_own_fields(world: World) -> None:
    story = Story.objects.get(pk=7)
    for turn in range(2):
        story.source = f"own {turn}"
        story.save(update_fields=["source"])
        world.note(Story.objects.get(pk=7).source)
    with transaction.atomic():
        story.source = "in atomic"
        story.save(update_fields=["source"])
        world.note(Story.objects.get(pk=7).source)


@situation(inserts=2, sections=("many", "one", "child"), recorded=[7])
def the_parent_of_a_child(world: World) -> None:
    changed(7).save()
    with transaction.atomic():
        changed(7, "newer").save()
        world.note(Story.objects.get(pk=7).slug)


@situation(inserts=2, recorded=[1, 2])
def a_child_is_added_to_a_parent(world: World) -> None:
    for pk in (1, 2):
        story = Story(article_ptr_id=pk, source="added")
        story.__dict__.update(
            {k: v for k, v in vars(Article.objects.get(pk=pk)).items() if k[0] != "_"}
        )
        story.save()
        world.state(story)


@situation(inserts=2, sections=BOTH, recorded=[1])
def a_proxy(world: World) -> None:
    proxy = ArticleProxy.objects.get(pk=1)
    proxy.slug = "proxy"
    proxy.save()
    with transaction.atomic():
        proxy.save(update_fields=["slug"])
        world.state(proxy)


# Related objects


@situation(inserts=(2, 4))
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


@situation(inserts=(4, 6))
def many_to_many_outside_of_a_transaction(world: World) -> None:
    spot = Spot.objects.get(pk=1)
    spot.labels.add(3)
    spot.labels.add(3, 2)
    spot.labels.remove(1)
    spot.labels.set([1])
    spot.labels.set([1])
    spot.labels.clear()
    world.note(spot.labels.count())


@situation()
def many_to_many_in_atomic(world: World) -> None:
    with transaction.atomic():
        spot = Spot.objects.get(pk=1)
        spot.labels.add(3)
        spot.labels.remove(1, 2)
        spot.labels.set([1, 2])
        spot.labels.create(name="made")
        spot.labels.through.objects.get(spot=spot, label=1).label.spots.add(2)
        spot.labels.clear()
        spot.friends.add(1)
        world.note(spot.labels.count())


@situation(inserts=(1, 4))
def many_to_many_from_the_other_side(world: World) -> None:
    label = Label.objects.get(pk=1)
    label.spots.add(2)
    with transaction.atomic():
        label.spots.remove(1)
        label.spots.set([1, 2])
        label.name = "hidden"
        label.save()
    label.spots.clear()
    world.note(label.spots.count())


# Elsewhere


@situation(inserts=(3, 4), at_once=2)
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


@situation()
def an_object_in_another_database_within_a_block(world: World) -> None:
    far = Elsewhere.objects.get(pk=1)
    with transaction.atomic():
        with transaction.atomic(using="other"):
            far.slug = "farther"
            far.save()
        world.note(Note.objects.count())
        with transaction.atomic(using="other"):
            far.slug = "undone"
            far.save()
            transaction.set_rollback(True, using="other")
    world.note(Elsewhere.objects.get().slug)


@situation(inserts=0)
def fixtures(world: World) -> None:
    text = serializers.serialize("json", Article.objects.filter(pk__lte=2))
    for loaded in serializers.deserialize("json", text.replace('"a1"', '"loaded"')):
        loaded.save()
    with transaction.atomic():
        changed(2).save_base(raw=True)


@situation(inserts=3, recorded=[1, 101])
def coroutines(world: World) -> None:
    async def main() -> None:
        article = await Article.objects.aget(pk=1)
        article.slug = "async"
        await article.asave()
        made = await Article.objects.acreate(slug="amade")
        await made.adelete()
        world.note(await Article.objects.acount())

    async_to_sync(main)()


@situation(recorded=[1])
def coroutines_in_a_transaction_of_a_thread(world: World) -> None:
    @transaction.atomic
    def work() -> None:
        changed().save()
        Note.objects.create(number=4)

    async def main() -> None:
        await sync_to_async(work)()

    async_to_sync(main)()


@situation(inserts=0)
def reading(world: World) -> None:
    with transaction.atomic():
        articles = Article.objects.select_related("category").prefetch_related("tags")
        world.note([(a.slug, len(a.tags.all())) for a in articles.order_by("pk")])
        article = articles.get(pk=1)
        article.clean_fields(exclude=["day", "photo"])
        article.refresh_from_db(fields=["slug"])
        world.state(article)
    world.note(Article.objects.in_bulk([1, 2]), Article.objects.exists())


@situation(inserts=(1, 2), at_once=2, recorded=[*range(1, 8), *range(200, 500)])
def hundreds_of_saves_in_one_transaction(world: World) -> None:
    with transaction.atomic():
        for number in range(200, 500):
            Article(pk=number, slug=f"s{number}").save(force_insert=True)
        for article in Article.objects.filter(pk__lt=300).order_by("pk"):
            article.save()


@situation(sections=BOTH, recorded=[1])
def one_object_saved_again_and_again(world: World) -> None:
    article = Article.objects.get(pk=1)
    with transaction.atomic():
        for number in range(300):
            article.slug = f"s{number}"
            article.save(update_fields=["slug"])
