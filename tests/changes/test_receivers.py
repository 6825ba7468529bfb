"""Which models are listened to, and what their related objects record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.core import serializers
from django.db import models, transaction
from django.db.models import Exists, F, FilteredRelation, OuterRef, Q
from django.db.models.expressions import RawSQL
from django.db.models.signals import post_save, pre_delete

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.changes import receivers
from django_sitemaps_plus.sitemaps.registry import registry
from tests.conftest import Register
from tests.support.recorded import Articles, Methods, Notes, changes
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

ANY = [("section", "*")]


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
    return [("section", str(item.pk))]


def test_what_is_listed_is_listened_to_and_nothing_else(register: Register) -> None:
    register("news", Articles)
    listed, others = (Article, Story), (Note, Category, Tag)
    for signal in (post_save, pre_delete):
        assert all(signal.has_listeners(model) for model in listed)
        assert not any(signal.has_listeners(model) for model in others)
        registry.remove("news")
        assert not any(signal.has_listeners(model) for model in listed)
        registry.add("news", Articles)


# Related objects


def test_a_related_object_is_recorded_by_its_model(section: Any) -> None:
    section(Article.objects.filter(category__isnull=False), "category__slug")
    category = Category.objects.create(slug="a")
    # No row refers to a new one yet.
    assert changes() == []
    category.save()
    assert changes() == [("section", "testapp.Category", str(category.pk))]
    category.save(update_fields=["slug"])
    assert len(changes()) == 1
    category.save(update_fields=[])
    with transaction.atomic():
        category.save()
        transaction.set_rollback(True)
    assert changes() == []
    category.delete()
    assert changes() == []


def test_a_save_of_fields_that_nobody_reads_is_not_recorded(section: Any) -> None:
    section(Article.objects.filter(tags__name="x"))
    tag = Tag.objects.create(article=Article.objects.create(slug="a"), name="x")
    changes()
    section(Article.objects.filter(category__slug="x"))
    tag.save()
    assert changes() == []


def test_a_target_that_goes_takes_its_column_along(section: Any) -> None:
    """SET_NULL is an UPDATE of which no signal tells."""
    section(Spot.objects.filter(region__isnull=False), "name")
    region = Region.objects.create(name="r")
    Spot.objects.create(name="s", region=region)
    changes()
    region.name = "other"
    region.save()
    assert changes() == []
    region.delete()
    assert changes() == ANY


def test_a_row_that_is_another_row_s_parent_is_both(section: Any) -> None:
    section(Spot.objects.filter(above__isnull=False), "above__name")
    top = Spot.objects.create(name="a")
    assert changes() == [("section", str(top.pk))]
    top.save()
    assert sorted(changes()) == sorted(
        [("section", str(top.pk)), ("section", "testapp.Spot", str(top.pk))]
    )


def test_an_object_that_belongs_to_a_row_concerns_that_row(section: Any) -> None:
    section(Article.objects.filter(tags__name="x"))
    article = Article.objects.create(slug="a")
    changes()
    tag = Tag.objects.create(article=article, name="x")
    own = ("section", "testapp.Tag", str(tag.pk))
    assert sorted(changes()) == sorted([("section", str(article.pk)), own])
    tag.save(update_fields=["name"])
    assert ("section", str(article.pk)) in changes()
    Tag.objects.create(article=article, name="x")
    changes()
    Tag.objects.all().delete()
    assert changes() == [("section", str(article.pk))]


def test_subqueries(section: Any) -> None:
    tags = Tag.objects.filter(article=OuterRef("pk"), name="x")
    section(Article.objects.filter(Exists(tags)))
    article = Article.objects.create(slug="a")
    changes()
    tag = Tag.objects.create(article=article, name="x")
    assert changes() == [("section", "testapp.Tag", str(tag.pk))]
    tag.delete()
    assert changes() == ANY


def test_children_that_are_joined(section: Any) -> None:
    section(Article.objects.filter(story__source="x"))
    story = Story.objects.create(slug="a", source="x")
    changes()
    story.source = "y"
    story.save()
    assert changes() == [("section", str(story.pk))]


def test_conditions_of_joins_and_sql(section: Any) -> None:
    named = FilteredRelation("tags", condition=Q(tags__name="x"))
    low = RawSQL("lower(title)", ())
    rows = Article.objects.annotate(named=named, low=low).extra(where=["live"])
    section(rows.filter(named__isnull=False, low="x"))
    article = Article.objects.create(slug="a")
    assert changes() == one(article)
    Tag.objects.create(article=article, name="x")
    assert ("section", str(article.pk)) in changes()


# Many to many


@pytest.fixture
def tagged(section: Any) -> tuple[Any, Any]:
    """A spot and a label, and a section that reads their relation."""
    section(Spot.objects.filter(labels__name="x"), "name")
    return Spot.objects.create(name="s"), Label.objects.create(name="x")


def test_relations_from_both_sides(tagged: Any) -> None:
    spot, label = tagged
    changes()
    for change in (
        lambda: spot.labels.add(label),
        lambda: spot.labels.remove(label),
        lambda: spot.labels.create(name="x"),
        lambda: spot.labels.set([]),
        lambda: label.spots.add(spot),
        lambda: label.spots.remove(spot),
        lambda: spot.labels.set([label]),
        lambda: spot.labels.clear(),
        lambda: label.spots.set([spot]),
        lambda: label.spots.set([]),
    ):
        change()
        assert changes() == one(spot)


def test_a_label_that_changes_or_goes(tagged: Any, section: Any) -> None:
    spot, label = tagged
    spot.labels.add(label)
    changes()
    label.name = "y"
    label.save()
    assert changes() == [("section", "testapp.Label", str(label.pk))]
    label.spots.clear()
    assert changes() == ANY
    label.delete()
    assert changes() == ANY
    # Where only its key is read, too.
    label = Label.objects.create(name="x")
    section(Spot.objects.filter(labels=label), "name")
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
    Bond.objects.get().delete()
    assert changes() == one(spot)
    Bond.objects.create(spot=spot, region=region)
    assert set(one(spot)) <= set(changes())
    region.delete()
    assert changes() == one(spot)


# At startup


def test_items_that_ask_at_once_or_fail_leave_the_others(register: Register) -> None:
    class Asking(Articles):
        def items(self) -> Any:
            Note.objects.create(number=1)
            return super().items()

    class Failing(Articles):
        def items(self) -> Any:
            raise RuntimeError("no")

    register("asking", Asking)
    register("failing", Failing)
    register("all", Methods)
    assert Note.objects.count() == 0
    assert "items() runs a query" in receivers.unwatched.pop(("", "asking"))
    assert receivers.unwatched == {("", "failing"): "RuntimeError: no"}
    article = Article.objects.create(slug="a")
    assert changes() == [("all", str(article.pk))]


# What is deserialised, loaded, or restored by a package: django-reversion does so.


def test_raw_saves_are_recorded_and_records_is_not_called(register: Register) -> None:
    def refuse(self: Any, instance: Any, **kwargs: Any) -> bool:
        raise AssertionError("called")

    def restore(*objects: models.Model) -> None:
        text = serializers.serialize("json", objects)
        for restored in serializers.deserialize("json", text):
            restored.save()

    category, story = Category.objects.create(), Story.objects.create(slug="c")
    register("article", type("Asked", (Articles,), {"records": refuse}))
    register("note", Notes)
    filed = Route("article", slug=F("category__slug"))
    register("filed", type("Filed", (Articles,), {"location": filed}))
    # The table of a child is saved alone.
    restore(Article(pk=7, slug="a"), Note(pk=8, number=9), story, category)
    assert changes() == [
        ("article", "7"),
        ("filed", "7"),
        ("note", "9"),
        ("article", str(story.pk)),
        ("filed", str(story.pk)),
        ("filed", "testapp.Category", str(category.pk)),
    ]
    with transaction.atomic():
        restore(Article(pk=7, slug="b"))
        transaction.set_rollback(True)
    assert changes() == []
