"""The tables: created, dropped, and in the database where they belong."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connections, transaction
from django.db.migrations.loader import MigrationLoader
from django.test import Client

from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.models import Page, Section, Submission
from django_sitemaps_plus.pagination import deploys
from tests.conftest import Register
from tests.support import stored
from tests.support.helpers import run_command
from tests.testapp.models import Article


@pytest.mark.django_db(databases=["default", "other"])
def test_the_migrations_are_those_of_the_models() -> None:
    out, err, code = run_command(
        "makemigrations", "--check", "--dry-run", *stored.labels()
    )
    assert out.startswith("No changes detected in app")
    assert (err, code) == ("", 0)


def test_there_is_one_line_of_migrations() -> None:
    loader = MigrationLoader(None)
    names = [one for one in loader.disk_migrations if one[0] in stored.labels()]
    assert {name for _, name in names} == {"0001_initial"}
    assert loader.detect_conflicts() == {}


@pytest.mark.django_db(transaction=True)
def test_migrating_back_and_forth() -> None:
    assert tables_exist("default")
    try:
        out, err, code = run_command("migrate", "sitemaps_plus", "zero", "-v", "0")
        assert (out, err, code) == ("", "", 0)
        assert not tables_exist("default")
    finally:
        out, err, code = run_command("migrate", "sitemaps_plus", "-v", "0")
    assert (out, err, code) == ("", "", 0)
    assert tables_exist("default")
    Section.objects.create(name="again")


def test_released_migrations_stay_as_they_are() -> None:
    """
    Sites have run them, and will not run them again: a change needs a new migration.

    Before the release of 0.1.0, ``python -m tests.support.store`` stores anew.
    """
    released = stored.read()["migrations"]
    for label, names in released.items():
        assert names.items() <= stored.digests(label).items()


@pytest.mark.django_db(transaction=True)
def test_an_upgraded_site_keeps_all_rows_and_goes_on(
    settings: Any, register: Register, monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    """A site that was left with the first release an hour ago."""
    settings.SITEMAPS_PLUS, settings.STORAGES = stored.SETTINGS, stored.STORAGES
    monkeypatch.setattr(deploys, "STARTED", time.time())
    for name, section in stored.SECTIONS.items():
        register(name, section)
    Article.objects.bulk_create(map(stored.article, [1, 2, 3, 4, 5, 6]))
    found = stored.read()
    try:
        for label, names in found["migrations"].items():
            run_command("migrate", label, "zero", "-v", "0")
            run_command("migrate", label, max(names), "-v", "0")
        stored.load(found)
    finally:
        done = run_command("migrate", "-v", "0")
    assert done == ("", "", 0)
    for label, tables in found["rows"].items():
        assert all(tables.values()), label
        for model in apps.get_app_config(label).get_models():
            count = model._default_manager.count()
            assert count == len(tables.get(model.__name__, [])), model
    # Pages keep their addresses, and what waited before the upgrade is sent.
    assert run_command("build_sitemaps", "-v", "0") == ("", "", 0)
    files = stored.listed(client)
    rows = found["rows"]["sitemaps_plus"]
    numbers = [page["number"] for page in rows["Page"]]
    assert {f"sitemap-article-{number}.xml" for number in numbers[:3]} <= set(files)
    base = stored.SETTINGS["BASE_URL"]
    slugs = ["one", "two", "two", "four", "five", "six"]
    assert sorted(loc for some in files.values() for loc in some) == sorted(
        [f"{base}/", f"{base}/about/", *(f"{base}/articles/{slug}/" for slug in slugs)]
    )
    out, err, code = run_command("ping_sitemaps")
    assert (err, code) == ("", 0), out
    sent = {url for batch in engines()["one"].sent for url in batch.urls}
    assert {url for url in sent if "/articles/" in url} == {
        f"{base}/articles/five/",
        f"{base}/articles/six/",
    }
    former = {row["id"] for row in rows["Submission"]}
    states = Submission.objects.filter(pk__in=former).values_list("state", flat=True)
    assert list(states) == ["accepted"] * len(former)


@pytest.mark.django_db(databases=["default", "other"])
def test_other_databases_get_no_table() -> None:
    with connections["other"].cursor() as cursor:
        names = connections["other"].introspection.table_names(cursor)
    assert [name for name in names if name.startswith("sitemaps_plus")] == []
    assert not tables_exist("other")


if connections["default"].vendor == "postgresql":

    @pytest.mark.django_db
    def test_postgresql_does_not_pack_what_is_packed() -> None:
        with connections["default"].cursor() as cursor:
            cursor.execute(
                "SELECT attstorage FROM pg_attribute WHERE attname = 'data' "
                "AND attrelid = 'sitemaps_plus_pagefile'::regclass"
            )
            assert cursor.fetchone() == ("e",)


@pytest.mark.django_db
def test_the_database_itself_keeps_numbers_and_names_apart() -> None:
    section = Section.objects.create(name="news")
    Page.objects.create(section=section, number=1, position=0)
    with pytest.raises(IntegrityError), transaction.atomic():
        Section.objects.create(name="news")
    with pytest.raises(IntegrityError), transaction.atomic():
        Page.objects.create(section=section, number=1, position=9)
    assert (str(section), str(Page.objects.get())) == ("news", "news-1")
    assert str(Section(name="")) == "the site"
    section.delete()
    assert not Page.objects.exists(), "it takes its pages along"
