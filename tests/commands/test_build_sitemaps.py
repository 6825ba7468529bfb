"""``manage.py build_sitemaps``: what it builds, what it says, and how it ends."""

from __future__ import annotations

import datetime as dt
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from django_sitemaps_plus.building import new_pages
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.models import Change, EngineState, Page, PageFile, Section
from django_sitemaps_plus.pagination import queries
from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.sitemaps.registry import registry
from tests.support.factories import TagFactory, articles
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    Small,
    Titled,
    later,
    listed,
    remove_sites,
    run_command,
    use_backend,
)
from tests.support.processes import in_a_process
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(databases=["default", "other"])


class Misspelt(ArticleSitemap):
    """Of a column that is not there, as before a migration."""

    def items(self) -> Any:
        return Article.objects.extra(where=["no_such_column = 1"])


class Divided(Misspelt):
    """The same, by position."""

    def items(self) -> Any:
        return super().items()[:5]


def refused(*args: Any) -> None:
    """Answer no query."""
    raise OperationalError("it is away")


def build(*arguments: str) -> tuple[str, str, int]:
    """Run the command."""
    return run_command("build_sitemaps", *arguments)


def done(*arguments: str) -> str:
    """Run the command, which must go well, and return what it said."""
    out, err, code = build(*arguments)
    # A machine that is busy elsewhere is told how far it is.
    assert re.sub(r"Section '\w+': \d+ of \d+ pages\n", "", err) == ""
    assert code == 0
    return out


# What it builds


def test_the_sections_are_built_in_their_order_and_once(register: Any) -> None:
    register("large", type("Large", (ArticleSitemap,), {"limit": 500}))
    register("pages", PagesSitemap)
    register("article", ArticleSitemap)
    Article.objects.bulk_create(Article(slug=f"a-{number}") for number in range(1001))
    article = "Section 'article': 1 page, 1,001 entries;"
    assert done("article") == f"{article} 1 built, 0 unchanged.\n"
    assert not Section.objects.filter(name="large").exists()
    assert done() == (
        "Section 'large': 3 pages, 1,001 entries; 3 built, 0 unchanged.\n"
        "Section 'pages': 1 page, 2 entries; by position, built for each request.\n"
        f"{article} 0 built, 1 unchanged.\n"
    )


def test_progress_is_shown_while_it_lasts(
    register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(utils, "LINE_EVERY", 0.0)
    # Also on a machine with much to do twenty pages are written together.
    monkeypatch.setattr(new_pages, "SECONDS", 600.0)
    register("small", Small)
    articles(420)
    assert build() == (
        "Section 'small': 47 pages, 420 entries; 47 built, 0 unchanged.\n",
        "".join(f"Section 'small': {number} of 47 pages\n" for number in (20, 40)),
        0,
    )


def test_ledger_finds_boundaries_and_no_more(register: Any, settings: Any) -> None:
    register("small", Small)
    articles(30)
    with_address = settings.SITEMAPS_PLUS
    settings.SITEMAPS_PLUS = {}
    remove_sites(settings)
    assert done("--ledger") == "Section 'small': 4 pages.\n", "it needs no address"
    assert Page.objects.filter(checksum="").count() == 4
    settings.SITEMAPS_PLUS = with_address
    done()
    assert done("--ledger") == "Section 'small': 4 pages, 30 entries.\n"


def test_reconcile_finds_numbers_and_dates_and_deep_all(register: Any) -> None:
    register("small", Small)
    rows = articles(30, updated=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    done()
    start = "Section 'small': 4 pages, 30 entries;"
    Article.objects.filter(pk=rows[5].pk).update(slug="moved")
    assert done("--reconcile") == f"{start} 0 built, 4 unchanged.\n"
    assert done("--reconcile", "--deep") == f"{start} 1 built, 3 unchanged.\n"
    Article.objects.filter(pk=rows[0].pk)._raw_delete("default")
    Article.objects.filter(pk=rows[29].pk).update(updated=dt.datetime.now(dt.UTC))
    assert done("--reconcile") == (
        "Section 'small': 4 pages, 29 entries; 2 built, 2 unchanged.\n"
    )
    articles(15)
    assert done("--reconcile").startswith("Section 'small': 5 pages, 44 entries; ")


# Sections that are no longer registered

DAY = 86_400
HOUR = 3_600


@contextmanager
def without(name: str) -> Iterator[None]:
    """Do without a section for a while."""
    source = registry.sources()[name]
    registry.remove(name)
    yield
    registry.add(name, source)


def test_reconcile_removes_what_is_not_registered(
    client: Client, register: Any
) -> None:
    register("old", Small)
    register("article", ArticleSitemap)
    articles(15)
    done()
    Change.objects.create(section="old", key='["1"]', at=time.time())
    unchanged = "Section 'article': 1 page, 15 entries; 0 built, 1 unchanged.\n"
    with without("old"):
        later(DAY + HOUR - 60, "verified_at")
        assert done("article", "--reconcile") == unchanged
        assert done("--reconcile") == unchanged
        later(120, "verified_at")
        assert done("article", "--reconcile") == done() == unchanged
        assert Page.objects.filter(section__name="old").count() == 2
        assert done("--reconcile") == (
            f"{unchanged}Section 'old': no longer registered; 2 pages removed.\n"
        )
        assert not PageFile.objects.exclude(page__section__name="article").exists()
        assert not Change.objects.filter(section="old").exists()
        assert [page.section.name for page in Page.objects.all()] == ["article"]
        assert done("--reconcile") == unchanged, "said once"
    assert listed(client.get("/sitemap-old.xml")) == [
        f"https://www.example.com/sitemap-old-{number}.xml" for number in (3, 4)
    ], "it may come back; its numbers go on"


@pytest.mark.parametrize("is_requested", [True, False])
def test_what_another_process_of_a_deploy_may_serve_is_not_removed(
    client: Client, register: Any, is_requested: bool
) -> None:
    """By new code, while the old code's cron job runs once more."""
    register("new", Small)
    articles(15)
    if is_requested:
        done()
        later(5 * DAY, "verified_at")
        client.get("/sitemap-new-2.xml")
    else:
        # Its pages were just found.
        done("--ledger")
    with without("new"):
        for _ in range(2):
            done("--reconcile")
            assert Page.objects.count() == 2
        later(DAY + HOUR + 60, "verified_at")
        out = done("--reconcile")
    assert "Section 'new': no longer registered; 2 pages removed.\n" in out


# What goes wrong

BAD = "location 'bad': neither a path nor an http(s) URL"
FAILED = "CommandError: Not all pages could be built: {}.\n"


def test_bad_rows_are_named_at_the_end_the_first_ten_of_them(register: Any) -> None:
    register("article", type("Ten", (Titled,), {"limit": 20}))
    register("more", ArticleSitemap)
    articles(1, title="/")
    bad = articles(1, title="bad")
    head = "Left out, because they are bad:\n"
    named = f"{head}  article {bad[0].pk}: {BAD}\n"
    for work in ("1 built, 0 unchanged", "0 built, 1 unchanged"):
        assert done() == (
            f"Section 'article': 1 page, 1 entry; {work}; 1 row left out.\n"
            f"Section 'more': 1 page, 2 entries; {work}.\n{named}"
        )
    for _ in range(4):
        bad += articles(3, title="bad")
        articles(10, title="/a/")
    ten = "".join(f"  article {article.pk}: {BAD}\n" for article in bad[:10])
    rest = "  and 3 more: see the log, or the admin\n"
    assert done("--reconcile").endswith(f"{head}{ten}{rest}")


def test_a_section_of_which_all_rows_are_bad_is_a_failure(register: Any) -> None:
    """Though so few may be bad beside others."""
    register("broken", Titled)
    register("article", ArticleSitemap)
    (bad, _other) = articles(2, title="bad")
    for arguments in ([], ["--reconcile"]):
        out, err, code = build(*arguments)
        assert "Section 'broken': 1 page; 0 built, 0 unchanged." in out
        assert err == (
            "  2 of 2 rows of page broken-1 cannot be listed. The first, "
            f"{bad.pk}: {BAD}.\n{FAILED.format('broken')}"
        )
        assert code == 1
    for arguments in (["article"], ["--ledger"]):
        assert build(*arguments)[1:] == ("", 0)


BY_POSITION = {
    "items": lambda self: list(Article.objects.all()),
    "location": lambda self, item: item.title,
    "lastmod": lambda self, item: item.updated,
}


@pytest.mark.parametrize("methods", [{}, BY_POSITION], ids=["key", "position"])
@pytest.mark.costly
def test_a_page_in_error_is_said_and_built_again_as_soon_as_somebody_asks(
    register: Any, methods: Any
) -> None:
    register("article", type("Good", (Titled,), methods))
    articles(20, title="/a/")
    assert build()[1:] == ("", 0)
    Article.objects.update(title="no path")
    for arguments in (["--reconcile", "--deep"], [], ["--reconcile"]):
        _, err, code = build(*arguments)
        assert "20 of 20 rows of page article-1 cannot be listed" in err, arguments
        assert ("The page keeps its former bytes." in err) == (not methods)
        assert code == 1
    Article.objects.update(title="/b/")
    assert build()[1:] == ("", 0)
    assert not Page.objects.filter(error__gt="").exists()


def test_quiet_it_prints_errors_only(register: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(utils, "LINE_EVERY", 0)
    assert build("-v0") == ("", "", 0)
    register("article", Small)
    register("pages", PagesSitemap)
    register("titled", Titled)
    articles(15, title="/")
    bad = articles(1, title="bad")[0].pk
    assert build("-v0") == ("", "", 0)
    articles(15, title="bad")
    said = (
        f"  16 of 31 rows of page titled-1 cannot be listed. The first, {bad}: {BAD}. "
        f"The page keeps its former bytes.\n{FAILED.format('titled')}"
    )
    assert build("--reconcile", "-v0") == ("", said, 1)


def test_too_many_bad_rows_fail_and_the_other_sections_are_built(
    client: Client, register: Any
) -> None:
    register("former", Titled)
    articles(20, title="/a/")
    done()
    before = client.get("/sitemap-former-1.xml").content
    bad = articles(11, title="bad")
    only = Article.objects.filter(title="bad")
    register("broken", type("New", (Titled,), {"items": lambda self: only.all()}))
    register("article", ArticleSitemap)
    out, err, code = build("--reconcile")
    assert out.startswith(
        "Section 'former': 1 page, 20 entries; 0 built, 0 unchanged.\n"
        "Section 'broken': 1 page; 0 built, 0 unchanged.\n"
        "Section 'article': 1 page, 31 entries; 1 built, 0 unchanged.\n"
    )
    first, second, last = err.splitlines()
    reason = f"cannot be listed. The first, {bad[0].pk}: {BAD}"
    assert first.startswith(f"  11 of 31 rows of page former-1 {reason}")
    assert second.startswith(f"  11 of 11 rows of page broken-1 {reason}")
    assert (f"{last}\n", code) == (FAILED.format("former, broken"), 1)
    assert client.get("/sitemap-former-1.xml").content == before


class Tagged(ArticleSitemap):
    """An article comes once for each of its tags."""

    def items(self) -> Any:
        return Article.objects.filter(tags__name="t")


class Away(ArticleSitemap):
    def items(self) -> Any:
        raise LookupError("They are away.")


# PostgreSQL ends a transaction in which a statement failed.
# PostgreSQL ends a transaction in which a statement failed.
@pytest.mark.django_db(transaction=True)
def test_a_section_that_cannot_be_built_keeps_no_other_from_it(register: Any) -> None:
    wrong = {
        Tagged: "Section 'Tagged': rows come more than once, ",
        Away: "LookupError: They are away.",
        Misspelt: "",
        Divided: "",
    }
    for cls in wrong:
        register(cls.__name__, cls)
    register("article", ArticleSitemap)
    (article,) = articles(1)
    for _ in range(2):
        TagFactory(article=article, name="t")
    out, err, code = build()
    assert out == "Section 'article': 1 page, 1 entry; 1 built, 0 unchanged.\n"
    for cls, problem in wrong.items():
        assert f"Section '{cls.__name__}': {problem}" in err
    assert err.endswith(FAILED.format("Tagged, Away, Misspelt, Divided"))
    assert code == 1


def test_rows_that_come_twice_by_now_are_no_success(register: Any) -> None:
    """The page keeps its former bytes, and lacks what was added since."""
    register("tagged", Tagged)
    tag = TagFactory(name="t")
    assert build()[2] == 0
    TagFactory(article=tag.article, name="t")
    for _ in range(2):
        _, err, code = build()
        assert ("rows come more than once" in err, code) == (True, 1)


def test_another_process_that_is_at_it_is_named(
    register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("small", Small)
    register("article", ArticleSitemap)
    section = queries.section_row("small", sections.source("small").key or "")
    clock = iter(range(100_000))
    with queries.lease(section), monkeypatch.context() as patch:
        patch.setattr(time, "sleep", lambda seconds: None)
        patch.setattr(time, "monotonic", lambda: next(clock))
        result = build()
    assert result == (
        "Section 'article': 1 page, 0 entries; 1 built, 0 unchanged.\n",
        "Section 'small': Another process is dividing the section 'small'. Run the "
        f"command again when it is done.\n{FAILED.format('small')}",
        1,
    )


WITH_ENQUEUE = "--enqueue builds pages: it does not go with --ledger or --reconcile."
MISUSE = [
    (["pages", "no"], "There is no section 'no'. There are: article, pages."),
    (["articel"], "There is no section 'articel'. Did you mean 'article'?"),
    (["--deep"], "--deep needs --reconcile."),
    (["--ledger", "--reconcile"], "Choose --ledger or --reconcile, not both."),
    (["--enqueue", "tasks", "--ledger"], WITH_ENQUEUE),
    (["--enqueue", "celery", "--reconcile", "--deep"], WITH_ENQUEUE),
    (["--enqueue", "celery", "--jobs", "0"], "--jobs must be 1 or more."),
    (["--jobs", "2"], "--jobs needs --enqueue."),
]


def test_misuse_ends_with_two(register: Any) -> None:
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    for arguments, message in MISUSE:
        assert build(*arguments) == ("", f"CommandError: {message}\n", 2)
    assert not Page.objects.exists()


def test_without_a_section_it_says_how_to_make_one() -> None:
    for arguments in ([], ["--enqueue", "tasks"]):
        said = done(*arguments)
        assert re.fullmatch(
            "Nothing to build: no sitemap is registered. Add @register.*\n", said
        )


def test_where_no_worker_gets_a_task_it_is_refused(
    register: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("article", ArticleSitemap)
    refused = "CommandError: Nothing was enqueued: "
    for backend in ("Immediate", "Dummy"):
        use_backend(settings, backend)
        said = (
            f"{refused}TASKS has the {backend}Backend, which hands no task to a "
            "worker. Run the command without --enqueue, or correct the settings of "
            "Django Tasks.\n"
        )
        assert build("--enqueue", "tasks") == ("", said, 1)
    monkeypatch.setitem(sys.modules, "celery", None)
    assert build("--enqueue", "celery")[1] == (
        f"{refused}celery is not installed. Type: pip install "
        '"django-sitemaps-plus[celery]"; or run the command without --enqueue.\n'
    )
    assert not Page.objects.exists()


SETUP = """
import json, os, time
from tests import settings
settings.use_given(json.loads(os.environ["GIVEN"]))
import django
django.setup()
from django.core.management import execute_from_command_line
from django_sitemaps_plus.sitemaps.registry import registry
from tests.support.helpers import ArticleSitemap
"""
NO_BROKER = f"""{SETUP}
from celery import Celery
Celery(broker="redis://127.0.0.1:1/0", set_as_current=True)

registry.add("article", ArticleSitemap)
execute_from_command_line(["manage.py", "build_sitemaps", "--enqueue", "celery"])
"""


@pytest.mark.redis
@pytest.mark.django_db(transaction=True, databases=["default", "other"])
def test_a_broker_that_does_not_answer_is_said_in_one_sentence() -> None:
    process = in_a_process(NO_BROKER)
    out, err = process.communicate(timeout=60)
    assert (out, process.returncode) == ("", 1)
    assert re.fullmatch("CommandError: Not all jobs were enqueued: .*\n", err)
    assert not Page.objects.exists()


def test_an_unknown_or_wrong_address_is_said(register: Any, settings: Any) -> None:
    register("article", ArticleSitemap)
    remove_sites(settings)
    for base_url, code, said in (
        ("www.example.com", 1, "SITEMAPS_PLUS['BASE_URL'] is 'www.example.com', "),
        (None, 2, "CommandError: The site's address is not known outside of a request"),
    ):
        settings.SITEMAPS_PLUS = {"BASE_URL": base_url}
        out, err, ended = build()
        assert (out, ended) == ("", code)
        assert said in err


@pytest.mark.django_db(transaction=True, databases=["default", "other"])
def test_missing_tables_and_a_database_that_fails_are_said(register: Any) -> None:
    register("article", ArticleSitemap)
    with connection.execute_wrapper(refused):
        failed = build()
    assert failed == ("", "CommandError: The database failed: it is away\n", 1)
    with connection.schema_editor() as editor:
        editor.delete_model(EngineState)
        editor.delete_model(PageFile)
    try:
        result = build()
    finally:
        with connection.schema_editor() as editor:
            editor.create_model(PageFile)
            editor.create_model(EngineState)
    said = "CommandError: The tables of django_sitemaps_plus are missing: run "
    assert result == ("", f"{said}'manage.py migrate'.\n", 1)


# How it ends


SLOW = f"""{SETUP}
class Slow(ArticleSitemap):
    def location(self, item):
        print("building", flush=True)
        # A signal that comes just before a sleep does not end it.
        for _ in range(600):
            time.sleep(0.1)

registry.add("slow", Slow)
execute_from_command_line(["manage.py", "build_sitemaps"])
"""


@pytest.mark.django_db(transaction=True, databases=["default", "other"])
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.costly
def test_a_command_that_is_stopped_gives_its_page_back(stop: signal.Signals) -> None:
    articles(1)
    with in_a_process(SLOW) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "building\n"
        assert Page.objects.exclude(claimed_by="").count() == 1
        process.send_signal(stop)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (128 + stop, "")
    page = Page.objects.get()
    assert (page.claimed_by, page.claimed_until) == ("", 0)


def test_a_process_that_has_its_own_way_to_end_keeps_it(register: Any) -> None:
    seen: list[Any] = []

    class Looking(ArticleSitemap):
        def location(self, item: Article) -> str:
            seen.append(signal.getsignal(signal.SIGTERM))
            return "/"

    register("article", Looking)
    articles(1)
    former = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        done()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        done("--reconcile", "--deep")
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, former)
    assert seen[0] is signal.SIG_IGN
    assert callable(seen[-1])
    assert seen[-1] is not signal.SIG_DFL
