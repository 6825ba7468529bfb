"""
What is remembered in a transaction, and written after its commit.

What the project's own code sees of it, and what is rolled back: see
``test_user_transactions``.
"""

from __future__ import annotations

import datetime as dt
import logging
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import Route, Sitemap, touch
from django_sitemaps_plus.changes import hints, recorder
from django_sitemaps_plus.db import aliases_of
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.signals import changes_written
from tests.conftest import Register
from tests.support.recorded import Articles, Methods, Notes, There, changes, keys
from tests.testapp.models import (
    Article,
    ArticleProxy,
    ByDay,
    ByPair,
    ByText,
    ByUuid,
    Category,
    Elsewhere,
    Note,
    Story,
)

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


def statements(work: Callable[[], object]) -> list[str]:
    """Return the statements that some work runs."""
    with CaptureQueriesContext(connection) as captured:
        work()
    return [query["sql"] for query in captured.captured_queries]


def ours(found: list[str]) -> list[str]:
    """Return those of some statements that are of our tables."""
    return [sql for sql in found if "sitemaps_plus" in sql]


def test_each_section_of_a_model_has_its_row(register: Register) -> None:
    register("news", Articles)
    register("all", Methods)
    article = Article.objects.create(slug="a")
    key = str(article.pk)
    assert sorted(changes()) == [("all", key), ("news", key)]
    article.save()
    # Whether it is listed now, its page says.
    article.live = False
    article.save()
    article.delete()
    assert sorted(changes()) == [("all", key)] * 3 + [("news", key)] * 3


def test_the_row_says_when_and_whether_the_object_is_new(register: Register) -> None:
    register("news", Articles)
    article = Article.objects.create(slug="a")
    article.save()
    first, second = Change.objects.order_by("pk")
    assert (first.created, second.created) == (True, False)
    assert 0 < first.at <= second.at
    assert first.page is None
    with transaction.atomic():
        with transaction.atomic():
            article = Article.objects.create(slug="b")
            article.save()
        article.save()
    third = Change.objects.filter(pk__gt=second.pk).get()
    assert third.created
    # In whichever of several savepoints the object was made.
    key = article.pk
    with transaction.atomic():
        article.delete()
        with transaction.atomic():
            article = Article.objects.create(pk=key, slug="c")
        with transaction.atomic():
            article.save()
    assert Change.objects.filter(pk__gt=third.pk).get().created


# Kinds of models


@pytest.mark.parametrize("listed", [Article, ArticleProxy, Story])
@pytest.mark.parametrize("saved", [Article, ArticleProxy, Story])
def test_parents_proxies_and_children_are_the_same_rows(
    register: Register, listed: Any, saved: Any
) -> None:
    declared = {"model": listed, "location": Route("article", slug=F("slug"))}
    register("news", type("Listed", (Sitemap,), declared))
    made = saved.objects.create(slug="a")
    assert changes() == [("news", str(made.pk))]
    story = Story.objects.create(slug="b")
    assert changes() == [("news", str(story.pk))]
    same = saved.objects.get(pk=story.pk)
    for what in (same, saved.objects.all(), saved.objects.filter(slug="b")):
        touch(what)
        assert ("news", str(story.pk)) in changes()
    same.save()
    touch(saved)
    same.delete()
    assert changes() == [
        ("news", str(story.pk)),
        ("news", "*"),
        ("news", str(story.pk)),
    ]


def test_objects_of_another_database_are_recorded_in_the_ledgers(
    register: Register,
) -> None:
    register("there", There)
    with transaction.atomic(using="other"):
        item = Elsewhere.objects.create(slug="a")
        assert changes() == []
    assert changes() == [("there", str(item.pk))]
    with transaction.atomic(using="other"):
        item.save()
        transaction.set_rollback(True, using="other")
    assert changes() == []
    with transaction.atomic():
        item.save()
        # The ledger's own transaction may still be rolled back.
        assert Change.objects.count() == 0
    assert changes() == [("there", str(item.pk))]


def test_what_is_saved_in_a_database_that_is_not_listed(register: Register) -> None:
    items = {"items": lambda self: Article.objects.using("default")}
    register("there", type("Here", (Articles,), items))
    # The table of articles is not even there.
    with pytest.raises(Exception, match="testapp_article"):
        Article(slug="a").save(using="other")
    assert changes() == []


@pytest.fixture
def second_alias(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give an alias of the database that "default" names."""
    second = connections["other"]
    second.close()
    with monkeypatch.context() as patch:
        patch.setitem(second.settings_dict, "NAME", connection.settings_dict["NAME"])
        yield "other"
        second.close()


def test_a_second_alias_of_the_database_is_recorded(
    register: Register, second_alias: str
) -> None:
    register("news", Articles)
    article = Article(slug="a", category=Category.objects.create(slug="c"))
    article.save(using=second_alias)
    key = str(article.pk)
    assert changes() == [("news", key)]
    with transaction.atomic(using=second_alias):
        article.save(using=second_alias)
        transaction.set_rollback(True, using=second_alias)
    assert changes() == []
    with transaction.atomic(using=second_alias):
        article.delete(using=second_alias)
        assert Change.objects.count() == 0
    assert changes() == [("news", key)]


def test_databases_that_settings_tell_apart_are_others(
    second_alias: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = connection.settings_dict, connections[second_alias].settings_dict
    assert aliases_of("default") == {"default", second_alias}
    with monkeypatch.context() as patch:
        patch.setitem(both[1], "PORT", "6432")
        assert aliases_of("default") == {"default"}
    with monkeypatch.context() as patch:
        patch.setitem(both[1], "OPTIONS", {"service": "another"})
        assert aliases_of(second_alias) == {second_alias}
    with monkeypatch.context() as patch:
        for of in both:
            # Each connection has its own.
            patch.setitem(of, "NAME", ":memory:")
        assert aliases_of("default") == {"default"}


DAY, DAYS = dt.date(2026, 1, 2), ("2026-01-02",)
MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=dt.UTC)
UUID = uuid.UUID(int=7)


@pytest.mark.parametrize(
    ("made", "by", "texts"),
    [
        (lambda: ByUuid(id=UUID), "pk", (str(UUID),)),
        (lambda: ByText(code='ä"\\'), "pk", ('ä"\\',)),
        (lambda: Note(number=5), "number", ("5",)),
        (lambda: ByDay(day=DAY, moment=MOMENT, amount=1), "day", DAYS),
        (
            lambda: ByDay(day=DAY, moment=MOMENT, amount=1),
            "moment",
            ("2026-01-02T03:04:05.000678+00:00",),
        ),
        (lambda: ByDay(day="2026-01-02", moment=MOMENT, amount=1), "day", DAYS),
        (lambda: ByPair(shop=3, code="x"), "pk", ("3", "x")),
        (lambda: Elsewhere(pk=5), "pk", ("5",)),
    ],
)
def test_any_kind_of_key(
    register: Register, made: Callable[[], Any], by: str, texts: tuple[str, ...]
) -> None:
    item = made()
    declared = {"model": type(item), "page_by": by, "location": "/fixed/"}
    register("kinds", type("Kinds", (Sitemap,), declared))
    item.save()
    again = type(item).objects.get(pk=item.pk)
    again.save()
    touch(type(item).objects.all())
    touch(item)
    # A key that was not loaded is looked up.
    touch(type(item).objects.only("pk").get(pk=item.pk))
    again.delete()
    assert changes() == [("kinds", *texts)] * 6


def test_a_key_that_was_not_loaded_is_looked_up_after_the_commit(
    register: Register,
) -> None:
    register("notes", Notes)
    Note.objects.create(number=5)
    changes()
    note = Note.objects.only("pk").get()
    with transaction.atomic():
        assert statements(lambda: touch(note)) == []
    assert changes() == [("notes", "5")]
    note.delete()
    # Its key went with it: any page may be concerned.
    assert changes() == [("notes", "*")]


# Ways to save


def test_a_class_may_decline_a_save(register: Register) -> None:
    class Read(Articles):
        def records(self, instance: Any, *, created: bool, update_fields: Any) -> bool:
            """Leave out what only counts views."""
            return created or set(update_fields or ()) != {"weight"}

    register("news", Read)
    article = Article.objects.create(slug="a")
    assert len(keys()) == 1
    article.save(update_fields=["weight"])
    assert keys() == []
    article.save(update_fields=["weight", "title"])
    assert len(keys()) == 1


# Transactions


def test_thousands_are_few_statements_and_one_callback(register: Register) -> None:
    register("news", Articles)
    with transaction.atomic():
        made = [Article.objects.create(slug=f"a{number}") for number in range(1_201)]
        for article in made[:9]:
            article.save()
        assert len(connection.run_on_commit) == 1
        written = CaptureQueriesContext(connection)
        written.__enter__()
    written.__exit__(None, None, None)
    assert len(ours([query["sql"] for query in written.captured_queries])) == 3
    pks = [article.pk for article in made]
    assert sorted(map(int, keys())) == pks
    assert len(ours(statements(lambda: Article.objects.all().delete()))) == 3
    assert sorted(map(int, keys())) == pks


def test_very_many_keys_become_a_range(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_KEYS", 3)
    register("news", Articles)
    register("texts", type("Texts", (Sitemap,), {"model": ByText, "location": "/"}))
    with transaction.atomic():
        made = [Article.objects.create(slug=f"a{number}") for number in range(6)]
        made[2].save()
        for code in "abcde":
            ByText.objects.create(code=code)
    found = Change.objects.get(section="news")
    assert (found.key, found.upto) == (f'["{made[0].pk}"]', f'["{made[-1].pk}"]')
    # How texts are ordered only their database knows.
    assert changes()[-1] == ("texts", "*")


def test_the_background_is_told_after_the_commit(register: Register) -> None:
    register("news", Articles)
    told: list[bool] = []

    def listen(**kwargs: Any) -> None:
        told.append(connection.in_atomic_block)

    changes_written.connect(listen)
    try:
        with transaction.atomic():
            article = Article.objects.create(slug="a")
            assert told == []
        article.save()
    finally:
        changes_written.disconnect(listen)
    assert told == [False, False]


def test_a_test_case_sees_its_own_changes(register: Register, client: Any) -> None:
    """A ``TestCase`` is one transaction: each save has to show nevertheless."""
    register("news", Articles)
    with transaction.atomic():
        article = Article.objects.create(slug="a")
        assert b"/articles/a/" in client.get("/sitemap.xml").content
        for slug in ("b", "c"):
            article.slug = slug
            article.save()
            text = client.get("/sitemap.xml").content
            assert f"/articles/{slug}/".encode() in text
        article.delete()
        assert b"/articles/" not in client.get("/sitemap.xml").content


@pytest.mark.django_db
def test_each_capture_of_callbacks_has_what_was_saved_in_it(
    register: Register, django_capture_on_commit_callbacks: Any
) -> None:
    """In a ``TestCase``, though a bag of an earlier savepoint waits or was called."""
    register("article", Articles)
    with transaction.atomic():
        other = Article.objects.create(slug="before")
    for slug in ("a", "b"):
        Change.objects.all().delete()
        with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
            article = Article.objects.create(slug=slug)
            transaction.on_commit(other.save)
        keys = set(Change.objects.values_list("key", flat=True))
        assert {f'["{article.pk}"]', f'["{other.pk}"]'} <= keys


def test_a_test_case_that_runs_callbacks_counts_the_insert(
    register: Register,
    django_assert_num_queries: Any,
    django_capture_on_commit_callbacks: Any,
) -> None:
    register("news", Articles)
    with transaction.atomic(), django_assert_num_queries(1):
        Article.objects.create(slug="a")
    with (
        transaction.atomic(),
        django_assert_num_queries(2),
        django_capture_on_commit_callbacks(execute=True) as callbacks,
    ):
        Article.objects.create(slug="b")
    assert len(callbacks) == 1
    # What the documentation says to type.
    assert not [one for one in callbacks if "sitemaps_plus" not in one.__module__]


# Deletes


def test_record_deletes_false_keeps_the_fast_delete(register: Register) -> None:
    declared = {"model": ByText, "location": Route("thing", code=F("code"))}
    for records in (False, True):
        members = {**declared, "record_deletes": records}
        register("texts", type("Texts", (Sitemap,), members))
        ByText.objects.create(code="a")
        changes()
        ByText.objects.all().delete()
        assert changes() == [("texts", "a")] * records


# What goes wrong


@pytest.fixture
def no_table() -> Iterator[None]:
    """Take the table of changes away, as before the migration."""
    with connection.schema_editor() as editor:
        editor.delete_model(Change)
    hints._logged.clear()
    yield
    with connection.schema_editor() as editor:
        editor.create_model(Change)


def test_saves_go_on_while_the_migration_is_not_run(
    register: Register, no_table: None, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says so once a minute, however much is saved."""
    register("news", Articles)
    with caplog.at_level(logging.ERROR, "django_sitemaps_plus"):
        with transaction.atomic():
            article = Article.objects.create(slug="a")
            with transaction.atomic():
                article.save()
            Article.objects.create(slug="b").delete()
            touch(Article)
        article.slug = "e"
        article.save()
    assert list(Article.objects.values_list("slug", flat=True)) == ["e"]
    [record] = caplog.records
    assert "run 'manage.py migrate'" in record.getMessage()


def test_a_class_that_begins_to_raise_harms_no_save(
    register: Register, caplog: pytest.LogCaptureFixture
) -> None:
    class Moody(Methods):
        def records(self, instance: Any, **kwargs: Any) -> bool:
            if instance.title == "raise":
                raise RuntimeError("now I do")
            return True

    def fail(self: Any, *args: Any) -> Any:
        raise RuntimeError("now I do")

    register("moody", Moody)
    article = Article.objects.create(slug="a")
    for name in ("items", "location"):
        setattr(Moody, name, fail)
    article.save()
    assert caplog.text == ""
    article.title = "raise"
    with transaction.atomic():
        article.save()
        Note.objects.create(number=1)
    assert Note.objects.count() == 1
    assert "could not be recorded" in caplog.text
    assert len(changes()) == 2


if connection.vendor == "sqlite":

    def test_a_lock_on_sqlite_keeps_nobody_waiting(register: Register) -> None:
        """The hint is written later, by the thread or with the next one."""
        register("news", Articles)
        article = Article.objects.create(slug="a")
        changes()
        other = sqlite3.connect(connection.settings_dict["NAME"], uri=True)
        seen: list[int] = []

        def lock(**kwargs: Any) -> None:
            """Take the lock between the user's commit and our INSERT."""
            other.execute("BEGIN IMMEDIATE")
            seen.append(1)

        with transaction.atomic():
            transaction.on_commit(lock)
            article.save()
        assert seen == [1]
        assert Change.objects.count() == 0
        other.rollback()
        other.close()
        (timeout,) = connection.connection.execute("PRAGMA busy_timeout").fetchone()
        assert timeout == 120_000, "the project's own statements wait as before"
        hints.write_late()
        assert changes() == [("news", str(article.pk))]
