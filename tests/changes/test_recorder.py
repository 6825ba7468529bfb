"""What is remembered in a transaction, and written after its commit."""

from __future__ import annotations

import datetime as dt
import logging
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core import serializers
from django.core.files.base import ContentFile
from django.db import IntegrityError, connection, connections, transaction
from django.db.models import F, ProtectedError
from django.db.models.signals import pre_delete
from django.test import SimpleTestCase, TestCase
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import Route, Sitemap, touch
from django_sitemaps_plus.changes import recorder
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.signals import changes_written
from tests.conftest import Register
from tests.support.recorded import Articles, Methods, changes, keys
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
    Spot,
    Story,
)

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


class Notes(Sitemap):
    """Paged by another column than the primary key."""

    model = Note
    page_by = "number"
    location = Route("number", number=F("number"))


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
    # Whether it is listed now is asked when it is reported.
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
    assert first.page is first.reported is first.reported_at is None


# Kinds of models


@pytest.mark.parametrize("listed", [Article, ArticleProxy])
@pytest.mark.parametrize("saved", [Article, ArticleProxy, Story])
def test_proxies_and_children_are_the_same_rows(
    register: Register, listed: Any, saved: Any
) -> None:
    class Listed(Sitemap):
        model = listed
        location = Route("article", slug=F("slug"))

    register("news", Listed)
    article = saved.objects.create(slug="a")
    key = str(article.pk)
    article.save()
    article.delete()
    assert changes() == [("news", key)] * 3


def test_a_parent_that_is_saved_concerns_the_child(register: Register) -> None:
    class Stories(Sitemap):
        model = Story
        location = Route("article", slug=F("slug"))

    register("stories", Stories)
    story = Story.objects.create(slug="a")
    changes()
    article = Article.objects.get(pk=story.pk)
    article.save()
    assert changes() == [("stories", str(story.pk))]
    article.delete()
    assert changes() == [("stories", str(story.pk))]


def test_objects_of_another_database_are_recorded_in_the_ledgers(
    register: Register,
) -> None:
    class There(Sitemap):
        model = Elsewhere
        location = Route("article", slug=F("slug"))

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
    class There(Sitemap):
        location = Route("article", slug=F("slug"))

        def items(self) -> Any:
            return Article.objects.using("default")

    register("there", There)
    # The table of articles is not even there.
    with pytest.raises(Exception, match="testapp_article"):
        Article(slug="a").save(using="other")
    assert changes() == []


DAY = dt.date(2026, 1, 2)
MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=dt.UTC)
UUID = uuid.UUID(int=7)


@pytest.mark.parametrize(
    ("made", "by", "texts"),
    [
        (lambda: ByUuid(id=UUID), "pk", (str(UUID),)),
        (lambda: ByText(code='ä"\\'), "pk", ('ä"\\',)),
        (lambda: Note(number=5), "number", ("5",)),
        (lambda: ByDay(day=DAY, moment=MOMENT, amount=1), "day", ("2026-01-02",)),
        (
            lambda: ByDay(day=DAY, moment=MOMENT, amount=1),
            "moment",
            ("2026-01-02T03:04:05.000678+00:00",),
        ),
        (lambda: ByPair(shop=3, code="x"), "pk", ("3", "x")),
    ],
)
def test_any_kind_of_key(
    register: Register, made: Callable[[], Any], by: str, texts: tuple[str, ...]
) -> None:
    item = made()

    class Kinds(Sitemap):
        model = type(item)
        page_by = by
        location = "/fixed/"

    register("kinds", Kinds)
    item.save()
    assert changes() == [("kinds", *texts)]
    again = type(item).objects.get(pk=item.pk)
    again.save()
    assert changes() == [("kinds", *texts)]
    again.delete()
    assert changes() == [("kinds", *texts)]


def test_a_key_that_was_given_as_text(register: Register) -> None:
    class Days(Sitemap):
        model = ByDay
        page_by = "day"
        location = "/fixed/"

    register("days", Days)
    ByDay.objects.create(day="2026-01-02", moment=MOMENT, amount="1.5")
    assert changes() == [("days", "2026-01-02")]


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


def test_a_copy_has_the_key_that_it_gets(register: Register) -> None:
    """``pk = None`` alone: Django takes the object for a saved one until then."""
    register("news", Articles)
    article = Article.objects.create(slug="a")
    changes()
    article.pk = None
    article.save()
    assert changes() == [("news", str(article.pk))]


def test_a_key_that_was_chosen_and_is_taken(register: Register) -> None:
    register("news", Articles)
    first = Article.objects.create(slug="a")
    changes()
    Article(pk=first.pk, slug="b").save()
    assert changes() == [("news", str(first.pk))]
    free = first.pk + 1
    Article(pk=free, slug="c").save(force_insert=True)
    assert changes() == [("news", str(free))]


def test_get_or_create_and_update_or_create(register: Register) -> None:
    register("news", Articles)
    article, _ = Article.objects.get_or_create(slug="a")
    assert keys() == [str(article.pk)]
    Article.objects.get_or_create(slug="a")
    assert keys() == []
    Article.objects.update_or_create(pk=article.pk, defaults={"slug": "b"})
    assert changes() == [("news", str(article.pk))]


def test_deferred_objects_and_files(register: Register) -> None:
    register("news", Articles)
    article = Article.objects.create(slug="a", title="t")
    changes()
    lazy = Article.objects.only("title").get()
    lazy.title = "u"
    lazy.save()
    assert keys() == [str(article.pk)]
    lazy.photo.save("a.txt", ContentFile(b"x"))
    assert keys() == [str(article.pk)]


def test_what_is_saved_in_coroutines(register: Register) -> None:
    register("news", Articles)

    async def work() -> str:
        article = await Article.objects.acreate(slug="a")
        article.slug = "b"
        await article.asave()
        key = str(article.pk)
        await article.adelete()
        return key

    key = async_to_sync(work)()
    assert changes() == [("news", key)] * 3


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


def test_fixtures_are_not_recorded(register: Register) -> None:
    register("news", Articles)
    article = Article.objects.create(slug="a")
    text = serializers.serialize("json", [article])
    changes()
    for loaded in serializers.deserialize("json", text):
        loaded.save()
    assert changes() == []


def test_bulk_writes_send_no_signals(register: Register) -> None:
    register("news", Articles)
    made = Article.objects.bulk_create([Article(slug="a"), Article(slug="b")])
    Article.objects.update(live=False)
    Article.objects.bulk_update(made, ["slug"])
    assert changes() == []


# Transactions


def test_nothing_is_written_before_the_commit(register: Register) -> None:
    register("news", Articles)
    with transaction.atomic():
        article = Article.objects.create(slug="a")
        found = statements(lambda: [article.save(), article.delete()])
        assert ours(found) == []
        assert not any("SAVEPOINT" in sql for sql in found)
        assert connection.execute_wrappers == []
    assert len(keys()) == 1


def test_what_is_rolled_back_was_never_recorded(register: Register) -> None:
    register("news", Articles)
    article = Article.objects.create(slug="a")
    changes()
    with transaction.atomic():
        article.save()
        Article.objects.create(slug="b")
        article.delete()
        transaction.set_rollback(True)
    assert changes() == []
    assert not recorder.remembers("default", "news")
    with transaction.atomic():
        Article.objects.create(slug="c")
    assert len(changes()) == 1


def test_a_savepoint_that_is_rolled_back_takes_its_keys_along(
    register: Register,
) -> None:
    register("news", Articles)
    first, second, third = (Article.objects.create(slug=slug) for slug in "abc")
    changes()
    with transaction.atomic():
        first.save()
        with transaction.atomic():
            second.save()
            transaction.set_rollback(True)
        with transaction.atomic():
            third.save()
            with transaction.atomic():
                second.save()
                transaction.set_rollback(True)
        with transaction.atomic():
            with transaction.atomic():
                first.save()
            transaction.set_rollback(True)
    assert sorted(changes()) == [("news", str(first.pk)), ("news", str(third.pk))]


def test_after_a_manual_savepoint_rollback_the_next_save_is_recorded(
    register: Register,
) -> None:
    register("news", Articles)
    first, second = (Article.objects.create(slug=slug) for slug in "ab")
    changes()
    with transaction.atomic():
        savepoint = connection.savepoint()
        first.save()
        connection.savepoint_rollback(savepoint)
        second.save()
    # One look too many does no harm.
    assert {("news", str(second.pk))} <= set(changes())


def test_one_row_for_an_object_in_a_transaction(register: Register) -> None:
    register("news", Articles)
    with transaction.atomic():
        article = Article.objects.create(slug="a")
        with transaction.atomic():
            article.save()
        article.save()
        key = str(article.pk)
        article.delete()
    assert set(changes()) == {("news", key)}


def test_saves_in_their_thousands_are_few_statements_and_one_callback(
    register: Register,
) -> None:
    register("news", Articles)
    with transaction.atomic():
        made = [Article.objects.create(slug=f"a{number}") for number in range(1_201)]
        assert len(connection.run_on_commit) == 1
        written = CaptureQueriesContext(connection)
        written.__enter__()
    written.__exit__(None, None, None)
    inserts = ours([query["sql"] for query in written.captured_queries])
    assert len(inserts) == 3
    assert sorted(map(int, keys())) == [article.pk for article in made]


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


def test_transactions_by_hand_are_written_at_once(register: Register) -> None:
    register("news", Articles)
    article = Article.objects.create(slug="a")
    changes()
    transaction.set_autocommit(False)
    try:
        article.save()
        transaction.rollback()
        article.save()
        transaction.commit()
    finally:
        transaction.set_autocommit(True)
    assert changes() == [("news", str(article.pk))]


def test_a_save_that_fails_is_not_recorded(register: Register) -> None:
    register("notes", Notes)
    first, second = (Note.objects.create(number=number) for number in (1, 2))
    changes()
    second.number = 1
    with pytest.raises(IntegrityError):
        second.save()
    with pytest.raises(IntegrityError), transaction.atomic():
        second.save()
    assert changes() == []
    with transaction.atomic():
        with pytest.raises(IntegrityError), transaction.atomic():
            second.save()
        first.number = 3
        first.save()
    assert changes() == [("notes", "3")]


def test_a_callback_of_theirs_that_raises_does_not_keep_ours_from_running(
    register: Register,
) -> None:
    register("news", Articles)

    def fail() -> None:
        raise RuntimeError("theirs")

    def work() -> None:
        with transaction.atomic():
            Article.objects.create(slug="a")
            transaction.on_commit(fail)

    with pytest.raises(RuntimeError):
        work()
    assert len(keys()) == 1


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


def test_callbacks_of_a_test_case(register: Register) -> None:
    register("news", Articles)
    with transaction.atomic():
        article = Article.objects.create(slug="a")
        with TestCase.captureOnCommitCallbacks(execute=True) as callbacks:
            article.save()
        assert len(callbacks) <= 2
        article.save()
    assert {("news", str(article.pk))} == set(changes())


# Deletes


def test_a_queryset_of_thousands_is_written_by_few_statements(
    register: Register,
) -> None:
    register("news", Articles)
    Article.objects.bulk_create(Article(slug=f"a{n}") for n in range(3_000))
    pks = sorted(Article.objects.values_list("pk", flat=True))
    found = ours(statements(lambda: Article.objects.all().delete()))
    assert len(found) == 6
    assert sorted(map(int, keys())) == pks


def test_cascades_are_recorded(register: Register) -> None:
    register("news", Articles)
    category = Category.objects.create(slug="c")
    article = Article.objects.create(slug="a", category=category)
    changes()
    category.delete()
    assert changes() == [("news", str(article.pk))]


def test_a_child_is_recorded_once(register: Register) -> None:
    register("news", Articles)
    story = Story.objects.create(slug="a")
    changes()
    key = str(story.pk)
    story.delete()
    assert changes() == [("news", key)]


@pytest.mark.parametrize("many", [False, True])
def test_a_delete_that_another_receiver_stops(register: Register, many: bool) -> None:
    register("news", Articles)
    article = Article.objects.create(slug="a")
    changes()

    def stop(**kwargs: Any) -> None:
        raise RuntimeError("stop")

    pre_delete.connect(stop, sender=Article)
    try:
        with pytest.raises(RuntimeError):
            (Article.objects.all() if many else article).delete()
        with transaction.atomic():
            with pytest.raises(RuntimeError), transaction.atomic():
                article.delete()
            Note.objects.create(number=1)
    finally:
        pre_delete.disconnect(stop, sender=Article)
    assert changes() == []


def test_protected_objects_leave_nothing(register: Register) -> None:
    class Categories(Sitemap):
        model = Category
        location = Route("article", slug=F("slug"))

    register("categories", Categories)
    category = Category.objects.create(slug="c")
    Spot.objects.create(name="s", guarded=category)
    changes()
    with pytest.raises(ProtectedError):
        category.delete()
    assert changes() == []


def test_record_deletes_false_keeps_the_fast_delete(register: Register) -> None:
    class Fast(Sitemap):
        model = ByText
        record_deletes = False
        location = Route("thing", code=F("code"))

    class Slow(Fast):
        record_deletes = True

    register("fast", Fast)
    ByText.objects.create(code="a")
    changes()
    found = statements(lambda: ByText.objects.all().delete())
    assert [sql for sql in found if "SELECT" in sql] == []
    assert changes() == []
    register("slow", Slow)
    ByText.objects.create(code="a")
    changes()
    ByText.objects.all().delete()
    assert changes() == [("slow", "a")]


# What goes wrong


@pytest.fixture
def no_table() -> Iterator[None]:
    """Take the table of changes away, as before the migration."""
    with connection.schema_editor() as editor:
        editor.delete_model(Change)
    recorder._logged.clear()
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
    assert "manage.py migrate sitemaps_plus --database default" in record.getMessage()


@pytest.mark.parametrize("raising", ["location", "items", "records"])
def test_a_class_that_begins_to_raise_harms_no_save(
    register: Register, raising: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Moody(Sitemap):
        broken = False

        def fail(self, name: str) -> None:
            if self.broken and name == raising:
                raise RuntimeError("now I do")

        def items(self) -> Any:
            self.fail("items")
            return Article.objects.all()

        def location(self, item: Article) -> str:
            self.fail("location")
            return "/"

        def records(self, instance: Any, **kwargs: Any) -> bool:
            self.fail("records")
            return True

    register("moody", Moody)
    article = Article.objects.create(slug="a")
    changes()
    Moody.broken = True
    with transaction.atomic():
        article.slug = "b"
        article.save()
        Note.objects.create(number=1)
    article.delete()
    assert Note.objects.count() == 1
    assert ("could not be recorded" in caplog.text) == (raising == "records")


def test_a_route_that_is_unknown_harms_no_save(register: Register) -> None:
    class Lost(Sitemap):
        model = Article
        location = Route("nowhere", slug=F("slug"))

    register("lost", Lost)
    with transaction.atomic():
        article = Article.objects.create(slug="a")
        article.save()
        article.delete()
    assert Article.objects.count() == 0


def test_test_cases_without_a_database_open_no_connection(register: Register) -> None:
    class Case(SimpleTestCase):
        def test(self) -> None:
            register("news", Articles)
            assert str(Article(slug="a")) == "a"

    result = Case("test").defaultTestResult()
    Case("test").run(result)
    assert [*result.errors, *result.failures] == []


def test_databases_that_a_test_case_may_not_use_are_left_alone(
    register: Register,
) -> None:
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

    result = Case("test").defaultTestResult()
    connections.close_all()
    Case("test").run(result)
    assert [*result.errors, *result.failures] == []


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
        recorder.write_late()
        assert changes() == [("news", str(article.pk))]
