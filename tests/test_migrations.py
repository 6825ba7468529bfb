"""The tables: created, dropped, and in the database where they belong."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connections, transaction
from django.db.migrations.loader import MigrationLoader

from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.models import Page, Section
from tests.support.helpers import run_command


@pytest.mark.django_db(databases=["default", "other"])
def test_the_migrations_are_those_of_the_models() -> None:
    out, err, code = run_command(
        "makemigrations", "--check", "--dry-run", "sitemaps_plus"
    )
    assert (out, err, code) == ("No changes detected in app 'sitemaps_plus'\n", "", 0)


def test_there_is_one_line_of_migrations() -> None:
    loader = MigrationLoader(None)
    names = [name for app, name in loader.disk_migrations if app == "sitemaps_plus"]
    assert sorted(names) == ["0001_initial"]
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

    def refused(make: Any) -> None:
        with pytest.raises(IntegrityError), transaction.atomic():
            make()

    refused(lambda: Section.objects.create(name="news"))
    refused(lambda: Page.objects.create(section=section, number=1, position=9))
    assert (str(section), str(Page.objects.get())) == ("news", "news-1")
    assert str(Section(name="")) == "the site"


@pytest.mark.django_db
def test_a_section_that_is_deleted_takes_its_pages_along() -> None:
    section = Section.objects.create(name="news")
    Page.objects.create(section=section, number=1, position=0)
    section.delete()
    assert not Page.objects.exists()
