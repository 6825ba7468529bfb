"""What was saved is what crawlers get: no false 304, no false index, no lost URL."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.test import Client

from django_sitemaps_plus import Route, Sitemap, touch
from django_sitemaps_plus.changes import assignment, events
from django_sitemaps_plus.models import Change, Page, Section, UrlChange
from django_sitemaps_plus.publishing import page_writer, pages
from tests.conftest import Register
from tests.support.helpers import index, listed, locations, remove_sites, told, urlset
from tests.support.processes import at_once
from tests.testapp.models import Article, Category

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

PAGE = "/sitemap-news-1.xml"
INDEX = "/sitemap-news.xml"
START = "https://www.example.com"


class News(Sitemap):
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    limit = 10

    def items(self) -> Any:
        return Article.objects.filter(live=True)


class Filed(News):
    location = Route("article", slug=F("category__slug"))

    def items(self) -> Any:
        return Article.objects.filter(category__isnull=False)


def articles(count: int, **values: Any) -> list[Article]:
    return Article.objects.bulk_create(
        Article(slug=f"a{number}", **values) for number in range(count)
    )


def settle() -> None:
    """Let the time pass until what was saved is surely committed."""
    Change.objects.update(at=F("at") - assignment.WINDOW - 1)


@pytest.fixture
def news(register: Register, client: Client) -> list[Article]:
    """Nine articles on a page that was made, and asked for in all its ways."""
    register("news", News)
    made = articles(9)
    client.get(INDEX)
    client.get(PAGE)
    return made


# 304


def again(client: Client, tag: str, **headers: str) -> int:
    response = client.get(PAGE, headers={"if-none-match": tag, **headers})
    return int(response.status_code)


@pytest.mark.parametrize(
    ("act", "status"),
    [
        (lambda article: article.save(), 304),
        (lambda article: Article.objects.filter(pk=0).delete(), 304),
        (lambda article: setattr(article, "slug", "b") or article.save(), 200),
        (lambda article: article.delete(), 200),
        (lambda article: Article.objects.create(slug="new"), 200),
        (lambda article: Article.objects.filter(live=True).delete(), 200),
    ],
)
@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_a_304_is_true_after_what_django_did(
    client: Client,
    news: list[Article],
    act: Callable[[Article], Any],
    status: int,
    encoding: str,
) -> None:
    given = {"accept-encoding": encoding}
    tag = client.get(PAGE, headers=given).headers["ETag"]
    assert again(client, tag, **given) == 304
    act(news[0])
    assert again(client, tag, **given) == status
    settle()
    assert again(client, tag, **given) == status


def test_what_is_rolled_back_changes_nothing(
    client: Client, news: list[Article]
) -> None:
    tag = client.get(PAGE).headers["ETag"]
    with transaction.atomic():
        news[0].slug = "b"
        news[0].save()
        news[1].delete()
        transaction.set_rollback(True)
    assert again(client, tag) == 304
    assert not Change.objects.exists()
    assert told() == []


@pytest.mark.parametrize("whole", [False, True])
def test_an_update_shows_when_it_is_touched(
    client: Client, news: list[Article], whole: bool
) -> None:
    tag = client.get(PAGE).headers["ETag"]
    rows = Article.objects.filter(pk=news[0].pk)
    rows.update(slug="b")
    touch(Article if whole else rows)
    assert again(client, tag) == 200
    assert f"{START}/articles/b/" in locations(client.get(PAGE))


def test_a_deploy_shows_at_once(
    client: Client, news: list[Article], register: Register
) -> None:
    tag = client.get(PAGE).headers["ETag"]
    register("news", type("News", (News,), {"priority": 0.5}))
    assert again(client, tag) == 200
    assert {entry.priority for entry in urlset(client.get(PAGE))} == {"0.5"}
    assert told() == [], "the same pages, said otherwise"


def test_a_related_save_shows_at_once(client: Client, register: Register) -> None:
    register("news", Filed)
    category = Category.objects.create(slug="one")
    Article.objects.create(slug="x", category=category)
    assert locations(client.get(PAGE)) == [f"{START}/articles/one/"]
    settle()
    client.get(PAGE)
    told()
    category.slug = "two"
    category.save()
    assert locations(client.get(PAGE)) == [f"{START}/articles/two/"]
    settle()
    client.get(PAGE)
    found = told()
    assert ("gone", "/articles/one/", "") in found
    assert [row[1] for row in found].count("/articles/two/") == 1, found


def test_a_second_host_gets_its_own_truth(
    client: Client, news: list[Article], settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {}
    settings.SITE_ID = None
    remove_sites(settings)
    hosts = ("www.example.com", "example.org")
    tags = {
        host: client.get(PAGE, headers={"host": host}).headers["ETag"] for host in hosts
    }
    assert len(set(tags.values())) == 2
    news[0].delete()
    for host in hosts:
        given = {"host": host, "if-none-match": tags[host]}
        response = client.get(PAGE, headers=given)
        assert response.status_code == 200
        assert len(urlset(response)) == 8


class Timed(News):
    appears = F("updated")

    def items(self) -> Any:
        now = dt.datetime.now(dt.UTC)
        return Article.objects.filter(updated__lte=now)


def test_what_appears_by_the_clock_is_there_within_a_minute(
    client: Client, register: Register
) -> None:
    register("news", Timed)
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)
    Article.objects.bulk_create([Article(slug="soon", updated=soon)])
    assert locations(client.get(PAGE)) == []
    tag = client.get(PAGE).headers["ETag"]
    time.sleep(1.1)
    assert again(client, tag) == 304
    Section.objects.filter(name="news").update(
        ticked_at=F("ticked_at") - assignment.TICK
    )
    assert locations(client.get(PAGE)) == [f"{START}/articles/soon/"]


# The window


def test_a_save_shows_while_it_may_not_be_committed_yet(
    client: Client, news: list[Article]
) -> None:
    """Django's commit comes first, then the time is over for which it is waited."""
    news[0].delete()
    assert len(urlset(client.get(PAGE))) == 8
    Article.objects.create(slug="new")
    assert len(urlset(client.get(PAGE))) == 9


def test_many_requests_at_once_make_a_page_twice_at_most(
    client: Client, news: list[Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    begun = threading.Semaphore(0)
    real = page_writer.PageWriter.run

    def slow(self: Any, page: Page) -> int | None:
        # Until all the others wait for it, however busy the machine is.
        if not made:
            for _ in range(20):
                begun.acquire()
        made.append(page.number)
        time.sleep(0.3)
        return real(self, page)

    monkeypatch.setattr(pages.PageWriter, "run", slow)
    news[0].delete()
    Change.objects.update(settled=False)

    def get(_: int) -> int:
        begun.release()
        return len(urlset(Client().get(PAGE)))

    assert set(at_once(20, get)) == {8}
    assert len(made) <= 2


# The index


@pytest.fixture
def large(register: Register, client: Client) -> list[Article]:
    """Three pages, all made."""
    register("news", News)
    made = articles(25)
    for address in (INDEX, *(f"/sitemap-news-{number}.xml" for number in (1, 2, 3))):
        client.get(address)
    assert len(index(client.get(INDEX))) == 3
    return made


def numbers(client: Client) -> list[int]:
    return [
        int(location.rpartition("-")[2].removesuffix(".xml"))
        for location in listed(client.get(INDEX))
    ]


def test_an_index_drops_a_page_that_was_emptied_and_shows_it_again(
    client: Client, large: list[Article]
) -> None:
    second = large[9:18]
    Article.objects.filter(pk__in=[article.pk for article in second]).delete()
    assert numbers(client) == [1, 3]
    settle()
    assert numbers(client) == [1, 3]
    Article.objects.create(pk=second[0].pk, slug="back")
    assert numbers(client) == [1, 2, 3]


def test_an_index_says_at_once_that_a_page_changed(
    client: Client, large: list[Article]
) -> None:
    former = [entry.lastmod for entry in index(client.get(INDEX))]
    large[12].slug = "b"
    large[12].save()
    first = [entry.lastmod for entry in index(client.get(INDEX))]
    assert [a == b for a, b in zip(former, first, strict=True)] == [True, False, True]
    assert first[1] is not None
    large[12].updated = dt.datetime(2001, 1, 1, tzinfo=dt.UTC)
    large[12].save()
    later = index(client.get(INDEX))[1].lastmod
    assert later is not None
    assert later >= first[1], "it never goes back"


def test_an_index_that_has_no_time_says_that_pages_changed(
    client: Client, large: list[Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    Article.objects.filter(pk__in=[article.pk for article in large[9:18]]).delete()
    assert numbers(client) == [1, 3]
    monkeypatch.setattr("django_sitemaps_plus.publishing.refresh.HURRY", -1.0)
    Article.objects.create(pk=large[9].pk, slug="back")
    large[0].slug = "b"
    large[0].save()
    found = index(client.get(INDEX))
    assert len(found) == 3
    assert found[0].lastmod is not None
    assert found[1].lastmod is not None


# The stream


def test_what_is_saved_is_told_once(client: Client, news: list[Article]) -> None:
    told()
    news[0].slug = "b"
    news[0].save()
    news[1].title = "another"
    news[1].save()
    news[2].delete()
    Article.objects.create(slug="new")
    # As where a change cannot be committed together with its object.
    Change.objects.update(settled=False)
    for _ in range(3):
        client.get(PAGE)
    assert told() == [], "it may not be committed yet"
    settle()
    for _ in range(3):
        client.get(PAGE)
    assert sorted(told()) == [
        ("added", "/articles/new/", ""),
        ("changed", "/articles/a1/", ""),
        ("gone", "/articles/a2/", ""),
        ("moved", "/articles/b/", "/articles/a0/"),
    ]


def test_what_is_saved_while_a_page_begins_to_be_made_is_told_once(
    client: Client, news: list[Article]
) -> None:
    """Its rows say so already, its changes are the next look's."""
    told()
    news[1].title = "another"
    news[1].save()
    moves = [news[0]]

    def save_before_rows(execute: Any, sql: str, *args: Any) -> Any:
        quoted = connection.ops.quote_name("testapp_article")
        if moves and sql.startswith("SELECT") and f"FROM {quoted}" in sql:
            moved = moves.pop()
            moved.slug = "b"
            moved.save()
        return execute(sql, *args)

    with connection.execute_wrapper(save_before_rows):
        entries = locations(client.get(PAGE))
    assert f"{START}/articles/b/" in entries
    for _ in range(3):
        client.get(PAGE)
    assert not Change.objects.exists()
    assert sorted(told()) == [
        ("added", "/articles/b/", ""),
        ("changed", "/articles/a1/", ""),
        ("gone", "/articles/a0/", ""),
    ]


def test_what_nobody_recorded_is_told_when_its_page_is_compared(
    client: Client, news: list[Article]
) -> None:
    told()
    rows = Article.objects
    rows.filter(pk=news[0].pk).update(slug="b")
    rows.filter(pk=news[1].pk).update(updated=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM testapp_article WHERE id = %s", [news[2].pk])
    rows.bulk_create([Article(slug="new")])
    Page.objects.update(verified_at=1)
    client.get(PAGE)
    assert sorted(told()) == [
        ("added", "/articles/b/", ""),
        ("added", "/articles/new/", ""),
        ("changed", "/articles/a1/", ""),
        ("gone", "/articles/a0/", ""),
        ("gone", "/articles/a2/", ""),
    ]


def test_another_definition_tells_of_other_content_only(
    client: Client, news: list[Article], register: Register
) -> None:
    told()
    moment = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    Article.objects.filter(pk=news[3].pk).update(updated=moment)
    register("news", type("News", (News,), {"priority": 0.5}))
    client.get(PAGE)
    assert told() == [("changed", "/articles/a3/", "")]


def test_a_url_that_another_row_took_over_is_not_gone(
    client: Client, news: list[Article]
) -> None:
    told()
    with transaction.atomic():
        news[0].delete()
        news[1].slug = "a0"
        news[1].save()
    client.get(PAGE)
    assert sorted(told()) == [("moved", "/articles/a0/", "/articles/a1/")]
    # Taken over behind the signals' back, and the other way round.
    with transaction.atomic():
        Article.objects.filter(pk=news[1].pk).update(slug="a1")
        news[2].slug = "a0"
        news[2].save()
        Article.objects.filter(pk=news[3].pk).update(slug="a2")
    client.get(PAGE)
    found = told()
    assert not [row for row in found if row[1] == "/articles/a2/" and row[0] == "gone"]
    assert ("gone", "/articles/a3/", "") in found
    assert "/articles/a2/" not in [former for *_, former in found], found


def test_too_many_that_go_are_held_until_somebody_confirms(
    client: Client, news: list[Article], settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "MAX_GONE": 4}
    told()
    for article in news[:4]:
        article.delete()
    client.get(PAGE)
    settle()
    client.get(PAGE)
    assert UrlChange.objects.filter(held=True).count() == 0
    news[4].delete()
    settle()
    client.get(PAGE)
    assert UrlChange.objects.filter(kind="gone", held=True).count() == 5
    Article.objects.create(slug="new")
    client.get(PAGE)
    assert UrlChange.objects.filter(kind="added", held=False).count() == 1
    assert events.confirm("news") == 5
    assert not UrlChange.objects.filter(held=True).exists()
    news[5].delete()
    settle()
    client.get(PAGE)
    assert not UrlChange.objects.filter(held=True).exists(), "counted from then on"


def test_a_page_with_too_many_bad_rows_tells_nothing(
    client: Client, news: list[Article]
) -> None:
    told()
    with transaction.atomic():
        for article in news:
            article.slug = ""
            article.save()
    assert client.get(PAGE).status_code == 200
    assert told() == []
    assert Change.objects.count() == 9, "they wait for better rows"


def test_urls_of_a_page_in_its_grace_are_told(
    client: Client, large: list[Article]
) -> None:
    told()
    Page.objects.filter(number=2).update(grace_until=time.time() + 900)
    large[10].slug = "b"
    large[10].save()
    client.get(INDEX)
    assert told() == [("moved", "/articles/b/", "/articles/a10/")]
    assert f"{START}/articles/a10/" in locations(client.get("/sitemap-news-2.xml"))


def test_a_split_tells_of_nothing_but_what_was_recorded(
    client: Client, news: list[Article]
) -> None:
    told()
    new = [Article.objects.create(slug=f"n{number}") for number in range(8)]
    for _ in range(3):
        client.get(INDEX)
        for number in (1, 2):
            client.get(f"/sitemap-news-{number}.xml")
    found = told()
    assert sorted(found) == sorted(("added", f"/articles/{a.slug}/", "") for a in new)


def test_the_stream_forgets_what_is_older_than_a_week() -> None:
    now = time.time()
    for days in (9, 8, 6, 0):
        UrlChange.objects.create(
            section="news", kind="gone", location="/", at=now - days * 86_400
        )
    assert events.prune() == 2
    assert events.prune() == 0
    assert UrlChange.objects.count() == 2


# Deploys


def test_old_and_new_code_side_by_side_do_not_remake_each_others_pages(
    client: Client,
    news: list[Article],
    register: Register,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began = pages.STARTED
    old, new = News, type("News", (News,), {"priority": 0.5})

    def as_code(cls: Any, started: float) -> set[str | None]:
        register("news", cls)
        monkeypatch.setattr(pages, "STARTED", started)
        return {entry.priority for entry in urlset(client.get(PAGE))}

    version = Page.objects.get().version
    assert as_code(new, began + 10) == {"0.5"}
    for _ in range(3):
        assert as_code(old, began) == {"0.5"}, "the newest code counts"
        assert as_code(new, began + 10) == {"0.5"}
    assert Page.objects.get().version == version + 1
    # The old code makes a page that changed once more; the new one makes it right.
    news[0].delete()
    settle()
    as_code(old, began)
    assert as_code(new, began + 10) == {"0.5"}
    # What was started later by accident is not followed for longer than an hour.
    assert as_code(old, began + 20) == {None}
    Page.objects.update(verified_at=F("verified_at") - 3_601)
    assert as_code(new, began + 10) == {"0.5"}
