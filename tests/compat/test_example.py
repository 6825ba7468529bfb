"""
Crawlers read the example site over a socket, and find every page exactly once.

The site is loaded and served by processes of their own, as a user would do it, and
it is loaded up to U+FFFF, which is more than one sitemap file may hold.
"""

from __future__ import annotations

import gzip
import http.client
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from lxml import etree

from django_sitemaps_plus.protocol.dates import parse_w3c
from tests.compat.environments import (
    INSIDE,
    OWN,
    Environment,
    clean_environment,
    environment,
    made_once,
)

EXAMPLE = Path(__file__).parents[2] / "example_project"
LAST = "U+FFFF"
#: https://www.sitemaps.org/protocol.html#index
MAX_ENTRIES, MAX_BYTES = 50_000, 52_428_800

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
LINK = "{http://www.w3.org/1999/xhtml}link"


@dataclass(frozen=True)
class Site:
    """The running example: its address, and the path of each of its pages."""

    address: str
    paths: Path

    @property
    def urls(self) -> list[str]:
        return [f"{self.address}{path}" for path in self.paths.read_text().split("\n")]

    def get(self, url: str, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
        """Ask for a URL of the site, over a socket of the loopback interface."""
        assert url.startswith(f"{self.address}/")
        parts = urlsplit(url)
        connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=60)
        try:
            connection.request(
                "GET", parts.path, headers={"Host": parts.netloc, **headers}
            )
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()


@pytest.fixture(scope="session")
def loaded(package: Path, shared: Path) -> Path:
    """A folder with the loaded database, and the path of each of its pages."""

    def make(folder: Path) -> None:
        folder.mkdir()
        for arguments in (
            (str(EXAMPLE / "manage.py"), "load_unicode", "--last", LAST),
            ("-m", "list_example", str(folder / "paths")),
        ):
            OWN.run(
                *arguments,
                path=[package, EXAMPLE, INSIDE],
                variables=variables_of(folder),
                cwd=folder,
            )

    return made_once(shared / "example", make)


def variables_of(folder: Path) -> dict[str, str]:
    """Keep the database in ``folder``, and the pages that were made."""
    return {"EXAMPLE_DATABASE": str(folder / "unicode.sqlite3"), "TMPDIR": str(folder)}


@pytest.fixture(scope="module")
def site(
    package: Path, loaded: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """Serve a copy of the loaded database, as ``manage.py runserver`` would."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(loaded / "unicode.sqlite3", folder)
    with (
        (folder / "server.log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", "serve_example"],
            cwd=folder,
            env=clean_environment([package, EXAMPLE, INSIDE], variables_of(folder)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as server,
    ):
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        assert address, (folder / "server.log").read_text()
        yield Site(address, loaded / "paths")
        server.communicate("")  # the end of its input ends it


def read(site: Site, url: str) -> Any:
    """Return the root of a sitemap, after looking at all that its limits say."""
    response, body = site.get(url)
    assert response.status == 200
    assert response.headers["Content-Type"] == "application/xml"
    assert len(body) <= MAX_BYTES
    root = etree.fromstring(body, etree.XMLParser(huge_tree=True))
    assert len(root) <= MAX_ENTRIES
    return root


def texts(root: Any, tag: str) -> list[str]:
    return [found.text for found in root.iterfind(f"*/{SITEMAP}{tag}")]


def test_every_page_is_listed_exactly_once(site: Site) -> None:
    index = read(site, f"{site.address}/sitemap.xml")
    assert index.tag == f"{SITEMAP}sitemapindex"
    files = texts(index, "loc")
    assert len(files) == len(set(files))
    urls, alternates = [], set()
    for file in files:
        root = read(site, file)
        assert root.tag == f"{SITEMAP}urlset"
        urls += texts(root, "loc")
        alternates |= {link.get("href") for link in root.iterfind(f"*/{LINK}")}
        for lastmod in texts(root, "lastmod"):
            parse_w3c(lastmod)
    assert len(urls) > MAX_ENTRIES
    assert len(urls) == len(set(urls))
    assert set(urls) == set(site.urls)
    # Each language's page is listed for itself; only x-default has no entry.
    unlisted = alternates - set(urls)
    assert len(unlisted) < len(alternates)
    assert not [url for url in unlisted if "/en/" in url or "/de/" in url]


def test_listed_pages_are_there(site: Site) -> None:
    """Some of them, over the whole length of the list, in every script."""
    urls = site.urls
    for url in [*urls[:: len(urls) // 100], *urls[-22:]]:
        response, _ = site.get(url)
        assert response.status == 200, url


def test_a_compressed_file_says_the_same(site: Site) -> None:
    url = f"{site.address}/sitemap-character-1.xml"
    _, plain = site.get(url)
    response, packed = site.get(url, **{"Accept-Encoding": "gzip"})
    assert response.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed) == plain
    response, packed = site.get(f"{url}.gz")
    assert response.headers["Content-Type"] == "application/gzip"
    assert response.headers["Content-Encoding"] is None
    assert gzip.decompress(packed) == plain


# Other people's crawlers


def crawl(
    python: Environment, crawler: str, folder: Path, *arguments: str
) -> dict[str, Any]:
    """Run a crawler in its own environment; return what it reports."""
    report = folder / "report.json"
    python.run("-m", crawler, *arguments, str(report), path=[INSIDE], cwd=folder)
    found: dict[str, Any] = json.loads(report.read_text())
    return found


def plain(url: str) -> str:
    """Return a URL as trafilatura writes it: not quoted, no slash after the host."""
    return unquote(url).removesuffix("/")


@pytest.mark.network
@pytest.mark.parametrize(
    ("crawler", "requirements", "written"),
    [
        ("read_with_usp", ["ultimate-sitemap-parser==1.8.1"], str),
        ("read_with_scrapy", ["scrapy==2.19.0"], str),
        (
            "read_with_trafilatura",
            ["trafilatura==2.3.1", "lxml_html_clean>=0.4"],
            plain,
        ),
    ],
)
def test_a_crawler_reads_every_page_exactly_once(
    site: Site, tmp_path: Path, crawler: str, requirements: list[str], written: Any
) -> None:
    found = crawl(environment(*requirements), crawler, tmp_path, site.address)
    urls = [written(url) for url in found["urls"]]
    assert found["complaints"] == []
    assert len(urls) == len(set(urls))
    assert set(urls) == {written(url) for url in site.urls}


@pytest.mark.network
def test_protego(site: Site, tmp_path: Path) -> None:
    python = environment("protego==0.7.0")
    found = crawl(python, "read_with_protego", tmp_path, site.address, str(site.paths))
    assert found["sitemaps"] == [f"{site.address}/sitemap.xml"]
    assert found["allowed"] == site.urls
    assert found["search"] is False
