"""Whatever goes wrong while something is recorded, the project's own work succeeds."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, connections, migrations, transaction
from django.db.models import F, Value
from django.db.models.expressions import RawSQL
from django.db.models.signals import post_migrate
from django.test import SimpleTestCase, TestCase

from django_sitemaps_plus import Route, Sitemap, gather_changes, touch
from django_sitemaps_plus.changes import statements
from django_sitemaps_plus.models import Change
from tests.conftest import Register
from tests.support.recorded import Articles, changes
from tests.testapp.models import Article, Category, Elsewhere, Note

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


@pytest.fixture
def no_table() -> Iterator[None]:
    """Take the table of changes away, as before the migration."""
    with connection.schema_editor() as editor:
        editor.delete_model(Change)
    statements.look_again()
    yield
    with connection.schema_editor() as editor:
        editor.create_model(Change)
    statements.look_again()


def work() -> None:
    """Create, change and delete in every way; an article "e" is left."""
    with transaction.atomic():
        article = Article.objects.create(slug="a")
        article.slug = "b"
        article.save()
        with transaction.atomic():
            article.slug = "c"
            article.save()
        Article.objects.create(slug="gone").delete()
        touch(Article)
        with gather_changes():
            Article.objects.create(slug="d")
    article.slug = "e"
    article.save()
    Article.objects.get(slug="d").delete()


def test_the_table_is_missing(
    register: Register, no_table: None, caplog: pytest.LogCaptureFixture
) -> None:
    register("news", Articles)
    work()
    assert list(Article.objects.values_list("slug", flat=True)) == ["e"]
    [record] = caplog.records
    assert "manage.py migrate sitemaps_plus --database default" in record.getMessage()


def test_the_table_is_found_once_it_was_migrated(
    register: Register, no_table: None
) -> None:
    register("news", Articles)
    article = Article.objects.create(slug="a")
    with connection.schema_editor() as editor:
        editor.create_model(Change)
    config = apps.get_app_config("sitemaps_plus")
    post_migrate.send(config, app_config=config, using="default")
    article.save()
    assert len(changes()) == 1
    with connection.schema_editor() as editor:
        editor.delete_model(Change)


def test_the_table_goes_while_the_process_runs(
    register: Register, caplog: pytest.LogCaptureFixture
) -> None:
    register("news", Articles)
    Article.objects.create(slug="first")
    with connection.schema_editor() as editor:
        editor.delete_model(Change)
    try:
        with transaction.atomic():
            article = Article.objects.create(slug="a")
            article.slug = "b"
            article.save()
            article.delete()
            Note.objects.create(number=1)
        assert Note.objects.count() == 1
        assert any("could not be recorded" in r.getMessage() for r in caplog.records)
    finally:
        with connection.schema_editor() as editor:
            editor.create_model(Change)
        statements.look_again()


def failing(sql: str) -> type[Sitemap]:
    """Return a section whose filter fails when the database runs it."""

    class Failing(Sitemap):
        location = Route("article", slug=F("slug"))

        def items(self) -> Any:
            return Article.objects.annotate(bad=RawSQL(sql, ())).filter(bad=1)  # noqa: S611

    return Failing


@pytest.mark.parametrize("sql", ["no_such_column", "1 / (weight - weight)"])
def test_a_filter_that_fails(
    register: Register, caplog: pytest.LogCaptureFixture, sql: str
) -> None:
    register("failing", failing(sql))
    register("news", Articles)
    with transaction.atomic():
        article = Article.objects.create(slug="a", weight=1)
    changes()
    with transaction.atomic():
        article.slug = "b"
        article.save()
        Note.objects.create(number=1)
    key = str(article.pk)
    rows = sorted(changes())
    assert [row[:2] for row in rows] == [("failing", key), ("news", key)]
    assert rows[1][2] == ["/articles/a/"]
    article.slug = "c"
    article.save()
    assert len(changes()) == 2
    with transaction.atomic():
        Article.objects.all().delete()
        Note.objects.create(number=2)
    assert [row[:2] for row in sorted(changes())] == [("failing", key), ("news", key)]
    assert Note.objects.count() == 2
    if sql == "no_such_column":
        assert "where objects were listed before is not known" in caplog.text


class Raising(Sitemap):
    model = Article

    def location(self, item: Article) -> str:
        raise RuntimeError("no address")


def test_a_method_that_raises(register: Register) -> None:
    register("raising", Raising)
    article = Article.objects.create(slug="a")
    article.save()
    with transaction.atomic():
        article.save()
        article.delete()
    # A bad row is not listed.
    assert [old for *_, old in changes()] == [[], [], []]


def test_a_method_whose_query_fails(register: Register) -> None:
    class Asking(Sitemap):
        model = Article

        def location(self, item: Article) -> str:
            with connection.cursor() as cursor:
                cursor.execute("SELECT no_such_column FROM testapp_note")
            return "/"

    register("asking", Asking)
    with transaction.atomic():
        article = Article.objects.create(slug="a")
    with transaction.atomic():
        article.save()
        Note.objects.create(number=1)
    assert Note.objects.count() == 1
    assert len(changes()) == 2


def test_items_that_begin_to_raise(register: Register) -> None:
    class Moody(Sitemap):
        broken = False
        location = Value("/fixed/")

        def items(self) -> Any:
            if self.broken:
                raise RuntimeError("now I do")
            return Article.objects.all()

    register("moody", Moody)
    article = Article.objects.create(slug="a")
    changes()
    Moody.broken = True
    with transaction.atomic():
        article.slug = "b"
        article.save()
        article.delete()
        Note.objects.create(number=1)
    assert Note.objects.count() == 1


def test_a_route_that_is_gone(
    register: Register, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Lost(Sitemap):
        model = Article
        location = Route("nowhere", slug=F("slug"))

    register("lost", Lost)
    with transaction.atomic():
        article = Article.objects.create(slug="a")
        article.save()
        article.delete()
    assert Article.objects.count() == 0
    assert "could not be recorded" in caplog.text


def test_historical_models_of_migrations(register: Register) -> None:
    """Their classes are others than those that are listened to."""
    register("news", Articles)

    class Migration(migrations.Migration):
        operations = (
            migrations.RunPython(
                lambda apps, editor: apps.get_model(
                    "testapp", "Article"
                ).objects.create(slug="a")
            ),
        )

    from django.db.migrations.state import ProjectState

    state = ProjectState.from_apps(apps)
    with connection.schema_editor() as editor:
        Migration("0001", "testapp").apply(state, editor)
    assert Article.objects.get().slug == "a"
    assert changes() == []


def test_test_cases_without_a_database(register: Register) -> None:
    """Registering, as urlconfs of such tests do, opens no connection."""

    class Case(SimpleTestCase):
        def test(self) -> None:
            register("news", Articles)
            assert str(Article(slug="a")) == "a"

    result = Case("test").defaultTestResult()
    Case("test").run(result)
    assert [*result.errors, *result.failures] == []


def test_databases_that_a_test_case_may_not_use(register: Register) -> None:
    class There(Sitemap):
        model = Elsewhere
        location = Route("article", slug=F("slug"))

    class Case(TestCase):
        databases = frozenset({"default"})

        def test(self) -> None:
            register("there", There)
            register("news", Articles)
            article = Article.objects.create(slug="a")
            article.save()
            article.delete()
            with gather_changes():
                Category.objects.create(slug="c").delete()

    result = Case("test").defaultTestResult()
    connections.close_all()
    Case("test").run(result)
    assert [*result.errors, *result.failures] == []


def test_a_missing_table_does_not_fill_the_log(
    register: Register, no_table: None, caplog: pytest.LogCaptureFixture
) -> None:
    """A table that is missing is one line a minute, however much is saved."""
    register("news", Articles)
    with caplog.at_level(logging.DEBUG):
        for number in range(20):
            Article.objects.create(slug=f"a{number}")
    assert len(caplog.records) == 1
