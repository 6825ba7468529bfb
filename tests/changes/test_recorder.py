"""What is written down when objects are saved and deleted."""

from __future__ import annotations

import datetime as dt
import re
import threading
import uuid
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.core.files.base import ContentFile
from django.db import (
    DatabaseError,
    IntegrityError,
    connection,
    connections,
    transaction,
)
from django.db.models import F
from django.db.models.signals import pre_save
from django.test import TestCase
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import Route, Sitemap, gather_changes
from django_sitemaps_plus.changes import gathering, statements
from django_sitemaps_plus.models import Change
from tests.conftest import Register
from tests.support.recorded import Articles, Methods, changes, keys
from tests.testapp.models import (
    Article,
    ArticleProxy,
    ByDay,
    ByPair,
    ByText,
    ByUuid,
    Elsewhere,
    Note,
    Story,
    Tag,
)

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


def test_a_saved_object_is_recorded_with_where_it_was(register: Register) -> None:
    register("news", Articles)
    article = Article.objects.create(slug="a")
    key = str(article.pk)
    assert changes() == [("news", key, [])]
    article.slug = "b"
    article.save()
    assert changes() == [("news", key, ["/articles/a/"])]
    article.live = False
    article.save()
    assert changes() == [("news", key, ["/articles/b/"])]
    article.save()
    assert changes() == [("news", key, [])]
    article.delete()
    assert changes() == [("news", key, [])]


def test_the_object_path_knows_where_it_was(register: Register) -> None:
    register("news", Methods)
    article = Article.objects.create(slug="a")
    article.slug = "b"
    article.save()
    article.delete()
    assert [old for _, _, old in changes()] == [[], ["/articles/a/"], ["/articles/b/"]]


def test_each_section_of_a_model_has_its_row(register: Register) -> None:
    register("news", Articles)
    register("all", Methods)
    article = Article.objects.create(slug="a")
    assert sorted(name for name, *_ in changes()) == ["all", "news"]
    article.save()
    assert sorted(changes()) == [
        ("all", str(article.pk), ["/articles/a/"]),
        ("news", str(article.pk), ["/articles/a/"]),
    ]


class Translated(Sitemap):
    model = Note
    i18n = True
    languages = ("en", "de")
    location = Route("note", number=F("number"))


def test_each_language_has_its_former_path(register: Register) -> None:
    register("notes", Translated)
    note = Note.objects.create(number=1)
    changes()
    note.number = 2
    note.save()
    assert changes() == [("notes", str(note.pk), ["/en/notes/1/", "/de/notes/1/"])]


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
    article.slug = "b"
    article.save()
    article.delete()
    assert changes() == [
        ("news", key, []),
        ("news", key, ["/articles/a/"]),
        ("news", key, ["/articles/b/"]),
    ]


def test_a_parent_that_is_saved_moves_the_child(register: Register) -> None:
    class Stories(Sitemap):
        model = Story
        location = Route("article", slug=F("slug"))

    register("stories", Stories)
    story = Story.objects.create(slug="a")
    changes()
    article = Article.objects.get(pk=story.pk)
    article.slug = "b"
    article.save()
    assert changes() == [("stories", str(story.pk), ["/articles/a/"])]
    article.delete()
    assert changes() == [("stories", str(story.pk), ["/articles/b/"])]


def test_a_model_on_another_database_is_recorded_there(register: Register) -> None:
    class There(Sitemap):
        model = Elsewhere
        location = Route("article", slug=F("slug"))

    register("there", There)
    one = Elsewhere.objects.create(slug="a")
    one.slug = "b"
    one.save()
    assert changes() == []
    assert [old for _, _, old in changes("other")] == [[], ["/articles/a/"]]


def test_what_is_saved_in_a_database_that_is_not_listed(register: Register) -> None:
    class There(Sitemap):
        location = Route("article", slug=F("slug"))

        def items(self) -> Any:
            return Article.objects.using("default")

    register("there", There)
    # The table of articles is not even there.
    with pytest.raises(Exception, match="testapp_article"):
        Article(slug="a").save(using="other")
    assert changes() == changes("other") == []


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
    assert changes() == [("kinds", *texts, [])]
    again = type(item).objects.get(pk=item.pk)
    again.save()
    assert changes() == [("kinds", *texts, ["/fixed/"])]
    again.delete()
    assert changes() == [("kinds", *texts, ["/fixed/"])]


def test_a_key_that_was_given_as_text(register: Register) -> None:
    class Days(Sitemap):
        model = ByDay
        page_by = "day"
        location = "/fixed/"

    register("days", Days)
    ByDay.objects.create(day="2026-01-02", moment=MOMENT, amount="1.5")
    assert changes() == [("days", "2026-01-02", [])]


def test_a_key_that_was_not_loaded_is_asked_for(register: Register) -> None:
    class Notes(Sitemap):
        model = Note
        page_by = "number"
        location = Route("number", number=F("number"))

    register("notes", Notes)
    Note.objects.create(number=5)
    changes()
    note = Note.objects.only("pk").get()
    note.save()
    note.delete()
    assert changes() == [("notes", "5", ["/numbers/5/"])] * 2


# Ways to save


def test_a_copy_has_the_key_that_it_gets(register: Register) -> None:
    """``pk = None`` alone: Django takes the object for a saved one until then."""
    register("news", Articles)
    article = Article.objects.create(slug="a")
    changes()
    article.pk = None
    article.save()
    assert changes() == [("news", str(article.pk), [])]


def test_a_key_that_was_chosen_and_is_taken(register: Register) -> None:
    register("news", Articles)
    first = Article.objects.create(slug="a")
    changes()
    Article(pk=first.pk, slug="b").save()
    # Django does not know the former row either.
    assert changes() == [("news", str(first.pk), None)]
    free = first.pk + 1
    Article(pk=free, slug="c").save(force_insert=True)
    assert changes() == [("news", str(free), [])]


def test_get_or_create_and_update_or_create(register: Register) -> None:
    register("news", Articles)
    article, _ = Article.objects.get_or_create(slug="a")
    assert keys() == [str(article.pk)]
    Article.objects.get_or_create(slug="a")
    assert keys() == []
    Article.objects.update_or_create(pk=article.pk, defaults={"slug": "b"})
    assert changes() == [("news", str(article.pk), ["/articles/a/"])]


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
    assert changes() == [
        ("news", key, []),
        ("news", key, ["/articles/a/"]),
        ("news", key, ["/articles/b/"]),
    ]


def queries(work: Callable[[], object]) -> list[str]:
    """Return the first words of the statements that some work runs."""
    with CaptureQueriesContext(connection) as captured:
        work()
    verbs = re.compile(
        r"(?:SAVEPOINT \w+; |START TRANSACTION; )?(SELECT|INSERT|UPDATE|DELETE|WITH) "
    )
    found = [verbs.match(query["sql"]) for query in captured.captured_queries]
    return [match[1] for match in found if match]


def test_update_fields_of_nothing_that_decides_cost_one_insert(
    register: Register,
) -> None:
    register("news", Articles)
    article = Article.objects.create(slug="a")
    article.save()
    changes()
    article.title = "t"
    both = ["WITH"] if connection.vendor == "postgresql" else ["INSERT", "UPDATE"]
    assert queries(lambda: article.save(update_fields=["title"])) == both
    assert changes() == [("news", str(article.pk), None)]
    assert queries(lambda: article.save(update_fields=["live"])) == both
    assert changes() == [("news", str(article.pk), ["/articles/a/"])]
    assert queries(lambda: article.save(update_fields=[])) == []
    assert changes() == []


in_both_modes = pytest.mark.parametrize(
    "atomic", [True, False], ids=["atomic", "autocommit"]
)


@in_both_modes
def test_an_update_that_finds_no_row_is_still_an_error(
    register: Register, atomic: bool
) -> None:
    """However it is sent, Django must learn how many rows it has changed."""
    register("news", Articles)
    article = Article.objects.create(slug="a")
    Article.objects.all()._raw_delete("default")
    forced = partial(article.save, force_update=True)
    with pytest.raises(DatabaseError, match="did not affect any rows"):
        transaction.atomic(forced)() if atomic else forced()
    assert not Article.objects.exists()
    article.save()
    assert Article.objects.get() == article


def test_a_save_that_another_receiver_refuses_leaves_nothing_behind(
    register: Register, caplog: pytest.LogCaptureFixture
) -> None:
    register("news", Articles)
    article = Article.objects.create(slug="a")
    changes()

    def refuse(**kwargs: Any) -> None:
        raise PermissionError

    def save() -> None:
        with pytest.raises(PermissionError), transaction.atomic():
            article.save()
        Article.objects.filter(pk=article.pk).update(title="another")

    pre_save.connect(refuse, sender=Article)
    try:
        with transaction.atomic():
            # Where the change waits for the UPDATE it is not even written.
            waits = connection.vendor == "postgresql"
            assert queries(save) == (["UPDATE"] if waits else ["INSERT", "UPDATE"])
    finally:
        pre_save.disconnect(refuse, sender=Article)
    assert changes() == []
    assert not caplog.records


if connection.vendor == "postgresql":

    def test_a_save_in_a_transaction_is_one_statement_too(register: Register) -> None:
        register("news", Articles)
        article = Article.objects.create(slug="a")
        changes()
        article.slug = "b"
        with transaction.atomic():
            assert queries(article.save) == ["WITH"]
            assert queries(article.save) == ["UPDATE"], "recorded once"
        assert changes() == [("news", str(article.pk), ["/articles/a/"])]

    @in_both_modes
    def test_a_save_that_breaks_a_constraint_is_not_tried_twice(
        register: Register, atomic: bool
    ) -> None:
        register("news", Articles)
        article, other = (Article.objects.create(slug=slug) for slug in "ab")
        changes()
        with connection.cursor() as cursor:
            cursor.execute("CREATE UNIQUE INDEX own ON testapp_article (slug)")
        article.slug = other.slug

        def save() -> None:
            with pytest.raises(IntegrityError):
                article.save()

        try:
            with transaction.atomic() if atomic else nullcontext():
                assert queries(save) == ["WITH"]
        finally:
            with connection.cursor() as cursor:
                cursor.execute("DROP INDEX own")
        assert changes() == []

    @in_both_modes
    def test_a_table_with_rules_takes_two_statements(
        register: Register, atomic: bool
    ) -> None:
        """PostgreSQL: "WITH cannot be used in a query that is rewritten by rules"."""
        register("news", Articles)
        article = Article.objects.create(slug="a")
        changes()
        article.slug = "b"
        with connection.cursor() as cursor:
            cursor.execute(
                "CREATE RULE notes AS ON UPDATE TO testapp_article DO ALSO NOTIFY notes"
            )
        try:
            with transaction.atomic() if atomic else nullcontext():
                article.save()
        finally:
            with connection.cursor() as cursor:
                cursor.execute("DROP RULE notes ON testapp_article")
        assert changes() == [("news", str(article.pk), ["/articles/a/"])]
        assert Article.objects.get().slug == "b"


@pytest.mark.parametrize("name", ["category", "category_id"])
def test_update_fields_take_both_names_of_a_foreign_key(
    register: Register, name: str
) -> None:
    class Filed(Sitemap):
        location = Route("article", slug=F("slug"))

        def items(self) -> Any:
            return Article.objects.filter(category_id__isnull=True)

    register("news", Filed)
    article = Article.objects.create(slug="a")
    changes()
    article.save(update_fields=[name])
    assert changes() == [("news", str(article.pk), ["/articles/a/"])]


def test_fixtures_are_not_recorded(register: Register) -> None:
    from django.core import serializers

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


def test_a_savepoint_that_is_rolled_back_leaves_no_mark(register: Register) -> None:
    register("news", Articles)
    article = Article.objects.create(slug="a")
    changes()
    with transaction.atomic():
        with transaction.atomic():
            article.save()
            transaction.set_rollback(True)
        article.slug = "b"
        article.save()
        article.slug = "c"
        article.save()
        with transaction.atomic():
            article.save()
    assert changes() == [("news", str(article.pk), ["/articles/a/"])]


def test_one_row_for_an_object_in_a_transaction(register: Register) -> None:
    register("news", Articles)
    with transaction.atomic():
        article = Article.objects.create(slug="a")
        article.slug = "b"
        article.save()
        key = str(article.pk)
        article.delete()
    assert changes() == [("news", key, [])]
    with transaction.atomic():
        article = Article.objects.create(slug="a")
    article.slug = "b"
    article.save()
    assert keys() == [str(article.pk)] * 2


def test_a_cheap_save_first_does_not_lose_where_it_was(register: Register) -> None:
    register("news", Articles)
    article = Article.objects.create(slug="a")
    changes()
    with transaction.atomic():
        article.save(update_fields=["title"])
        article.slug = "b"
        article.save()
        article.save()
    key = str(article.pk)
    assert changes() == [("news", key, None), ("news", key, ["/articles/a/"])]


def test_transactions_by_hand(register: Register) -> None:
    register("news", Articles)
    article = Article.objects.create(slug="a")
    changes()
    transaction.set_autocommit(False)
    try:
        article.slug = "b"
        article.save()
        transaction.rollback()
        article.save()
        transaction.commit()
    finally:
        transaction.set_autocommit(True)
    assert Change.objects.get().settled
    assert changes() == [("news", str(article.pk), ["/articles/a/"])]


def test_a_save_that_fails_leaves_nothing(register: Register) -> None:
    class Notes(Sitemap):
        model = Note
        location = Route("number", number=F("number"))

    register("notes", Notes)
    first, second = (Note.objects.create(number=number) for number in (1, 2))
    changes()
    second.number = 1
    with pytest.raises(IntegrityError):
        second.save()
    with pytest.raises(IntegrityError), transaction.atomic():
        second.save()
    with pytest.raises(IntegrityError):
        Note.objects.create(number=1)
    assert connection.execute_wrappers == []
    # In autocommit the row may be there before the save: one look too many.
    assert set(keys()) <= {str(second.pk)}
    with transaction.atomic():
        with pytest.raises(IntegrityError), transaction.atomic():
            second.save()
        first.number = 3
        first.save()
    assert changes() == [("notes", str(first.pk), ["/numbers/1/"])]


def test_within_a_test_case_pages_that_are_made_are_not_kept_for_good(
    register: Register, client: Any
) -> None:
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
        with TestCase.captureOnCommitCallbacks(execute=True):
            article.slug = "b"
            article.save()
        article.save()
    assert changes() == [("news", str(article.pk), [])]


# Deletes


def test_a_queryset_of_thousands_is_written_by_few_statements(
    register: Register,
) -> None:
    register("news", Articles)
    Article.objects.bulk_create(Article(slug=f"a{n}") for n in range(3000))
    with CaptureQueriesContext(connection) as captured:
        Article.objects.all().delete()
    ours = [q["sql"] for q in captured.captured_queries if statements.TABLE in q["sql"]]
    assert len([sql for sql in ours if "INSERT" in sql]) == 6
    rows = changes()
    assert len(rows) == len(set(map(str, rows))) == 3000
    assert all(old == [f"/articles/{old[0][10:-1]}/"] for _, _, old in rows)


def test_dependent_rows_are_written_by_few_statements(register: Register) -> None:
    class Tagged(Sitemap):
        location = Route("article", slug=F("slug"))

        def items(self) -> Any:
            return Article.objects.filter(tags__name="x")

    register("news", Tagged)
    made = Article.objects.bulk_create(Article(slug=f"a{n}") for n in range(900))
    made = list(Article.objects.all())
    Tag.objects.bulk_create(Tag(article=article, name="x") for article in made)
    with CaptureQueriesContext(connection) as captured:
        Tag.objects.all().delete()
    ours = [q["sql"] for q in captured.captured_queries if statements.TABLE in q["sql"]]
    assert len([sql for sql in ours if "INSERT" in sql]) == 2
    assert sorted(map(int, keys())) == sorted(article.pk for article in made)


def test_cascades_are_recorded(register: Register) -> None:
    from tests.testapp.models import Category

    register("news", Articles)
    category = Category.objects.create(slug="c")
    article = Article.objects.create(slug="a", category=category)
    changes()
    category.delete()
    assert changes() == [("news", str(article.pk), ["/articles/a/"])]


def test_a_delete_that_is_rolled_back(register: Register) -> None:
    register("news", Articles)
    article = Article.objects.create(slug="a")
    changes()
    with transaction.atomic():
        Article.objects.all().delete()
        transaction.set_rollback(True)
    assert changes() == []
    assert Article.objects.get(pk=article.pk)


def test_a_child_is_recorded_once(register: Register) -> None:
    register("news", Articles)
    story = Story.objects.create(slug="a")
    changes()
    key = str(story.pk)
    story.delete()
    assert changes() == [("news", key, ["/articles/a/"])]


@pytest.mark.parametrize("many", [False, True])
def test_a_delete_that_another_receiver_stops(register: Register, many: bool) -> None:
    """What waits for the next statement must not be written by an unrelated one."""
    from django.db.models.signals import pre_delete

    register("news", Articles)
    article = Article.objects.create(slug="a")
    changes()

    def stop(**kwargs: Any) -> None:
        raise RuntimeError("stop")

    pre_delete.connect(stop, sender=Article)
    seen: list[str] = []

    def watch(execute: Any, sql: str, *args: Any) -> Any:
        seen.append(sql)
        return execute(sql, *args)

    try:
        with connection.execute_wrapper(watch), pytest.raises(RuntimeError):
            (Article.objects.all() if many else article).delete()
        with transaction.atomic():
            with pytest.raises(RuntimeError), transaction.atomic():
                article.delete()
            Note.objects.create(number=1)
    finally:
        pre_delete.disconnect(stop, sender=Article)
    seen.clear()
    Note.objects.count()
    assert seen == []
    assert connection.execute_wrappers == []
    assert changes() == []


def test_protected_objects_leave_nothing(register: Register) -> None:
    from django.db.models import ProtectedError

    from tests.testapp.models import Category, Spot

    class Categories(Sitemap):
        model = Category
        location = Route("article", slug=F("slug"))

    register("categories", Categories)
    category = Category.objects.create(slug="c")
    Spot.objects.create(name="s", guarded=category)
    changes()
    with pytest.raises(ProtectedError):
        category.delete()
    assert connection.execute_wrappers == []
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
    assert queries(lambda: ByText.objects.all().delete()) == ["DELETE"]
    assert changes() == []
    register("slow", Slow)
    ByText.objects.create(code="a")
    changes()
    ByText.objects.all().delete()
    assert changes() == [("slow", "a", ["/things/a/"])]


# gather_changes


def test_gathered_changes_are_few_rows(register: Register) -> None:
    register("news", Articles)
    with transaction.atomic(), gather_changes():
        article = Article.objects.create(slug="a")
        for _ in range(3):
            article.save()
        with gather_changes():
            other = Article.objects.create(slug="b")
        assert Change.objects.count() == 0
        key = str(other.pk)
        other.delete()
    assert changes() == [("news", str(article.pk), None), ("news", key, None)]


def test_too_many_gathered_keys_are_one_row(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gathering, "MOST_KEYS", 3)
    register("news", Articles)
    with gather_changes():
        for number in range(5):
            Article.objects.create(slug=f"a{number}")
    assert changes() == [("news", "*", None)]


def test_gathered_changes_of_what_was_rolled_back(
    register: Register, caplog: pytest.LogCaptureFixture
) -> None:
    register("news", Articles)

    def fail(error: type[Exception]) -> None:
        with gather_changes():
            Article.objects.create(slug="a")
            raise error

    with pytest.raises(RuntimeError), transaction.atomic():
        fail(RuntimeError)
    with transaction.atomic(), gather_changes():
        Article.objects.create(slug="a")
        transaction.set_rollback(True)
    assert changes() == []
    # An exception of the project's own: what was saved before it stays.
    with pytest.raises(RuntimeError):
        fail(RuntimeError)
    assert len(changes()) == 1
    assert caplog.records == []


def test_gathering_ends_with_the_transaction_that_an_error_broke(
    register: Register, caplog: pytest.LogCaptureFixture
) -> None:
    register("news", Articles)
    Note.objects.create(number=1)

    def work() -> None:
        with gather_changes():
            Article.objects.create(slug="a")
            Note.objects.create(number=1)

    with pytest.raises(IntegrityError), transaction.atomic():
        work()
    assert changes() == []
    assert caplog.records == []


def test_other_threads_do_not_gather(register: Register) -> None:
    register("news", Articles)

    def work() -> None:
        Article.objects.create(slug="other")
        connections.close_all()

    with gather_changes():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert len(keys()) == 1
    assert changes() == []


def test_coroutines_gather_in_a_thread(register: Register) -> None:
    from django.core.exceptions import SynchronousOnlyOperation

    register("news", Articles)

    def work() -> None:
        with gather_changes():
            Article.objects.create(slug="a").save()

    async def main() -> None:
        await sync_to_async(work)()
        with pytest.raises(SynchronousOnlyOperation), gather_changes():
            pass

    async_to_sync(main)()
    assert len(changes()) == 1
