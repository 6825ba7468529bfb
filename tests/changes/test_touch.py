"""``touch()``: what was changed behind Django's signals."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.exceptions import SynchronousOnlyOperation
from django.db import connection, transaction
from django.db.models import Count, F

from django_sitemaps_plus import Route, Sitemap, atouch, touch
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


def test_any_kind_of_queryset(made: list[Article]) -> None:
    every = Article.objects.order_by("-slug")
    two = every.filter(pk__in=[made[0].pk, made[2].pk])
    for queryset in (
        two,
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
        every.select_related("category"),
        Article.objects.filter(pk=made[0].pk).union(Article.objects.all()),
        every.distinct(),
    ):
        touch(queryset)
        assert sorted(map(int, keys())) == [article.pk for article in made]
    touch(every.none())
    assert changes() == []


def test_an_object_or_a_model(made: list[Article]) -> None:
    touch(made[1])
    Article.objects.filter(pk=made[1].pk)._raw_delete("default")
    touch(made[1])
    assert changes() == [("news", str(made[1].pk))] * 2
    touch(Article)
    assert changes() == [("news", "*")]
    tag = Tag.objects.create(article=made[0], name="x")
    for nothing in (Article(slug="never saved"), tag, Tag, Tag.objects.all()):
        touch(nothing)
    with transaction.atomic():
        touch(Article)
        transaction.set_rollback(True)
    assert changes() == []


def test_a_section_that_asks_ends_no_transaction(
    register: Register, made: list[Article], caplog: pytest.LogCaptureFixture
) -> None:
    """PostgreSQL ends one in which a statement fails: of items(), too."""

    class Asking(Articles):
        def items(self) -> Any:
            return list(Article.objects.extra(where=["no_such_column = 1"]))

    register("asking", Asking)
    for what in (Article, made[0], Article.objects.all()):
        with transaction.atomic():
            touch(what)
            assert Article.objects.count() == 3
    assert ("news", "*") in changes()
    assert "could not be recorded for the section 'asking'" in caplog.text
    assert "items() runs a query when it is called" in caplog.text, "and did not"


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


@pytest.mark.parametrize(
    ("make", "by", "key"),
    [
        (lambda: Note.objects.create(number=7), "number", ("7",)),
        (lambda: ByPair.objects.create(shop=1, code="a"), "pk", ("1", "a")),
        (lambda: Elsewhere.objects.create(pk=5, slug="a"), "pk", ("5",)),
    ],
)
def test_other_keys_and_databases(
    register: Register, make: Any, by: str, key: tuple[str, ...]
) -> None:
    item = make()
    declared = {"model": type(item), "page_by": by, "location": "/fixed/"}
    register("items", type("Items", (Sitemap,), declared))
    touch(type(item).objects.all())
    touch(item)
    # A key that was not loaded is looked up.
    touch(type(item).objects.only("pk").get(pk=item.pk))
    assert changes() == [("items", *key)] * 3


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


class Unreadable(Sitemap):
    def items(self) -> Any:
        raise KeyError("a setting")


class Unresolved(Sitemap):
    model = Note
    location = Route("number", number=F("nonsense"))


class Demanding(Sitemap):
    def __init__(self, needed: str) -> None:
        self.needed = needed


@pytest.mark.parametrize("broken", [Unreadable, Unresolved, Demanding])
def test_a_section_that_cannot_be_used_takes_no_other_with_it(
    register: Register, broken: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor the transaction in which somebody works."""
    register("broken", broken)
    register("news", Articles)
    first, *_ = articles(3)
    changes()
    for what, count in (first, 1), (Article.objects.all(), 3), (Article, 1):
        caplog.clear()
        with transaction.atomic():
            touch(what)
        assert len(keys()) == count
        (logged,) = caplog.messages
        assert logged == (
            "A change of testapp.Article could not be recorded for the section "
            "'broken'."
        )


@pytest.mark.parametrize("wrong", [None, 5, "article", [1], Articles, object()])
def test_anything_else_is_an_error(made: list[Article], wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"touch\(\) takes a queryset"):
        touch(wrong)


def test_coroutines_are_told_to_use_a_thread(made: list[Article]) -> None:
    async def main() -> None:
        with pytest.raises(SynchronousOnlyOperation):
            touch(Article)

    async_to_sync(main)()
    assert changes() == []
    assert connection.in_atomic_block is False


def test_a_coroutine_has_a_function_of_its_own(made: list[Article]) -> None:
    async_to_sync(atouch)(made[1])
    assert keys() == [str(made[1].pk)]
