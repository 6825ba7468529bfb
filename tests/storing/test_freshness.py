"""What was saved is what crawlers get: no false 304, and one code for a deploy."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections, transaction
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_sitemaps_plus import Route, Sitemap, touch
from django_sitemaps_plus.building import refresh
from django_sitemaps_plus.delivery import background
from django_sitemaps_plus.models import Change, Page, PageFile, Section
from django_sitemaps_plus.pagination import deploys
from django_sitemaps_plus.sitemaps import sections
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.helpers import (
    as_older_code,
    index,
    later,
    told,
    urlset,
)
from tests.support.ledger_world import HOURS, place
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/sitemap-news-1.xml"
START = "https://www.example.com"


class News(Sitemap):
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    limit = 10

    def items(self) -> Any:
        return Article.objects.filter(live=True)


class Timed(News):
    def items(self) -> Any:
        return Article.objects.filter(updated__lte=timezone.now())


class Listed(Sitemap):
    """By position: nobody can look for what has just appeared."""

    appears = F("updated")

    def items(self) -> list[Article]:
        return list(Article.objects.filter(updated__lte=timezone.now()))


def again(client: Client, tag: str, **headers: str) -> int:
    response = client.get(PAGE, headers={"if-none-match": tag, **headers})
    return int(response.status_code)


@pytest.fixture
def news(register: Register, client: Client) -> list[Article]:
    """Nine articles on a page that was built."""
    register("news", News)
    Article.objects.bulk_create(Article(slug=f"a{n}") for n in range(9))
    client.get(PAGE)
    # MySQL does not say which keys it gave.
    return list(Article.objects.order_by("pk"))


def rolled_back(article: Article) -> None:
    with transaction.atomic():
        article.delete()
        transaction.set_rollback(True)


def rename(article: Article) -> bool:
    """Change what is listed behind Django's back."""
    return bool(Article.objects.filter(pk=article.pk).update(slug="b"))


# 304


@pytest.mark.parametrize(
    ("act", "status"),
    [
        (lambda article: article.save(), 304),
        (lambda article: Article.objects.filter(pk=0).delete(), 304),
        (lambda article: setattr(article, "slug", "b") or article.save(), 200),
        (lambda article: article.delete(), 200),
        (lambda article: Article.objects.create(slug="new"), 200),
        (lambda article: Article.objects.filter(live=True).delete(), 200),
        (lambda article: setattr(article, "live", False) or article.save(), 200),
        (lambda article: rolled_back(article), 304),
        (lambda article: rename(article), 304),
        (lambda article: rename(article) and touch(article), 200),
        (lambda article: rename(article) and touch(Article), 200),
    ],
)
@pytest.mark.parametrize("encoding", ["gzip", "identity"])
@pytest.mark.costly
def test_a_304_is_true_after_what_django_did(
    client: Client,
    news: list[Article],
    act: Callable[[Article], Any],
    status: int,
    encoding: str,
) -> None:
    given = {"accept-encoding": encoding}
    later(100, "changed_at")
    first = client.get(PAGE, headers=given)
    tag, date = first.headers["ETag"], first.headers["Last-Modified"]
    assert again(client, tag, **given) == 304
    act(news[0])
    assert again(client, tag, **given) == status
    # By the date alone, whoever has built the page.
    since = {**given, "if-modified-since": date}
    assert client.get(PAGE, headers=since).status_code == status
    assert again(client, tag, **given) == status


# The clock


def test_a_page_is_compared_with_its_rows_once_an_hour(
    client: Client, news: list[Article], settings: Any
) -> None:
    # The hour can be set; and a clock that was set back does not freeze a page.
    for number, (every, seconds, count) in enumerate(
        [(3600, 3500, 9), (3600, 200, 7), (10, 11, 6), (10, -1_000_000, 5)]
    ):
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "VERIFY_AFTER": every}
        Article.objects.filter(pk=news[number].pk).update(live=False)
        later(seconds, "verified_at")
        assert len(urlset(client.get(PAGE))) == count


def test_what_depends_on_the_clock_is_compared_once_a_minute(
    client: Client, register: Register
) -> None:
    register("news", Timed)
    articles(1, updated=timezone.now() + dt.timedelta(hours=1))
    assert urlset(client.get(PAGE)) == []
    Article.objects.update(updated=timezone.now() - dt.timedelta(seconds=1))
    for seconds, count in ((50, 0), (20, 1)):
        later(seconds, "verified_at")
        assert len(urlset(client.get(PAGE))) == count


# The same rows


def test_the_lastmod_of_a_page_never_goes_back(
    client: Client, register: Register
) -> None:
    register("news", News)
    articles(12, updated=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    newest = Article.objects.order_by("pk")[8]
    day = dt.datetime(2020, 1, 9, tzinfo=dt.UTC)
    Article.objects.filter(pk=newest.pk).update(updated=day)
    client.get(PAGE)
    (first, _) = index(client.get("/sitemap-news.xml"))
    assert first.lastmod == "2020-01-09T00:00:00+00:00"
    newest.delete()
    client.get(PAGE)
    after = index(client.get("/sitemap-news.xml"))[0].lastmod or ""
    ago = dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(after)
    assert ago < dt.timedelta(minutes=1), "the page changed now: an entry is gone"


# Deploys


@pytest.fixture
def deployed(client: Client, news: list[Article], register: Register) -> None:
    """Newer code has built the page, and the old code's section is registered."""
    register("news", type("News", (News,), {"priority": 0.5}))
    client.get(PAGE)
    register("news", News)


def priorities(response: Any) -> set[str | None]:
    return {entry.priority for entry in urlset(response)}


def test_a_deploy_shows_at_once_and_is_no_news(
    client: Client, news: list[Article], register: Register
) -> None:
    tag = client.get(PAGE).headers["ETag"]
    moment = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    Article.objects.filter(pk=news[3].pk).update(updated=moment)
    register("news", type("News", (News,), {"priority": 0.5}))
    assert again(client, tag) == 200
    assert priorities(client.get(PAGE)) == {"0.5"}
    assert told() == [("changed", "/articles/a3/")], "the only one with other content"


@pytest.mark.usefixtures("deployed")
def test_older_code_serves_what_newer_code_has_stored(
    client: Client, news: list[Article]
) -> None:
    def rows() -> list[Any]:
        tables = [Page, PageFile, Change, Section]
        return [list(model._default_manager.values()) for model in tables]

    news[0].delete()
    before = rows()
    with as_older_code():
        response = client.get(PAGE)
        assert priorities(response) == {"0.5"}
        assert len(urlset(response)) == 9, "the newer code looks at what changed"
        assert again(client, response.headers["ETag"]) == 304
        later(HOURS, "verified_at")
        assert priorities(client.get(PAGE)) == {"0.5"}
        refresh.assign_all([sections.source("news")])
        refresh.refresh_all([sections.source("news")], place())
    assert told() == [], "nor does it report anything"
    Page.objects.update(verified_at=before[0][0]["verified_at"])
    # It may find out which page the change concerns.
    Change.objects.update(page=None)
    assert rows() == before


@pytest.mark.usefixtures("deployed")
def test_older_code_sends_what_it_builds_and_stores_nothing(client: Client) -> None:
    PageFile.objects.all().delete()
    version = Page.objects.get().version
    with as_older_code():
        for _ in range(2):
            # It gives its claim back, or the second request would wait for it.
            response = client.get(PAGE)
            assert priorities(response) == {None}
            assert "Last-Modified" not in response.headers
        assert not PageFile.objects.exists()
        assert Page.objects.get().version == version
        # What would have to be split is left to the newer code.
        Article.objects.bulk_create(Article(slug=f"b{n}") for n in range(9))
        assert client.get(PAGE).status_code == 503


@pytest.mark.usefixtures("deployed")
def test_a_definition_that_nobody_uses_any_more_is_outdated(client: Client) -> None:
    """As that of a process that was started last and then taken back."""
    with as_older_code():
        assert priorities(client.get(PAGE)) == {"0.5"}
        Section.objects.update(digest_seen=time.time() - deploys.IN_USE - 1)
        assert priorities(client.get(PAGE)) == {None}
        assert Section.objects.get(name="news").digest == Page.objects.get().digest


def test_what_older_code_saved_of_a_new_section_is_found_once_it_has_ended(
    client: Client, register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It knows nothing of the section, and records nothing for it."""
    monkeypatch.setattr(deploys, "STARTED", time.time())
    Article.objects.bulk_create([Article(slug="a")])
    register("news", News)

    def refreshed() -> int:
        refresh.assign_all([sections.source("news")])
        assert refresh.refresh_all([sections.source("news")], place()) == []
        return len(urlset(client.get(PAGE)))

    assert len(urlset(client.get(PAGE))) == 1
    Article.objects.bulk_create([Article(slug="b")])
    assert (refreshed(), told()) == (1, [])
    # A quarter of an hour later.
    since = F("digest_since") - deploys.IN_USE
    Section.objects.exclude(digest="").update(digest_since=since)
    later(deploys.IN_USE, "verified_at")
    builds = set()
    for _ in range(2):
        assert refreshed() == 2
        builds.add(Page.objects.get().read_at)
    assert len(builds) == 1, "built once more, not again and again"
    assert told() == [("added", "/articles/b/")]


@pytest.mark.usefixtures("deployed")
def test_servers_say_which_code_they_run_though_nothing_changes() -> None:
    def newest() -> Section:
        return Section.objects.get(name="news")

    former = newest()
    with as_older_code():
        background.notify_all()
    assert newest().digest == former.digest
    # Those that were started later take over, though they have nothing to build, but
    # no command does from servers.
    later(9, "digest_since")
    Section.objects.update(digest_served=time.time())
    with deploys.as_command():
        background.prepare(place())
        assert newest().digest == former.digest
    background.notify_all()
    assert newest().digest != former.digest
    Section.objects.update(digest_served=0)
    background.notify_all()
    assert abs(newest().digest_served - time.time()) < 30
    with CaptureQueriesContext(connections[Section.objects.db]) as captured:
        background.notify_all()
    updates = [query for query in captured if query["sql"].startswith("UPDATE")]
    assert not [query for query in updates if "digest_served" in query["sql"]]


def test_code_that_runs_says_so_once_a_minute(
    client: Client, news: list[Article]
) -> None:
    seen = time.time() - deploys.SAY_AGAIN - 1
    Section.objects.filter(name="news").update(digest_seen=seen, digest_served=seen)
    later(4000, "verified_at")
    client.get(PAGE)
    assert time.time() - Section.objects.get(name="news").digest_seen < 30
