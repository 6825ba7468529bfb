"""System checks about changes that are not recorded: one test for each id."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connections, models
from django.db.models import F

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.changes import statements
from django_sitemaps_plus.models import Change
from tests.checks.test_checks import found
from tests.support.helpers import ArticleSitemap
from tests.support.recorded import Articles
from tests.testapp.models import Article, Elsewhere, Note, Sheet

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

HAS_DATABASE_CASCADES = hasattr(models, "DB_CASCADE")


@pytest.mark.parametrize("name", ["appears", "expires"])
def test_e020_moments_that_are_no_expressions(register: Any, name: str) -> None:
    register("a", type("Dated", (ArticleSitemap,), {name: "updated"}))
    register("b", type("Right", (ArticleSitemap,), {name: F("updated")}))
    assert found() == [
        (
            "E020",
            f"{name} = 'updated' is no expression.",
            f'Set {name} to the date\'s field, for example F("publish_at"), or '
            "remove it.",
        )
    ]


def test_w020_models_that_could_not_be_learned(register: Any) -> None:
    class Asking(Sitemap):
        location = Route("article", slug=F("slug"))

        def items(self) -> Any:
            return Article.objects.filter(live=Note.objects.exists())

    register("asking", Asking)
    [(number, message, hint)] = found()
    assert number == "W020"
    assert "'asking'" in message
    assert "items() runs a query" in message
    assert hint == "Let items() return a queryset without asking the database."


class Sheets(Sitemap):
    model = Sheet
    location = "/sheets/"


def test_w021_cascades_of_the_database(register: Any) -> None:
    register("sheets", Sheets)
    register("others", ArticleSitemap)
    messages = found()
    if not HAS_DATABASE_CASCADES:
        assert messages == []
        return
    [(number, message, _)] = messages
    assert number == "W021"
    assert "testapp.Sheet.region" in message
    assert "'sheets'" in message


def test_w021_is_not_said_of_what_is_told(register: Any) -> None:
    """The region is read: its deletion is recorded."""

    class ByRegion(Sheets):
        location = Route("article", slug=F("region__name"))  # type: ignore[assignment]

    class Fast(Sheets):
        record_deletes = False

    register("by-region", ByRegion)
    register("fast", Fast)
    assert found() == []


def test_w022_a_database_without_the_table(register: Any) -> None:
    class There(Sitemap):
        model = Elsewhere
        location = Route("article", slug=F("slug"))

    register("there", There)
    register("news", Articles)
    assert found(["default", "other"]) == []
    with connections["other"].schema_editor() as editor:
        editor.delete_model(Change)
    try:
        assert found(["default"]) == []
        [(number, message, hint)] = found(["default", "other"])
    finally:
        with connections["other"].schema_editor() as editor:
            editor.create_model(Change)
        statements.look_again()
    assert number == "W022"
    assert message == (
        "Changes of 'there' are not recorded: the database 'other' has no table "
        "sitemaps_plus_change."
    )
    assert "migrate sitemaps_plus --database other" in hint
