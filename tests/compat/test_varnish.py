"""Varnish in front of a server, as docs/edge.md has it: a day's lifetime, purged."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from django_sitemaps_plus.contrib.edge.models import AnnouncedDocument
from django_sitemaps_plus.models import Change
from tests.delivery.conftest import keys, serve  # noqa: F401 (fixtures)
from tests.support.fakes.ports import free_port
from tests.support.processes import within
from tests.support.servers import SOON, Server
from tests.testapp.models import Article

pytestmark = [
    pytest.mark.varnish,
    pytest.mark.django_db(transaction=True, databases=["default", "other"]),
]

DOCS = Path(__file__).parent.parent.parent / "docs" / "edge.md"
GUNICORN = "-m gunicorn tests.support.cached_app --bind 127.0.0.1:{port} --workers 2"
PLAIN = ["-c", "from tests.support.cached_app import serve; serve({port})"]
#: What the settings are by default, whatever other tests have.
AS_EVER = {"delivery.thread.IDLE": 10.0}
INDEXES = "/sitemap.xml", "/sitemap-news.xml"
PAGES = [f"/sitemap-news-{number}.xml" for number in range(1, 13)]
#: What a change of the second page concerns.
CONCERNED = "/sitemap", "/sitemap-news", "/sitemap-news-2"


class Answer(NamedTuple):
    """What the cache sends."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def is_hit(self) -> bool:
        """Whether the cache has answered by itself."""
        return " " in self.headers["x-varnish"]


class Cache:
    """Varnish, and the server behind it."""

    def __init__(self, folder: Path, server: Server, port: int) -> None:
        self.server, self.port, self.folder = server, port, folder
        vcl = re.findall(r"^```vcl\n(.*?)^```$", DOCS.read_text(), re.M | re.S)
        file = folder / "site.vcl"
        file.write_text(vcl[0].replace('"8000"', f'"{server.port}"'))
        varnish = shutil.which("varnishd", path="/usr/sbin:/usr/bin:/usr/local/sbin")
        assert varnish is not None
        name, address = str(folder / "varnish"), f"127.0.0.1:{port}"
        command = [varnish, "-F", "-n", name, "-a", address, "-f", str(file)]
        # As whoever runs the tests, root or not.
        self.process = subprocess.Popen([*command, "-j", "none", "-s", "malloc,50m"])

    def answers(self) -> bool:
        """Return whether the server is answered for."""
        try:
            return self.get("/robots.txt").status == 200
        except OSError:
            return False

    def get(self, path: str, **headers: str) -> Answer:
        """Ask it for a path."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()

    @property
    def purges(self) -> int:
        """How often it was asked to purge something."""
        command = ["varnishstat", "-n", str(self.folder / "varnish"), "-j"]
        said = json.loads(subprocess.check_output([*command, "-f", "MAIN.bans_added"]))
        return int(said["counters"]["MAIN.bans_added"]["value"])

    def has_others(self, bodies: Mapping[str, bytes]) -> bool:
        """Return whether it sends other bytes for each path than before."""
        return all(self.get(path).body != body for path, body in bodies.items())

    def save(self, key: int, slug: str) -> None:
        """Have the server save an article."""
        self.server.get(f"/save/{key}/{slug}/")


@pytest.fixture
def cache(
    request: Any,
    tmp_path: Path,
    serve: Any,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Cache]:
    """A cache that has nothing yet, of a site whose documents are all announced."""
    port = free_port()
    monkeypatch.setenv("VARNISH", f"http://127.0.0.1:{port}/")
    server = serve(
        request.param,
        constants=AS_EVER,
        BACKGROUND_SHARE=0.05,
        NOTIFY_AFTER=1,
        CACHE_TAGS=["Surrogate-Key"],
        CACHE_CONTROL="public, max-age=0, s-maxage=86400",
    )
    running = Cache(tmp_path, server, port)
    try:
        assert within(SOON, running.answers)
        assert within(SOON, lambda: running.purges > 0), server.log.read_text()
        assert within(SOON, is_announced)
        yield running
    finally:
        running.process.terminate()
        running.process.wait(30)


def is_announced() -> bool:
    waiting = AnnouncedDocument.objects.exclude(announce_at=None)
    return AnnouncedDocument.objects.exists() and not waiting.exists()


@pytest.mark.parametrize("cache", [GUNICORN.split()], indirect=True, ids=["gunicorn"])
def test_what_changes_is_purged_and_nothing_else(
    cache: Cache,
    keys: list[int],  # noqa: F811
) -> None:
    files = [*INDEXES, *PAGES]
    everything = [*files, *(f"{path}.gz" for path in files)]
    concerned = [path for path in everything if path.split(".")[0] in CONCERNED]
    first = {path: cache.get(path, **{"Accept-Language": "de"}) for path in everything}
    assert {answer.status for answer in first.values()} == {200}
    assert "surrogate-key" not in first[PAGES[1]].headers
    for path in everything:
        assert cache.get(path, **{"Accept-Language": "en"}).is_hit, path
    for turn in range(3):
        before = {path: cache.get(path).body for path in concerned}
        cache.save(keys[15], f"changed{turn}")
        assert within(SOON, partial(cache.has_others, before))
        assert f"changed{turn}".encode() in cache.get(PAGES[1]).body
        for path in everything:
            assert path in concerned or cache.get(path).is_hit, path


@pytest.mark.parametrize("cache", [PLAIN], indirect=True, ids=["plain"])
def test_a_page_that_is_rebuilt_with_the_same_bytes_is_not_purged(
    cache: Cache,
    keys: list[int],  # noqa: F811
) -> None:
    """A draft is saved; the change of another page tells when that was looked at."""
    draft = Article.objects.create(slug="draft", live=False)
    Change.objects.all().delete()
    first = [cache.get(path).body for path in PAGES]
    cache.save(draft.pk, "draft")
    assert within(SOON, Change.objects.exists)
    assert within(SOON, lambda: not Change.objects.exists())
    cache.save(keys[15], "changed")
    assert within(SOON, partial(cache.has_others, {PAGES[1]: first[1]}))
    for path in PAGES:
        assert cache.get(path).is_hit, path
