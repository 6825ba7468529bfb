"""Builders that are killed or stopped, bytes and tables that are lost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db.models import F

from django_sitemaps_plus.models import Page, PageFile, UrlChange
from tests.support.processes import within
from tests.testapp.models import Article

from .ground import FREE, Server
from .reader import Answer
from .slow import (
    HOURS,
    age_pages,
    begin_slowly,
    check_given_back,
    expected,
    ground,
    locations,
    path_of,
)

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


# A builder that was killed


def ask_at_once(server: Server, path: str, count: int) -> list[tuple[Answer, float]]:
    """Ask so many times at the same moment; returns the answers, with the seconds."""

    def ask(number: int) -> tuple[Answer, float]:
        begun = time.monotonic()
        return server.get(path, {}), time.monotonic() - begun

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(ask, range(count)))


def wait_for(server: Server, path: str, text: str) -> None:
    """Ask again and again until an answer has a text."""
    assert within(FREE, lambda: text.encode() in server.get(path, {}).body)


def test_eight_requests_for_pages_whose_builders_were_killed(tmp_path: Path) -> None:
    """Former bytes are sent at once; without them it is 503 until the claim is over."""
    with ground(tmp_path, "slow") as site:
        site.manage("build_sitemaps")
        first, second, third = site.pages("slow")
        server = site.serve("gunicorn", "--workers", "2", "--threads", "4")
        Article.objects.filter(pk=3).update(slug="new")
        age_pages(HOURS)
        PageFile.objects.filter(page=Page.objects.order_by("position")[1]).delete()
        (tmp_path / "die").touch()
        for path in (first, second):
            assert site.nursery.run("get", paths=[path]) == "killed"
        (tmp_path / "die").unlink()

        former = ask_at_once(server, first, 8)
        assert [answer.status for answer, _ in former] == [200] * 8
        assert all(path_of("a3").encode() in answer.body for answer, _ in former)
        assert max(seconds for _, seconds in former) < 4, "at once"

        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(ask_at_once, server, second, 8)
            time.sleep(0.2)
            [(other, _)] = ask_at_once(server, third, 1)
            assert other.status == 200
            assert not waiting.done(), "others are answered meanwhile"
            without = waiting.result()
        assert max(seconds for _, seconds in without) < 10
        assert {answer.status for answer, _ in without} == {503}
        assert all(int(answer.headers["retry-after"]) > 0 for answer, _ in without)

        assert len(site.built()) == 2, "the dead have left their claims behind"
        site.let_claims_pass()
        wait_for(server, second, path_of("a15"))
        wait_for(server, first, path_of("new"))
        assert locations(site.shown("slow")) == expected()
        assert not site.held()


# Servers that are stopped


@pytest.mark.parametrize(("kind", "leaves"), [("gunicorn", False), ("uvicorn", True)])
def test_a_server_that_is_stopped_gives_back_what_it_holds(
    kind: str, leaves: bool, tmp_path: Path
) -> None:
    """
    Its thread builds one page at leisure, and a request another.

    Uvicorn ends by the signal itself, without the end that Python's processes have:
    then what the thread holds is over in seconds.
    """
    with ground(tmp_path, "slow") as site, ThreadPoolExecutor(1) as pool:
        begin_slowly(site)
        server = site.serve(kind)
        assert within(FREE, lambda: len(site.built()) == 1), "the thread builds"
        newest = Page.objects.order_by("-position").values("pk")[0]["pk"]
        Page.objects.filter(pk=newest).update(verified_at=F("verified_at") - HOURS)
        asked = pool.submit(server.get, site.pages("slow")[-1], {})
        assert within(FREE, lambda: len(site.built()) == 2), "a request builds too"
        server.close()
        assert asked.result().status == 200, "it was answered before the end"
        if leaves:
            site.wait_until_free()
        check_given_back(site)


# What was there before


def test_nobody_is_notified_of_rows_that_were_there_before_the_app(
    tmp_path: Path,
) -> None:
    """Not by the first request, build or work; of what is saved then, everybody is."""
    with ground(tmp_path, "old") as site:
        site.nursery.run("save", slugs=[[3, "saved-before"]])
        site.get("/sitemap.xml", "/sitemap-news.xml")
        site.get(*site.pages("news"))
        site.manage("build_sitemaps")
        site.manage("build_sitemaps", "--reconcile", "--deep")
        site.nursery.run("save", slugs=[[4, "saved-later"]])
        site.settle()
        paths = {path_of(slug) for slug in ("saved-before", "saved-later", "a4")}
        assert {event.location for event in site.events()} == paths
        posts = {path: len(moments) for path, moments in site.posts().items()}
        assert posts == dict.fromkeys(paths, 1)


# Before the migration is run


@contextmanager
def without_tables() -> Iterator[None]:
    """Be as before ``migrate``."""
    call_command("migrate", "sitemaps_plus", "zero", verbosity=0)
    try:
        yield
    finally:
        call_command("migrate", "sitemaps_plus", verbosity=0)


def test_saves_and_pages_go_on_while_the_tables_are_missing(tmp_path: Path) -> None:
    with ground(tmp_path, "old") as site:
        site.manage("build_sitemaps")
        paths = [*site.pages("news"), "/sitemap.xml", "/sitemap-news.xml"]
        with without_tables():
            # One process has known the tables, another has never seen them.
            for side in (site.nursery, site.another()):
                side.run("do all")
                for answer in side.run("get", paths=[*paths, "/robots.txt"]):
                    later = answer["headers"].get("retry-after")
                    known = (answer["status"], bool(later))
                    assert known in ((200, False), (503, True)), answer
        assert not UrlChange.objects.exists()
        site.manage("build_sitemaps")
        assert locations(site.shown("news")) == expected()
        site.nursery.run("save", slugs=[[20, "later"]])
        site.settle()
        told = {event.location for event in site.events()}
        assert told == {path_of("a20"), path_of("later")}
