"""The search box: the whole story of a URL, by look-ups on indexes."""

from __future__ import annotations

import datetime as dt
import html
import time
from typing import Any

import pytest
from django.apps.registry import Apps
from django.contrib.auth.models import User
from django.db import models
from django.db.models import F
from django.test import Client

from django_sitemaps_plus import NewsSitemap, Route, Sitemap
from django_sitemaps_plus.contrib.insight import lookup
from django_sitemaps_plus.delivery import gate
from django_sitemaps_plus.engines.base import Answer, Outcome
from django_sitemaps_plus.models import Change, EngineState, Page, PageFile, UrlChange
from tests.contrib.insight.test_overview import crawled, words
from tests.contrib.insight.test_pages import (
    ADMIN,
    Small,
    admin,
    queries_of,
    staff,
    text,
)
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


NOTES = {"model": Note, "location": Route("note", number=F("number"))}
DAYS = {"model": ByDay, "location": Route("day", day=F("day"))}
FEW = Note.objects.exclude(number=17)


@pytest.fixture
def note(register: Any) -> Note:
    """A section of one note."""
    register("notes", Notes)
    found = Note.objects.create(number=1)
    run_command("build_sitemaps")
    return found


@pytest.fixture
def forty(register: Any) -> None:
    """A section of forty notes, on several pages."""
    register("notes", Notes)
    Note.objects.bulk_create(Note(number=n) for n in range(1, 41))
    run_command("build_sitemaps")


def story(url: str, client: Client | None = None) -> str:
    return words(page_of(url, client))


def page_of(url: str, client: Client | None = None) -> str:
    response = (client or admin()).get(f"{ADMIN}/urlchange/story/", {"url": url})
    assert response.status_code == 200
    return str(response.content.decode())


def test_the_whole_story_of_a_url(forty: None, settings: Any) -> None:
    engine = use(settings, one="Few")
    url = "/en/notes/17/"
    now = time.time()
    happened(url, kind=UrlChange.Kind.ADDED, section="notes", at=now - 720)
    answer = Answer(outcome=Outcome.REJECTED, status=422, message="Another host.")
    engine.answers.append(answer)
    run()
    shown = story(f"{BASE}{url}")
    page = shown.partition("Listed on ")[2].split(",")[0].strip()
    assert page in {str(page) for page in Page.objects.all()}
    pk = Note.objects.get(number=17).pk
    assert f"Its row note {pk}: 17" in shown
    assert "(12 minutes ago)" in shown.partition("Listed since")[2][:80]
    assert "one added rejected" in shown
    assert "422 Another host." in shown
    crawled("Googlebot", 3, f"sitemap-{page}.xml")
    number = int(page.rpartition("-")[2])
    Change.objects.create(section="notes", key=f'["{pk}"]', at=now, page=number)
    shown = story(url)
    assert f"Googlebot sitemap-{page}.xml" in shown
    assert "Saved, and its page not built since" in shown


def test_a_row_is_found_by_an_indexed_column_without_reading_pages(
    forty: None, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "SECONDS", -1.0)
    row = f"Its row note {Note.objects.get(number=40).pk}: 40"
    assert row in story("/de/notes/40/")
    few = queries_of("urlchange/story/?url=/de/notes/40/")
    Note.objects.bulk_create(Note(number=n) for n in range(41, 200))
    run_command("build_sitemaps")
    many = queries_of("urlchange/story/?url=/de/notes/40/")
    assert len(many) == len(few)
    # By a path that Django does not serve.
    location = Route("/{language}/ü/n-{number}", number=F("number"))
    register("notes", type("Paths", (Notes,), {"location": location}))
    run_command("build_sitemaps")
    assert row in story("/de/ü/n-40")
    for url in ("/fr/ü/n-40", "/de/ü/n-x", "/de/ü/n-40/", "/de/notes/40/"):
        assert "Its row" not in story(url)


@pytest.mark.parametrize("sitemap", [Small, ByMethod])
@pytest.mark.costly
def test_without_an_index_pages_are_searched(
    register: Any, monkeypatch: pytest.MonkeyPatch, sitemap: type
) -> None:
    register("static", PagesSitemap)
    register("article", sitemap)
    made = articles(40)
    run_command("build_sitemaps")
    url = made[35].get_absolute_url()
    shown = story(url)
    assert "Listed on article-4" in shown
    assert f"Its row article {made[35].pk}: {made[35].slug}" in shown
    assert "more than 7 days ago" in shown
    assert "Listed on static-1" in story("/about/")
    # As somebody may type it.
    assert "Listed on static-1" in story(" http://www.example.com/about/")
    assert "Listed on no page" in story("/articles/none/")
    # Its pattern has a parameter that is no column here.
    assert "Listed on no page" in story("/en/notes/1/")
    monkeypatch.setattr(lookup, "SECONDS", -1.0)
    stored = Page.objects.exclude(checksum="").count()
    searched = "not found. 0 pages were searched, {} more were not"
    assert searched.format(stored) in story(url)
    monkeypatch.undo()
    found = lookup.places("/articles/none/", place())
    assert (found.searched, found.left) == (stored, 0)


def test_pages_by_position_are_built_to_see_what_they_list(register: Any) -> None:
    dated = {"lastmod": dt.date(2026, 1, 2), "limit": 1}
    register("static", type("Dated", (PagesSitemap,), dated))
    shown = story("/about/")
    assert "Listed on static-2, built for each request" in shown
    assert "Its lastmod 2026-01-02" in shown
    assert "Listed since" not in shown, "nobody knows"
    register("days", type("Days", (Sitemap,), DAYS))
    run_command("build_sitemaps")
    assert "Listed on no page" in story("/days/2026-02-30/"), "there is no such day"


def test_rows_are_looked_for_only_where_an_index_begins_with_the_column() -> None:
    """Else the admin's search would read a large table from end to end."""
    unique = models.UniqueConstraint(fields=["constrained", "behind"], name="two")
    meta = {
        "app_label": "story",
        "apps": Apps(),
        "indexes": (models.Index(fields=["-indexed", "behind"], name="one"),),
        "constraints": (unique,),
        "unique_together": (("together", "behind"),),
    }
    names = ("indexed", "constrained", "together", "behind", "plain")
    given: dict[str, Any] = {name: models.IntegerField() for name in names}
    given["unique"] = models.IntegerField(unique=True)
    given["own"] = models.IntegerField(db_index=True)
    named = {"__module__": __name__, "Meta": type("Meta", (), meta)}
    model: Any = type("Row", (models.Model,), {**named, **given})
    found = {
        name for name in ("pk", "nothing", *given) if lookup._is_indexed(model, name)
    }
    assert found == {"pk", "indexed", "constrained", "together", "unique", "own"}


def test_a_url_is_listed_from_its_build_until_its_page_is_lost(note: Note) -> None:
    Note.objects.create(number=2)
    assert "not yet: it qualifies, and" in story("/en/notes/2/")
    Note.objects.all().delete()
    assert "Listed on notes-1" in story("/en/notes/1/")
    PageFile.objects.all().delete()
    assert "Listed on no page" in story("/en/notes/1/")


@pytest.fixture
def word(register: Any) -> None:
    """A section of one article, at a path that is not ASCII."""
    located = {"model": Article, "location": Route("word", slug=F("slug"))}
    register("words", type("Words", (Sitemap,), located))
    articles(1, slug="größe")
    run_command("build_sitemaps")


def test_urls_are_shown_decoded_and_linked_encoded(word: None) -> None:
    for entered in ("/wörter/größe/", "/w%C3%B6rter/gr%C3%B6%C3%9Fe/"):
        page = page_of(entered)
        assert 'href="https://www.example.com/w%C3%B6rter/gr%C3%B6%C3%9Fe/"' in page
        assert ">https://www.example.com/wörter/größe/</a>" in page
        assert "Listed on words-1" in words(page)
    # What turns the text around is not decoded.
    assert "/a%E2%80%AEb/</a>" in page_of("/a\u202eb/")


@pytest.mark.parametrize(
    ("entered", "problem"),
    [
        ("https://elsewhere.example.org/", "not a URL of https://www.example.com"),
        ("www.example.com.elsewhere.org/", "neither a path nor an http(s) URL"),
        ("no path", "neither a path nor an http(s) URL"),
        ("/\x00", "control character"),
    ],
)
def test_what_is_no_url_of_the_site_is_said(entered: str, problem: str) -> None:
    shown = story(entered)
    assert "This is not a URL of the site: " in shown
    assert problem in shown


def test_what_people_paste_is_understood_or_it_says_what_may_be_meant(
    note: Note, word: None, register: Any
) -> None:
    register("static", PagesSitemap)
    path, url = "/en/notes/1/", "https://www.example.com/en/notes/1/"
    for entered in (
        *("www.example.com/en/notes/1/", "//WWW.example.com/en/notes/1/", path[1:]),
        *(f"{url}#part", f'"{url}"', f"\u201e{path}\u201c", f"<{url}>"),
        f"view-source:{url}",
    ):
        assert "Listed on notes-1" in story(entered), entered
    for entered, meant in (
        ("/en/notes/1", path),
        ("/en/notes/1/?utm_source=x&gclid=y", path),
        ("/About", "/about/"),
        ("/about/index.html", "/about/"),
        ("en/notes/1/index.php?utm_source=x", path),
        ("/%65n/n%6ftes/1", path),
        ("/w%c3%b6rter/gr%c3%b6%c3%9fe/", "/wörter/größe/"),
    ):
        page = page_of(entered)
        assert f"You may mean: {BASE}{meant}" in words(page)
        assert meant != "/about/" or 'href="?url=%2Fabout%2F"' in page
    for entered in ("/nothing/", "/about/"):
        assert "You may mean" not in story(entered)
    # Copied out of a sitemap.
    happened("/?a=1&copy=2", section="shop")
    for entered in ("/?a=1&copy=2", "/?a=1&amp;copy=2"):
        assert "changed" in story(entered)


def broken(self: Any, item: Any) -> str:
    if item.number == 17:
        raise LookupError("no such thing")
    return f"/en/notes/{item.number}/"


@pytest.mark.parametrize(
    ("base", "declared", "url", "why"),
    [
        (
            *(Sitemap, {**NOTES, "items": lambda self: FEW.all()}, "/en/notes/17/"),
            "17: items() of section some does not return it",
        ),
        (
            *(Sitemap, {"model": Note, "location": broken}, "/en/notes/17/"),
            "17: it is left out of section some: LookupError: no such thing",
        ),
        (
            *(NewsSitemap, {**DAYS, "publication_date": F("moment")}),
            "/days/2026-01-02/",
            ": too old for section some, which lists the news of two days",
        ),
    ],
)
@pytest.mark.costly
def test_it_says_why_a_row_is_not_listed(
    register: Any, settings: Any, base: type, declared: Any, url: str, why: str
) -> None:
    settings.SITEMAPS_PLUS = {"PUBLICATION_NAME": "The News"}
    some = type("Some", (base,), {"item_title": "A title", **declared})
    register("some", some)
    Note.objects.bulk_create(Note(number=n) for n in (3, 17))
    then = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    ByDay.objects.create(day=then.date(), moment=then, amount=1)
    run_command("build_sitemaps")
    shown = story(url)
    assert "Listed on no page" in shown
    assert why in html.unescape(shown)
    assert "row of section" not in story("/en/notes/3/")


def test_it_says_why_a_url_without_a_row_is_not_listed(register: Any) -> None:
    register("some", type("Some", (Sitemap,), NOTES))
    Note.objects.create(number=3)
    run_command("build_sitemaps")
    assert "Why not" not in story("/en/notes/3/")
    assert "no row of section some has number 4" in story("/en/notes/4/")
    shown = story("/about/")
    assert "Why not no section has it. The view about answers it: if" in shown
    shown = story("/nothing/")
    assert "no section has it, and the URLconf has no such path either" in shown
    # The columns have the same names, and the URL is not the row's.
    located = {"model": Note, "location": F("number"), "items": lambda self: FEW.all()}
    register("some", type("Some", (Sitemap,), located))
    Note.objects.create(number=17)
    shown = story("/en/notes/17/")
    assert "items()" in shown  # of a sitemap, for the view
    assert "of section some" not in shown


def test_a_url_that_moved_is_not_listed_for_long(note: Note, register: Any) -> None:
    Note.objects.filter(pk=note.pk).update(number=2)
    shown = story("/en/notes/1/")
    assert "But no row has it any more: its page will be built again" in shown
    happened("/en/notes/1/", section="other", at=time.time() - 60)
    assert "Listed since" not in story("/en/notes/1/")
    now = time.time()
    happened("/about/", section="static", kind=UrlChange.Kind.REMOVED, at=now - 60)
    register("static", PagesSitemap)
    run_command("build_sitemaps")
    assert "Listed on static-1" in story("/about/")
    UrlChange.objects.filter(kind="added").delete()
    assert "Listed since" not in story("/about/")


def test_what_waits_is_not_due_now_also_on_another_host(settings: Any) -> None:
    use(settings, one="Few")
    happened("/a/")
    gate.pass_on()
    EngineState.objects.update(paused_until=time.time() + 7300)
    for shown in (story("/a/"), words(text("submission/"))):
        assert "waiting due in 2 hours" in shown
    EngineState.objects.update(paused_until=0, exhausted_until=time.time() + 7300)
    assert "waiting due in 2 hours" in story("/a/")
    happened("https://shop.example.com/x/", section="shop")
    shown = story("https://shop.example.com/x/")
    assert "Listed on no page" in shown
    assert "changed" in shown
    settings.DEBUG = True
    assert "waits: nothing is sent from here" in story("/a/")


def test_errors_of_pages_are_for_those_who_may_view_pages(register: Any) -> None:
    """They quote rows."""
    register("article", Small)
    articles(3)
    run_command("build_sitemaps")
    happened("/articles/a/")
    Page.objects.update(error="The title 'Secret' is too long.")
    url = Article.objects.order_by("pk")[0].get_absolute_url()
    for more, is_shown in (([], False), (["view_page"], True)):
        User.objects.all().delete()
        client = staff("view_section", "view_urlchange", *more)
        index = client.get(f"{ADMIN}/").content.decode()
        for shown in (index, story(url, client)):
            assert ("Secret" in shown) is is_shown
