"""
With the app and without it, a project's own code behaves alike.

Each situation of ``tests.support.situations`` happens twice, from the same rows: with
no section registered, and with several that list and read what it writes. What a
project could notice has to be the same, statement by statement: see
``tests.support.alike``.

Django loads the objects that a queryset deletes, and looks before it adds to a
many-to-many relation, as soon as anybody listens to ``pre_delete`` and ``m2m_changed``.
So receivers of the project's own listen in both runs.

On PostgreSQL the drivers are chosen from outside: psycopg2 by installing it alone,
server-side binding, the pool and isolation levels by ``TEST_DATABASE_OPTIONS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.db.models import Case, F, Value, When
from django.db.models.signals import m2m_changed, post_save, pre_delete
from django.test import TransactionTestCase

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.models import Change
from tests.conftest import Register, told_once
from tests.support.alike import Outcome, Situation, World, complaints, observe
from tests.support.recorded import Articles, Methods, Notes
from tests.support.situations import (  # noqa: F401 (they add themselves)
    SITUATIONS,
    deleting,
    locks,
    reactions,
    receiving,
    saving,
    testing,
    transactions,
)
from tests.support.situations.data import TABLES, empty, fill
from tests.testapp.models import (
    Article,
    ArticleProxy,
    Category,
    Elsewhere,
    Label,
    Note,
    Spot,
    Story,
)


class Listed(Articles):
    """With a filter that reads a related object."""

    priority = Case(When(category__slug="top", then=Value(0.9)), default=Value(0.5))

    def items(self) -> Any:
        """Return the live ones of categories that are shown."""
        return Article.objects.filter(live=True).exclude(category__slug="no")


class Stories(Sitemap):
    """A child of multi-table inheritance."""

    model = Story
    location = Route("article", slug=F("slug"))


class Spots(Sitemap):
    """With a filter that reads a many-to-many relation."""

    location = Route("article", slug=F("name"))

    def items(self) -> Any:
        """Return those that have no label which hides them."""
        return Spot.objects.exclude(labels__name="hidden")


class NotesThatStay(Notes):
    """Without deletes."""

    page_by = "pk"
    record_deletes = False


class Abroad(Stories):
    """In another database than the ledger."""

    model = Elsewhere


class News(Stories):
    """As simple as can be."""

    model = Article


class Chosen(News):
    """Those of a list that is as long as what a situation deletes."""

    def items(self) -> Any:
        """Return what is on the list."""
        return Article.objects.filter(slug__in=[f"m{n}" for n in range(200, 440)])


SECTIONS = {
    "many": {
        "listed": Listed,
        "methods": Methods,
        "stories": Stories,
        "spots": Spots,
        "notes": Notes,
        "abroad": Abroad,
    },
    "one": {"news": News},
    "chosen": {"chosen": Chosen},
    "child": {"stories": Stories},
    "fast": {"notes": NotesThatStay},
}


pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


@pytest.fixture(scope="module", autouse=True)
def tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """
    Leave the tables empty, but only in the end: a flush takes half a second.

    Until then connections know what Django asks them once.
    """
    with pytest.MonkeyPatch.context() as patch, django_db_blocker.unblock():
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda self: None)
        connections.close_all()
        for alias in connections:
            features = connections[alias].features
            for name in dir(features):
                getattr(features, name)
        yield
        empty()
        connections.close_all()


@contextmanager
def listeners(situation: Situation) -> Iterator[None]:
    """Have receivers of the project's own listen to what sections list and read."""

    def listen(**kwargs: Any) -> None:
        """Do nothing."""

    with ExitStack() as stack:
        if situation.listens:
            for model in (Article, ArticleProxy, Story, Category, Note, Spot, Label):
                stack.enter_context(receiving(pre_delete, listen, model))
            through = Spot.labels.through
            stack.enter_context(receiving(m2m_changed, listen, through))
        yield


def happen(situation: Situation, *, with_app: bool) -> Outcome:
    """Have a situation happen, from rows that are always the same."""
    fill()
    with listeners(situation):
        return observe(situation, TABLES, with_app=with_app)


@cache
def happen_without(name: str) -> Outcome:
    """Have a situation happen with no section registered, once for all."""
    return happen(SITUATIONS[name], with_app=False)


@pytest.mark.parametrize(
    ("name", "sections"),
    [(name, sections) for name in SITUATIONS for sections in SITUATIONS[name].sections],
)
@pytest.mark.costly
def test_the_users_code_behaves_alike(
    register: Register, name: str, sections: str
) -> None:
    situation = SITUATIONS[name]
    without = happen_without(name)
    with told_once():
        for section, sitemap in SECTIONS[sections].items():
            register(section, sitemap)
    having = happen(situation, with_app=True)
    found = complaints(situation, without, having, is_exact=sections == "one")
    assert not found, "\n".join([f"{name} differs:", *found])


def test_there_are_enough_situations() -> None:
    assert len(SITUATIONS) >= 60


# The comparison itself: what it must let pass, and what it must not.


def write(instance: Any) -> None:
    """Write a change down."""
    Change.objects.create(section="listed", key=str(instance.pk), at=0)


def well_behaved(instance: Any) -> None:
    """Do what is allowed."""
    transaction.on_commit(lambda: write(instance), robust=True)


def writes_twice(instance: Any) -> None:
    """Write more than one statement after a commit."""
    well_behaved(instance)
    well_behaved(instance)


def guards(instance: Any) -> None:
    """Set a savepoint."""
    with transaction.atomic():
        well_behaved(instance)


def rewrites(instance: Any) -> None:
    """Leave something in the way of later statements."""
    connection.execute_wrappers.append(
        lambda execute, sql, *args: execute(f"{sql} -- seen", *args)
    )


def asks(instance: Any) -> None:
    """Read within the transaction, and whenever."""
    Category.objects.exists()


def raises(instance: Any) -> None:
    """Fail."""
    raise RuntimeError("of the app")


def saves(world: World) -> None:
    """Save in a transaction."""
    with transaction.atomic():
        article = Article.objects.get(pk=1)
        article.save()
        world.state(article)


def compared_with(*parts: Callable[[Any], object]) -> list[str]:
    """Compare a save with one to which another app listens, instead of ours."""
    situation = Situation(saves)
    without = happen(situation, with_app=False)

    def receiver(instance: Any, **kwargs: Any) -> None:
        for part in parts:
            part(instance)

    with receiving(post_save, receiver, Article):
        return complaints(situation, without, happen(situation, with_app=True))


def test_one_insert_after_a_commit_is_let_pass() -> None:
    assert compared_with(well_behaved) == []


@pytest.mark.parametrize(
    ("act", "seen"),
    [
        (write, "+    [default] INSERT INTO"),
        (writes_twice, "2 INSERTs into sitemaps_plus_change after one commit"),
        (lambda item: None, "0 INSERTs into sitemaps_plus_change, not 1 to 1"),
        (asks, "+    [default] SELECT"),
        (guards, "+    [default] SAVEPOINT"),
        (rewrites, "+-- default execute_wrappers: [<function"),
        (lambda item: transaction.on_commit(lambda: asks(item)), "+[default] SELECT"),
        (lambda item: setattr(item._state, "seen", True), "('seen', True)"),
        (
            lambda item: Article.objects.filter(pk=item.pk).update(title="theirs"),
            "+    [default] UPDATE",
        ),
        (raises, "+-- raised builtins.RuntimeError('of the app',)"),
    ],
)
@pytest.mark.costly
def test_everything_else_is_seen(act: Callable[[Any], object], seen: str) -> None:
    found = compared_with(act)
    assert any(seen in line for line in found), "\n".join(found)
