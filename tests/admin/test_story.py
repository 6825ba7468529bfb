"""The search box: the whole story of a URL, by look-ups on indexes."""

from __future__ import annotations

import time
from typing import Any

import pytest
from django.apps.registry import Apps
from django.db import connection, models
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.changes.queries import location_digest
from django_sitemaps_plus.engines.base import Answer, Outcome
from django_sitemaps_plus.models import (
    Audit,
    Change,
    Finding,
    Page,
    PageFile,
    Read,
    UrlChange,
)
from django_sitemaps_plus.publishing import lookup
from tests.admin.test_overview import words
from tests.admin.test_pages import ADMIN, Small
from tests.support.factories import articles
from tests.support.helpers import PagesSitemap, run_command
from tests.support.ledger_world import place
from tests.support.outbox_world import BASE, happened, run, use
from tests.testapp.models import Article, ByDay, Note

pytestmark = pytest.mark.django_db(databases=["default", "other"])


class Notes(Sitemap):
    """Notes in several languages, by a column with an index."""

    model = Note
    i18n = True
    limit = 30
    location = Route("note", number=F("number"))


class ByMethod(Small):
    """Says its URLs by a method, so that only names of columns can lead to a row."""

    def location(self, item: Any) -> str:
        return str(item.get_absolute_url())


def story(client: Client, url: str) -> str:
    response = client.get(f"{ADMIN}/urlchange/story/", {"url": url})
    assert response.status_code == 200
    return words(response.content.decode())


def tell(url: str, **values: Any) -> None:
    """Have something happened to a URL."""
    happened(url, digest=location_digest(url), **values)


def test_the_whole_story_of_a_url(
    register: Any, settings: Any, admin_client: Client
) -> None:
    register("notes", Notes)
    engine = use(settings, one="Few")
    Note.objects.bulk_create(Note(number=n) for n in range(1, 41))
    run_command("build_sitemaps")
    url = "/en/notes/17/"
    now = time.time()
    tell(url, kind=UrlChange.Kind.ADDED, section="notes", at=now - 720)
    engine.answers.append(
        Answer(outcome=Outcome.REJECTED, status=422, message="Another host.")
    )
    run()
    audit = Audit.objects.create(started_at=now, finished_at=now, sections=["notes"])
    Finding.objects.create(
        audit=audit,
        kind="sitemaps_plus.A031",
        level="error",
        section="notes",
        url=f"{BASE}{url}",
        digest=location_digest(url),
        text="lastmod is tomorrow",
    )
    shown = story(admin_client, f"{BASE}{url}")
    page = shown.partition("Listed on ")[2].split(",")[0].strip()
    assert page in {str(page) for page in Page.objects.all()}
    pk = Note.objects.get(number=17).pk
    assert f"Its row note {pk}: 17" in shown
    assert "(12 minutes ago)" in shown.partition("Listed since")[2][:80]
    assert "added" in shown
    assert "one added rejected" in shown
    assert "422 Another host." in shown
    found = "lastmods in the future · lastmod is tomorrow sitemaps_plus.A031 error"
    assert found in shown
    Read.objects.create(
        document=f"sitemap-{page}.xml",
        crawler="Googlebot",
        full=3,
        unchanged=1234,
        first_at=now,
        last_at=now - 120,
    )
    assert f"Googlebot sitemap-{page}.xml" in story(admin_client, url)
    Change.objects.create(
        section="notes",
        key=f'["{pk}"]',
        at=now,
        page=int(page.rpartition("-")[2]),
    )
    assert "Saved, and its page not built since" in story(admin_client, url)


def test_a_row_is_found_by_an_indexed_column_without_reading_pages(
    register: Any, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("notes", Notes)
    Note.objects.bulk_create(Note(number=n) for n in range(1, 41))
    run_command("build_sitemaps")
    monkeypatch.setattr(lookup, "SECONDS", -1.0)
    assert f"Its row note {Note.objects.get(number=40).pk}: 40" in story(
        admin_client, "/de/notes/40/"
    )
    with CaptureQueriesContext(connection) as found:
        story(admin_client, "/de/notes/40/")
    few = len(found)
    Note.objects.bulk_create(Note(number=n) for n in range(41, 200))
    run_command("build_sitemaps")
    with CaptureQueriesContext(connection) as found:
        story(admin_client, "/de/notes/40/")
    assert len(found) == few


@pytest.mark.parametrize("sitemap", [Small, ByMethod])
def test_without_an_index_pages_are_searched(
    register: Any,
    admin_client: Client,
    monkeypatch: pytest.MonkeyPatch,
    sitemap: type,
) -> None:
    register("static", PagesSitemap)
    register("article", sitemap)
    made = articles(40)
    run_command("build_sitemaps")
    url = made[35].get_absolute_url()
    shown = story(admin_client, url)
    assert "Listed on article-4" in shown
    assert f"Its row article {made[35].pk}: {made[35].slug}" in shown
    assert "more than 7 days ago" in shown
    assert "Listed on static-1" in story(admin_client, "/about/")
    # As somebody may type it.
    assert "Listed on static-1" in story(admin_client, " http://www.example.com/about/")
    assert "Listed on no page" in story(admin_client, "/articles/none/")
    # Its pattern has a parameter that is no column here.
    assert "Listed on no page" in story(admin_client, "/en/notes/1/")
    monkeypatch.setattr(lookup, "SECONDS", -1.0)
    stored = Page.objects.exclude(checksum="").count()
    searched = "not found. 0 pages were searched, {} more were not"
    assert searched.format(stored) in story(admin_client, url)
    monkeypatch.undo()
    found = lookup.places("/articles/none/", place())
    assert (found.searched, found.left) == (stored, 0)


def test_a_value_that_no_row_can_have_is_not_listed(
    register: Any, admin_client: Client
) -> None:
    located = {"model": ByDay, "location": Route("day", day=F("day"))}
    register("days", type("Days", (Sitemap,), located))
    run_command("build_sitemaps")
    assert "Listed on no page" in story(admin_client, "/days/2026-02-30/")


def test_a_page_whose_bytes_are_lost_is_not_said_to_list_a_url(
    register: Any, admin_client: Client
) -> None:
    register("static", PagesSitemap)
    run_command("build_sitemaps")
    assert "Listed on static-1" in story(admin_client, "/about/")
    PageFile.objects.all().delete()
    assert "Listed on no page" in story(admin_client, "/about/")


def test_rows_are_looked_for_only_where_an_index_begins_with_the_column() -> None:
    """Else the admin's search would read a large table from end to end."""

    class Meta:
        app_label = "story"
        apps = Apps()
        indexes = (models.Index(fields=["-indexed", "behind"], name="one"),)
        constraints = (
            models.UniqueConstraint(fields=["constrained", "behind"], name="two"),
        )
        unique_together = (("together", "behind"),)

    names = ("indexed", "constrained", "together", "behind", "plain")
    columns: dict[str, Any] = {name: models.IntegerField() for name in names}
    columns |= {
        "unique": models.IntegerField(unique=True),
        "own": models.IntegerField(db_index=True),
    }
    model: Any = type(
        "Row", (models.Model,), {"__module__": __name__, "Meta": Meta, **columns}
    )
    found = {
        name for name in ("pk", "nothing", *columns) if lookup._is_indexed(model, name)
    }
    assert found == {"pk", "indexed", "constrained", "together", "unique", "own"}


def test_what_is_saved_and_not_yet_listed_says_so(
    register: Any, admin_client: Client
) -> None:
    register("notes", Notes)
    Note.objects.create(number=1)
    run_command("build_sitemaps")
    Note.objects.create(number=2)
    assert "not yet: its row is to be listed" in story(admin_client, "/en/notes/2/")


def test_urls_are_shown_decoded_and_linked_encoded(
    register: Any, admin_client: Client
) -> None:
    located = {"model": Article, "location": Route("word", slug=F("slug"))}
    register("words", type("Words", (Sitemap,), located))
    articles(1, slug="größe")
    run_command("build_sitemaps")
    for entered in ("/wörter/größe/", "/w%C3%B6rter/gr%C3%B6%C3%9Fe/"):
        response = admin_client.get(f"{ADMIN}/urlchange/story/", {"url": entered})
        html = response.content.decode()
        assert 'href="https://www.example.com/w%C3%B6rter/gr%C3%B6%C3%9Fe/"' in html
        assert ">https://www.example.com/wörter/größe/</a>" in html
        assert "Listed on words-1" in words(html)
    # What turns the text around is not decoded.
    html = admin_client.get(f"{ADMIN}/urlchange/story/", {"url": "/a‮b/"})
    assert "/a%E2%80%AEb/</a>" in html.content.decode()


@pytest.mark.parametrize(
    ("entered", "problem"),
    [
        ("https://elsewhere.example.org/", "not a URL of https://www.example.com"),
        ("no path", "neither a path nor an http(s) URL"),
        ("/a#b", "has a fragment"),
        ("/\x00", "control character"),
    ],
)
def test_what_is_no_url_of_the_site_is_said(
    admin_client: Client, entered: str, problem: str
) -> None:
    assert "This is not a URL of the site: " in story(admin_client, entered)
    assert problem in story(admin_client, entered)


def test_a_url_may_be_copied_out_of_a_sitemap(admin_client: Client) -> None:
    tell("/?a=1&copy=2", section="shop")
    for entered in ("/?a=1&copy=2", "/?a=1&amp;copy=2"):
        assert "changed" in story(admin_client, entered)


def test_a_url_of_another_host_that_was_listed_has_a_story(
    admin_client: Client, settings: Any
) -> None:
    use(settings, one="Few")
    tell("https://shop.example.com/x/", section="shop")
    shown = story(admin_client, "https://shop.example.com/x/")
    assert "Listed on no page" in shown
    assert "changed" in shown
