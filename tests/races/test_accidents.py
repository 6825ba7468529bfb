"""Builders that are killed or stopped, bytes and tables that are lost, a deploy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.apps import apps
from django.db import connection
from django.db.models import F

from django_sitemaps_plus.models import Page, PageFile, UrlChange
from tests.support.processes import ROOT, within
from tests.testapp.models import Article

from .ground import END, FREE, Ground, Server
from .reader import Answer
from .truth import Entry
from .writer import FIRST

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

REDIS = os.environ.get("SITEMAPS_PLUS_REDIS", "")
#: Articles that there are at the beginning, with keys from 1 on.
COUNT = 30


@contextmanager
def ground(folder: Path, sections: str, **more: Any) -> Iterator[Ground]:
    """Stand where all articles are listed."""
    Article.objects.bulk_create(
        Article(pk=pk, slug=f"a{pk}", updated=FIRST) for pk in range(1, COUNT + 1)
    )
    made = Ground(folder, sections, SPLIT_GRACE=0, **more)
    with made.stack:
        yield made


def locations(entries: Sequence[Entry]) -> list[str]:
    return [entry.location for entry in entries]


def path_of(slug: str) -> str:
    return f"/articles/{slug}/"


def expected() -> list[str]:
    rows = Article.objects.filter(live=True).order_by("pk")
    return [path_of(slug) for slug in rows.values_list("slug", flat=True)]


def age_pages(seconds: float) -> None:
    """Let time go by since pages were read, compared or asked for."""
    columns = ("read_at", "verified_at", "asked_at", "changed_at")
    Page.objects.update(**{column: F(column) - seconds for column in columns})


#: More than ``VERIFY_AFTER``, and less than a day.
HOURS = 3 * 3600


# A builder that was killed


def die_building(site: Ground, path: str) -> None:
    """Have a process be killed in the middle of a page."""
    (site.folder / "die").touch()
    pid = site.nursery.start("get", paths=[path])
    assert site.nursery.wait(pid) == {"killed": 9}
    (site.folder / "die").unlink()


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
    with ground(tmp_path, "accident") as site:
        site.manage("build_sitemaps")
        first, second, third = site.pages("slow")
        server = site.serve("gunicorn", "--workers", "2", "--threads", "4")
        Article.objects.filter(pk=3).update(slug="new")
        age_pages(HOURS)
        PageFile.objects.filter(page=Page.objects.order_by("position")[1]).delete()
        for path in (first, second):
            die_building(site, path)

        former = ask_at_once(server, first, 8)
        assert [answer.status for answer, _ in former] == [200] * 8
        assert all(path_of("a3").encode() in answer.body for answer, _ in former)
        assert max(seconds for _, seconds in former) < 2, "at once"

        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(ask_at_once, server, second, 8)
            time.sleep(0.2)
            [(other, seconds)] = ask_at_once(server, third, 1)
            assert (other.status, seconds < 2) == (200, True), "others are answered"
            without = waiting.result()
        assert max(seconds for _, seconds in without) < 6
        assert {answer.status for answer, _ in without} == {503}
        assert all(int(answer.headers["retry-after"]) > 0 for answer, _ in without)

        assert len(site.built()) == 2, "the dead have left their claims behind"
        site.let_claims_pass()
        wait_for(server, second, path_of("a15"))
        wait_for(server, first, path_of("new"))
        assert locations(site.shown("slow")) == expected()
        assert site.held() == []


# Servers and workers that are stopped


def begin_slowly(site: Ground) -> None:
    """Have a change of the first page wait, and all that is built last seconds."""
    site.manage("build_sitemaps")
    age_pages(3000)
    site.nursery.run("save", slugs=[[3, "new"]])
    (site.folder / "sleep").touch()


def check_given_back(site: Ground, seconds: float) -> None:
    """Nothing is held, and whoever comes next builds at once."""
    assert seconds < END / 2
    assert site.built() == []
    assert within(5, lambda: site.held() == []), site.held()
    (site.folder / "sleep").unlink()
    [answer, *_] = site.get(*site.pages("slow"))
    assert (answer["status"], answer["seconds"] < 2) == (200, True), answer
    assert locations(site.shown("slow")) == expected()


@pytest.mark.parametrize("kind", ["gunicorn", "uvicorn"])
def test_a_server_that_is_stopped_gives_back_what_it_holds(
    kind: str, tmp_path: Path
) -> None:
    """Its thread builds one page at leisure, and a request another."""
    with ground(tmp_path, "accident") as site, ThreadPoolExecutor(1) as pool:
        begin_slowly(site)
        server = site.serve(kind)
        assert within(20, lambda: len(site.built()) == 1), "the thread builds"
        newest = Page.objects.order_by("-position").values("pk")[0]["pk"]
        Page.objects.filter(pk=newest).update(verified_at=F("verified_at") - HOURS)
        asked = pool.submit(server.get, site.pages("slow")[-1], {})
        assert within(10, lambda: len(site.built()) == 2), "a request builds too"
        seconds = server.close()
        assert asked.result().status == 200, "it was answered before the end"
        check_given_back(site, seconds)


@pytest.mark.redis
def test_a_worker_of_celery_that_is_stopped_gives_back_what_it_holds(
    tmp_path: Path,
) -> None:
    with ground(tmp_path, "accident") as site:
        begin_slowly(site)
        queue = f"sitemaps-plus-{uuid.uuid4().hex}"
        told = {**site.given, "broker": REDIS, "queue": queue}
        command = "-m celery -A tests.races.celery_app worker -c 1 -l WARNING"
        process = subprocess.Popen(
            [sys.executable, *command.split(), "--without-mingle", "--without-gossip"],
            env={**os.environ, "SITEMAPS_PLUS_TEST_RACE": json.dumps(told)},
            cwd=ROOT,
        )
        try:
            with Celery("races", broker=REDIS) as app:
                app.send_task("django_sitemaps_plus.work", queue=queue)
            assert within(40, lambda: len(site.built()) == 1)
            begun = time.monotonic()
            process.terminate()
            process.wait(END)
        finally:
            process.kill()
            process.wait()
        check_given_back(site, time.monotonic() - begun)


# What was there before


def test_nobody_is_notified_of_rows_that_were_there_before_the_app(
    tmp_path: Path,
) -> None:
    """Not by the first request, build or work; of what is saved then, everybody is."""
    with ground(tmp_path, "deploy", definition="old") as site:
        site.nursery.run("save", slugs=[[3, "saved-before"]])
        site.get("/sitemap.xml", "/sitemap-news.xml")
        site.get(*site.pages("news"))
        site.manage("build_sitemaps")
        site.manage("build_sitemaps", "--reconcile", "--deep")
        site.nursery.run("save", slugs=[[4, "saved-later"]])
        site.settle()
        paths = {path_of(slug) for slug in ("saved-before", "saved-later", "a4")}
        assert {event.location for event in site.events()} == paths
        assert {path: len(at) for path, at in site.posts().items()} == dict.fromkeys(
            paths, 1
        )


def test_nobody_is_notified_of_what_was_listed_when_the_bytes_are_lost(
    tmp_path: Path,
) -> None:
    with ground(tmp_path, "deploy", definition="old") as site:
        site.manage("build_sitemaps")
        site.nursery.run("save", slugs=[[3, "saved-before"]])
        PageFile.objects.all().delete()
        site.nursery.run("save", slugs=[[4, "saved-later"]])
        Article.objects.filter(pk=5).update(slug="unseen")
        assert [answer["status"] for answer in site.get(*site.pages("news"))] == [
            200
        ] * len(site.pages("news"))
        site.manage("build_sitemaps", "--reconcile", "--deep")
        site.settle()
        assert locations(site.shown("news")) == expected()
        told = {event.location for event in site.events()}
        assert {path_of("saved-before"), path_of("saved-later")} <= told
        # Where they were before nobody knows any more, or their pages were compared.
        known = {path_of("a3"), path_of("a4")}
        assert told <= known | {path_of("saved-before"), path_of("saved-later")}
        assert set(site.posts()) == told


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
def test_old_and_new_code_side_by_side(definition: str, tmp_path: Path) -> None:
    """No page goes back and forth, and engines hear once of each URL."""
    with ground(tmp_path, "deploy", definition="old") as site:
        site.manage("build_sitemaps")
        before = site.versions()
        definitions: dict[int, list[str]] = {}
        watch(0.1, definitions)
        stop, paths = str(tmp_path / "stop"), site.pages("news")
        # What was started later is newer.
        sides = [site.nursery, site.another(definition=definition)]
        running = []
        for number, side in enumerate(sides):
            given = {"stop": stop, "folder": str(tmp_path)}
            running += [
                (side, side.start("worker", name=str(number), **given)),
                (side, side.start("asker", paths=paths, **given)),
            ]
        saved = {pk: f"saved-{pk}" for pk in range(2, COUNT, 2)}
        # On different pages: who builds a page lists what is committed just then too.
        half = len(saved) // 2
        turns = [list(saved.items())[:half], list(saved.items())[half:]]
        savers = [
            (side, side.start("save", slugs=slugs, pause=0.3))
            for side, slugs in zip(sides, turns, strict=True)
        ]
        watch(3, definitions)
        for side, pid in savers:
            assert side.wait(pid) == {"result": None}
        site.nursery = sides[1]
        site.settle()
        watch(1, definitions)
        (tmp_path / "stop").touch()
        statuses = [side.wait(pid)["result"] for side, pid in running]

        assert all(len(known) <= 2 for known in definitions.values()), definitions
        assert {known[-1] for known in definitions.values()} == {
            known[-1] for known in definitions.values() if len(known) == 2
        }, "all are the new code's"
        assert set(statuses[1]) == set(statuses[3]) == {"200"}
        assert locations(site.shown("news")) == expected()
        check_few_versions(before, site.versions(), len(saved))
        check_told_once(site, saved, definition)


def check_few_versions(before: Sequence[Any], after: Sequence[Any], saves: int) -> None:
    """A page is built once for each save, and once for the new code."""
    built = sum(row[2] for row in after) - sum(row[2] for row in before)
    assert built <= saves + 2 * len(after), (before, after)


def check_told_once(site: Ground, saved: dict[int, str], definition: str) -> None:
    """What was saved, and where it was before; and all if their lastmods are new."""
    new = {path_of(slug) for slug in saved.values()}
    former = {path_of(f"a{pk}") for pk in saved}
    others = set(expected()) - new
    most = dict.fromkeys(new | former, 1) | dict.fromkeys(others, 0)
    if definition == "lastmod":
        most = {path: count + 1 for path, count in most.items()}
    events = Counter(event.location for event in site.events())
    posts = Counter({path: len(found) for path, found in site.posts().items()})
    for found in (events, posts):
        assert new | former <= found.keys()
        often = [path for path in found if found[path] > most.get(path, 0)]
        told = [event for event in site.events() if event.location in often]
        assert not often, "\n".join(map(str, [often, *told]))


# Before the migration is run


def ordered_models() -> list[Any]:
    """Return the app's models, those first to which others refer."""
    left = list(apps.get_app_config("sitemaps_plus").get_models())
    found: list[Any] = []
    while left:
        for model in list(left):
            targets = {field.related_model for field in model._meta.fields}
            if not targets & (set(left) - {model}):
                found.append(model)
                left.remove(model)
    return found


@contextmanager
def without_tables() -> Iterator[None]:
    """Be as before ``migrate``."""
    with connection.schema_editor() as editor:
        for model in reversed(ordered_models()):
            editor.delete_model(model)
    try:
        yield
    finally:
        with connection.schema_editor() as editor:
            for model in ordered_models():
                editor.create_model(model)


def test_saves_and_pages_go_on_while_the_tables_are_missing(tmp_path: Path) -> None:
    with ground(tmp_path, "deploy", definition="old") as site:
        site.manage("build_sitemaps")
        paths = [*site.pages("news"), "/sitemap.xml", "/sitemap-news.xml"]
        with without_tables():
            # One process has known the tables, another has never seen them.
            for number, side in enumerate((site.nursery, site.another())):
                side.run("do all", new=1000 + number)
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
