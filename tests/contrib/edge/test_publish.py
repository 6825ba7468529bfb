"""Sitemaps as files in a folder: what is put, in which order, and what never is."""

from __future__ import annotations

import errno
import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import path

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.contrib.edge.checks import check_publish
from django_sitemaps_plus.contrib.edge.models import Publisher
from django_sitemaps_plus.contrib.edge.publish import Published, publish
from django_sitemaps_plus.contrib.edge.published import published_files, published_state
from django_sitemaps_plus.delivery import background
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.sitemaps.site import Site
from tests import urls as project
from tests.conftest import Register
from tests.contrib.edge import publisher
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    remove_sites,
    run_command,
)
from tests.support.published import (
    Troubled,
    followed,
    in_folder,
    locations,
    urls,
    wait_for,
)
from tests.testapp.models import Article
from tests.testapp.views import anything

pytestmark = pytest.mark.django_db(transaction=True)

ORIGIN = "https://www.example.com"
Use = Callable[..., None]


class Articles(Sitemap):
    """Ten articles a page."""

    model = Article
    location = Route("article", slug=F("slug"))
    limit = 10


@pytest.fixture
def use(settings: Any, tmp_path: Path) -> Use:
    """Publish into a folder, with some options and settings."""
    Troubled.plan, Troubled.writes = staticmethod(lambda write: None), 0

    folder = {
        "BACKEND": "tests.support.published.Troubled",
        "OPTIONS": {"location": str(tmp_path / "files")},
    }

    def change(storage: Any = folder, options: Any = None, **given: Any) -> None:
        settings.STORAGES = {**settings.STORAGES, "sitemaps": storage}
        publish = {"STORAGE": "sitemaps", "OPTIONS": options or {}}
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "PUBLISH": publish, **given}

    change()
    return change


@pytest.fixture
def folder(use: Use, tmp_path: Path, register: Register) -> Path:
    """The folder with the files, of a site with a section of articles."""
    register("article", Articles)
    return tmp_path / "files"


def site() -> Any:
    found = Site.current().address()
    assert found is not None
    return found


def run() -> Published:
    """Publish at once, to the end."""
    done = publish(site(), at_once=True)
    assert done is not None
    return done


def names(folder: Path) -> set[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)) for path in files}


def insert(*numbers: int) -> None:
    Article.objects.bulk_create(Article(pk=n + 1, slug=f"a{n}") for n in numbers)


def expected() -> set[str]:
    slugs = Article.objects.values_list("slug", flat=True)
    return {f"{ORIGIN}/articles/{slug}/" for slug in slugs}


def build(*arguments: str, publish: bool = False) -> str:
    out, err, code = run_command("build_sitemaps", *arguments)
    assert (err, code) == ("", 0)
    return out + published() if publish else out


def begin(count: int) -> str:
    """Publish so many articles."""
    insert(*range(count))
    return build(publish=True)


def published() -> str:
    out, err, code = run_command("publish_sitemaps")
    assert (err, code) == ("", 0)
    return out


# What is put


def test_each_address_has_the_bytes_that_django_sends(
    folder: Path, register: Register, client: Client
) -> None:
    register("pages", PagesSitemap)
    out = begin(25)
    assert out.endswith("Published: 8 files; 8 put.\n")
    assert names(folder) == {
        *("robots.txt", "sitemap.xml", "sitemap-article.xml", "sitemap-pages.xml"),
        *("sitemap-article-1.xml", "sitemap-article-2.xml", "sitemap-article-3.xml"),
        "sitemap-pages-1.xml",
    }
    for name in names(folder):
        assert (folder / name).read_bytes() == client.get(f"/{name}").content


def test_pages_by_position_are_put_as_they_are_built_then(
    folder: Path, register: Register, client: Client
) -> None:
    class Lines(Sitemap):
        limit = 2
        lines: ClassVar[list[str]] = ["/a/", "/b/", "/c/"]

        def items(self) -> list[str]:
            return self.lines

        def location(self, item: str) -> str:
            return item

    register("lines", Lines)
    insert(0)
    build(publish=True)
    assert run().puts == 0
    Lines.lines = ["/a/", "/b/", "/d/", "/e/", "/f/"]
    run()
    pages = {f"sitemap-lines-{number}.xml" for number in (1, 2, 3)}
    assert pages < names(folder)
    for name in (*pages, "sitemap-lines.xml", "sitemap.xml"):
        assert (folder / name).read_bytes() == client.get(f"/{name}").content
    assert followed(in_folder(folder))["sitemap-lines-3.xml"] == [f"{ORIGIN}/f/"]
    # One that fails keeps no other from being put; the index stays as it is.
    before = (folder / "sitemap.xml").read_bytes()
    Lines.lines = ["no path"]
    Article.objects.get().delete()
    insert(5)
    build("article")
    done = run()
    assert "sitemap-lines-1.xml: 1 of 1 rows" in done.errors[0]
    assert b"/a5/" in (folder / "sitemap-article-1.xml").read_bytes()
    assert (folder / "sitemap.xml").read_bytes() == before


def test_a_second_run_puts_only_what_changed_or_was_lost(folder: Path) -> None:
    begin(25)
    writes = Troubled.writes
    with CaptureQueriesContext(connection) as queries:
        done = run()
    assert (done.puts, Troubled.writes, done.errors) == (0, writes, [])
    statements = [query["sql"] for query in queries]
    assert not [sql for sql in statements if "testapp" in sql], "no row is read"
    changing = ("INSERT", "UPDATE", "DELETE")
    changes = [sql for sql in statements if sql.startswith(changing)]
    assert len(changes) == 2, "the lease is taken and given back"
    Article.objects.filter(slug="a3").update(slug="renamed")
    build("--reconcile", "--deep")
    assert f"{ORIGIN}/articles/a3/" in urls(in_folder(folder))
    assert run().puts == 3, "the page, its section's address and the site's"
    assert urls(in_folder(folder)) == expected()
    for name in names(folder):
        (folder / name).unlink()
    assert run().puts == 6
    assert urls(in_folder(folder)) == expected()


def test_an_index_comes_after_its_pages(folder: Path) -> None:
    insert(*range(25))
    as_index("article")
    seen: list[set[str]] = []
    Troubled.plan = staticmethod(lambda write: seen.append(names(folder)))
    build(publish=True)
    pages = [f"sitemap-article-{n}.xml" for n in (1, 2, 3)]
    assert list(followed(in_folder(folder))) == pages
    first = next(one for one in seen if "sitemap.xml" in one)
    assert first.issuperset(pages)


# Splits, failures, kills


def as_index(*sections: str) -> None:
    for name in ("", *sections):
        Section.objects.update_or_create(name=name, defaults={"is_index": True})


def test_no_url_is_missing_wherever_a_storage_fails_after_a_split(folder: Path) -> None:
    read = in_folder(folder)
    as_index("article")
    insert(*range(0, 150, 10))
    build(publish=True)
    fails_at = 0

    def failing(write: int) -> None:
        assert before <= urls(read), "a URL is missing at this moment"
        if write >= fails_at:
            raise OSError(errno.EIO, "the disk failed")

    Troubled.plan = staticmethod(failing)
    for number in (3, 103):
        before = urls(read)
        assert before == expected()
        insert(*range(number, number + 7))
        build("--reconcile")
        errors = ["not yet"]
        while errors:
            Troubled.writes, fails_at = 0, fails_at + 1
            errors = run().errors
            assert before <= urls(read)
        assert urls(read) == expected(), number
        assert "disk failed" not in str(published_state())


def test_a_full_disk_leaves_no_half_file_and_is_said_until_there_is_room(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begin(5)
    there, before = names(folder), (folder / "sitemap.xml").read_bytes()
    insert(5)
    build("--reconcile")

    def full(write: int) -> None:
        (folder / Troubled.name).write_bytes(b"<urlset>")
        raise OSError(errno.ENOSPC, "No space left on device")

    Troubled.plan = staticmethod(full)
    out, err, code = run_command("publish_sitemaps")
    assert code == 1
    assert "sitemap-article-1.xml: OSError: [Errno 28] No space left on device" in err
    assert "Traceback" not in caplog.text
    assert (names(folder), (folder / "sitemap.xml").read_bytes()) == (there, before)
    out, err, code = run_command("ping_sitemaps", "--status")
    assert code == 1
    assert "could not be published to sitemaps" in err
    Publisher.objects.update(claimed_until=1)
    out, err, code = run_command("ping_sitemaps")
    assert (out, code) == ("No submission is due.\n", 1)
    assert "file could not be published to sitemaps: OSError: [Errno 28]" in err
    Troubled.plan = staticmethod(lambda write: None)
    Publisher.objects.update(claimed_until=1)
    assert run_command("ping_sitemaps")[1:] == ("", 0)
    out, err, code = run_command("ping_sitemaps", "--status")
    assert (err, code) == ("", 0)
    assert "Published to sitemaps" in out
    assert str(folder) in out.replace("\n", "").replace(" ", "")
    assert urls(in_folder(folder)) == expected()


def test_a_put_that_was_cut_off_is_done_again_for_the_same_page(folder: Path) -> None:
    """The killed process had put another version, and nobody knows."""
    begin(5)

    def killed(write: int) -> None:
        (folder / "sitemap-article-1.xml").write_text("what it had put")
        (folder / Troubled.name).write_bytes(b"<urlset>")
        raise KeyboardInterrupt

    Article.objects.filter(slug="a3").update(slug="other")
    build("--reconcile", "--deep")
    Troubled.plan = staticmethod(killed)
    with pytest.raises(KeyboardInterrupt):
        run()
    Troubled.plan = staticmethod(lambda write: None)
    Article.objects.filter(slug="other").update(slug="a3")
    build("--reconcile", "--deep")
    run()
    assert locations((folder / "sitemap-article-1.xml").read_bytes())
    # Somebody may be writing it, for all that is known.
    assert len([*folder.glob("*.part")]) == 1
    (folder / "film.part").touch()
    for file in folder.glob("*.part"):
        os.utime(file, (1, 1))
    run()
    assert [file.name for file in folder.glob("*.part")] == ["film.part"]


def test_the_index_waits_for_unbuilt_pages(folder: Path, register: Register) -> None:
    begin(25)
    before = (folder / "sitemap.xml").read_bytes()
    register("note", ArticleSitemap)
    done = run()
    assert "never built: note. Run: manage.py build_sitemaps" in done.errors[0]
    assert (folder / "sitemap.xml").read_bytes() == before
    build(publish=True)
    assert run().errors == []


def test_a_process_at_a_time_publishes_and_one_too_slow_is_not_believed(
    folder: Path,
) -> None:
    insert(1)
    build()
    others: list[Published | None] = []

    def taken(write: int) -> None:
        Publisher.objects.update(claimed_by="another")

    Troubled.plan = staticmethod(taken)
    assert run().is_cut_short
    assert not published_files().exclude(digest="").exists()
    Publisher.objects.all().delete()
    Troubled.plan = staticmethod(
        lambda write: others.append(publish(site(), at_once=True))
    )
    assert publish(site()) is not None
    assert set(others) == {None}
    assert publish(site()) is None, "not due"
    assert urls(in_folder(folder)) == expected()
    Publisher.objects.update(claimed_until=1)
    assert publish(site()) is not None


def test_what_no_index_names_is_deleted_a_day_later(folder: Path, use: Use) -> None:
    insert(1)
    use(FORMATS={"text": {}})
    build(publish=True)
    texts = {name for name in names(folder) if name.endswith(".txt")} - {"robots.txt"}
    assert texts == {"sitemap.txt", "sitemap-article.txt", "sitemap-article-1.txt"}
    assert (folder / "sitemap-article-1.txt").read_text() == f"{ORIGIN}/articles/a1/\n"
    use(FORMATS={})
    run()
    assert texts <= names(folder)
    gone = published_files().filter(gone_since__gt=0)
    gone.update(gone_since=F("gone_since") - 86_000)
    assert run().deleted == 0
    gone.update(gone_since=F("gone_since") - 500)
    assert run().deleted == 3
    assert not texts & names(folder)
    assert {row.name for row in published_files()} == names(folder)


# Forms and places


def test_gzipped_files_have_their_ending_wherever_named(folder: Path, use: Use) -> None:
    options = {"gzip": "file", "prefix": "maps/{host}/"}
    use(options=options, FORMATS={"text": {"robots": True}})
    insert(*range(25))
    as_index("article")
    build(publish=True)
    top = folder / "maps" / "www.example.com"
    assert not [name for name in names(top) if name.endswith(".xml")]
    assert (top / "robots.txt").read_text().splitlines()[-2:] == [
        f"Sitemap: {ORIGIN}/sitemap.xml.gz",
        f"Sitemap: {ORIGIN}/sitemap.txt.gz",
    ]
    assert urls(in_folder(top), "sitemap.xml.gz") == expected()
    assert "sitemap-article-1.xml.gz" in followed(in_folder(top), "sitemap.xml.gz")
    lines = gzip.decompress((top / "sitemap-article-1.txt.gz").read_bytes())
    assert len(lines.splitlines()) == 9


class OwnRobots:
    """The URLs of a project with a robots.txt of its own."""

    urlpatterns = (path("robots.txt", anything), *project.urlpatterns)


def test_robots_txt_and_keys_are_put_where_the_project_serves_them(
    folder: Path, use: Use, settings: Any
) -> None:
    key = "0123456789abcdef"
    backend = "django_sitemaps_plus.engines.indexnow.IndexNow"
    use(ENGINES={"indexnow": {"BACKEND": backend, "OPTIONS": {"key": key}}})
    build(publish=True)
    assert (folder / f"{key}.txt").read_text() == key
    assert "Sitemap: " in (folder / "robots.txt").read_text()
    settings.ROOT_URLCONF = OwnRobots
    run()
    assert published_files().get(name="robots.txt").gone_since > 0


def test_a_storage_that_replaces_no_files_says_so(use: Use, register: Register) -> None:
    use(storage={"BACKEND": "django.core.files.storage.InMemoryStorage"})
    register("article", Articles)
    insert(1)
    build(publish=True)
    insert(2)
    build("--reconcile")
    assert "it must replace files of the same name" in run().errors[0]


# When


def test_the_background_publishes_what_it_rebuilds(folder: Path, use: Use) -> None:
    use(options={"every": 30}, VERIFY_AFTER=3600)
    begin(5)
    article = Article.objects.get(slug="a3")
    article.slug = "renamed"
    article.save()
    background.work()
    assert f"{ORIGIN}/articles/renamed/" not in urls(in_folder(folder)), "not due"
    Publisher.objects.update(claimed_until=1)
    background.work()
    assert urls(in_folder(folder)) == expected()


def test_whoever_follows_the_index_finds_all_while_publishers_are_killed(
    folder: Path,
) -> None:
    """Splits, a slow storage, a kill -9 at any moment."""
    read, random = in_folder(folder), Random(7)  # noqa: S311
    as_index("article")
    insert(*range(0, 150, 10))
    build(publish=True)
    always, looks, kills = urls(read), 0, 0
    numbers = [n for n in range(150) if n % 10]
    random.shuffle(numbers)
    process = publisher.start(str(folder), 0.03)
    try:
        kill_at = time.monotonic() + 2
        while numbers:
            insert(*numbers[:12])
            del numbers[:12]
            build("--reconcile")
            end = time.monotonic() + 0.3
            while time.monotonic() < end:
                assert always <= urls(read), "at this moment a URL is missing"
                looks += 1
                time.sleep(0.01)
            if time.monotonic() > kill_at:
                process.kill()
                process.wait()
                kills += 1
                process = publisher.start(str(folder), 0.03)
                kill_at = time.monotonic() + random.uniform(0.9, 1.6)
        wait_for(lambda: urls(read) == expected())
    finally:
        process.kill()
        process.wait()
    assert kills > 2
    assert looks > 100


# Misuse


def test_files_need_an_address_and_a_storage(use: Use, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": ORIGIN}
    _, err, code = run_command("publish_sitemaps")
    assert code == 2
    assert "set SITEMAPS_PLUS['PUBLISH']" in err
    with CaptureQueriesContext(connection) as queries:
        assert publish(site()) is None
    assert len(queries) == 0, "an adopter without it has no statement for it"
    remove_sites(settings)
    settings.SITEMAPS_PLUS = {"PUBLISH": {"STORAGE": "sitemaps"}}
    assert [one.id for one in check_publish()] == ["sitemaps_plus.E080"]


def test_files_are_counted_and_nothing_published_yet_is_an_alert(folder: Path) -> None:
    insert(*range(5))
    build()
    _, err, code = run_command("ping_sitemaps", "--status")
    assert code == 1
    assert "Nothing was published to sitemaps yet" in err
    out, _, _ = run_command("ping_sitemaps", "--status", "--format", "json")
    assert json.loads(out)["published"]["files"] == 0
    published()
    found = published_state()
    assert found is not None
    assert (found.files, found.failed) == (4, 0)
