"""A page's life: made, fresh, compared, changed, in error, well again."""

from __future__ import annotations

import datetime as dt
import os
import time
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError
from django.db.models import F
from django.test import Client
from django.utils import timezone

from django_sitemaps_plus.models import Page
from django_sitemaps_plus.protocol.errors import EntryError
from django_sitemaps_plus.publishing import pages
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, index, locations, settle, urlset
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

PAGE = "/sitemap-article-1.xml"


class Titled(ArticleSitemap):
    """Its locations are the titles, whatever they are."""

    location = F("title")


def grow_older(seconds: float) -> None:
    """Let ``seconds`` go by since every page was compared with its rows."""
    Page.objects.update(verified_at=F("verified_at") - seconds)


def titled(good: int, bad: int) -> None:
    """Make rows of which some have no legal location."""
    Article.objects.all().delete()
    Article.objects.bulk_create(
        Article(slug="a", title=f"/{number}/" if number < good else "bad")
        for number in range(good + bad)
    )


# Fresh


def test_a_page_is_compared_with_its_rows_once_an_hour(
    client: Client, register: Any
) -> None:
    register("article", ArticleSitemap)
    articles(1)
    assert len(urlset(client.get(PAGE))) == 1
    articles(1)
    grow_older(3500)
    assert len(urlset(client.get(PAGE))) == 1
    grow_older(200)
    assert len(urlset(client.get(PAGE))) == 2


def test_the_hour_can_be_set(client: Client, register: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "VERIFY_AFTER": 10}
    register("article", ArticleSitemap)
    articles(1)
    client.get(PAGE)
    articles(1)
    grow_older(11)
    assert len(urlset(client.get(PAGE))) == 2


def test_a_clock_that_was_set_back_does_not_freeze_a_page(
    client: Client, register: Any
) -> None:
    register("article", ArticleSitemap)
    articles(1)
    client.get(PAGE)
    articles(1)
    grow_older(-1_000_000)
    assert len(urlset(client.get(PAGE))) == 2


def test_a_deploy_that_declares_something_else_shows_at_once(
    client: Client, register: Any
) -> None:
    register("article", ArticleSitemap)
    articles(1)
    assert urlset(client.get(PAGE))[0].changefreq is None
    register("article", type("Deployed", (ArticleSitemap,), {"changefreq": "daily"}))
    assert urlset(client.get(PAGE))[0].changefreq == "daily"


def test_a_query_on_the_clock_is_compared_once_a_minute(
    client: Client, register: Any
) -> None:
    class Published(ArticleSitemap):
        def items(self) -> Any:
            return Article.objects.filter(updated__lte=timezone.now())

    register("article", Published)
    (article,) = articles(1, updated=timezone.now() + dt.timedelta(hours=1))
    assert urlset(client.get(PAGE)) == []
    Article.objects.update(updated=timezone.now() - dt.timedelta(seconds=1))
    grow_older(50)
    assert urlset(client.get(PAGE)) == []
    grow_older(20)
    assert len(urlset(client.get(PAGE))) == 1
    assert article.pk


def test_the_same_rows_keep_version_time_and_bytes(
    client: Client, register: Any
) -> None:
    register("article", ArticleSitemap)
    articles(2)
    client.get(PAGE)
    settle()
    first = client.get(PAGE)
    before = Page.objects.values("version", "changed_at", "lastmod").get()
    grow_older(4000)
    assert client.get(PAGE).headers == first.headers
    assert Page.objects.values("version", "changed_at", "lastmod").get() == before
    assert time.time() - Page.objects.get().verified_at < 60


def test_kept_files_can_be_lost_without_a_trace(
    client: Client, register: Any, tmp_path: Path
) -> None:
    register("article", ArticleSitemap)
    articles(2)
    client.get(PAGE)
    settle()
    first = client.get(PAGE)
    (file,) = (tmp_path / "sitemaps").rglob("*.gz")
    file.unlink()
    second = client.get(PAGE)
    assert (second.content, second.headers) == (first.content, first.headers)
    assert file.exists()


def test_another_base_url_is_a_change_of_every_page(
    client: Client, register: Any, settings: Any
) -> None:
    register("article", ArticleSitemap)
    articles(1)
    client.get(PAGE)
    settle()
    before = client.get(PAGE).headers["Last-Modified"]
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://new.example"}
    response = client.get(PAGE, headers={"if-modified-since": before})
    assert locations(response)[0].startswith("https://new.example/articles/")


def test_a_page_keeps_one_file_however_often_it_changes(
    client: Client, register: Any, tmp_path: Path
) -> None:
    register("article", ArticleSitemap)
    for _ in range(4):
        articles(1)
        grow_older(4000)
        client.get(PAGE)
    assert len(list((tmp_path / "sitemaps").rglob("*.gz"))) == 1


# Lastmod


def test_the_lastmod_of_a_page_never_goes_back(client: Client, register: Any) -> None:
    register("small", type("Small", (ArticleSitemap,), {"limit": 10}))
    made = articles(12, updated=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    Article.objects.filter(pk=made[0].pk).update(
        updated=dt.datetime(2020, 2, 2, tzinfo=dt.UTC)
    )
    client.get("/sitemap-small-1.xml")
    assert index(client.get("/sitemap-small.xml"))[0].lastmod == (
        "2020-02-02T00:00:00+00:00"
    )
    made[0].delete()
    grow_older(4000)
    client.get("/sitemap-small-1.xml")
    after = index(client.get("/sitemap-small.xml"))[0].lastmod or ""
    gone = dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(after)
    assert gone < dt.timedelta(minutes=1), "the page changed now: an entry is gone"


# Bad rows


@pytest.mark.parametrize(("good", "bad"), [(1, 10), (50, 10), (1980, 20)])
def test_a_few_bad_rows_are_left_out(
    client: Client, register: Any, good: int, bad: int
) -> None:
    register("article", Titled)
    titled(good, bad)
    assert len(urlset(client.get(PAGE))) == good
    page = Page.objects.get()
    assert (page.bad, page.items, page.entries) == (bad, good + bad, good)
    assert page.error == ""
    assert len(page.problems) == min(bad, 20)
    label, reason = page.problems[0]
    assert Article.objects.get(pk=label).title == "bad"
    assert reason == "location 'bad': neither a path nor an http(s) URL"


@pytest.mark.parametrize(("good", "bad"), [(1, 11), (0, 11), (1960, 40)])
def test_above_max_bad_there_is_no_page_and_the_answer_says_why(
    client: Client, register: Any, good: int, bad: int
) -> None:
    register("article", Titled)
    titled(good, bad)
    for address in (PAGE, "/sitemap-article.xml", "/sitemap.xml"):
        response = client.get(address)
        assert response.status_code == 503
        assert response.headers["Retry-After"] == "60"
        assert response.content.decode().startswith(
            f"{bad} of the {good + bad} rows of page article-1 are bad; the first is "
        )
    assert Page.objects.get().error.endswith(
        ": location 'bad': neither a path nor an http(s) URL. The page keeps its "
        "former bytes."
    )


def test_above_max_bad_the_former_bytes_stay_until_it_is_mended(
    client: Client, register: Any, caplog: pytest.LogCaptureFixture
) -> None:
    register("article", Titled)
    titled(20, 0)
    client.get(PAGE)
    settle()
    before = client.get(PAGE)
    Article.objects.filter(title__in=[f"/{n}/" for n in range(15)]).update(title="bad")
    grow_older(4000)
    for _ in range(2):
        response = client.get(PAGE)
        assert (response.content, response.headers) == (before.content, before.headers)
    page = Page.objects.get()
    assert page.error.startswith("15 of the 20 rows of page article-1 are bad")
    assert page.bad == 15
    errors = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
    assert errors == [page.error], "said once, not at each request"
    Article.objects.filter(title="bad").update(title="/well/")
    grow_older(70)
    assert len(urlset(client.get(PAGE))) == 20
    assert (Page.objects.get().error, Page.objects.get().bad) == ("", 0)


def test_a_page_in_error_is_looked_at_again_after_a_minute_not_before(
    client: Client, register: Any
) -> None:
    register("article", Titled)
    titled(0, 11)
    assert client.get(PAGE).status_code == 503
    titled(5, 0)
    assert client.get(PAGE).status_code == 503
    grow_older(70)
    assert len(urlset(client.get(PAGE))) == 5


def test_all_rows_bad_at_once_are_no_reason_to_empty_a_page(
    client: Client, register: Any
) -> None:
    """Five of five: fewer than ten, but a whole section would leave the index."""
    register("article", Titled)
    titled(5, 0)
    before = client.get(PAGE).content
    Article.objects.update(title="bad")
    grow_older(4000)
    assert client.get(PAGE).content == before
    assert Page.objects.get().error.startswith("5 of the 5 rows of page article-1")


def test_rows_that_are_gone_do_empty_a_page(client: Client, register: Any) -> None:
    register("article", Titled)
    titled(5, 0)
    client.get(PAGE)
    Article.objects.all().delete()
    grow_older(4000)
    assert urlset(client.get(PAGE)) == []


def test_max_bad_can_be_set(client: Client, register: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "MAX_BAD": 0.5}
    register("article", Titled)
    titled(50, 50)
    assert len(urlset(client.get(PAGE))) == 50


def test_a_page_of_mostly_bad_rows_is_read_to_its_end(
    client: Client, register: Any, settings: Any
) -> None:
    """A query returns no more rows than a page needs; here one is not enough."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "MAX_BAD": 1.0}
    register("article", type("Small", (Titled,), {"limit": 20}))
    titled(1, 0)
    client.get(PAGE)
    Article.objects.bulk_create(
        Article(slug="a", title="/last/" if number == 99 else "bad")
        for number in range(100)
    )
    grow_older(4000)
    assert locations(client.get(PAGE)) == [
        "https://www.example.com/0/",
        "https://www.example.com/last/",
    ]
    assert Page.objects.get().items == 101


@pytest.mark.django_db(transaction=True)
def test_an_error_of_the_database_is_no_bad_row(client: Client, register: Any) -> None:
    """It may be over in a moment, and would leave out every row."""

    class Asking(ArticleSitemap):
        def priority(self, item: Article) -> Any:
            return Article.objects.extra(where=["no_such_column = 1"]).count()

    register("article", Asking)
    articles(2)
    with pytest.raises(DatabaseError):
        client.get(PAGE)
    page = Page.objects.get()
    assert (page.checksum, page.bad, page.making_until) == ("", 0, 0)


def test_on_error_raise_lets_the_first_bad_row_be_seen(
    client: Client, register: Any, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ON_ERROR": "raise"}
    register("article", Titled)
    titled(5, 1)
    with pytest.raises(EntryError, match="location 'bad'"):
        client.get(PAGE)
    Article.objects.filter(title="bad").delete()
    assert len(urlset(client.get(PAGE))) == 5, "nobody holds the page any more"


def test_bad_rows_are_logged_the_first_of_them_by_name(
    client: Client, register: Any, caplog: pytest.LogCaptureFixture
) -> None:
    register("article", Titled)
    titled(2500, 24)
    client.get(PAGE)
    messages = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert len(messages) == 21
    first = Article.objects.filter(title="bad").order_by("pk")[0].pk
    assert messages[0] == (
        f"Section 'article', row {first} left out: location 'bad': neither a path nor "
        "an http(s) URL"
    )
    assert messages[-1] == "Section 'article': 4 more rows left out."


def test_one_page_in_error_leaves_the_others_alone(
    client: Client, register: Any
) -> None:
    register("article", type("Small", (Titled,), {"limit": 20}))
    titled(40, 0)
    for entry in index(client.get("/sitemap-article.xml")):
        client.get(entry.loc.removeprefix("https://www.example.com"))
    Article.objects.filter(title__in=[f"/{n}/" for n in range(12)]).update(title="bad")
    Article.objects.filter(title="/39/").update(title="/new/")
    grow_older(4000)
    found = [
        location
        for entry in index(client.get("/sitemap-article.xml"))
        for location in locations(
            client.get(entry.loc.removeprefix("https://www.example.com"))
        )
    ]
    assert "https://www.example.com/0/" in found, "kept as it was"
    assert "https://www.example.com/new/" in found
    assert Page.objects.exclude(error="").count() == 1


# Single flight


def test_a_maker_that_died_is_followed_by_another(
    client: Client, register: Any
) -> None:
    register("article", ArticleSitemap)
    articles(1)
    client.get("/sitemap-article.xml")
    Page.objects.update(checksum="", making_by="x", making_until=time.time() - 1)
    assert len(urlset(client.get(PAGE))) == 1


def test_waiting_for_another_maker_ends_when_it_is_done(
    client: Client, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one makes the page while this request is asleep."""
    register("article", ArticleSitemap)
    articles(1)
    expected = client.get(PAGE).content
    done = Page.objects.values().get()
    Page.objects.update(checksum="", making_until=time.time() + 60)
    naps = []

    def nap(seconds: float) -> None:
        naps.append(seconds)
        Page.objects.filter(pk=done["id"]).update(checksum=done["checksum"])

    monkeypatch.setattr(pages.time, "sleep", nap)
    assert client.get(PAGE).content == expected
    assert len(naps) == 1


def test_a_request_that_dies_holds_nothing(
    client: Client, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("article", ArticleSitemap)
    articles(1)
    client.get("/sitemap-article.xml")
    articles(1)
    Page.objects.update(checksum="")

    def stopped(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stopped)
        with pytest.raises(KeyboardInterrupt):
            client.get(PAGE)
    assert len(urlset(client.get(PAGE))) == 2
