"""What a location was made of, copied by the database and read back."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.changes.reporting import Lookup, lookup
from django_sitemaps_plus.models import Change
from tests.conftest import Register
from tests.support.recorded import Articles, changes
from tests.testapp.models import Article, ByDay, ByPair, ByText, ByUuid, Note

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

#: NUL and halves of surrogate pairs cannot be stored everywhere.
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40
)


class Words(Sitemap):
    """Any text, quoted by the route."""

    model = Article
    location = Route("word", slug=F("slug"))


class Joined(Sitemap):
    """The database's own text, with a constant in it."""

    model = Article
    location = Concat(Value("/o'clock/%s/\\/"), F("slug"), Value("/"))


class Pairs(Sitemap):
    """A number and a text, of a composite key."""

    model = ByPair
    location = Route("pair", shop=F("shop"), code=F("code"))


class Uuids(Sitemap):
    """A UUID, which each database keeps in its own way."""

    model = ByUuid
    location = Route("uuid", id=F("id"))


class Languages(Sitemap):
    """A location for each language."""

    model = Note
    location = Route("note", number=F("number"))
    i18n = True
    languages = ("en", "de")


def copied(found: Lookup, value: tuple[Any, ...]) -> list[str] | None:
    """Return what the database copies of a row, read back; None if it does not."""
    assert found.formers is not None
    statement = found.formers.of_key(value, "default")
    if statement is None:
        return None
    with connection.cursor() as cursor:
        cursor.execute(*statement)
        row = cursor.fetchone()
    (paths,) = found.formers.paths([row[0] if row else "[]"])
    return paths


def listed(found: Lookup, value: tuple[Any, ...]) -> list[str]:
    """Return where a row is listed, as its page has it."""
    (paths,) = found.locations([value], "default").values()
    return paths


@given(slug=TEXTS)
@example('"quoted" \\ and \u2028 é 😀')
@example("[]")
@example("/")
@example("")
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@pytest.mark.parametrize("sitemap", [Words, Joined])
def test_any_text_is_read_back_as_its_page_has_it(
    register: Register, sitemap: type[Sitemap], slug: str
) -> None:
    register("words", sitemap)
    article = Article.objects.create(slug=slug)
    found = lookup("words")
    assert copied(found, (article.pk,)) == listed(found, (article.pk,))
    assert copied(found, (article.pk + 1,)) == []


@pytest.mark.parametrize(
    ("sitemap", "make", "expected"),
    [
        (
            Pairs,
            lambda: ByPair.objects.create(shop=3, code='a"b'),
            ["/shops/3/a%22b/"],
        ),
        (
            Uuids,
            lambda: ByUuid.objects.create(id=uuid.UUID(int=2**100 + 7)),
            ["/uuids/00000010-0000-0000-0000-000000000007/"],
        ),
        (
            Languages,
            lambda: Note.objects.create(number=12),
            ["/en/notes/12/", "/de/notes/12/"],
        ),
    ],
)
def test_other_kinds_of_columns(
    register: Register,
    sitemap: type[Sitemap],
    make: Callable[[], Any],
    expected: list[str],
) -> None:
    register("kind", sitemap)
    made = make()
    found = lookup("kind")
    value = found.key.of(made)
    assert copied(found, value) == listed(found, value) == expected
    made.save()
    made.delete()
    assert [old for *_, old in changes()] == [[], expected, expected]


def test_what_json_would_change_is_asked_for_with_a_query(register: Register) -> None:
    class Moments(Sitemap):
        model = ByDay
        location = Route("day", day=F("day"))

    register("moments", Moments)
    made = ByDay.objects.create(
        day="2026-02-03", moment="2026-02-03T00:00:00Z", amount=1
    )
    found = lookup("moments")
    assert found.formers is not None
    assert found.formers.of_key((made.pk,), "default") is None
    made.save()
    made.delete()
    expected = ["/days/2026-02-03/"]
    assert [old for *_, old in changes()] == [[], expected, expected]


def test_a_copy_that_fails_costs_only_what_it_would_tell(
    register: Register, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Sitemap):
        model = ByText
        location = Route("thing", code=F("code"))

        def items(self) -> Any:
            """Ask for a table that is gone."""
            return ByText.objects.extra(where=["1 = (SELECT 1 FROM nowhere)"])

    register("broken", Broken)
    made = ByText.objects.create(code="a")
    made.save()
    made.delete()
    assert changes() == [
        ("broken", "a", []),
        ("broken", "a", None),
        ("broken", "a", None),
    ]
    assert caplog.text.count("listed before is not known") == 2


def test_what_was_copied_for_another_address_is_not_known(register: Register) -> None:
    class Moved(Articles):
        """The same rows, at other addresses."""

        location = Route("word", slug=F("slug"))

    register("news", Articles)
    article = Article.objects.create(slug="a")
    article.save()
    register("news", Moved)
    assert [old for *_, old in changes()] == [[], None]


def test_another_priority_changes_nothing_of_what_was_copied(
    register: Register,
) -> None:
    class Prior(Articles):
        """The same addresses."""

        priority = 0.9

    register("news", Articles)
    article = Article.objects.create(slug="a")
    article.save()
    register("news", Prior)
    assert [old for *_, old in changes()] == [[], ["/articles/a/"]]


def test_one_statement_stands_before_the_update(register: Register) -> None:
    """On PostgreSQL it is a part of it."""
    register("news", Articles)
    article = Article.objects.create(slug="a")
    article.save()
    with CaptureQueriesContext(connection) as captured:
        article.save()
    executed = [query["sql"] for query in captured.captured_queries]
    found = [sql for sql in executed if "sitemaps" in sql or "article" in sql]
    if connection.vendor == "postgresql":
        (both,) = found
        assert both.startswith("WITH")
        insert, _, update = both.rpartition("UPDATE ")
    else:
        insert, update = found
        assert update.startswith("UPDATE")
    assert "SELECT" in insert
    assert "INSERT INTO sitemaps_plus_change" in insert
    assert "testapp_article" in update
    assert Change.objects.exclude(definition=None).count() == 2
