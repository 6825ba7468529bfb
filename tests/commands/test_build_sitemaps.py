"""``manage.py build_sitemaps``: every word it says, and its exit code."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from django.core.management import call_command
from django.db import connection
from django.db.models import F
from django.test import Client

from django_sitemaps_plus import Sitemap
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.management.commands import build_sitemaps
from django_sitemaps_plus.models import Change, Page, Section
from django_sitemaps_plus.pagination import ledger
from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.sitemaps.registry import registry
from tests.support.factories import NoteFactory, TagFactory, articles
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    listed,
    remove_sites,
    run_command,
    urlset,
)
from tests.testapp.models import Article, Note

pytestmark = pytest.mark.django_db(databases=["default", "other"])


class Small(ArticleSitemap):
    """Ten articles to a page."""

    limit = 10


class Titled(ArticleSitemap):
    """Its locations are the titles, whatever they are."""

    location = F("title")


def build(*arguments: str) -> tuple[str, str, int]:
    """Run the command."""
    return run_command("build_sitemaps", *arguments)


# What it does


def test_help() -> None:
    out, err, code = build("--help")
    own, _, _ = out.partition("\n  --version")
    assert (err, code) == ("", 0)
    assert " ".join(own.split("options:")[1].split()) == (
        "-h, --help show this help message and exit "
        "--ledger only find the bounds of pages; goes on where an earlier run stopped "
        "--reconcile also make again each page whose rows' number or newest lastmod is "
        "another than when it was made, and remove sections that are no longer "
        "registered "
        "--deep with --reconcile: make every page again and compare its bytes"
    )
    head = " ".join(own.split("options:")[0].split())
    assert head.endswith(
        "Make the pages of all sections, or of those named, so that no request has to. "
        "Pages that are fresh are left as they are. "
        "positional arguments: "
        "SECTION the sections to work on; all if none is named"
    )


def test_nothing_registered() -> None:
    assert build() == (
        "Nothing to build: no sitemap is registered. Add @register to a Sitemap class "
        "in an app's sitemaps.py.\n",
        "",
        0,
    )


def test_pages_are_made_once(register: Any) -> None:
    register("article", ArticleSitemap)
    articles(3)
    made = "Section 'article': 1 page, 3 entries; 1 made, 0 unchanged.\n"
    assert build() == (made, "", 0)
    unchanged = "Section 'article': 1 page, 3 entries; 0 made, 1 unchanged.\n"
    assert build() == (unchanged, "", 0)


def test_the_sections_come_in_their_order(register: Any) -> None:
    register("small", Small)
    register("pages", PagesSitemap)
    register("article", ArticleSitemap)
    articles(21)
    assert build() == (
        "Section 'small': 3 pages, 21 entries; 3 made, 0 unchanged.\n"
        "Section 'pages': made on request; nothing to do ahead.\n"
        "Section 'article': 1 page, 21 entries; 1 made, 0 unchanged.\n",
        "",
        0,
    )


def test_numbers_can_be_read(register: Any) -> None:
    register("article", ArticleSitemap)
    Article.objects.bulk_create(Article(slug=f"a-{number}") for number in range(1001))
    out, _, _ = build()
    assert out == "Section 'article': 1 page, 1,001 entries; 1 made, 0 unchanged.\n"


def test_one_of_everything(register: Any) -> None:
    register("article", Titled)
    articles(1, title="/")
    (bad,) = articles(1, title="bad")
    assert build() == (
        "Section 'article': 1 page, 1 entry; 1 made, 0 unchanged.\n"
        f"  1 row left out: {bad.pk}: location 'bad': neither a path nor an http(s) "
        "URL.\n",
        "",
        0,
    )


def test_an_empty_section(register: Any) -> None:
    register("article", ArticleSitemap)
    out, err, code = build()
    assert out == "Section 'article': 1 page, 0 entries; 1 made, 0 unchanged.\n"
    assert (err, code) == ("", 0)


def test_only_the_sections_that_are_named(register: Any) -> None:
    register("article", ArticleSitemap)
    register("small", Small)
    articles(1)
    out, err, code = build("small")
    assert out == "Section 'small': 1 page, 1 entry; 1 made, 0 unchanged.\n"
    assert (err, code) == ("", 0)
    assert [section.name for section in Section.objects.all()] == ["small"]


def test_after_it_no_request_reads_a_row(
    client: Client, register: Any, django_assert_max_num_queries: Any
) -> None:
    register("small", Small)
    articles(25)
    build()
    with django_assert_max_num_queries(20) as captured:
        for number in (1, 2, 3):
            client.get(f"/sitemap-small-{number}.xml")
        assert len(listed(client.get("/sitemap.xml"))) == 3
    assert not any("testapp_article" in query["sql"] for query in captured)


def test_a_page_that_grew_too_large_is_split(register: Any, settings: Any) -> None:
    register("small", Small)
    articles(10)
    build()
    articles(5)
    assert build("--reconcile") == (
        "Section 'small': 2 pages, 15 entries; 1 made, 1 unchanged.\n",
        "",
        0,
    )


def test_a_page_that_is_split_inside_waits_for_the_crawlers(
    register: Any, settings: Any
) -> None:
    class Notes(Sitemap):
        model = Note
        page_by = "number"
        limit = 10

        def location(self, item: Note) -> str:
            return f"/notes/{item.number}/"

    register("note", Notes)
    for number in range(0, 200, 10):
        NoteFactory(number=number)
    build()
    for number in range(1, 10):
        NoteFactory(number=number)
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "SPLIT_GRACE": 600}
    out, err, code = build("--reconcile")
    assert (err, code) == ("", 0)
    assert out.endswith(
        "\n  1 page split: for 10 minutes the left part keeps the bytes it had, so "
        "that no crawler misses a URL.\n"
    )


def test_progress_is_told_while_it_lasts(
    register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utils, "EVERY", 0.0)
    register("small", Small)
    articles(30)
    assert build() == (
        "Section 'small': 1 of 4 pages\n"
        "Section 'small': 2 of 4 pages\n"
        "Section 'small': 3 of 4 pages\n"
        "Section 'small': 4 pages, 30 entries; 4 made, 0 unchanged.\n",
        "",
        0,
    )


# --ledger


def test_ledger_finds_bounds_and_makes_nothing(register: Any) -> None:
    register("small", Small)
    articles(30)
    assert build("--ledger") == ("Section 'small': 4 pages.\n", "", 0)
    assert Page.objects.count() == 4
    assert not Page.objects.exclude(checksum="").exists()
    build()
    assert build("--ledger") == ("Section 'small': 4 pages, 30 entries.\n", "", 0)


def test_ledger_needs_no_address(register: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {}
    remove_sites(settings)
    register("small", Small)
    articles(3)
    assert build("--ledger") == ("Section 'small': 1 page.\n", "", 0)


# --reconcile


def test_reconcile_finds_what_changed_number_or_newest_lastmod(register: Any) -> None:
    register("small", Small)
    made = articles(30, updated=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    build()
    same = "Section 'small': 4 pages, 30 entries; 0 made, 4 unchanged.\n"
    assert build("--reconcile") == (same, "", 0)
    Article.objects.filter(pk=made[0].pk).delete()
    Article.objects.filter(pk=made[29].pk).update(updated=dt.datetime.now(dt.UTC))
    assert build("--reconcile") == (
        "Section 'small': 4 pages, 29 entries; 2 made, 2 unchanged.\n",
        "",
        0,
    )


def test_reconcile_deep_finds_everything(register: Any) -> None:
    register("small", Small)
    made = articles(30)
    build()
    Article.objects.filter(pk=made[5].pk).update(slug="moved")
    same = "Section 'small': 4 pages, 30 entries; 0 made, 4 unchanged.\n"
    assert build("--reconcile") == (same, "", 0)
    assert build("--reconcile", "--deep") == (
        "Section 'small': 4 pages, 30 entries; 1 made, 3 unchanged.\n",
        "",
        0,
    )


# Sections that are no longer registered


def grow_older(seconds: float) -> None:
    """Let ``seconds`` go by since every page was compared with its rows."""
    Page.objects.filter(verified_at__gt=0).update(
        verified_at=F("verified_at") - seconds
    )


DAY = 86_400
HOUR = 3_600


@pytest.fixture(params=["folder", "storage"])
def files(
    request: pytest.FixtureRequest, settings: Any, tmp_path: Path
) -> Callable[[], set[str]]:
    """Return what tells which files are kept, by the folder of their section."""
    if request.param == "folder":
        root = tmp_path / "sitemaps"
        return lambda: {
            path.relative_to(root).parts[0]
            for path in root.rglob("*")
            if path.is_file()
        }
    settings.STORAGES = {
        **settings.STORAGES,
        "sitemaps": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    }

    def names(folder: str = "") -> set[str]:
        folders, names_there = storages["sitemaps"].listdir(folder)
        inside = {f"{folder}{name}" for name in names_there}
        return inside.union(*(names(f"{folder}{name}/") for name in folders))

    return lambda: {name.partition("/")[0] for name in names()}


def test_reconcile_removes_what_is_no_longer_registered(
    client: Client, register: Any, files: Any
) -> None:
    register("old", Small)
    register("article", ArticleSitemap)
    articles(15)
    build()
    client.get("/sitemap-old.xml")
    client.get("/sitemap.xml")
    assert files() >= {"old", "article"}
    Article.objects.create(slug="one-more").delete()
    assert Change.objects.filter(section="old").exists()
    registry.remove("old")
    kept_line = "Section 'article': 1 page, 15 entries; 0 made, 1 unchanged.\n"
    try:
        grow_older(DAY + HOUR - 60)
        assert build("--reconcile") == (kept_line, "", 0)
        assert files() >= {"old", "article"}
        grow_older(120)
        assert build("article", "--reconcile") == (kept_line, "", 0)
        assert build() == (kept_line, "", 0)
        assert Page.objects.filter(section__name="old").count() == 2
        assert build("--reconcile") == (
            f"{kept_line}Section 'old': no longer registered; 2 pages removed.\n",
            "",
            0,
        )
        assert "old" not in files()
        assert not Change.objects.filter(section="old").exists()
        assert "article" in files()
        assert [page.section.name for page in Page.objects.all()] == ["article"]
        assert build("--reconcile") == (kept_line, "", 0), "said once"
    finally:
        registry.add("old", Small)
    assert listed(client.get("/sitemap-old.xml")) == [
        f"https://www.example.com/sitemap-old-{number}.xml" for number in (3, 4)
    ], "it may come back; its numbers go on"


def test_what_one_process_of_a_deploy_uses_another_does_not_remove(
    client: Client, register: Any
) -> None:
    register("new", Small)
    articles(15)
    build()
    grow_older(5 * DAY)
    client.get("/sitemap-new-2.xml")
    registry.remove("new")
    try:
        build("--reconcile")
        assert Page.objects.count() == 2, "one of them was asked for just now"
    finally:
        registry.add("new", Small)


def test_bounds_that_were_just_found_are_not_removed(register: Any) -> None:
    """By new code, while the old code's cron job runs once more."""
    register("new", Small)
    articles(15)
    build("--ledger")
    registry.remove("new")
    try:
        for _ in range(2):
            assert build("--reconcile")[2] == 0
            assert Page.objects.count() == 2
        grow_older(DAY + HOUR + 60)
        out, _, _ = build("--reconcile")
    finally:
        registry.add("new", Small)
    assert "Section 'new': no longer registered; 2 pages removed.\n" in out


def test_files_that_cannot_be_deleted_are_tried_again(
    register: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    register("old", Small)
    articles(3)
    build()
    grow_older(2 * DAY)
    registry.remove("old")
    shutil.rmtree(tmp_path / "sitemaps" / "old")
    (tmp_path / "sitemaps" / "old").write_text("no folder")
    try:
        assert "removed" not in build("--reconcile")[0]
        assert Page.objects.count() == 1
        assert "old cannot be deleted: NotADirectoryError" in caplog.text
        (tmp_path / "sitemaps" / "old").unlink()
        assert (
            "Section 'old': no longer registered; 1 page removed.\n"
            in (build("--reconcile")[0])
        )
    finally:
        registry.add("old", Small)


# What goes wrong


def test_bad_rows_are_told_the_first_five_of_them(register: Any) -> None:
    register("article", Titled)
    articles(3, title="/")
    bad = articles(7, title="bad")
    problem = "location 'bad': neither a path nor an http(s) URL"
    first = "; ".join(f"{article.pk}: {problem}" for article in bad[:5])
    assert build() == (
        "Section 'article': 1 page, 3 entries; 1 made, 0 unchanged.\n"
        f"  7 rows left out: {first}; …\n",
        "",
        0,
    )


def test_too_many_bad_rows_fail_and_the_other_sections_are_made(register: Any) -> None:
    register("broken", Titled)
    register("article", ArticleSitemap)
    bad = articles(11, title="bad")
    out, err, code = build()
    assert out == (
        "Section 'broken': 1 page; 0 made, 0 unchanged.\n"
        "Section 'article': 1 page, 11 entries; 1 made, 0 unchanged.\n"
    )
    assert err == (
        f"  11 of the 11 rows of page broken-1 are bad; the first is {bad[0].pk}: "
        "location 'bad': neither a path nor an http(s) URL. The page keeps its former "
        "bytes.\n"
        "CommandError: Could not make all pages of: broken.\n"
    )
    assert code == 1


def test_a_page_that_keeps_its_former_bytes_fails(
    client: Client, register: Any
) -> None:
    register("article", Titled)
    articles(20, title="/a/")
    build()
    before = client.get("/sitemap-article-1.xml").content
    bad = articles(11, title="bad")
    out, err, code = build("--reconcile")
    assert out == (
        "Section 'article': 1 page, 20 entries; 0 made, 0 unchanged.\n"
        "  11 rows left out: "
        + "; ".join(
            f"{item.pk}: location 'bad': neither a path nor an http(s) URL"
            for item in bad[:5]
        )
        + "; …\n"
    )
    assert err.startswith("  11 of the 31 rows of page article-1 are bad; the first is")
    assert err.endswith("\nCommandError: Could not make all pages of: article.\n")
    assert code == 1
    assert client.get("/sitemap-article-1.xml").content == before


def test_rows_that_come_twice_fail_and_the_other_sections_are_made(
    register: Any,
) -> None:
    class Tagged(ArticleSitemap):
        def items(self) -> Any:
            return Article.objects.filter(tags__name="t")

    register("tagged", Tagged)
    register("article", ArticleSitemap)
    (article,) = articles(1)
    for _ in range(2):
        TagFactory(article=article, name="t")
    assert build() == (
        "Section 'article': 1 page, 1 entry; 1 made, 0 unchanged.\n",
        "Section 'tagged': items() returns rows more than once, because it joins a "
        "relation that has several rows for one item. Add .distinct(), or filter with "
        "Exists().\n"
        "CommandError: Could not make all pages of: tagged.\n",
        1,
    )


def test_another_process_is_at_it(
    register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("small", Small)
    register("article", ArticleSitemap)
    key = sections.source("small").key
    assert key is not None
    section = ledger.section_row("small", key)
    clock = iter(range(100_000))
    with ledger.lease(section), monkeypatch.context() as patch:
        patch.setattr(time, "sleep", lambda seconds: None)
        patch.setattr(time, "monotonic", lambda: next(clock))
        result = build()
    assert result == (
        "Section 'article': 1 page, 0 entries; 1 made, 0 unchanged.\n",
        "Another process is dividing the section 'small'. Run the command again when "
        "it is done.\n"
        "CommandError: Could not make all pages of: small.\n",
        1,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["article", "nothing"],
            "There is no section 'nothing'. Registered: article, pages.",
        ),
        (["--deep"], "--deep needs --reconcile."),
        (["--ledger", "--reconcile"], "Choose --ledger or --reconcile, not both."),
    ],
)
def test_misuse(register: Any, arguments: list[str], message: str) -> None:
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    assert build(*arguments) == ("", f"CommandError: {message}\n", 2)
    assert not Page.objects.exists()


def test_no_section_to_choose_from() -> None:
    message = "CommandError: There is no section 'a'. Registered: none.\n"
    assert build("a") == ("", message, 2)


def test_the_address_is_not_known(register: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {}
    remove_sites(settings)
    register("article", ArticleSitemap)
    assert build() == (
        "",
        "CommandError: The site's address is not known outside of a request: set "
        "SITEMAPS_PLUS['BASE_URL'], for example 'https://www.example.com'.\n",
        2,
    )


def test_a_setting_is_wrong(register: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "www.example.com"}
    register("article", ArticleSitemap)
    out, err, code = build()
    assert (out, code) == ("", 1)
    assert err.startswith("SITEMAPS_PLUS['BASE_URL'] is 'www.example.com': ")
    assert err.endswith("CommandError: Could not make all pages of: article.\n")


def test_page_by_is_wrong(register: Any) -> None:
    register("article", type("Wrong", (ArticleSitemap,), {"page_by": "updated"}))
    out, err, code = build()
    assert (out, code) == ("", 1)
    assert err.startswith("CommandError: page_by = 'updated': the column ")


@pytest.mark.django_db(transaction=True)
def test_the_tables_are_missing(register: Any) -> None:
    register("article", ArticleSitemap)
    with connection.schema_editor() as editor:
        editor.delete_model(Page)
        editor.delete_model(Section)
    try:
        result = build()
    finally:
        with connection.schema_editor() as editor:
            editor.create_model(Section)
            editor.create_model(Page)
    assert result == (
        "",
        "CommandError: The tables of django_sitemaps_plus are missing: run 'manage.py "
        "migrate sitemaps_plus'.\n",
        1,
    )


@pytest.mark.django_db(transaction=True)
def test_the_database_fails(register: Any) -> None:
    class Broken(ArticleSitemap):
        def items(self) -> Any:
            return Article.objects.extra(where=["no_such_column = 1"])

    register("article", Broken)
    out, err, code = build()
    assert (out, code) == ("", 1)
    assert err.startswith("CommandError: The database failed: ")
    assert "no_such_column" in err


@pytest.mark.django_db(transaction=True, databases=["default", "other"])
def test_the_exit_code_reaches_the_shell(
    register: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        build_sitemaps.Command().run_from_argv(["manage.py", "build_sitemaps", "a"])
    assert stopped.value.code == 2
    assert "There is no section 'a'. Registered: none." in capsys.readouterr().err


def test_it_can_be_called_from_code(client: Client, register: Any) -> None:
    register("article", ArticleSitemap)
    articles(2)
    with open(os.devnull, "w") as nowhere:
        call_command("build_sitemaps", "article", reconcile=True, stdout=nowhere)
    assert len(urlset(client.get("/sitemap-article-1.xml"))) == 2
