"""What was saved becomes events before a page is built; the page says the rest."""

from __future__ import annotations

import datetime as dt
import json
import time
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F, Value
from django.db.models.functions import Replace
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.translation import get_language

from django_sitemaps_plus import NewsSitemap, Route, Sitemap, touch
from django_sitemaps_plus.building import elsewhere
from django_sitemaps_plus.building.refresh import refresh_all, report_all
from django_sitemaps_plus.changes import reporting, url_changes
from django_sitemaps_plus.changes.assignment import assign
from django_sitemaps_plus.changes.events import take
from django_sitemaps_plus.changes.queries import location_digest
from django_sitemaps_plus.changes.url_changes import Event
from django_sitemaps_plus.models import Change, Page, Section, UrlChange
from django_sitemaps_plus.prepared import run_all
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.serving.index import all_sources
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import Site
from tests.conftest import Register
from tests.storing.test_freshness import News
from tests.support.factories import articles
from tests.support.helpers import PagesSitemap, locations, run_command
from tests.support.ledger_world import place
from tests.support.outbox_world import use
from tests.testapp.models import Article, ByPair

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


class ByMethod(News):
    """The same on the object path."""

    def location(self, item: Article) -> str:
        """Return where it is."""
        return item.get_absolute_url()

    def lastmod(self, item: Article) -> Any:
        """Return when it was changed."""
        return item.updated


def told() -> list[tuple[str, str]]:
    """Return what happened to URLs since this was last asked."""
    rows = UrlChange.objects.filter(pk__gt=_seen[-1]).order_by("pk")
    found = [(row.pk, row.kind, row.location.split("/")[-2]) for row in rows]
    _seen.extend(pk for pk, _, _ in found)
    return [(kind, slug) for _, kind, slug in found]


#: The last change of a URL that ``told`` has returned.
_seen = [0]


@pytest.fixture(autouse=True)
def nothing_is_told() -> None:
    """Begin without changes of URLs: their numbers may begin again, too."""
    _seen[:] = [0]


def report_now() -> list[tuple[str, str]]:
    """Report what was recorded; return what happened to URLs."""
    report_all(all_sources(), place())
    return told()


def rebuild() -> list[tuple[str, str]]:
    """Rebuild the pages that changed; return what that showed."""
    site = Site.current().address()
    assert site is not None
    refresh_all(all_sources(), site)
    return told()


@pytest.fixture(params=[News, ByMethod])
def news(request: Any, register: Register, client: Client) -> list[Article]:
    """Five articles of a section whose page was built."""
    made = [Article.objects.create(slug=f"s{number}") for number in range(5)]
    register("news", request.param)
    client.get("/sitemap-news-1.xml")
    assert told() == []
    return made


def rename(article: Article, slug: str) -> None:
    article.slug = slug
    article.save()


# Saves that change nothing


def dated(news: list[Article], client: Client) -> None:
    """Give each article a lastmod, on a page that is built."""
    Article.objects.update(updated=timezone.now() - dt.timedelta(days=1))
    Page.objects.update(verified_at=0)
    client.get("/sitemap-news-1.xml")
    told()
    for article in news:
        article.refresh_from_db()


def crawl() -> list[tuple[str, str]]:
    """Ask for the page; return what that showed."""
    Client().get("/sitemap-news-1.xml")
    return told()


@pytest.mark.parametrize("look", [report_now, crawl], ids=["reported", "built"])
def test_a_save_that_changes_nothing_is_not_told(
    news: list[Article], client: Client, look: Any
) -> None:
    """A counter of views, say; also not if a build comes before the report."""
    dated(news, client)
    [before] = Page.objects.values("lastmod", "checksum")
    for _ in range(3):
        for article in news:
            article.weight = (article.weight or 0.0) + 1
            article.save()
        assert look() == []
    assert Page.objects.values("lastmod", "checksum").get() == before
    assert not Change.objects.exclude(loses_url=False).exists()
    assert crawl() == []
    news[0].updated = timezone.now()
    news[0].save()
    news[1].save()
    assert look() == [("changed", "s0")]
    assert not crawl()


def test_a_save_that_changes_nothing_more_is_not_told_again(
    news: list[Article], client: Client
) -> None:
    """Nor before the page of what changed is built; but if the URL was gone between."""
    dated(news, client)
    news[0].updated = timezone.now()
    news[0].save()
    assert report_now() == [("changed", "s0")]
    for _ in range(3):
        news[0].save()
        assert report_now() == []
    news[0].updated = timezone.now() - dt.timedelta(minutes=1)
    news[0].save()
    assert report_now() == [("changed", "s0")]
    news[0].live = False
    news[0].save()
    assert report_now() == []
    news[0].live = True
    news[0].save()
    assert report_now() == [("changed", "s0")]
    UrlChange.objects.create(
        section="other",
        kind="removed",
        location="/articles/s0/",
        digest=location_digest("/articles/s0/"),
        at=time.time(),
    )
    told()
    news[0].save()
    assert report_now() == [("changed", "s0")]
    assert crawl() == []


def test_a_save_is_told_where_a_row_does_not_say_when_it_changed(
    news: list[Article], client: Client
) -> None:
    dated(news, client)
    Article.objects.filter(pk=news[0].pk).update(updated=None)
    Page.objects.update(verified_at=0)
    client.get("/sitemap-news-1.xml")
    told()
    news[0].refresh_from_db()
    for article in news:
        article.save()
    assert report_now() == [("changed", "s0")]


def test_a_save_is_told_where_all_rows_have_one_lastmod(
    register: Register, client: Client
) -> None:
    class Constant(News):
        lastmod = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)

    articles(3)
    register("news", Constant)
    client.get("/sitemap-news-1.xml")
    Article.objects.first().save()  # type: ignore[union-attr]  # there are three
    assert len(report_now()) == 1


def test_what_comes_back_as_it_was_is_told(news: list[Article], client: Client) -> None:
    """Whoever was told of it in between may have seen something else, or nothing."""
    dated(news, client)
    before = news[0].updated
    news[0].updated = timezone.now()
    news[0].save()
    assert report_now() == [("changed", "s0")]
    news[0].updated = before
    news[0].save()
    assert report_now() == [("changed", "s0")]
    news[1].live = False
    news[1].save()
    assert report_now() == []
    news[1].live = True
    news[1].save()
    assert report_now() == [("changed", "s1")]


def test_a_save_while_its_page_is_built_is_told(
    news: list[Article], client: Client
) -> None:
    """The build may have read the row before it was as it is listed."""
    dated(news, client)
    news[0].save()
    Page.objects.update(claimed_by="somebody")
    assert report_now() == [("changed", "s0")]


def test_pages_are_read_only_for_rows_that_are_not_dated_anew(
    news: list[Article], client: Client
) -> None:
    dated(news, client)
    news[0].updated = timezone.now()
    news[0].save()
    with CaptureQueriesContext(connection) as captured:
        assert report_now() == [("changed", "s0")]
    assert not any("pagefile" in query["sql"] for query in captured.captured_queries)


# What a build told before the signal did


def test_what_a_build_told_as_added_is_not_added_again(
    news: list[Article], client: Client
) -> None:
    """It ran between the commit and the note that follows it."""
    Article.objects.bulk_create([Article(slug="new")])
    Page.objects.update(verified_at=0)
    client.get("/sitemap-news-1.xml")
    assert told() == [("added", "new")]
    new = Article.objects.get(slug="new")
    Change.objects.create(section="news", key=f'["{new.pk}"]', created=True, at=0)
    assert report_now() == [("changed", "new")]
    assert crawl() == []
    new.delete()
    assert crawl() == [("removed", "new")]
    Article.objects.create(slug="new")
    assert report_now() == [("added", "new")]


def test_what_is_reported_as_added_while_its_page_is_built_is_added_once(
    news: list[Article], client: Client
) -> None:
    """The build knew of no change when it began, and has read the row."""
    others: list[Any] = [lambda: Article.objects.create(slug="new"), report_now]
    found: list[Any] = []

    def meanwhile(execute: Any, sql: str, *rest: Any) -> Any:
        if others and sql.startswith("SELECT") and "testapp_article" in sql:
            here = [others.pop(0) for _ in range(len(others))]
            found.extend(do() for do in here)
        return execute(sql, *rest)

    Page.objects.update(verified_at=0)
    with connection.execute_wrapper(meanwhile):
        client.get("/sitemap-news-1.xml")
    assert found[1] == [("added", "new")]
    assert told() == [("changed", "new")]
    assert crawl() == []
    # What was removed meanwhile is added once more.
    Article.objects.filter(slug="new").delete()
    assert crawl() == [("removed", "new")]
    Article.objects.bulk_create([Article(slug="new")])
    Page.objects.update(verified_at=0, read_at=0)
    assert crawl() == [("added", "new")]


def test_what_is_reported_between_the_page_and_its_changes_is_the_page_s(
    news: list[Article], client: Client
) -> None:
    """The build takes it: no later one may think that somebody else lists the URL."""
    rename(news[0], "new")
    others: list[Any] = [report_now]
    found: list[Any] = []

    def meanwhile(execute: Any, sql: str, *rest: Any) -> Any:
        reads = sql.startswith("SELECT") and 'FROM "sitemaps_plus_change"' in sql
        if others and (reads or "FROM `sitemaps_plus_change`" in sql):
            # A moment after the page was read, by whichever clock.
            time.sleep(0.01)
            found.extend(others.pop()())
        return execute(sql, *rest)

    with connection.execute_wrapper(meanwhile):
        client.get("/sitemap-news-1.xml")
    assert found == [("changed", "new")]
    assert ("removed", "s0") in told()
    rename(news[0], "newer")
    assert ("removed", "new") in crawl()


# Reports


def test_what_is_created_is_added_and_what_is_saved_is_changed(
    news: list[Article],
) -> None:
    before = Page.objects.values("version", "read_at", "checksum").get()
    Article.objects.create(slug="new")
    rename(news[1], "other")
    news[2].save()
    assert report_now() == [
        ("added", "new"),
        ("changed", "other"),
        ("changed", "s2"),
    ]
    assert report_now() == [], "once is enough"
    # No page is built for it.
    assert Page.objects.values("version", "read_at", "checksum").get() == before


def test_a_build_reports_what_was_saved_of_its_page(
    news: list[Article], client: Client
) -> None:
    Article.objects.create(slug="new")
    rename(news[1], "other")
    news[2].save()
    news[3].delete()
    before = time.time()
    client.get("/sitemap-news-1.xml")
    assert sorted(told()) == [
        ("added", "new"),
        ("added", "other"),
        ("changed", "other"),
        ("changed", "s2"),
        ("removed", "s1"),
        ("removed", "s3"),
    ]
    late = UrlChange.objects.filter(late=True)
    assert [row.location for row in late] == ["/articles/other/"], "told as changed"
    assert Page.objects.get().lastmod >= before
    assert not Change.objects.exists()
    assert rebuild() == report_now() == []


def test_what_another_process_reports_during_a_build_is_reported_once(
    register: Register, client: Client
) -> None:
    others: list[Any] = []

    class Slow(ByMethod):
        def location(self, item: Article) -> str:
            if others:
                others.pop()()
            return item.get_absolute_url()

    made = [Article.objects.create(slug=f"s{number}") for number in range(3)]
    register("news", Slow)
    client.get("/sitemap-news-1.xml")
    told()
    made[0].save()
    others.append(lambda: report_all(all_sources(), place()))
    client.get("/sitemap-news-1.xml")
    assert told() == [("changed", "s0")]
    assert not Change.objects.exists()


def test_what_is_not_listed_is_no_event(news: list[Article]) -> None:
    news[0].live = False
    news[0].save()
    news[1].delete()
    Article.objects.create(slug="draft", live=False)
    # No URL at all, and gone before anybody looked.
    Article.objects.create(slug="")
    Article.objects.create(slug="brief").delete()
    assert report_now() == []
    reported = Change.objects.order_by("pk").values_list("reported", flat=True)
    assert list(reported) == ["[]"] * 5


def test_several_saves_of_an_object_are_one_event(news: list[Article]) -> None:
    article = Article.objects.create(slug="new")
    for number in range(3):
        rename(article, f"new{number}")
    newest = Change.objects.latest("pk").pk
    assert report_now() == [("added", "new2")]
    assert Change.objects.get().pk == newest


def test_one_query_for_five_hundred_keys(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("news", News)
    monkeypatch.setattr(reporting, "CHANGES_AT_ONCE", 20)
    Article.objects.bulk_create(Article(slug=f"a{number}") for number in range(60))
    touch(Article.objects.all())
    with CaptureQueriesContext(connection) as captured:
        assert report_all(all_sources(), place()) == 60
    asked = [q["sql"] for q in captured.captured_queries if "FROM " in q["sql"]]
    assert len([sql for sql in asked if "testapp_article" in sql]) == 3
    assert len(told()) == 60


def test_each_language_is_an_event_and_keys_may_be_composite(
    register: Register,
) -> None:
    class Translated(Sitemap):
        model = ByPair
        i18n = True
        languages = ("en", "de")
        location = Route("note", number=F("shop"))

    register("pairs", Translated)
    for shop in (1, 2):
        ByPair.objects.create(shop=shop, code="a")
    report_all(all_sources(), place())
    found = set(UrlChange.objects.values_list("location", flat=True))
    assert found == {f"/{code}/notes/{n}/" for code in ("de", "en") for n in (1, 2)}


def test_an_unbuilt_section_reports_too(register: Register) -> None:
    register("news", News)
    Article.objects.create(slug="a")
    assert report_now() == [("added", "a")]


def test_a_save_is_the_page_s_lastmod_but_not_a_draft_s(news: list[Article]) -> None:
    news[0].live = False
    news[0].save()
    report_now()
    Page.objects.update(lastmod=5)
    news[0].save()
    report_now()
    assert Page.objects.get().lastmod == 5
    news[1].save()
    report_now()
    assert Page.objects.get().lastmod > time.time() - 100


def test_a_report_that_another_process_has_finished_first_is_no_event(
    news: list[Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    news[0].save()
    news[1].save()
    look_up = reporting.look_up
    others: list[int] = []

    def slow(*args: Any) -> Any:
        """Let another reporter finish while this one reads the rows."""
        found = look_up(*args)
        if not others:
            others.append(1)
            report_all(all_sources(), place())
        return found

    monkeypatch.setattr(reporting, "look_up", slow)
    assert report_now() == [("changed", "s0"), ("changed", "s1")]


def test_old_code_reports_nothing_beside_newer_code(news: list[Article]) -> None:
    news[0].save()
    Section.objects.filter(name="news").update(
        digest="newer", digest_since=time.time() + 5, digest_seen=time.time()
    )
    assert report_now() == []
    # Nobody has said for long that the other code is in use.
    Section.objects.filter(name="news").update(digest_seen=1)
    assert report_now() == [("changed", "s0")]
    row = Section.objects.get(name="news")
    assert row.digest == definition(source("news")).digest


def test_changes_are_taken_once(news: list[Article]) -> None:
    """By whoever writes the page first."""
    news[0].save()
    report_now()
    one, other = take("news", 1), take("news", 1)
    assert run_all("default", one.finishing()) == [one.count] == [1]
    assert run_all("default", other.finishing()) == [0]


# What a page would list


MANY = "a" * 1900


class Typed(News):
    """What somebody typed may be no path of this site; a star is a long name."""

    location = Replace("title", Value("*"), Value(MANY))


class TypedByMethod(News):
    """The same on the object path."""

    def location(self, item: Article) -> str:
        """Return where it is."""
        return item.title.replace("*", MANY)


def in_folder(settings: Any, address: str = "https://www.example.com/app/") -> None:
    """Let the site be in a folder of its host."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "BASE_URL": address}


@pytest.mark.parametrize("kind", [News, ByMethod])
def test_paths_have_the_site_s_prefix(
    kind: Any, register: Register, client: Client, settings: Any
) -> None:
    in_folder(settings)
    register("news", kind)
    client.get("/sitemap-news-1.xml")
    Article.objects.create(slug="new")
    report_all(all_sources(), place())
    response = client.get("/sitemap-news-1.xml")
    assert locations(response) == ["https://www.example.com/app/articles/new/"]
    changed = UrlChange.objects.values_list("kind", "location")
    assert list(changed) == [("added", "/app/articles/new/")]


@pytest.mark.parametrize("kind", [Typed, TypedByMethod])
@pytest.mark.parametrize("origin", ["http://a.io", "https://www.a-long-host.example"])
def test_what_its_page_leaves_out_is_no_event(
    kind: Any, origin: str, register: Register, client: Client, settings: Any
) -> None:
    in_folder(settings, f"{origin}/app/")
    fits = f"/app/*{'a' * (2048 - len(f'{origin}/app/{MANY}'))}"
    register("news", kind)
    client.get("/sitemap-news-1.xml")
    for number, path in enumerate(
        ["/outside/", "https://elsewhere.example/app/", f"{fits}a", fits, "/app/in/"]
    ):
        Article.objects.create(slug=f"s{number}", title=path)
    report_all(all_sources(), place())
    said = [(row.kind, row.location) for row in UrlChange.objects.order_by("pk")]
    good = [fits.replace("*", MANY), "/app/in/"]
    listed = locations(client.get("/sitemap-news-1.xml"))
    assert listed == [f"{origin}{path}" for path in good]
    assert said == [("added", path) for path in good]
    assert UrlChange.objects.count() == 2


# Pages


def test_a_page_says_what_is_missing_and_nothing_twice(news: list[Article]) -> None:
    rename(news[0], "renamed")
    news[1].delete()
    news[2].live = False
    news[2].save()
    Article.objects.create(slug="new")
    assert report_now() == [("changed", "renamed"), ("added", "new")]
    # And what no signal told of.
    Article.objects.filter(pk=news[3].pk).update(slug="moved")
    Article.objects.filter(pk=news[4].pk).update(updated="2026-01-02T00:00:00Z")
    Article.objects.bulk_create([Article(slug="bulk")])
    assert sorted(rebuild()) == [
        ("added", "bulk"),
        ("added", "moved"),
        ("added", "renamed"),
        ("changed", "s4"),
        *(("removed", f"s{number}") for number in range(4)),
    ]
    assert Change.objects.count() == 0
    assert rebuild() == []


def test_what_comes_and_goes_between_two_builds_is_removed(
    news: list[Article],
) -> None:
    article = Article.objects.create(slug="brief")
    assert report_now() == [("added", "brief")]
    article.delete()
    report_now()
    assert rebuild() == [("removed", "brief")]


def test_rows_that_swap_their_urls_lose_none(news: list[Article]) -> None:
    with transaction.atomic():
        rename(news[0], "free")
        rename(news[1], "s0")
        rename(news[0], "s1")
    assert sorted(report_now()) == [("changed", "s0"), ("changed", "s1")]
    assert rebuild() == []


def test_a_url_that_another_page_lists_now_is_not_removed(
    news: list[Article], client: Client
) -> None:
    for number in range(12):
        Article.objects.create(slug=f"more{number}")
    report_now()
    rebuild()
    last = Article.objects.get(slug="more11")
    with transaction.atomic():
        rename(news[0], "free")
        rename(last, "s0")
    assert sorted(report_now()) == [("changed", "free"), ("changed", "s0")]
    # Its new page has not listed it before.
    assert sorted(rebuild()) == [
        ("added", "free"),
        ("added", "s0"),
        ("changed", "s0"),
        ("removed", "more11"),
    ]


def handed_over(client: Client, *sections: str) -> Article:
    """Give a URL of each section's first page to an object on the second one."""
    made = [Article.objects.create(slug=f"s{n}", title=f"T{n}") for n in range(15)]
    report_now()
    for path in [f"{name}-{number}" for name in sections for number in (1, 2)]:
        assert client.get(f"/sitemap-{path}.xml").status_code == 200
    told()
    with transaction.atomic():
        rename(made[0], "free")
        rename(made[-1], "s0")
    assert ("changed", "s0") in report_now()
    return made[-1]


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_what_objects_of_two_pages_had_and_lost_is_removed(
    register: Register, client: Client, order: tuple[int, int]
) -> None:
    """Neither page takes the other's word for it that the URL is still there."""
    register("news", News)
    rename(handed_over(client, "news"), "other")
    report_now()
    for number in order:
        client.get(f"/sitemap-news-{number}.xml")
    assert [kind for kind, slug in told() if slug == "s0"][-1] == "removed"


def test_what_another_page_of_another_section_lists_is_changed(
    register: Register, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first page has told that the URL is missing there, and no more."""
    # Its pages are too large to be searched.
    monkeypatch.setattr(elsewhere, "MOST", 0)
    register("news", News)
    register("featured", Featured)
    last = handed_over(client, "news", "featured")
    client.get("/sitemap-featured-2.xml")
    told()
    client.get("/sitemap-news-1.xml")
    assert ("changed", "s0") in told()
    Article.objects.filter(pk=last.pk).update(title="")
    Page.objects.filter(section__name="featured").update(verified_at=0)
    for number in (1, 2):
        client.get(f"/sitemap-featured-{number}.xml")
    found = [kind for kind, slug in told() if slug == "s0"]
    assert set(found) == {"changed"}


@pytest.mark.parametrize("ago", [0, 30])
def test_what_is_listed_though_it_was_told_as_removed_is_told_again(
    news: list[Article], ago: float
) -> None:
    """Also by a transaction that took its time before the page was read."""
    with transaction.atomic():
        event = Event(UrlChange.Kind.REMOVED, "/articles/s0/", time.time() - ago)
        url_changes.write_events("news", [event], 0)
    told()
    Page.objects.update(verified_at=0)
    assert rebuild() == [("changed", "s0")]


def test_a_bad_row_may_have_the_url_that_is_missing(
    register: Register, client: Client
) -> None:
    class Moody(News):
        def location(self, item: Article) -> str:
            return item.title or item.get_absolute_url()

    made = [Article.objects.create(slug=f"s{number}") for number in range(5)]
    register("news", Moody)
    client.get("/sitemap-news-1.xml")
    told()
    Article.objects.filter(pk=made[2].pk).update(title="https://elsewhere.example/")
    Page.objects.update(verified_at=1)
    client.get("/sitemap-news-1.xml")
    assert told() == [("changed", "s2")], "nobody knows which URL the bad row has"


class Films(Sitemap):
    """Articles in two languages, whose titles may be bad paths."""

    model = Article
    i18n = True
    languages = ("en", "de")
    limit = 20

    def location(self, item: Article) -> str:
        """Return where it is."""
        return item.title or f"/{get_language()}/{item.slug}/"


def compare() -> list[tuple[str, str]]:
    """Compare all pages with their rows; return what that showed."""
    Page.objects.update(verified_at=0)
    return rebuild()


@pytest.fixture
def films(register: Register, client: Client) -> list[Article]:
    """Six films with two URLs each, on a page that was built."""
    made = [Article.objects.create(slug=f"s{number}") for number in range(6)]
    register("films", Films)
    client.get("/sitemap-films-1.xml")
    told()
    return made


def spoil(*articles: Article, title: str = "https://elsewhere.example/") -> None:
    """Give articles a path that cannot be listed, or none, past all signals."""
    rows = Article.objects.filter(pk__in=[article.pk for article in articles])
    rows.update(title=title)


def test_a_bad_row_may_have_all_its_urls(films: list[Article]) -> None:
    spoil(*films[:4])
    found = [("changed", f"s{number}") for number in range(4)]
    assert sorted(compare()) == sorted(found * 2)


def test_what_is_deleted_beside_an_old_bad_row_is_removed(films: list[Article]) -> None:
    spoil(films[0])
    compare()
    films[1].delete()
    report_now()
    assert rebuild() == [("removed", "s1")] * 2
    # One that was reported since may have its URL, and be bad again.
    spoil(films[0], title="")
    films[0].refresh_from_db()
    films[0].save()
    assert report_now() == [("changed", "s0")] * 2
    spoil(films[0])
    assert compare() == [("changed", "s0")] * 2


class ManyFilms(Films):
    """So many on a page that some may be bad."""

    limit = 1000


def test_the_bad_rows_of_a_failed_attempt_are_not_those_of_what_is_stored(
    register: Register, client: Client
) -> None:
    made = [Article.objects.create(slug=f"s{number}") for number in range(30)]
    register("films", ManyFilms)
    client.get("/sitemap-films-1.xml")
    told()
    # With so many the page is not built.
    spoil(*made[:15])
    assert compare() == []
    spoil(*made[1:], title="")
    assert compare() == [("changed", "s0")] * 2


def test_nobody_knows_which_of_many_rows_was_bad_before(
    register: Register, client: Client, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "MAX_BAD": 0.9}
    made = [Article.objects.create(slug=f"s{number}") for number in range(30)]
    spoil(*made[5:])
    register("films", ManyFilms)
    client.get("/sitemap-films-1.xml")
    told()
    made.pop(0).delete()
    report_now()
    assert rebuild() == [("changed", "s0")] * 2


def test_too_many_removed_urls_are_on_hold(news: list[Article], settings: Any) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "MAX_REMOVED": 2}

    def on_hold(*deleted: Article) -> list[bool]:
        # As with engines: they wait for the outbox.
        UrlChange.objects.update(queued_at=None)
        for article in deleted:
            article.delete()
        report_now()
        rebuild()
        return list(UrlChange.objects.order_by("pk").values_list("on_hold", flat=True))

    assert on_hold(news[0]) == [False]
    assert on_hold(*news[1:3]) == [True] * 3
    news[1].save(force_insert=True)
    report_now()
    assert url_changes.confirm("news", time.time()) == 3
    said = UrlChange.objects.order_by("pk").values_list("kind", "location")
    assert [kind for kind, path in said if path.endswith("/s1/")] == [
        "changed",
        "added",
    ], "it is listed again"
    UrlChange.objects.filter(kind="added").delete()
    assert on_hold(news[3]) == [False] * 4


@pytest.mark.parametrize(
    ("listed", "deleted", "is_held"),
    [(40, 40, True), (40, 37, True), (21, 11, True), (20, 10, False), (10, 9, False)],
)
def test_a_small_section_that_loses_most_of_its_urls_is_on_hold(
    register: Any, settings: Any, listed: int, deleted: int, is_held: bool
) -> None:
    """By a few pages, and by rows that nobody deletes one by one."""
    use(settings, one="Few")
    register("news", type("Few", (News,), {"limit": 8}))
    rows = articles(listed)
    run_command("build_sitemaps")
    Article.objects.filter(pk__in=[row.pk for row in rows[:deleted]]).update(live=False)
    Page.objects.update(verified_at=0)
    rebuild()
    held = UrlChange.objects.filter(kind="removed").values_list("on_hold", flat=True)
    assert list(held) == [is_held] * deleted


# Several sections


class Featured(News):
    """Some of the same articles."""

    def items(self) -> Any:
        """Return those with a title."""
        return super().items().exclude(title="")


def two_sections(register: Register, client: Client, kind: Any = Featured) -> Article:
    """Have an article that two sections list; nothing was said of it."""
    now = timezone.now()
    article = Article.objects.create(slug="both", title="Both", updated=now)
    register("news", News)
    register("featured", kind)
    Change.objects.all().delete()
    for name in ("news", "featured"):
        client.get(f"/sitemap-{name}-1.xml")
    assert told() == []
    return article


def test_what_another_section_still_lists_is_changed(
    register: Register, client: Client
) -> None:
    article = two_sections(register, client)
    spoil(article, title="")
    assert compare() == [("changed", "both")]
    assert UrlChange.objects.get().section == "featured"
    article.delete()
    report_now()
    assert rebuild() == [("removed", "both")]


def test_what_both_sections_lose_is_removed_by_the_last(
    register: Register, client: Client
) -> None:
    article = two_sections(register, client)
    article.save()
    report_now()
    article.delete()
    report_now()
    assert rebuild() == [("changed", "both"), ("removed", "both")]


def test_what_another_section_has_reported_is_changed_before_its_page_is_built(
    register: Register, client: Client
) -> None:
    article = two_sections(register, client)
    spoil(article, title="")
    compare()
    article.title = "Again"
    article.save()
    report_now()
    # Featured reported it, and its page was not built yet.
    Article.objects.filter(pk=article.pk).update(live=False)
    Change.objects.filter(section="featured").update(page=None)
    Page.objects.filter(section__name="news").update(verified_at=0)
    client.get("/sitemap-news-1.xml")
    last = UrlChange.objects.filter(section="news").latest("pk")
    assert (last.kind, last.missing) == ("changed", True)


def test_what_only_a_news_sitemap_lists_is_removed(
    register: Register, client: Client
) -> None:
    """It never says which URLs it removes: nobody would."""

    class Latest(NewsSitemap):
        model = Article
        location = Route("article", slug=F("slug"))
        publication_date = F("updated")
        publication_name = "News"

    article = two_sections(register, client, Latest)
    assert len(locations(client.get("/sitemap-featured-1.xml"))) == 1
    Article.objects.filter(pk=article.pk).update(live=False)
    Page.objects.filter(section__name="news").update(verified_at=0)
    client.get("/sitemap-news-1.xml")
    assert told() == [("removed", "both")]


def test_what_another_section_removed_and_this_one_lists_is_told_again(
    register: Register, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its pages are too large to be searched.
    monkeypatch.setattr(elsewhere, "MOST", 0)
    article = two_sections(register, client)
    spoil(article, title="")
    Page.objects.filter(section__name="featured").update(verified_at=0)
    client.get("/sitemap-featured-1.xml")
    assert told() == [("removed", "both")]
    assert compare() == [("changed", "both")]
    assert compare() == []


def test_pages_of_whole_sections_are_searched_those_of_the_model_first(
    register: Register, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    article = two_sections(register, client)
    register("pages", PagesSitemap)
    client.get("/sitemap-pages-1.xml")
    Page.objects.filter(section__name="pages").update(size=1)
    news = Page.objects.get(section__name="news")
    monkeypatch.setattr(elsewhere, "MOST", news.size)
    spoil(article, title="")
    assert compare() == [("changed", "both")]


# What was not listed before


def test_a_published_draft_is_added_when_its_page_is_built(
    news: list[Article],
) -> None:
    draft = Article.objects.create(slug="draft", live=False)
    report_now()
    assert rebuild() == []
    draft.live = True
    draft.save()
    assert report_now() == [("changed", "draft")]
    assert rebuild() == [("added", "draft")]
    draft.save()
    assert report_now() == [("changed", "draft")]
    assert rebuild() == []
    late = UrlChange.objects.order_by("pk").values_list("late", flat=True)
    assert list(late) == [False, True, False]


def test_what_is_published_and_changed_before_its_page_is_built_is_said_to_all(
    news: list[Article],
) -> None:
    draft = Article.objects.create(slug="draft", live=False)
    report_now()
    rebuild()
    draft.live = True
    draft.save()
    assert report_now() == [("changed", "draft")]
    Article.objects.filter(pk=draft.pk).update(updated="2026-01-02T00:00:00Z")
    assert rebuild() == [("added", "draft")]
    assert not UrlChange.objects.filter(late=True).exists()


def test_a_draft_is_added_once_where_it_was_reported_so(news: list[Article]) -> None:
    draft = Article.objects.create(slug="draft")
    assert report_now() == [("added", "draft")]
    draft.save()
    assert report_now() == [("changed", "draft")]
    assert rebuild() == []


def test_what_is_older_than_a_week_is_deleted(news: list[Article]) -> None:
    now = time.time()
    for at in (now - url_changes.KEEP - 5, now):
        UrlChange.objects.create(
            section="news", kind="added", location="/x/", digest="x", at=at
        )
    assert url_changes.prune_url_changes() == 1
    assert UrlChange.objects.get().at == now


def test_the_report_is_noted_on_the_change(news: list[Article]) -> None:
    news[0].save()
    report_now()
    change = Change.objects.get()
    [[location, lastmod, fingerprint, _, is_added]] = json.loads(change.reported or "")
    assert (location, lastmod, is_added) == ("/articles/s0/", "", False)
    assert len(fingerprint) == 16
    assert change.definition == definition(source("news")).digest
    assert change.page == 1
    assert change.reported_at is not None
    assign(source("news"), Section.objects.get(name="news"))
    assert Change.objects.count() == 1
