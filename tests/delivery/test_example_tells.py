"""
The example site tells engines: saved in the admin, and seconds later they know.

As its README says it, with the processes that it names: a server, and the engines of
the tests. Nothing but HTTP is asked.
"""

from __future__ import annotations

import html
import http.cookiejar
import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import django_sitemaps_plus
from django_sitemaps_plus.engines import google_auth
from tests.support.fakes.google import FakeGoogle
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.fakes.ports import free_port
from tests.support.processes import within

MANAGE = Path(__file__).parent.parent.parent / "example_project" / "manage.py"
#: What the README has as the site's public name.
NAME = "http://unicode.example"
NOTE = f"{NAME}/en/notes/%E2%98%83/"
#: Seconds from the save to the answer in the admin.
SOON = 15
ENGINES = ["indexnow", "google"] if google_auth.is_installed() else ["indexnow"]


class Example:
    """The running site, and a browser in which somebody is logged in."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.server = f"http://127.0.0.1:{free_port()}"
        self.indexnow = stack.enter_context(FakeIndexNow("api", site=self.server))
        google = FakeGoogle({f"{NAME}/": "siteOwner"}, site=self.server)
        self.google = stack.enter_context(google)
        credentials = folder / "google.json"
        credentials.write_text(json.dumps(google.credentials))
        self.local = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(Path(django_sitemaps_plus.__file__).parents[1]),
            "TMPDIR": str(folder),
            "EXAMPLE_DATABASE": str(folder / "unicode.sqlite3"),
            "DJANGO_SUPERUSER_PASSWORD": "snowman",
        }
        self.telling = {
            "EXAMPLE_DEBUG": "0",
            "EXAMPLE_BASE_URL": NAME,
            "EXAMPLE_SERVER": self.server,
            "EXAMPLE_INDEXNOW": self.indexnow.url,
        }
        if "google" in ENGINES:
            self.telling["EXAMPLE_SEARCH_CONSOLE"] = google.endpoint
            self.telling["EXAMPLE_CREDENTIALS"] = str(credentials)
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.browser = urllib.request.build_opener(cookies)

    def manage(self, *arguments: str, **variables: str) -> str:
        """Run ``manage.py`` to its end."""
        done = subprocess.run(
            [sys.executable, str(MANAGE), *arguments],
            env={**self.local, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def serve(self, log: Path) -> subprocess.Popen[bytes]:
        address = self.server.removeprefix("http://")
        arguments = ["runserver", "--insecure", "--noreload", address]
        with log.open("wb") as file:
            return subprocess.Popen(
                [sys.executable, str(MANAGE), *arguments],
                env={**self.local, **self.telling},
                stdout=file,
                stderr=file,
            )

    def get(self, path: str) -> str:
        with self.browser.open(f"{self.server}{path}", timeout=20) as answer:
            return str(answer.read().decode())

    def answers(self) -> bool:
        try:
            return "User-agent" in self.get("/robots.txt")
        except OSError:
            return False

    def fill_in(self, path: str, **given: str) -> str:
        """Fill in the form of a page, and send it off: the texts of its next page."""
        page = self.get(path)
        fields = dict(
            re.findall(r'<input[^>]* name="([^"]+)"[^>]* value="([^"]*)"', page)
        )
        areas = r'<textarea name="([^"]+)"[^>]*>\n?(.*?)</textarea>'
        fields |= dict(re.findall(areas, page, re.DOTALL))
        fields = {name: html.unescape(value) for name, value in fields.items()}
        for other in ("_addanother", "_continue"):
            fields.pop(other, None)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token is not None, page
        fields |= {"csrfmiddlewaretoken": token[1], **given}
        data = urllib.parse.urlencode(fields).encode()
        with self.browser.open(f"{self.server}{path}", data, timeout=20) as answer:
            return str(answer.read().decode())

    def rows(self, engine: str) -> list[str]:
        """Return the texts of the rows of the admin's list for an engine."""
        page = self.get(f"/admin/sitemaps_plus/submission/?engine={engine}")
        found = re.findall(r"<tr><td.*?</tr>", page, re.DOTALL)
        return [re.sub(r"<[^>]+>|\s+", " ", row) for row in found]


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Example]:
    folder = tmp_path_factory.mktemp("example")
    with ExitStack() as stack:
        site = Example(folder, stack)
        site.manage("load_unicode", "--last", "U+00FF")
        who = ["--username", "reader", "--email", "reader@unicode.example"]
        site.manage("createsuperuser", "--noinput", *who)
        process = site.serve(folder / "log")
        try:
            assert within(20, site.answers), (folder / "log").read_text()
            site.fill_in("/admin/login/", username="reader", password="snowman")
            yield site
        finally:
            process.terminate()
            process.wait(20)


def note(example: Example) -> str:
    """Return the path of the form for the snowman's note."""
    page = example.get("/admin/unicode_book/note/?q=%E2%98%83")
    found = re.search(r'href="(/admin/unicode_book/note/\d+/change/)', page)
    assert found is not None, page
    return found[1]


@pytest.fixture(scope="module")
def saved(example: Example) -> float:
    """Save a note in the admin; returns when."""
    page = example.fill_in(note(example), title_en="It snows", _save="Save")
    assert "was changed successfully" in page
    return time.monotonic()


def test_the_url_is_at_indexnow_and_its_answer_in_the_admin(
    example: Example, saved: float
) -> None:
    german = NOTE.replace("/en/", "/de/")
    assert within(SOON, lambda: len(example.indexnow.accepted) >= 2)
    assert sorted(example.indexnow.accepted) == [german, NOTE]
    assert within(5, lambda: all("Accepted" in row for row in example.rows("indexnow")))
    rows = example.rows("indexnow")
    assert len(rows) == 2
    for row, url in zip(sorted(rows), [german, NOTE], strict=True):
        assert url in row
        assert "202" in row
        assert "accepted the URLs; the key file has yet to be verified." in row
    example.indexnow.settle()
    assert set(example.indexnow.verdicts.values()) == {True}, "it found the key file"


if "google" in ENGINES:

    def test_the_sitemap_is_at_google_and_its_answer_in_the_admin(
        example: Example, saved: float
    ) -> None:
        sitemap = f"{NAME}/sitemap.xml"
        assert within(SOON, lambda: example.google.submitted == [sitemap])
        assert within(5, lambda: "Accepted" in "".join(example.rows("google")))
        [row] = example.rows("google")
        assert sitemap in row
        assert "204" in row
        assert "Google accepted the sitemap submission." in row
        example.google.settle()
        [known] = example.google.sitemaps.values()
        assert known["errors"] == "0"
        assert int(known["contents"][0]["submitted"]) > 200, "it read the sitemap"


def test_the_command_says_how_the_engines_stand(example: Example, saved: float) -> None:
    assert within(SOON, lambda: len(example.indexnow.accepted) >= 2)
    told = example.manage("ping_sitemaps", "--status", **example.telling)
    for engine in ENGINES:
        assert engine in told


def test_without_the_variables_nobody_is_told(example: Example) -> None:
    command = "from django.conf import settings as s; print(s.SITEMAPS_PLUS['ENGINES'])"
    assert example.manage("shell", "--no-imports", "-c", command).strip() == "{}"
