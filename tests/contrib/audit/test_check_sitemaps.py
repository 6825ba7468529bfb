"""``manage.py check_sitemaps``: what it says of sections."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.db.models import F

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.models import EngineState
from tests.support.factories import NoteFactory, articles
from tests.support.helpers import ArticleSitemap, PagesSitemap, run_command
from tests.testapp.models import Article, Note

pytestmark = pytest.mark.django_db

Register = Callable[..., Any]


@pytest.fixture(autouse=True)
def urls(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.support.pattern_urls"


def check(*arguments: str) -> tuple[str, str, int]:
    """Run the command."""
    return run_command("check_sitemaps", *arguments)


STANDING = """\
error A001: pages that were not built or are damaged, and so not checked (1)
  plain: no page yet
  Next: run manage.py build_sitemaps. See "audit: A001" in the documentation.

Audit: 4 URLs; 1 error and 0 warnings.

Section 'article':
  Paged by key (id).
  On the row path: it declares no method.
  1 page, built, with 2 entries and 0 bad rows.
  Next: nothing to do
Section 'plain':
  Paged by key (id).
  Read as columns: location() as Route('article', slug=F(slug)).
  The page boundaries are yet to be found.
  Next: run manage.py build_sitemaps plain
Section 'pages':
  Paged by position, and built for each request: items() returns list, not a queryset.
  On the object path: location() is a method.
  Next: nothing to do
"""


def test_how_sections_stand(register: Register, settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.urls"
    register("article", ArticleSitemap)
    register("plain", type("Plain", (Sitemap,), {"model": Article}))
    register("pages", PagesSitemap)
    articles(2)
    run_command("build_sitemaps", "article")
    out, err, code = check()
    assert (err, code) == ("CommandError: The audit found 1 error.\n", 1)
    assert out == STANDING
    run_command("build_sitemaps", "plain")
    out, _, _ = check("plain")
    # The result stands before how the sections are paged and read.
    assert out.startswith("Audit: 2 URLs; 0 errors and 0 warnings.\n\nSection 'plain'")


def test_pages_of_another_key_are_void(register: Register) -> None:
    def by(key: str) -> type[Sitemap]:
        location = Route("note", number=F("number"))
        attributes = {"model": Note, "location": location, "page_by": key}
        return type("ByKey", (Sitemap,), attributes)

    NoteFactory.create_batch(2)
    register("note", by("number"))
    run_command("build_sitemaps")
    assert "  1 page, built" in check()[0]
    register("note", by("pk"))
    out, _, _ = check()
    assert "  The page boundaries are yet to be found.\n" in out
    assert "  Next: run manage.py build_sitemaps note\n" in out


def test_bad_rows_and_a_page_in_error(register: Register) -> None:
    register("article", ArticleSitemap)
    articles(20, slug="no slug")
    run_command("build_sitemaps")
    out, err, code = check("--format", "json")
    (section,) = json.loads(out)["sections"]
    said = "20 of 20 rows of page article-1 cannot be listed"
    assert section["errors"][0].startswith(said)
    correct = "correct the rows, then run manage.py build_sitemaps article"
    assert section["next"] == correct
    assert err == "CommandError: In error: article. The audit found 1 error.\n"
    assert code == 1
    bad, *others = Article.objects.all()
    for number, article in enumerate(others):
        article.slug = f"article-{number}"
        article.save()
    run_command("build_sitemaps", "--reconcile")
    out, err, code = check("article")
    assert (err, code) == ("", 0)
    assert "with 19 entries and 1 bad row.\n" in out
    words = " ".join(out.split())
    assert f"article-1, row {bad.pk}: left out: No URL pattern named 'article'" in words
    assert f"  Next: {correct} --reconcile\n" in out


def test_a_section_whose_items_raise_is_in_error_also_where_only_errors_are_printed(
    register: Register,
) -> None:
    register("article", ArticleSitemap)
    run_command("build_sitemaps")
    assert check("-v0") == ("", "", 0)
    register("broken", type("Broken", (ArticleSitemap,), {"items": lambda self: 1 / 0}))
    out, err, code = check()
    assert "  In error: ZeroDivisionError: division by zero\n" in out
    assert "  Next: correct the sitemap class\n" in out
    assert (err.startswith("CommandError: In error: "), code) == (True, 1)
    out, err, code = check("-v0")
    assert (out, code) == ("", 1)
    assert "sitemaps_plus.E013" in err
    assert "  In error: ZeroDivisionError: division by zero\n" in err
    assert "Section 'article'" not in err


def test_a_check_in_error(register: Register) -> None:
    wrong = Route("no-such-name", slug=F("slug"))
    register("article", type("Wrong", (ArticleSitemap,), {"location": wrong}))
    out, err, code = check()
    assert "(sitemaps_plus.E007) Section 'article' has no URLs" in out
    assert "\n  In error: " in out
    assert (err, code) == ("CommandError: In error: sitemaps_plus.E007, article.\n", 1)


def test_a_silenced_check(register: Register, settings: Any) -> None:
    register("article", type("Wrong", (ArticleSitemap,), {"appears": "updated"}))
    run_command("build_sitemaps")
    assert check()[1:] == ("CommandError: In error: sitemaps_plus.E020.\n", 1)
    settings.SILENCED_SYSTEM_CHECKS = ["sitemaps_plus.E020"]
    out, _, code = check("--format", "json")
    assert (json.loads(out)["checks"], code) == ([], 0)


def test_a_section_by_position_is_described_and_audited(register: Register) -> None:
    class Sliced(ArticleSitemap):
        limit = 2

        def items(self) -> Any:
            return Article.objects.order_by("pk")[:5]

    register("article", Sliced)
    articles(5)
    out, err, code = check("--format", "json")
    document = json.loads(out)
    assert [message["id"] for message in document["checks"]] == ["sitemaps_plus.W009"]
    (section,) = document["sections"]
    assert section["by_position"] == "items() returns a sliced queryset"
    assert section["object_path"] == "it is paged by position"
    assert document["audit"]["urls"] == 5
    assert (err, code) == ("", 0)


def test_a_class_that_cannot_be_made(register: Register) -> None:
    needy = {"__init__": lambda self, needed: None}
    register("needy", type("Needy", (ArticleSitemap,), needy))
    register("article", ArticleSitemap)
    run_command("build_sitemaps", "article")
    out, err, code = check()
    assert "Section 'article'" in out
    assert "needed" in out + err
    assert code == 1
    assert err.endswith("needy.\n")


def test_nothing_registered() -> None:
    said = (
        "Nothing to check: no sitemap is registered. Add @register to a Sitemap class "
        "in the sitemaps.py of an app in INSTALLED_APPS.\n"
    )
    assert check() == (said, "", 0)


def test_an_unknown_section(register: Register) -> None:
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    said = "There is no section 'nothing'. There are: article, pages."
    assert check("article", "nothing") == ("", f"CommandError: {said}\n", 2)


@pytest.mark.django_db(transaction=True)
def test_the_database_fails(register: Register) -> None:
    broken = {"items": lambda self: Article.objects.extra(where=["no_column = 1"])[:9]}
    register("article", type("Broken", (Sitemap,), broken))
    out, err, code = check()
    assert (out, code) == ("", 1)
    assert err.startswith("CommandError: The database failed: ")
    assert "no_column" in err


@pytest.mark.django_db(transaction=True)
def test_the_tables_are_missing(register: Register) -> None:
    register("article", ArticleSitemap)
    with connection.schema_editor() as editor:
        editor.delete_model(EngineState)
    try:
        out, err, code = check()
    finally:
        with connection.schema_editor() as editor:
            editor.create_model(EngineState)
    assert code == 1, "nothing was looked at"
    assert "run 'manage.py migrate'" in err
    assert "sitemaps_plus.W008" in out
    assert out.endswith("  The tables are missing.\n  Next: run manage.py migrate\n")


def test_help() -> None:
    out, err, code = check("--help")
    text = " ".join(out.split())
    assert (err, code) == ("", 0)
    exits = (
        "Exits with 0 when done, 1 if a check or a page is in error, the audit finds"
    )
    assert exits in text
    assert "--format {table,json,github}" in text
