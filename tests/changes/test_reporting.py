"""What was saved becomes events before a page is built; the page says the rest."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import Route, Sitemap, touch
from django_sitemaps_plus.changes import reporting, url_changes
from django_sitemaps_plus.changes.assignment import assign
from django_sitemaps_plus.changes.reporting import report
from django_sitemaps_plus.models import Change, Page, PageFile, Section, UrlChange
from django_sitemaps_plus.publishing.index import all_sources
from django_sitemaps_plus.publishing.refresh import refresh_all, report_all
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import configured
from tests.conftest import Register
from tests.support.helpers import index
from tests.testapp.models import Article, ByPair

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


class News(Sitemap):
    """Live articles, ten a page."""

    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    limit = 10

    def items(self) -> Any:
        """Return the live ones."""
        return Article.objects.filter(live=True)


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
    report_all(all_sources())
    return told()


def rebuild() -> list[tuple[str, str]]:
    """Rebuild the pages that changed; return what that showed."""
    site = configured()
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


# Reports


def test_what_is_created_is_added_and_what_is_saved_is_changed(
    news: list[Article],
) -> None:
    Article.objects.create(slug="new")
    rename(news[1], "other")
    news[2].save()
    assert report_now() == [
        ("added", "new"),
        ("changed", "other"),
        ("changed", "s2"),
    ]
    assert report_now() == [], "once is enough"


def test_no_page_is_built_for_it(news: list[Article]) -> None:
    before = Page.objects.values("version", "read_at", "checksum").get()
    news[0].save()
    assert report_now() == [("changed", "s0")]
    assert Page.objects.values("version", "read_at", "checksum").get() == before


def test_what_is_not_listed_is_no_event(news: list[Article]) -> None:
    news[0].live = False
    news[0].save()
    news[1].delete()
    Article.objects.create(slug="draft", live=False)
    assert report_now() == []
    reported = Change.objects.order_by("pk").values_list("reported", flat=True)
    assert list(reported) == ["[]"] * 3


def test_a_bad_row_is_no_event(news: list[Article]) -> None:
    rename(news[0], "")
    assert report_now() == []


def test_several_saves_of_an_object_are_one_event(news: list[Article]) -> None:
    article = Article.objects.create(slug="new")
    for number in range(3):
        rename(article, f"new{number}")
    assert report_now() == [("added", "new2")]
    assert Change.objects.count() == 1


def test_one_query_for_five_hundred_keys(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("news", News)
    monkeypatch.setattr(reporting, "CHUNK", 20)
    Article.objects.bulk_create(Article(slug=f"a{number}") for number in range(60))
    touch(Article.objects.all())
    with CaptureQueriesContext(connection) as captured:
        assert report(source("news")) == 60
    asked = [q["sql"] for q in captured.captured_queries if "FROM " in q["sql"]]
    assert len([sql for sql in asked if "testapp_article" in sql]) == 3
    assert len(told()) == 60


def test_composite_keys(register: Register) -> None:
    class Pairs(Sitemap):
        model = ByPair
        location = Route("pair", shop=F("shop"), code=F("code"))

    register("pairs", Pairs)
    for shop in (1, 2):
        ByPair.objects.create(shop=shop, code="a")
    assert len(report_now()) == 2


def test_each_language_is_an_event(register: Register) -> None:
    class Translated(News):
        i18n = True
        languages = ("en", "de")
        location = Route("note", number=F("id"))

    register("news", Translated)
    article = Article.objects.create(slug="a")
    report_all(all_sources())
    found = UrlChange.objects.order_by("location").values_list("location", flat=True)
    assert list(found) == [f"/{code}/notes/{article.pk}/" for code in ("de", "en")]


def test_an_unbuilt_section_reports_too(register: Register) -> None:
    register("news", News)
    Article.objects.create(slug="a")
    assert report_now() == [("added", "a")]


def test_the_index_says_that_a_page_changed(
    news: list[Article], client: Client
) -> None:
    for number in range(12):
        Article.objects.create(slug=f"more{number}")
    report_now()
    rebuild()
    before = {entry.loc: entry.lastmod for entry in index(client.get("/sitemap.xml"))}
    Page.objects.update(lastmod=F("lastmod") - 5_000)
    news[0].save()
    report_now()
    after = {entry.loc: entry.lastmod for entry in index(client.get("/sitemap.xml"))}
    first, second = sorted(before)
    assert after[first] != before[first] or after[first] is not None
    assert Page.objects.get(number=1).lastmod > time.time() - 100
    assert (Page.objects.get(number=2).lastmod or 0) < time.time() - 100
    assert {first, second} == set(after)


def test_a_draft_s_save_does_not_count(news: list[Article]) -> None:
    news[0].live = False
    news[0].save()
    report_now()
    Page.objects.update(lastmod=5)
    news[0].save()
    report_now()
    assert Page.objects.get().lastmod == 5


def test_a_report_that_another_process_has_finished_first_is_no_event(
    news: list[Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    news[0].save()
    news[1].save()
    look_up = reporting._look_up
    others: list[int] = []

    def slow(*args: Any) -> Any:
        """Let another reporter finish while this one reads the rows."""
        found = look_up(*args)
        if not others:
            others.append(1)
            report(source("news"))
        return found

    monkeypatch.setattr(reporting, "_look_up", slow)
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
    assert row.digest == definition("news").digest


# Pages


def test_a_page_says_what_is_missing_and_nothing_twice(news: list[Article]) -> None:
    rename(news[0], "renamed")
    news[1].delete()
    news[2].live = False
    news[2].save()
    Article.objects.create(slug="new")
    assert report_now() == [("changed", "renamed"), ("added", "new")]
    assert rebuild() == [("removed", "s0"), ("removed", "s1"), ("removed", "s2")]
    assert Change.objects.count() == 0
    assert rebuild() == []


def test_what_no_signal_told_is_found_by_the_comparison(
    news: list[Article], client: Client
) -> None:
    Article.objects.filter(pk=news[0].pk).update(slug="moved")
    Article.objects.bulk_create([Article(slug="bulk")])
    Article.objects.filter(pk=news[1].pk).update(updated="2026-01-02T00:00:00Z")
    Page.objects.update(verified_at=1)
    client.get("/sitemap-news-1.xml")
    assert sorted(told()) == [
        ("added", "bulk"),
        ("added", "moved"),
        ("changed", "s1"),
        ("removed", "s0"),
    ]


def test_what_comes_and_goes_between_two_builds_is_removed(
    news: list[Article],
) -> None:
    article = Article.objects.create(slug="brief")
    assert report_now() == [("added", "brief")]
    article.delete()
    report_now()
    assert rebuild() == [("removed", "brief")]


def test_what_was_created_and_deleted_before_anybody_looked_is_nothing(
    news: list[Article],
) -> None:
    Article.objects.create(slug="brief").delete()
    assert report_now() == []
    assert rebuild() == []


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
    assert sorted(rebuild()) == [("changed", "s0"), ("removed", "more11")]


def test_losing_the_bytes_notifies_nobody_of_what_was_there(
    news: list[Article], client: Client
) -> None:
    PageFile.objects.all().delete()
    client.get("/sitemap-news-1.xml")
    assert told() == []
    PageFile.objects.all().delete()
    rename(news[0], "renamed")
    assert report_now() == [("changed", "renamed")]
    assert rebuild() == []


def test_another_definition_is_no_change_of_every_url(
    news: list[Article], register: Register, client: Client
) -> None:
    class Weekly(News):
        changefreq = "weekly"

    news[0].save()
    report_now()
    register("news", Weekly)
    told()
    rename(news[1], "renamed")
    client.get("/sitemap-news-1.xml")
    assert sorted(told()) == [("changed", "renamed"), ("removed", "s1")]


def test_bad_rows_are_not_reported_as_removed(
    register: Register, client: Client
) -> None:
    class Moody(News):
        def location(self, item: Article) -> str:
            return item.title or f"/articles/{item.slug}/"

    made = [Article.objects.create(slug=f"s{number}") for number in range(5)]
    register("news", Moody)
    client.get("/sitemap-news-1.xml")
    told()
    Article.objects.filter(pk=made[2].pk).update(title="https://elsewhere.example/")
    Page.objects.update(verified_at=1)
    client.get("/sitemap-news-1.xml")
    assert told() == [("changed", "s2")], "nobody knows which URL the bad row has"


def test_a_split_says_only_what_happened(news: list[Article], client: Client) -> None:
    rename(news[0], "renamed")
    Article.objects.bulk_create(Article(slug=f"b{number}") for number in range(30))
    report_now()
    Page.objects.update(verified_at=0)
    found = rebuild()
    assert Page.objects.count() > 2
    assert sorted(found) == sorted(
        [("removed", "s0"), *(("added", f"b{number}") for number in range(30))]
    )
    assert rebuild() == []


def test_too_many_removed_urls_are_on_hold(
    news: list[Article], settings: Any, client: Client
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "MAX_REMOVED": 2}
    news[0].delete()
    report_all(all_sources())
    site = configured()
    assert site is not None
    refresh_all(all_sources(), site)
    assert UrlChange.objects.get().on_hold is False
    UrlChange.objects.update(queued_at=None)
    for article in news[1:3]:
        article.delete()
    refresh_all(all_sources(), site)
    report_all(all_sources())
    refresh_all(all_sources(), site)
    assert list(UrlChange.objects.values_list("on_hold", flat=True)) == [True] * 3
    assert url_changes.confirm("news", time.time()) == 3
    news[3].delete()
    report_all(all_sources())
    refresh_all(all_sources(), site)
    assert not UrlChange.objects.filter(on_hold=True).exists()


def test_what_is_older_than_a_week_is_deleted(news: list[Article]) -> None:
    now = time.time()
    for at in (now - url_changes.KEEP - 5, now):
        UrlChange.objects.create(
            section="news", kind="added", location="/x/", digest="x", at=at
        )
    assert url_changes.prune() == 1
    assert UrlChange.objects.get().at == now


def test_the_report_is_noted_on_the_change(news: list[Article]) -> None:
    news[0].save()
    report_now()
    change = Change.objects.get()
    [[location, lastmod, fingerprint, _]] = json.loads(change.reported or "")
    assert (location, lastmod) == ("/articles/s0/", "")
    assert len(fingerprint) == 16
    assert change.definition == definition("news").digest
    assert change.page == 1
    assert change.reported_at is not None
    assign(source("news"), Section.objects.get(name="news"))
    assert Change.objects.count() == 1
