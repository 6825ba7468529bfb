"""Makers of the test app's rows."""

from __future__ import annotations

import datetime as dt
from typing import ClassVar

import factory
from factory.django import DjangoModelFactory

from tests.testapp import models

#: When the first article was written; each later one is a day younger.
FIRST = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


class CategoryFactory(DjangoModelFactory):
    class Meta:
        model = models.Category

    slug = factory.Sequence(lambda n: f"category-{n}")


class ArticleFactory(DjangoModelFactory):
    class Meta:
        model = models.Article

    slug = factory.Sequence(lambda n: f"article-{n}")
    title = factory.Sequence(lambda n: f"Number {n}.")
    updated = factory.Sequence(lambda n: FIRST + dt.timedelta(days=n % 300))
    day = factory.LazyAttribute(lambda self: self.updated and self.updated.date())


class TagFactory(DjangoModelFactory):
    class Meta:
        model = models.Tag

    article = factory.SubFactory(ArticleFactory)
    name = factory.Sequence(lambda n: f"tag-{n}")


class NoteFactory(DjangoModelFactory):
    class Meta:
        model = models.Note
        django_get_or_create: ClassVar[tuple[str, ...]] = ("number",)

    number = factory.Sequence(lambda n: n + 1)


class ElsewhereFactory(DjangoModelFactory):
    class Meta:
        model = models.Elsewhere
        database = "other"

    slug = factory.Sequence(lambda n: f"elsewhere-{n}")


def articles(count: int, **fields: object) -> list[models.Article]:
    """Make ``count`` articles in one statement, and return them in their order."""
    made = ArticleFactory.build_batch(count, **fields)
    models.Article.objects.bulk_create(made)
    return list(models.Article.objects.order_by("-pk")[:count])[::-1]


def dated_anew(article: models.Article) -> models.Article:
    """Return an article with a newer date: what has not changed is not told."""
    assert article.updated is not None
    article.updated += dt.timedelta(days=1)
    return article
