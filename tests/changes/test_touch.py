"""``touch()``: what was changed behind Django's signals."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.exceptions import SynchronousOnlyOperation
from django.db import transaction
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
    Category,
    Note,
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


def test_a_model_that_is_traversed(register: Register) -> None:
    filed = {"location": Route("article", slug=F("category__slug"))}
    register("news", type("Filed", (Articles,), filed))
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


class Asking(Articles):
    """PostgreSQL ends a transaction in which a statement fails: of items(), too."""

    def items(self) -> Any:
        return list(Article.objects.extra(where=["no_such_column = 1"]))


def test_sections_that_cannot_be_used_take_no_other_with_them(
    register: Register, made: list[Article], caplog: pytest.LogCaptureFixture
) -> None:
    """Nor the transaction in which somebody works."""
    broken = [Unreadable, Unresolved, Demanding, Asking]
    for section in broken:
        register(section.__name__, section)
    for what, count in (made[0], 1), (Article.objects.all(), 3), (Article, 1):
        caplog.clear()
        with transaction.atomic():
            touch(what)
            assert Article.objects.count() == 3
        assert len(keys()) == count
        assert caplog.messages == [
            "A change of testapp.Article could not be recorded for the section "
            f"{section.__name__!r}."
            for section in broken
        ]
        assert "items() runs a query when it is called" in caplog.text, "and did not"


def test_anything_else_is_an_error() -> None:
    for wrong in (None, 5, "article", [1], Articles, object()):
        with pytest.raises(TypeError, match=r"touch\(\) takes a queryset"):
            touch(wrong)


def test_coroutines_have_a_function_of_their_own(made: list[Article]) -> None:
    async def main() -> None:
        with pytest.raises(SynchronousOnlyOperation):
            touch(Article)
        await atouch(made[1])

    async_to_sync(main)()
    assert keys() == [str(made[1].pk)]
