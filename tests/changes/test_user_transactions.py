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

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

import pytest
from django.db import connections
from django.db.models import Case, F, Value, When
from django.db.models.signals import m2m_changed, pre_delete
from django.test import TransactionTestCase

from django_sitemaps_plus import Route, Sitemap
from tests.conftest import Register, told_once
from tests.support.alike import Outcome, Situation, complaints, observe
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
