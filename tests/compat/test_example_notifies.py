"""
The example site notifies engines: saved in the admin, and seconds later they know.

As its README says it, with the processes that it names: a server, and the engines of
the tests. Nothing but HTTP is asked.
"""

from __future__ import annotations

import html
import http.cookiejar
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import django_sitemaps_plus
from django_sitemaps_plus.contrib.webmasters import google_auth
from tests.support.fakes.google import FakeGoogle
from tests.support.fakes.indexnow import FakeIndexNow
from tests.support.fakes.ports import free_port
from tests.support.processes import within
from tests.support.servers import SOON

MANAGE = Path(__file__).parent.parent.parent / "example_project" / "manage.py"
#: What the README has as the site's public name.
NAME = "http://unicode.example"
NOTE = f"{NAME}/en/notes/%E2%98%83/"
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
        self.notifying = {
            "EXAMPLE_DEBUG": "0",
            "EXAMPLE_BASE_URL": NAME,
            "EXAMPLE_SERVER": self.server,
            "EXAMPLE_INDEXNOW": self.indexnow.url,
        }
        if "google" in ENGINES:
            self.notifying["EXAMPLE_SEARCH_CONSOLE"] = google.endpoint
            self.notifying["EXAMPLE_CREDENTIALS"] = str(credentials)
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.browser = urllib.request.build_opener(cookies)

    def manage(self, *arguments: str, **variables: str) -> str:
        """Run ``manage.py`` to its end, without an error."""
        done = self.run(*arguments, **variables)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(
        self, *arguments: str, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run ``manage.py`` to its end."""
        return subprocess.run(
            [sys.executable, str(MANAGE), *arguments],
            env={**self.local, **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    @contextmanager
    def serving(self, log: Path) -> Iterator[None]:
        """Run the server."""
        address = self.server.removeprefix("http://")
        arguments = ["runserver", "--insecure", "--noreload", address]
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, str(MANAGE), *arguments],
                env={**self.local, **self.notifying},
                stdout=file,
                stderr=file,
            )
        try:
            yield
        finally:
            process.terminate()
            process.wait(SOON)

    def get(self, path: str) -> str:
        with self.browser.open(f"{self.server}{path}", timeout=SOON) as answer:
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
        with self.browser.open(f"{self.server}{path}", data, timeout=SOON) as answer:
            return str(answer.read().decode())

    def rows(self, engine: str) -> list[str]:
        """Return the texts of the rows of the admin's list for an engine."""
        page = self.get(f"/admin/sitemaps_plus/submission/?engine={engine}")
        found = re.findall(r"<tr><td.*?</tr>", page, re.DOTALL)
        return [re.sub(r"<[^>]+>|\s+", " ", row) for row in found]


def test_a_note_saved_in_the_admin_is_at_the_engines_in_seconds(
    few: Path, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        example = Example(tmp_path, stack)
        shutil.copy(few, example.local["EXAMPLE_DATABASE"])
        stack.enter_context(example.serving(tmp_path / "log"))
        who = ["--username", "reader", "--email", "reader@unicode.example"]
        example.manage("createsuperuser", "--noinput", *who)
        assert within(SOON, example.answers)
        example.fill_in("/admin/login/", username="reader", password="snowman")
        page = example.get("/admin/unicode_book/note/?q=%E2%98%83")
        found = re.search(r'href="(/admin/unicode_book/note/\d+/change/)', page)
        assert found is not None, page
        page = example.fill_in(found[1], title_en="It snows", _save="Save")
        assert "was changed successfully" in page
        # Both languages at IndexNow, and its answer in the admin.
        urls = [NOTE.replace("/en/", "/de/"), NOTE]
        assert within(SOON, lambda: sorted(example.indexnow.accepted) == urls)
        accepted = "accepted the URLs; the key file has yet to be verified."
        assert within(SOON, lambda: str(example.rows("indexnow")).count(accepted) == 2)
        rows = example.rows("indexnow")
        shown = [urllib.parse.unquote(url.removeprefix(NAME)) for url in urls]
        assert all(any(path in row for row in rows) for path in shown), rows
        example.indexnow.settle()
        assert set(example.indexnow.verdicts.values()) == {True}, "it found the key"
        if "google" in ENGINES:
            check_google(example)
        said = example.manage("ping_sitemaps", "--status", **example.notifying)
        assert all(engine in said for engine in ENGINES)


def check_google(example: Example) -> None:
    """Check that the sitemap is at Google, and its answer in the admin."""
    sitemap = f"{NAME}/sitemap.xml"
    assert within(SOON, lambda: example.google.submitted == [sitemap])
    accepted = "Google accepted the sitemap."
    assert within(SOON, lambda: accepted in "".join(example.rows("google")))
    [row] = example.rows("google")
    assert "/sitemap.xml" in row
    example.google.settle()
    [known] = example.google.sitemaps.values()
    assert known["errors"] == "0"
    assert int(known["contents"][0]["submitted"]) > 200, "it read the sitemap"


def test_without_the_variables_no_engine_is_configured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in os.environ if name.startswith("EXAMPLE")]:
        monkeypatch.delenv(name)
    settings = runpy.run_path(str(MANAGE.parent / "encyclopedia_site" / "settings.py"))
    assert settings["SITEMAPS_PLUS"]["ENGINES"] == {}
