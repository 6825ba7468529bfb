"""What projects' own tests do, and sites on which the app is not quite installed."""

from __future__ import annotations

import unittest
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections, transaction
from django.test import SimpleTestCase, TestCase

from tests.support.alike import TABLE, World, plain
from tests.testapp.models import Article, Category, Elsewhere, Spot

from . import run, situation
from .saving import changed


def run_case(world: World, case: type[unittest.TestCase]) -> None:
    """Run a test case of the project's, and note what it says."""
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(case).run(result)
    assert result.testsRun
    for test, text in (*result.errors, *result.failures):
        world.note(test, plain(text.strip().splitlines()[-1]))


@situation(inserts=0, recorded=[])
def assert_num_queries(world: World) -> None:
    class Case(TestCase):
        databases = frozenset({"default", "other"})

        def test(self) -> None:
            article = Article.objects.get(pk=1)
            for count, work in (
                (1, article.save),
                (1, lambda: Article.objects.create(slug="made")),
                (4, transaction.atomic(lambda: changed(2).save())),
                (3, article.delete),
            ):
                with self.assertNumQueries(count):
                    work()

        def test_that_fails(self) -> None:
            with self.assertNumQueries(0):
                changed(3).save()

    run_case(world, Case)


@situation(inserts=0)
def capture_on_commit_callbacks(world: World) -> None:
    class Case(TestCase):
        def test(self) -> None:
            with self.captureOnCommitCallbacks() as callbacks:
                changed(1).save()
                changed(2, "2").save()
                transaction.on_commit(world.callback("never called"))
            world.callbacks(callbacks)
            with self.captureOnCommitCallbacks(execute=True) as callbacks:
                transaction.on_commit(world.callback("called"))
            world.note(len(callbacks))

    run_case(world, Case)


@situation(inserts=0, recorded=[])
def test_cases_with_one_database_or_none(world: World) -> None:
    class Without(SimpleTestCase):
        def test_without(self) -> None:
            article = Article(pk=1, slug="new")
            world.note(article, article.get_absolute_url())

        def test_with(self) -> None:
            Article(pk=1, slug="new").save()

    class One(TestCase):
        databases = frozenset({"default"})

        def test_allowed(self) -> None:
            with transaction.atomic():
                changed().save()
            Article.objects.get(pk=2).delete()
            Spot.objects.get(pk=1).labels.clear()

        def test_forbidden(self) -> None:
            changed().save()
            Elsewhere(slug="no").save()

    run_case(world, Without)
    run_case(world, One)


@contextmanager
def _before_migrate() -> Iterator[None]:
    """Take all of the app's tables away, as before its migration."""
    renamed = []
    for alias in connections:
        wrapper = connections[alias]
        for name in wrapper.introspection.table_names():
            if name.startswith("sitemaps_plus_"):
                renamed.append((wrapper, name))
    for wrapper, name in renamed:
        with wrapper.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {name} RENAME TO away_{name}")
    try:
        yield
    finally:
        for wrapper, name in renamed:
            with wrapper.cursor() as cursor:
                cursor.execute(f"ALTER TABLE away_{name} RENAME TO {name}")


@situation(around=_before_migrate, inserts=(0, 5))
def before_the_migration(world: World) -> None:
    changed(1, "autocommit").save()
    with transaction.atomic():
        transaction.on_commit(world.callback("before"))
        changed(2, "atomic").save()
        made = Article.objects.create(slug="made")
        transaction.on_commit(world.callback("after"))
    made.delete()
    Spot.objects.get(pk=1).labels.add(3)
    Category.objects.get(pk=1).delete()
    world.tries(transaction.atomic(lambda: run(f"SELECT * FROM {TABLE}")))  # noqa: S608 (names of our own)
