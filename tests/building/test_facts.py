"""What a build says of URLs: listed newly, with other contents, or no longer."""

from __future__ import annotations

import datetime as dt
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.db.models import F, QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import NewsSitemap, Route, Sitemap, touch
from django_sitemaps_plus.building.refresh import assign_all, refresh_all
from django_sitemaps_plus.changes import hints
from django_sitemaps_plus.models import Change, Page, PageFile, Section
from django_sitemaps_plus.rendering.listing import locations_of
from django_sitemaps_plus.serving.index import usable
from django_sitemaps_plus.storing.storage import read_each
from tests.conftest import Register
from tests.support.factories import articles, dated_anew
from tests.support.helpers import later, told
from tests.support.in_between import just_before
from tests.support.ledger_world import Killed, killed_before, place
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True)


class News(Sitemap):
    """The articles that are shown, six on a page."""

    location = Route("article", slug=F("slug"))
    lastmod: Any = F("updated")
    limit = 6

    def items(self) -> QuerySet[Article]:
        return Article.objects.filter(live=True)


def built() -> list[tuple[str, str]]:
    """Rebuild what changed; return what pages say of URLs."""
    assign_all(usable())
    refresh_all(usable(), place())
    assert not Change.objects.exists()
    return said()


def compared() -> list[tuple[str, str]]:
    """Compare all pages with their rows; return what they say of URLs."""
    Page.objects.update(verified_at=0)
    return built()


def said() -> list[tuple[str, str]]:
    return sorted((kind, path.removeprefix("/articles")) for kind, path in told())


def path(article: Article) -> str:
    return f"/{article.slug}/"


@pytest.fixture
def news(register: Register, client: Client) -> list[Article]:
    """Five articles on a page that was built some time ago."""
    register("news", News)
    found = articles(5)
    client.get("/sitemap-news-1.xml")
    later(hints.LATE + 1, "unknown_at")
    return found


# What comes, changes and goes


def test_each_kind_of_change_is_said_once(news: list[Article]) -> None:
    first, second, third, fourth, _ = news
    draft = Article.objects.create(slug="draft", live=False)
    assert built() == []
    draft.live = True
    draft.save()
    Article.objects.create(slug="new")
    dated_anew(first).save()
    former, second.slug = second.slug, "renamed"
    dated_anew(second).save()
    third.delete()
    fourth.live = False
    fourth.save()
    assert built() == sorted(
        [
            *[("added", f"/{slug}/") for slug in ("draft", "new", "renamed")],
            ("changed", path(first)),
            *[("removed", where) for where in (f"/{former}/", path(third))],
            ("removed", path(fourth)),
        ]
    )
    assert compared() == []


def test_what_bypasses_signals_is_found_by_the_next_comparison(
    news: list[Article],
) -> None:
    Article.objects.filter(pk=news[0].pk).update(slug="sql")
    assert compared() == [("added", "/sql/"), ("removed", path(news[0]))]
    Article.objects.filter(pk=news[1].pk)._raw_delete("default")
    touch(Article.objects.all())
    assert built() == [("removed", path(news[1]))]


def test_rows_that_swap_their_urls_lose_none(news: list[Article]) -> None:
    first, second = news[:2]
    first.slug, second.slug = second.slug, first.slug
    for article in (first, second):
        article.updated = dt.datetime.now(dt.UTC)
        article.save()
    assert built() == sorted([("changed", path(first)), ("changed", path(second))])


def test_what_happens_and_is_undone_before_a_build_is_nothing(
    news: list[Article],
) -> None:
    first, slug = news[0], news[0].slug
    for name in ("other", slug):
        first.slug = name
        first.save()
    assert built() == []


@pytest.mark.parametrize("declared", ["method", "expression"])
@pytest.mark.costly
def test_a_save_that_changes_nothing_is_not_said(
    news: list[Article], register: Register, declared: str
) -> None:
    """A counter of views, say."""

    class ByMethod(News):
        def lastmod(self, item: Article) -> Any:
            return item.updated

    if declared == "method":
        register("news", ByMethod)
        assert compared() == []
    for article in news:
        article.title = "Another"
        article.save()
    assert built() == []


@pytest.mark.parametrize("lastmod", [None, dt.date(2026, 1, 1)])
@pytest.mark.costly
def test_a_save_is_said_where_a_row_does_not_say_when_it_changed(
    news: list[Article], register: Register, lastmod: Any
) -> None:
    """Its entry may be as it was; where all have one date, nothing tells."""
    register("news", type("Plain", (News,), {"lastmod": lastmod}))
    compared()
    news[0].save()
    expected = [("changed", path(news[0]))] if lastmod is None else []
    assert built() == expected
    Article.objects.create(slug="new")
    assert built() == [("added", "/new/")], "once"


def test_of_rows_without_a_date_among_others_a_save_is_said(
    news: list[Article],
) -> None:
    news[0].updated = None
    news[0].save()
    assert built() == [("changed", path(news[0]))]
    for article in news:
        article.save()
    assert built() == [("changed", path(news[0]))], "the others say when they changed"


def test_what_was_saved_is_looked_up_by_one_query(
    news: list[Article], register: Register
) -> None:
    register("news", type("Plain", (News,), {"lastmod": None}))
    compared()

    def reading() -> int:
        with CaptureQueriesContext(connection) as queries:
            assign_all(usable())
            refresh_all(usable(), place())
        read = f'FROM "{Article._meta.db_table}"'
        return sum(read in query["sql"].replace("`", '"') for query in queries)

    news[0].save()
    one = reading()
    for article in news:
        article.save()
    assert reading() == one
    assert len(said()) == 6


# Rows that are bad


def test_a_bad_row_may_have_the_url_that_is_missing(news: list[Article]) -> None:
    """Whoever hears of it shall look: it is not said to be removed."""
    Article.objects.filter(pk=news[0].pk).update(slug="")
    news[1].delete()
    assert compared() == sorted(
        [("changed", path(news[0])), ("changed", path(news[1]))]
    )
    news[2].delete()
    assert built() == [("removed", path(news[2]))], "that one was bad before"


def test_the_bad_rows_of_a_failed_attempt_are_not_those_of_what_is_stored(
    news: list[Article], settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "MAX_BAD": 0.0}
    Article.objects.update(slug="")
    assert compared() == []
    assert Page.objects.get().error
    for article in news[1:]:
        Article.objects.filter(pk=article.pk).update(slug=article.slug)
    assert compared() == [("changed", path(news[0]))]


# Languages, other sections, other code


def test_each_language_is_an_event(news: list[Article], register: Register) -> None:
    register("news", type("Both", (News,), {"i18n": True, "languages": ["en", "de"]}))
    compared()
    news[0].delete()
    found = built()
    assert {kind for kind, _ in found} == {"removed"}
    assert len(found) == len({where for _, where in found})


def test_news_never_say_which_urls_they_remove(
    register: Register, settings: Any, client: Client
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "PUBLICATION_NAME": "Times"}
    declared = {"publication_date": F("updated"), "location": News.location}
    latest = type("Latest", (NewsSitemap,), {**declared, "items": News.items})
    register("news", latest)
    some = articles(2, updated=dt.datetime.now(dt.UTC))
    client.get("/sitemap-news-1.xml")
    compared()
    some[0].delete()
    assert built() == []


def test_of_what_another_definition_writes_only_locations_and_dates_count(
    news: list[Article], register: Register
) -> None:
    register("news", type("Weighted", (News,), {"priority": 0.7}))
    Article.objects.filter(pk=news[0].pk).update(slug="sql")
    Article.objects.filter(pk=news[1].pk).update(updated=dt.datetime.now(dt.UTC))
    assert compared() == sorted(
        [("removed", path(news[0])), ("added", "/sql/"), ("changed", path(news[1]))]
    )


# Without a former listing


def test_a_first_build_says_what_was_saved_and_nothing_else(
    register: Register, client: Client
) -> None:
    """Neither of a draft, nor of a row that is bad, nor of one that was deleted."""
    register("news", News)
    old = articles(3)
    old[0].save()
    Article.objects.create(slug="new")
    Article.objects.create(slug="draft", live=False)
    Article.objects.create(slug="")
    Article.objects.create(slug="deleted").delete()
    client.get("/sitemap-news-1.xml")
    assert said() == sorted([("changed", path(old[0])), ("added", "/new/")])
    page = Page.objects.get()
    assert (page.unknown_at > 0, page.searched) == (True, False)


def test_what_is_saved_while_a_first_build_runs_is_not_lost(
    register: Register, client: Client
) -> None:
    """The page lists it already, and its change waits for the next build."""
    register("news", News)
    articles(3)
    save = partial(Article.objects.create, slug="meanwhile")
    with just_before("AS", "sitemaps_plus_lastmod", do=save):
        body = client.get("/sitemap-news-1.xml").content
    assert b"/articles/meanwhile/" in body
    assert said() == []
    assert built() == [("added", "/meanwhile/")]
    assert compared() == []


def test_a_hint_may_come_after_others(register: Register, client: Client) -> None:
    """Two processes save: one writes its hint when the other's has been built."""
    register("news", News)
    articles(3)
    late = Article.objects.create(slug="late")
    Change.objects.all().delete()
    client.get("/sitemap-news-1.xml")
    Article.objects.create(slug="other")
    assert built() == [("added", "/other/")]
    hints.write_hints([hints.Hint("news", f'["{late.pk}"]', created=True)])
    assert built() == [("added", "/late/")]
    assert compared() == []


def test_the_same_after_the_bytes_were_lost(news: list[Article]) -> None:
    PageFile.objects.all().delete()
    news[0].save()
    news[1].delete()
    assert built() == [("changed", path(news[0]))]
    page = Page.objects.get()
    assert (page.unknown_at > 0, page.searched) == (True, False)
    news[0].save()
    assert built() == [("changed", path(news[0]))], "it may have been read before"
    later(hints.LATE + 1, "unknown_at")
    news[0].save()
    assert built() == []


# One transaction


@pytest.mark.parametrize("how", ["plain", "split", "first"])
@pytest.mark.costly
def test_bytes_and_what_is_said_of_them_change_together(
    register: Register, how: str
) -> None:
    """Whenever the process is killed."""
    register("news", News)
    for moment in range(1, 200, 2):
        # A page that is stale for what was renamed, and perhaps too large.
        Section.objects.all().delete()
        Change.objects.all().delete()
        Article.objects.all()._raw_delete("default")
        some = articles(5)
        Client().get("/sitemap-news-1.xml")
        compared()
        if how == "first":
            PageFile.objects.all().delete()
        for article in some[:2]:
            article.slug = f"{article.slug}x"
            article.save()
        for number in range(8 if how == "split" else 0):
            Article.objects.create(slug=f"n{number}")
        before = listing()
        is_killed = True
        with suppress(Killed), killed_before(moment):
            Client().get("/sitemap-news-1.xml")
            is_killed = False
        changed = before ^ listing()
        named = {where for _, where in said()}
        unsearched = Page.objects.filter(searched=False).exists()
        assert changed <= named or unsearched, moment
        assert named <= before | listing()
        if not is_killed:
            return
    raise AssertionError("it takes more statements than were tried")


def listing() -> set[str]:
    """Return what the stored bytes list."""
    found = set[str]()
    for _, stored in read_each(list(Page.objects.exclude(checksum=""))):
        if stored is not None:
            text = stored.segment.text()
            found |= {one.decode().split("/articles")[1] for one in locations_of(text)}
    return found
