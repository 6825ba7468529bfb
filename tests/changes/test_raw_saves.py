"""Saves with ``raw=True``: what is deserialised, loaded, or restored by a package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core import serializers
from django.core.management import call_command
from django.db import models, transaction
from django.db.models import F
from django.test import Client

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.changes import recorder
from django_sitemaps_plus.models import Change
from tests.conftest import Register
from tests.support.helpers import locations, told
from tests.support.recorded import Articles, Notes, changes
from tests.testapp.models import Article, Category, Note, Story

pytestmark = pytest.mark.django_db(transaction=True)

HOST = "https://www.example.com"


def restore(*objects: models.Model) -> None:
    """Save objects as django-reversion and ``loaddata`` do."""
    for restored in serializers.deserialize(
        "json", serializers.serialize("json", objects)
    ):
        restored.save()


def test_what_is_restored_is_listed_at_once(client: Client, register: Register) -> None:
    register("article", Articles)
    article = Article.objects.create(slug="old")
    page = "/sitemap-article-1.xml"
    assert locations(client.get(page)) == [f"{HOST}/articles/old/"]
    told()
    Article.objects.filter(pk=article.pk).update(slug="new")
    article.slug = "new"
    restore(article)
    assert locations(client.get(page)) == [f"{HOST}/articles/new/"]
    assert {*told()} == {
        ("added", "/articles/new/"),
        ("removed", "/articles/old/"),
    }


def test_the_key_is_recorded_and_records_is_not_called(register: Register) -> None:
    def refuse(self: Any, instance: Any, **kwargs: Any) -> bool:
        raise AssertionError("called")

    register("article", type("Asked", (Articles,), {"records": refuse}))
    register("note", Notes)
    restore(Article(pk=7, slug="a"), Note(pk=8, number=9))
    assert changes() == [("article", "7"), ("note", "9")]
    with transaction.atomic():
        restore(Article(pk=7, slug="b"))
        transaction.set_rollback(True)
    assert changes() == []


def test_rows_that_read_a_restored_object_are_rebuilt(
    client: Client, register: Register
) -> None:
    class Filed(Sitemap):
        model = Article
        location = Route(
            "/{category}/{slug}/", category=F("category__slug"), slug=F("slug")
        )

    register("article", Filed)
    category = Category.objects.create(slug="old")
    Article.objects.create(slug="a", category=category)
    page = "/sitemap-article-1.xml"
    assert locations(client.get(page)) == [f"{HOST}/old/a/"]
    category.slug = "new"
    restore(category)
    assert locations(client.get(page)) == [f"{HOST}/new/a/"]


def test_the_table_of_a_child_is_saved_alone(register: Register) -> None:
    register("article", Articles)
    story = Story.objects.create(slug="a")
    changes()
    restore(story)
    assert changes() == [("article", str(story.pk))]


def test_a_fixture_of_many_objects_is_a_range(
    register: Register, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MOST_KEYS", 3)
    register("article", Articles)
    rows = [
        {"model": "testapp.article", "pk": pk, "fields": {"slug": f"a{pk}"}}
        for pk in range(5, 15)
    ]
    fixture = tmp_path / "many.json"
    fixture.write_text(json.dumps(rows))
    call_command("loaddata", str(fixture), verbosity=0)
    (change,) = Change.objects.all()
    assert (json.loads(change.key), json.loads(change.upto)) == (["5"], ["14"])
