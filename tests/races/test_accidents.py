"""Builders that are killed or stopped, a deploy, and tables that are missing."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import F

from django_sitemaps_plus.models import Page, PageFile, Section, UrlChange
from django_sitemaps_plus.pagination.deploys import IN_USE
from tests.support.helpers import later
from tests.support.processes import within
from tests.testapp.models import Article

from .ground import FREE, Ground, Server
from .reader import Answer
from .slow import (
    COUNT,
    HOURS,
    begin_slowly,
    check_given_back,
    expected,
    ground,
    locations,
    path_of,
    stop,
)

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

#: Seconds within which an answer comes, on a slow machine too.
SOON = 9.0


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


def one_waits() -> bool:
    """Return whether a request waits for a page that another builds."""
    return Section.objects.filter(name="", waiting_until__gt=time.time()).exists()


def test_requests_for_pages_whose_builders_were_killed(tmp_path: Path) -> None:
    """
    Former bytes are sent at once; without them it is 503 until the claim is over.

    Each of the two workers has one request at a time, and one of them waits.
    """
    with ground(tmp_path, "slow") as site:
        site.manage("build_sitemaps")
        first, second, third = site.pages("slow")
        server = site.serve("gunicorn", "--workers", "2")
        Article.objects.filter(pk=3).update(slug="new")
        later(HOURS, "read_at", "verified_at", "asked_at", "changed_at")
        PageFile.objects.filter(page=Page.objects.order_by("position")[1]).delete()
        (tmp_path / "die").touch()
        for path in (first, second):
            assert site.nursery.run("get", paths=[path]) == "killed"
        (tmp_path / "die").unlink()

        former = ask_at_once(server, first, 4)
        assert [answer.status for answer, _ in former] == [200] * 4
        assert all(path_of("a3").encode() in answer.body for answer, _ in former)
        assert max(seconds for _, seconds in former) < SOON, "at once"

        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(ask_at_once, server, second, 4)
            assert within(FREE, one_waits)
            [(other, seconds)] = ask_at_once(server, third, 1)
            assert other.status == 200
            without = waiting.result()
        waits = [seconds for _, seconds in without]
        assert max(seconds, *waits) < SOON, "nobody waits for a claim to end"
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
@pytest.mark.costly
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
        stop(site, server.process)
        assert asked.result().status == 200, "it was answered before the end"
        if leaves:
            site.wait_until_free()
        check_given_back(site)


# A deploy


def watch(seconds: float, pages: dict[int, list[str]]) -> None:
    """Note each page's definitions, one after the other, for some seconds."""
    over = time.monotonic() + seconds
    while time.monotonic() < over:
        for number, digest in Page.objects.values_list("number", "digest"):
            if pages.setdefault(number, [digest])[-1] != digest:
                pages[number].append(digest)
        time.sleep(0.01)


@pytest.mark.parametrize("definition", ["priority", "lastmod"])
@pytest.mark.costly
def test_old_and_new_code_side_by_side(definition: str, tmp_path: Path) -> None:
    """No page goes back and forth, nor are engines told of a URL again and again."""
    with ground(tmp_path, "old") as site:
        site.manage("build_sitemaps")
        before = site.versions()
        definitions: dict[int, list[str]] = {}
        watch(0.1, definitions)
        stop, paths = str(tmp_path / "stop"), site.pages("news")
        # What was started later is newer.
        sides = [site.nursery, site.another(sections=definition)]
        told = {"stop": stop, "folder": str(tmp_path)}
        workers = [
            (side, side.start("worker", name=str(number), **told))
            for number, side in enumerate(sides)
        ]
        askers = [(side, side.start("asker", paths=paths, **told)) for side in sides]
        saved = {pk: f"saved-{pk}" for pk in range(2, COUNT, 2)}
        half = len(saved) // 2
        turns = [list(saved.items())[:half], list(saved.items())[half:]]
        savers = [
            (side, side.start("save", slugs=slugs, pause=0.3))
            for side, slugs in zip(sides, turns, strict=True)
        ]
        watch(3, definitions)
        for side, pid in savers:
            side.wait(pid)
        site.nursery = sides[1]
        site.settle()
        watch(1, definitions)
        (tmp_path / "stop").touch()
        for side, pid in workers:
            side.wait(pid)
        assert all(set(side.wait(pid)) == {"200"} for side, pid in askers)

        assert all(len(known) <= 2 for known in definitions.values()), definitions
        assert {known[-1] for known in definitions.values()} == {
            known[-1] for known in definitions.values() if len(known) == 2
        }, "all are the new code's"
        assert locations(site.shown("news")) == expected()
        check_few_versions(before, site.versions(), len(saved))
        check_told_once(site, saved, definition)


def test_a_command_of_old_code_leaves_the_site_to_servers_with_newer_code(
    tmp_path: Path,
) -> None:
    """As cron starts it, again and again, on a host that was not updated yet."""
    with ground(tmp_path, "lastmod") as site:
        site.get("/sitemap-news.xml")
        site.get(*site.pages("news"))
        before, old = site.versions(), site.another(sections="old")
        assert all(checksum for _, _, _, checksum, _ in before)
        for command in ("build_sitemaps", "ping_sitemaps", "build_sitemaps"):
            done = old.run("command", arguments=[command])
            assert done["code"] == 0, done
            is_told = "nothing was stored, because servers run other" in done["err"]
            assert is_told == (command == "build_sitemaps"), done
        assert site.versions() == before
        assert not UrlChange.objects.exists()
        # A quarter of an hour after the last server has ended.
        long_ago = F("digest_served") - IN_USE
        Section.objects.update(digest_served=long_ago, digest_seen=long_ago)
        assert old.run("command", arguments=["build_sitemaps"])["err"] == ""
        assert site.versions() != before
        assert UrlChange.objects.exists()


def check_few_versions(before: Sequence[Any], after: Sequence[Any], saves: int) -> None:
    """A page is built once for each save, and once for the new code."""
    built = sum(row[2] for row in after) - sum(row[2] for row in before)
    assert built <= saves + 2 * len(after), (before, after)


def check_told_once(site: Ground, saved: dict[int, str], definition: str) -> None:
    """
    What was saved, and where it was before; and all if their lastmods are new.

    Whoever builds a page may list what is committed meanwhile, before that is looked
    up, and who looks it up may be overtaken by a build: then it is told again.
    """
    new = {path_of(slug) for slug in saved.values()}
    former = {path_of(f"a{pk}") for pk in saved}
    others = set(expected()) - new
    most = Counter(new | former)
    if definition == "lastmod":
        most.update(new | former | others)
    events = Counter(event.location for event in site.events())
    posts = Counter({path: len(found) for path, found in site.posts().items()})
    for found in (events, posts):
        assert new | former <= found.keys()
        often = found - most
        told = [event for event in site.events() if event.location in often]
        assert often <= Counter([*new, *new]), "\n".join(map(str, [often, *told]))


# Before the migration is run


@contextmanager
def without_tables() -> Iterator[None]:
    """Be as before ``migrate``."""
    call_command("migrate", "sitemaps_plus", "zero", verbosity=0)
    try:
        yield
    finally:
        call_command("migrate", "sitemaps_plus", verbosity=0)


def test_saves_and_pages_go_on_without_tables_and_nobody_is_notified_of_them(
    tmp_path: Path,
) -> None:
    """Not by the first request, build or work; of what is saved then, everybody is."""
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
        site.nursery.run("save", slugs=[[19, "saved-before"]])
        site.get("/sitemap.xml", "/sitemap-news.xml")
        site.get(*site.pages("news"))
        site.manage("build_sitemaps")
        site.manage("build_sitemaps", "--reconcile", "--deep")
        site.nursery.run("save", slugs=[[20, "saved-later"]])
        site.settle()
        told = {path_of(slug) for slug in ("saved-before", "saved-later", "a20")}
        assert {event.location for event in site.events()} == told
        posts = {path: len(moments) for path, moments in site.posts().items()}
        assert posts == dict.fromkeys(told, 1)
        assert locations(site.shown("news")) == expected()
