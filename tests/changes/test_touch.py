"""``touch()``: what was changed behind Django's signals."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.exceptions import SynchronousOnlyOperation
from django.db import connection, transaction
from django.db.models import Count, F

from django_sitemaps_plus import Route, Sitemap, touch
from django_sitemaps_plus.changes import recorder
from django_sitemaps_plus.changes import touch as touch_module
from django_sitemaps_plus.models import Change
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.recorded import Articles, changes, keys
from tests.testapp.models import (
    Article,
    ArticleProxy,
    ByPair,
    Category,
    Elsewhere,
    Note,
    Story,
    Tag,
)

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


@pytest.fixture
def made(register: Register) -> list[Article]:
    """Three articles in a section."""
    register("news", Articles)
    return articles(3)


def texts(items: Any) -> list[str]:
    """Return primary keys as they are written down."""
    return sorted(str(item.pk) for item in items)


def test_a_queryset(made: list[Article]) -> None:
    touch(Article.objects.filter(pk__in=[made[0].pk, made[2].pk]))
    assert sorted(changes()) == sorted(
        ("news", str(article.pk)) for article in (made[0], made[2])
    )
    touch(Article.objects.none())
    assert changes() == []


def test_any_kind_of_queryset(made: list[Article]) -> None:
    every = Article.objects.order_by("-slug")
    for queryset in (
        every[:2],
        every.filter(pk=made[0].pk) | every.filter(pk=made[1].pk),
    ):
        touch(queryset)
        assert len(keys()) == 2
    for queryset in (
        every.values("slug"),
        every.values_list("title", flat=True),
        every.annotate(count=Count("tags")),
        every.defer("slug"),
        every.reverse(),
        every.select_related("category"),
        Article.objects.filter(pk=made[0].pk).union(Article.objects.all()),
        every.distinct(),
    ):
        touch(queryset)
        assert sorted(keys()) == texts(made)


def test_an_object(made: list[Article]) -> None:
    touch(made[1])
    assert changes() == [("news", str(made[1].pk))]


def test_an_object_that_sql_deleted(made: list[Article]) -> None:
    Article.objects.filter(pk=made[1].pk)._raw_delete("default")  # type: ignore[attr-defined]
    touch(made[1])
    assert changes() == [("news", str(made[1].pk))]


def test_an_object_that_was_never_saved(made: list[Article]) -> None:
    touch(Article(slug="x"))
    assert changes() == []


def test_a_model(made: list[Article]) -> None:
    touch(Article)
    assert changes() == [("news", "*")]


def test_very_many_are_a_range(
    made: list[Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(touch_module, "MOST_KEYS", 2)
    monkeypatch.setattr(recorder, "MOST_KEYS", 2)
    touch(Article.objects.order_by("-slug"))
    row = Change.objects.get()
    assert (row.key, row.upto) == (f'["{made[0].pk}"]', f'["{made[2].pk}"]')
    Change.objects.all().delete()
    touch(Article.objects.order_by("-slug")[:3])
    assert changes() == [("news", "*")]


@pytest.mark.parametrize("listed", [Article, ArticleProxy, Story])
@pytest.mark.parametrize("touched", [Article, ArticleProxy, Story])
def test_parents_children_and_proxies(
    register: Register, listed: Any, touched: Any
) -> None:
    class Listed(Sitemap):
        model = listed
        location = Route("article", slug=F("slug"))

    register("news", Listed)
    story = Story.objects.create(slug="a")
    changes()
    same = touched.objects.get(pk=story.pk)
    for what in (same, touched.objects.all(), touched.objects.filter(slug="a")):
        touch(what)
        assert changes() == [("news", str(story.pk))]
    touch(touched)
    assert changes() == [("news", "*")]


def test_a_parent_s_keys_are_not_the_child_s(register: Register) -> None:
    """A page_by that the parent does not have: any row may be concerned."""

    class Notes(Sitemap):
        model = Note
        page_by = "number"
        location = Route("number", number=F("number"))

    register("notes", Notes)
    note = Note.objects.create(number=7)
    changes()
    touch(Note.objects.all())
    assert changes() == [("notes", "7")]
    touch(Note.objects.only("pk").get(pk=note.pk))
    assert changes() == [("notes", "7")]


def test_composite_keys(register: Register) -> None:
    class Pairs(Sitemap):
        model = ByPair
        location = Route("pair", shop=F("shop"), code=F("code"))

    register("pairs", Pairs)
    pair = ByPair.objects.create(shop=1, code="a")
    changes()
    touch(ByPair.objects.all())
    touch(pair)
    assert changes() == [("pairs", "1", "a")] * 2


def test_another_database(register: Register) -> None:
    class There(Sitemap):
        model = Elsewhere
        location = Route("article", slug=F("slug"))

    register("there", There)
    item = Elsewhere.objects.create(slug="a")
    changes()
    touch(Elsewhere.objects.all())
    touch(item)
    assert changes() == [("there", str(item.pk))] * 2


def test_a_model_that_is_traversed(register: Register) -> None:
    class Filed(Sitemap):
        location = Route("article", slug=F("category__slug"))

        def items(self) -> Any:
            return Article.objects.filter(category__isnull=False)

    register("news", Filed)
    category = Category.objects.create(slug="a")
    for what in (category, Category, Category.objects.all()):
        touch(what)
        assert changes() == [("news", "*")]


def test_what_no_section_lists(made: list[Article]) -> None:
    tag = Tag.objects.create(article=made[0], name="x")
    for what in (tag, Tag, Tag.objects.all()):
        touch(what)
    assert changes() == []


@pytest.mark.parametrize("wrong", [None, 5, "article", [1], Articles, object()])
def test_anything_else_is_an_error(made: list[Article], wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"touch\(\) takes a queryset"):
        touch(wrong)


def test_it_is_rolled_back_with_the_transaction(made: list[Article]) -> None:
    with transaction.atomic():
        touch(Article)
        transaction.set_rollback(True)
    assert changes() == []


def test_coroutines_are_told_to_use_a_thread(made: list[Article]) -> None:
    async def main() -> None:
        with pytest.raises(SynchronousOnlyOperation):
            touch(Article)

    async_to_sync(main)()
    assert changes() == []
    assert connection.in_atomic_block is False
