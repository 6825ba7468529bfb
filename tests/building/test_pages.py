"""A page's life: built, in error, well again; and one process that builds it."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from django_sitemaps_plus.building import pages
from django_sitemaps_plus.building.refresh import assign_all, refresh_all
from django_sitemaps_plus.health.alerts import Alert, alerts
from django_sitemaps_plus.models import Page, PageFile, Section
from django_sitemaps_plus.pagination import queries
from django_sitemaps_plus.protocol.errors import EntryError
from django_sitemaps_plus.sitemaps import sections
from tests.conftest import Register
from tests.support.factories import TagFactory, articles
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    Titled,
    later,
    locations,
    run_command,
    urlset,
)
from tests.support.in_between import just_before
from tests.support.ledger_kinds import VENDOR
from tests.support.ledger_world import place
from tests.support.processes import at_once, elsewhere
from tests.testapp.models import Article, Tag

pytestmark = pytest.mark.django_db

PAGE = "/sitemap-article-1.xml"
BAD = "location 'bad': neither a path nor an http(s) URL"
BEING_BUILT = "The sitemap is being built. Please try again shortly.\n"
NOT_NOW = "The sitemap cannot be built at the moment. Please try again later.\n"


def titled(good: int, bad: int) -> None:
    """Make rows of which some have no legal location."""
    Article.objects.all().delete()
    Article.objects.bulk_create(
        Article(slug="a", title=f"/{number}/" if number < good else "bad")
        for number in range(good + bad)
    )


def settled(client: Client) -> Any:
    """Have a page built; return what is answered some time later."""
    client.get(PAGE)
    later(100, "changed_at")
    return client.get(PAGE)


# Bad rows


@pytest.mark.parametrize("given", [(24, 24, 0.5), (1, 10, 0.01), (1980, 20, 0.01)])
@pytest.mark.costly
def test_a_few_bad_rows_are_left_out(
    client: Client,
    register: Register,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
    given: tuple[int, int, float],
) -> None:
    good, bad, most = given
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "MAX_BAD": most}
    register("article", Titled)
    titled(good, bad)
    assert len(urlset(client.get(PAGE))) == good
    page = Page.objects.get()
    assert (page.bad, page.items, page.entries) == (bad, good + bad, good)
    assert page.error == ""
    rows = Article.objects.filter(title="bad").order_by("pk")[:20]
    assert page.problems == [[str(row.pk), BAD] for row in rows]
    assert caplog.messages == [
        *(f"Section 'article', row {row.pk} left out: {BAD}" for row in rows),
        *(["Section 'article': 4 more rows left out."] if bad > 20 else []),
    ]


def test_above_max_bad_the_former_bytes_stay_until_it_is_mended(
    client: Client, register: Register, caplog: pytest.LogCaptureFixture
) -> None:
    register("article", Titled)
    titled(20, 0)
    before = settled(client)
    Article.objects.filter(title__in=[f"/{n}/" for n in range(15)]).update(title="bad")
    later(4000, "verified_at")
    for _ in range(2):
        response = client.get(PAGE)
        assert (response.content, response.headers) == (before.content, before.headers)
    page = Page.objects.get()
    first = Article.objects.earliest("pk")
    assert page.error == (
        "15 of 20 rows of page article-1 cannot be listed. The first, "
        f"{first.pk}: {BAD}. The page keeps its former bytes."
    )
    assert page.bad == 15
    errors = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
    assert errors == [page.error], "said once, not at each request"
    Article.objects.filter(title="bad").update(title="/well/")
    later(70, "verified_at")
    assert len(urlset(client.get(PAGE))) == 20
    assert (Page.objects.get().error, Page.objects.get().bad) == ("", 0)


def test_a_page_in_error_is_tried_again_after_a_minute_then_two_then_four(
    client: Client, register: Register, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "VERIFY_AFTER": 300}
    register("article", Titled)
    titled(0, 11)
    for failures, seconds in enumerate((60, 120, 240, 300, 300), start=1):
        for address in (PAGE, "/sitemap-article.xml", "/sitemap.xml"):
            response = client.get(address)
            assert response.status_code == 503
            assert response.headers["Retry-After"] == "60"
            assert response.content.decode() == NOT_NOW
        assert Page.objects.get().failures == failures
        later(seconds - 10, "verified_at")
        assert client.get(PAGE).status_code == 503
        assert Page.objects.get().failures == failures
        later(20, "verified_at")
    # A clock that was ahead keeps nobody from it.
    later(-900, "verified_at")
    client.get(PAGE)
    assert Page.objects.get().failures == 6
    titled(5, 0)
    assert len(urlset(client.get(PAGE))) == 5
    assert Page.objects.get().failures == 0


@pytest.fixture
def in_error(client: Client, register: Register) -> list[Article]:
    """
    The five articles of a page with former bytes, all of them bad by now.

    They are fewer than ten, but a whole section would leave the index.
    """
    register("article", Titled)
    titled(5, 0)
    before = client.get(PAGE).content
    Article.objects.update(title="bad")
    later(4000, "verified_at")
    assert client.get(PAGE).content == before
    assert Page.objects.get().error.startswith("5 of 5 rows of page article-1")
    return list(Article.objects.order_by("pk"))


def test_a_page_in_error_is_tried_again_once_a_row_of_it_is_saved(
    client: Client, in_error: list[Article]
) -> None:
    Page.objects.update(failures=9)
    first = in_error[0]
    first.title = "/mended/"
    for _ in range(2):
        # Not while nothing is saved.
        Article.objects.exclude(pk=first.pk).update(title="/well/")
        assert b"/mended/" not in client.get(PAGE).content
    first.save()
    assert b"/mended/" in client.get(PAGE).content
    assert Page.objects.get().error == ""


@pytest.mark.django_db(transaction=True)
def test_what_corrects_a_page_in_error_is_listed_without_a_request(
    in_error: list[Article],
) -> None:
    for number, article in enumerate(in_error):
        article.title = f"/mended-{number}/"
        article.save()
    sources = [sections.source("article")]
    assign_all(sources)
    refresh_all(sources, place(), at_leisure=True)
    assert Page.objects.get().error == ""


def test_rows_that_were_deleted_do_empty_a_page_and_all_bad_ones_do_not(
    client: Client, in_error: list[Article]
) -> None:
    Article.objects.all().delete()
    later(4000, "verified_at")
    assert urlset(client.get(PAGE)) == []


def test_a_page_of_mostly_bad_rows_is_read_to_its_end(
    client: Client, register: Register, settings: Any
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
    later(4000, "verified_at")
    assert locations(client.get(PAGE)) == [
        "https://www.example.com/0/",
        "https://www.example.com/last/",
    ]
    assert Page.objects.get().items == 101


def test_on_error_raise_lets_the_first_bad_row_be_seen(
    client: Client, register: Register, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ON_ERROR": "raise"}
    register("article", Titled)
    titled(5, 1)
    with pytest.raises(EntryError, match="location 'bad'"):
        client.get(PAGE)
    Article.objects.filter(title="bad").delete()
    assert len(urlset(client.get(PAGE))) == 5, "nobody holds the page any more"


# Rows that cannot be read


@pytest.mark.django_db(transaction=True)
def test_an_error_of_the_database_leaves_the_former_bytes(
    client: Client, register: Register, caplog: pytest.LogCaptureFixture
) -> None:
    is_failing = False

    def priority(self: Any, item: Article) -> float:
        if is_failing:
            Article.objects.extra(where=["no_such_column = 1"]).count()
        return 0.5

    register("article", type("Asking", (ArticleSitemap,), {"priority": priority}))
    articles(2)
    before = settled(client)
    articles(1)
    later(4000, "verified_at")
    is_failing = True
    for _ in range(2):
        response = client.get(PAGE)
        assert (response.content, response.headers) == (before.content, before.headers)
    first, second = (r for r in caplog.records if r.name == "django_sitemaps_plus")
    assert first.levelname == second.levelname == "ERROR"
    assert first.getMessage().startswith(
        "Page article-1 keeps its former bytes: the database failed: "
    )
    assert "no_such_column" in (first.exc_text or ""), "with its traceback"
    page = Page.objects.get()
    assert (page.claimed_until, page.bad) == (0, 0)
    assert "no_such_column" in page.error
    assert "no_such_column" in alerts([Alert.Subject.SECTIONS])[0].text
    # However old they are: the database answers, so it is the section's own error.
    later(pages.FORMER + 10, "read_at")
    assert client.get(PAGE).content == before.content
    Page.objects.update(checksum="", verified_at=0)
    response = client.get(PAGE)
    assert response.status_code == 503
    assert response.content.decode() == NOT_NOW
    assert Page.objects.get().claimed_until == 0
    is_failing = False
    assert len(urlset(client.get(PAGE))) == 3, "at once, when it is over"
    assert alerts([Alert.Subject.SECTIONS]) == []


if VENDOR != "sqlite":
    # There is no server that could be started again.

    @pytest.mark.django_db(transaction=True)
    def test_a_connection_that_is_lost_while_a_page_is_built(
        client: Client, register: Register, caplog: pytest.LogCaptureFixture
    ) -> None:
        """The former bytes are read by another one; the claim ends by itself."""
        own, end = {
            "postgresql": ("pg_backend_pid()", "SELECT pg_terminate_backend(%s)"),
            "mysql": ("CONNECTION_ID()", "KILL %s"),
        }[VENDOR]

        def priority(self: Any, item: Article) -> None:
            if is_lost:
                with connection.cursor() as cursor:
                    cursor.execute(f"SELECT {own}")
                    number = cursor.fetchone()
                other = connection.copy()
                with other.cursor() as cursor:
                    cursor.execute(end, number)
                other.close()
                Article.objects.count()

        is_lost = False
        register("article", type("Lost", (ArticleSitemap,), {"priority": priority}))
        articles(2)
        before = client.get(PAGE).content
        later(4000, "verified_at")
        is_lost = True
        try:
            assert client.get(PAGE).content == before
        finally:
            connection.close()
        assert Page.objects.get().claimed_until > 0
        assert {r.levelname for r in caplog.records} == {"ERROR", "WARNING"}


# Rows that begin to repeat


class Tagged(ArticleSitemap):
    """A join, of which nobody thought that it might list an article twice."""

    def items(self) -> Any:
        return Article.objects.filter(tags__name="t")


def test_rows_that_begin_to_repeat_leave_the_former_bytes(
    client: Client, register: Register, caplog: pytest.LogCaptureFixture
) -> None:
    register("article", Tagged)
    for article in articles(3):
        TagFactory(article=article, name="t")
    before = settled(client)
    twice = TagFactory(article=Article.objects.first(), name="t")
    later(4000, "verified_at")
    for address in (PAGE, "/sitemap.xml", PAGE):
        response = client.get(address)
        assert (response.content, response.headers) == (before.content, before.headers)
    problem = (
        "Section 'article': rows come more than once, because items() or an expression "
        "joins a relation that has several rows for one item. In items(), filter with "
        "Exists() or add .distinct(); in an expression, use Subquery(). The page keeps "
        "its former bytes."
    )
    said = [r.getMessage() for r in caplog.records if r.levelname == "ERROR"]
    assert said == [problem], "once, not at each request"
    assert Page.objects.get().error == problem
    Tag.objects.filter(pk=twice.pk).delete()
    later(70, "verified_at")
    assert client.get(PAGE).content == before.content
    assert Page.objects.get().error == ""


# Single flight


@pytest.fixture
def claimed(transactional_db: None, register: Register, client: Client) -> Page:
    """A page that is built, stale, and being built again by somebody else."""
    register("article", ArticleSitemap)
    articles(2)
    client.get(PAGE)
    articles(1)
    Page.objects.update(verified_at=0, claimed_by="x", claimed_until=time.time() + 60)
    return Page.objects.get()


@pytest.mark.django_db(transaction=True)
def test_while_another_builds_a_page_its_former_bytes_are_sent_at_once(
    client: Client, claimed: Page, sleepers: list[int]
) -> None:
    assert len(urlset(client.get(PAGE))) == 2
    assert len(urlset(client.get("/sitemap.xml"))) == 2
    with transaction.atomic():
        # Here nobody waits for anything.
        PageFile.objects.all().delete()
        assert client.get(PAGE).status_code == 503
        transaction.set_rollback(True)
    assert sleepers == []
    # Its builder died, and nobody serves for longer than a day what is not fresh.
    later(pages.FORMER + 1, "read_at")
    Page.objects.update(claimed_until=time.time() - 1)
    assert len(urlset(client.get(PAGE))) == 3
    page = Page.objects.get()
    assert (page.claimed_by, page.claimed_until) == ("", 0)


@pytest.mark.django_db(transaction=True)
def test_former_bytes_are_never_said_to_be_the_current_ones(
    client: Client, register: Register, claimed: Page
) -> None:
    """Who has a copy of them would keep it, after a 304, as what is listed now."""
    later(100, "changed_at")
    register("pages", PagesSitemap)
    # Once nobody else builds the page, they are current.
    for until, status in ((claimed.claimed_until, 200), (0, 304)):
        Page.objects.filter(pk=claimed.pk).update(claimed_until=until)
        for address in (PAGE, "/sitemap-article.xml", "/sitemap.xml"):
            copy = client.get(address)
            conditions = [{"if-none-match": copy.headers["ETag"]}]
            if status == 200 and "Last-Modified" in copy.headers:
                conditions.append({"if-modified-since": copy.headers["Last-Modified"]})
            for headers in conditions:
                answer = client.get(address, headers=headers)
                assert answer.status_code == status, address


@pytest.mark.django_db(transaction=True)
def test_without_former_bytes_one_waits_briefly_and_the_others_come_again(
    claimed: Page, sleepers: list[int]
) -> None:
    """Of all processes: each has but the row of the site to know that by."""
    PageFile.objects.all().delete()

    def ask(_: int) -> tuple[Any, float]:
        begun = time.monotonic()
        return Client().get(PAGE), time.monotonic() - begun

    answers = at_once(5, ask)
    for response, _ in answers:
        assert response.status_code == 503
        assert response.headers["Retry-After"] == "5"
        assert response.headers["Cache-Control"] == "no-store"
        assert response.content.decode() == BEING_BUILT
    assert queries.WAIT == 1.0
    assert len(set(sleepers)) == 1
    assert max(seconds for _, seconds in answers) >= queries.WAIT
    # The next one may wait in its place.
    assert ask(0)[1] >= queries.WAIT


@pytest.mark.django_db(transaction=True)
def test_who_waits_gets_what_the_other_has_built_and_lets_the_next_one_wait(
    client: Client, claimed: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = list(PageFile.objects.all())
    naps = []

    def nap(seconds: float) -> None:
        assert Section.objects.get(name="").waiting_until > time.time()
        naps.append(seconds)
        if len(naps) % 2 == 0:
            # The other one is done while this request is asleep.
            PageFile.objects.bulk_create(rows)

    monkeypatch.setattr(pages.time, "sleep", nap)
    for number in (1, 2):
        PageFile.objects.all().delete()
        assert len(urlset(client.get(PAGE))) == 2
        assert len(naps) == 2 * number
        assert Section.objects.get(name="").waiting_until == 0


@pytest.mark.django_db(transaction=True)
def test_a_command_waits_beside_the_request_until_the_other_ends(
    claimed: Page,
) -> None:
    PageFile.objects.all().delete()
    until = time.time() + 1.5
    Section.objects.update_or_create(name="", defaults={"waiting_until": until + 60})
    Page.objects.update(claimed_until=until)
    assert run_command("build_sitemaps")[2] == 0
    assert time.time() >= until


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_bad", [False, True])
def test_who_comes_just_too_late_takes_what_another_has_built(
    client: Client, register: Register, is_bad: bool
) -> None:
    """It had read that the page is stale before the other one was done."""
    asked = []

    def location(self: Any, item: Article) -> str:
        asked.append(item.pk)
        return "bad" if is_bad else f"/{item.pk}/"

    register("article", type("Counted", (ArticleSitemap,), {"location": location}))
    articles(12)
    client.get("/sitemap-article.xml")
    Page.objects.update(verified_at=1, error="", failures=0)
    asked.clear()
    other = partial(elsewhere, lambda: Client().get(PAGE))
    with just_before("UPDATE", '"claimed_by"', do=other):
        assert client.get(PAGE).status_code == (503 if is_bad else 200)
    assert len(asked) == 12


def test_a_claim_is_renewed_while_its_builder_lives(
    client: Client, register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between batches of rows: long after it would have ended it is still held."""
    monkeypatch.setattr(pages, "CLAIM", 1.0)
    monkeypatch.setattr("django_sitemaps_plus.rendering.reader.OBJECTS_AT_ONCE", 20)
    left = []

    class Slow(ArticleSitemap):
        def priority(self, item: Article) -> None:
            if item.pk % 20 == 0:
                time.sleep(0.4)
            if item.pk % 20 == 19:
                left.append(Page.objects.get().claimed_until)

    register("article", Slow)
    Article.objects.bulk_create(Article(pk=pk, slug="a") for pk in range(20, 100))
    assert len(urlset(client.get(PAGE))) == 80
    assert len(left) == 4
    assert left == sorted(left)
    assert left[-1] - left[0] > pages.CLAIM


def test_a_request_that_dies_gives_its_claim_back(
    client: Client, register: Register
) -> None:
    """As at a polite stop: SIGTERM ends a worker by SystemExit."""

    def stop(self: Any, item: Article) -> None:
        raise SystemExit

    register("article", type("Stopped", (ArticleSitemap,), {"priority": stop}))
    articles(2)
    with pytest.raises(SystemExit):
        client.get(PAGE)
    assert Page.objects.get().claimed_until == 0
