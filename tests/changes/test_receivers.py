"""Which models are listened to, and what their related objects record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, models, transaction
from django.db.models import Exists, F, FilteredRelation, OuterRef, Q
from django.db.models.expressions import RawSQL
from django.db.models.functions import Upper
from django.db.models.signals import post_save, pre_delete, pre_save
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.changes import receivers
from django_sitemaps_plus.changes.dependencies import watched
from tests.conftest import Register
from tests.support.recorded import Articles, Methods, changes
from tests.testapp.models import (
    Article,
    Bond,
    Category,
    Label,
    Note,
    Region,
    Spot,
    Story,
    Tag,
)

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

ANY = [("section", "*", None)]


@pytest.fixture
def section(register: Register) -> Callable[..., None]:
    """Register a section by its items and what its location reads."""

    def add(queryset: Any, field: str = "slug", **attributes: Any) -> None:
        members = {
            "location": Route("article", slug=F(field)),
            "items": lambda self: queryset.all(),
            **attributes,
        }
        register("section", type("Made", (Sitemap,), members))

    return add


def one(item: models.Model) -> list[tuple[Any, ...]]:
    """Return the record of one row that depends on something saved."""
    return [("section", str(item.pk), None)]


def test_other_models_are_not_listened_to(register: Register) -> None:
    register("news", Articles)
    assert pre_save.has_listeners(Article)
    assert pre_save.has_listeners(Story)
    for model in (Note, Category, Tag):
        assert not pre_save.has_listeners(model)
        assert not post_save.has_listeners(model)
        assert not pre_delete.has_listeners(model)


def test_a_section_that_is_removed_is_not_listened_to(register: Register) -> None:
    from django_sitemaps_plus.sitemaps.registry import registry

    registry.add("news", Articles)
    registry.remove("news")
    assert not pre_save.has_listeners(Article)
    Article.objects.create(slug="a")
    assert changes() == []


# Referred to


def test_what_rows_refer_to(section: Any) -> None:
    section(Article.objects.filter(category__isnull=False), "category__slug")
    category = Category.objects.create(slug="a")
    Article.objects.create(slug="x", category=category)
    changes()
    category.save()
    category.save(update_fields=["slug"])
    assert changes() == []
    category.slug = "b"
    category.save(update_fields=[])
    assert changes() == []
    category.save()
    assert changes() == ANY


def test_an_expression_as_a_value_may_be_anything(section: Any) -> None:
    section(Article.objects.all(), "category__slug")
    category = Category.objects.create(slug="a")
    category.slug = Upper("slug")  # type: ignore[assignment]
    category.save()
    assert changes() == ANY


def test_a_target_that_goes_takes_its_column_along(section: Any) -> None:
    """SET_NULL is an UPDATE of which no signal tells."""
    section(Spot.objects.filter(region__isnull=False), "name")
    region = Region.objects.create(name="r")
    Spot.objects.create(name="s", region=region)
    changes()
    region.name = "other"
    region.save()
    assert changes() == []
    with CaptureQueriesContext(connection) as captured:
        region.delete()
    assert changes() == ANY
    inserts = [q["sql"] for q in captured.captured_queries if "INSERT" in q["sql"]]
    assert len(inserts) == 1


def test_trees(section: Any) -> None:
    section(Spot.objects.filter(above__isnull=False), "above__name")
    top = Spot.objects.create(name="a")
    below = Spot.objects.create(name="b", above=top)
    changes()
    top.name = "c"
    top.save()
    assert sorted(changes(), key=str) == [
        ("section", "*", None),
        ("section", str(top.pk), []),
    ]
    below.name = "d"
    below.save(update_fields=["name"])
    # It may have others below it, and does not list its own name.
    assert ("section", str(below.pk), None) in changes()


# Reverse relations


def test_rows_that_refer_to_the_object(section: Any) -> None:
    section(Article.objects.filter(tags__name="x"))
    first, second = (Article.objects.create(slug=slug) for slug in "ab")
    changes()
    tag = Tag.objects.create(article=first, name="x")
    assert changes() == one(first)
    tag.save()
    assert changes() == []
    tag.name = "y"
    tag.save()
    assert changes() == one(first)
    tag.article = second
    tag.save()
    assert sorted(changes()) == sorted(one(first) + one(second))
    tag.save(update_fields=["name"])
    assert changes() == []
    with transaction.atomic():
        tag.name = "x"
        tag.save()
        tag.name = "z"
        tag.save()
    assert changes() == one(second)
    tag.delete()
    assert changes() == one(second)


def test_a_queryset_of_referring_rows(section: Any) -> None:
    section(Article.objects.filter(tags__name="x"))
    article = Article.objects.create(slug="a")
    Tag.objects.create(article=article, name="x")
    Tag.objects.create(article=article, name="x")
    changes()
    Tag.objects.all().delete()
    assert changes() == one(article)


def test_subqueries(section: Any) -> None:
    tags = Tag.objects.filter(article=OuterRef("pk"), name="x")
    section(Article.objects.filter(Exists(tags)))
    article = Article.objects.create(slug="a")
    changes()
    tag = Tag.objects.create(article=article, name="x")
    assert changes() == ANY
    tag.name = "y"
    tag.save()
    assert changes() == ANY
    tag.delete()
    assert changes() == ANY


def test_children_that_are_joined(section: Any) -> None:
    section(Article.objects.filter(story__source="x"))
    story = Story.objects.create(slug="a", source="x")
    changes()
    story.source = "y"
    story.save()
    assert changes() == [("section", str(story.pk), ["/articles/a/"])]


def test_a_condition_of_a_join(section: Any) -> None:
    named = FilteredRelation("tags", condition=Q(tags__name="x"))
    section(Article.objects.annotate(named=named).filter(named__isnull=False))
    article = Article.objects.create(slug="a")
    tag = Tag.objects.create(article=article, name="x")
    changes()
    tag.name = "y"
    tag.save()
    assert changes() == one(article)


# Many to many


def spots() -> Any:
    return Spot.objects.filter(labels__name="x")


def test_relations_from_this_side(section: Any) -> None:
    section(spots(), "name")
    spot, label = Spot.objects.create(name="s"), Label.objects.create(name="x")
    changes()
    for change in (
        lambda: spot.labels.add(label),
        lambda: spot.labels.remove(label),
        lambda: spot.labels.set([label]),
        lambda: spot.labels.clear(),
        lambda: spot.labels.create(name="x"),
    ):
        change()
        assert changes() == one(spot)


def test_relations_from_the_other_side(section: Any) -> None:
    section(spots(), "name")
    spot, label = Spot.objects.create(name="s"), Label.objects.create(name="x")
    changes()
    for change in (
        lambda: label.spots.add(spot),  # type: ignore[attr-defined]
        lambda: label.spots.remove(spot),  # type: ignore[attr-defined]
        lambda: label.spots.set([spot]),  # type: ignore[attr-defined]
    ):
        change()
        assert changes() == one(spot)
    label.spots.clear()  # type: ignore[attr-defined]
    assert changes() == ANY


def test_a_label_that_changes_or_goes(section: Any) -> None:
    section(spots(), "name")
    spot, label = Spot.objects.create(name="s"), Label.objects.create(name="x")
    spot.labels.add(label)
    changes()
    label.name = "y"
    label.save()
    assert changes() == ANY
    label.delete()
    assert changes() == ANY


def test_a_label_that_goes_where_only_its_key_is_read(section: Any) -> None:
    label = Label.objects.create(name="x")
    section(Spot.objects.filter(labels=label), "name")
    spot = Spot.objects.create(name="s")
    spot.labels.add(label)
    changes()
    label.delete()
    assert changes() == ANY


def test_relations_with_a_model_of_their_own(section: Any) -> None:
    section(Spot.objects.filter(friends__name="r"), "name")
    spot, region = Spot.objects.create(name="s"), Region.objects.create(name="r")
    changes()
    spot.friends.add(region)
    assert changes() == one(spot)
    bond = Bond.objects.get()
    bond.delete()
    assert changes() == one(spot)
    Bond.objects.create(spot=spot, region=region)
    assert changes() == one(spot)
    region.delete()
    assert changes() == one(spot)


# Which fields decide


def fields(queryset: Any, location: Any) -> Any:
    """Return the fields that decide where a section's objects are listed."""
    members = {"location": location, "items": lambda self: queryset}
    found = watched(type("Made", (Sitemap,), members)())
    assert found is not None
    return found.fields


def test_fields_that_decide() -> None:
    everything = Article.objects.all()
    by_slug = Route("article", slug=F("slug"))
    assert fields(everything, by_slug) == {"slug"}
    assert fields(everything.filter(live=True), by_slug) == {"slug", "live"}
    between = everything.filter(weight__range=(F("id"), F("day")))
    assert fields(between, by_slug) == {"slug", "weight", "id", "day"}
    by_parent = Route("article", slug=F("category__slug"))
    assert fields(everything, by_parent) == {"category_id"}
    assert fields(Story.objects.filter(source="x"), by_slug) >= {"slug", "source"}


def test_sql_may_read_anything() -> None:
    by_slug = Route("article", slug=F("slug"))
    raw = Article.objects.annotate(low=RawSQL("lower(title)", ())).filter(low="x")
    assert fields(raw, by_slug) is None
    assert fields(Article.objects.extra(where=["live"]), by_slug) is None


# At startup


def test_items_that_ask_the_database_at_once(register: Register) -> None:
    class Asking(Sitemap):
        location = Route("article", slug=F("slug"))

        def items(self) -> Any:
            Note.objects.create(number=1)
            return Article.objects.all()

    register("asking", Asking)
    assert Note.objects.count() == 0
    assert "items() runs a query" in receivers.unwatched["asking"]
    Article.objects.create(slug="a")
    assert changes() == []


def test_items_that_fail_leave_the_others(register: Register) -> None:
    class Failing(Sitemap):
        def items(self) -> Any:
            raise RuntimeError("no")

    register("failing", Failing)
    register("all", Methods)
    assert receivers.unwatched == {"failing": "RuntimeError: no"}
    article = Article.objects.create(slug="a")
    assert changes() == [("all", str(article.pk), [])]
