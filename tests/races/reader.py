"""
A process that reads as crawlers do: an index, its pages, what it has not seen yet.

It comes again with the tags and dates that it was given. What it was answered is in its
journal, with the time before and after; ``verdict`` says whether that was right.
"""

from __future__ import annotations

import datetime as dt
import http.client
import random
import re
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from django.db import Error, connection
from django.test import Client

from django_sitemaps_plus.models import Page

from .journal import Journal
from .site import HOST, ORIGIN

SECTIONS = ("news", "filed", "tags")
#: Longer nobody waits for an answer.
TIMEOUT = 40
#: How often an index is read again in one crawl, because it lists more pages.
ROUNDS = 20
_PATH = re.compile(r"/sitemap-(\w+)-(\d+)\.xml")
_XML = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


@dataclass
class Answer:
    """An answer; status 0 is none."""

    status: int
    headers: dict[str, str]
    body: bytes
    error: str = ""


Get = Callable[[str, dict[str, str]], Answer]


def from_client() -> Get:
    """Answer requests in this process."""
    client = Client(raise_request_exception=False)

    def get(path: str, headers: dict[str, str]) -> Answer:
        found = client.get(path, headers=headers)
        error = ""
        if found.exc_info is not None:
            error = "".join(traceback.format_exception(found.exc_info[1])[-12:])
            connection.close()
        given = {name.lower(): value for name, value in found.headers.items()}
        return Answer(found.status_code, given, found.content, error)

    return get


def from_server(port: int) -> Get:
    """Ask a server."""

    def get(path: str, headers: dict[str, str]) -> Answer:
        server = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
        try:
            server.request("GET", path, headers={"Host": HOST, **headers})
            found = server.getresponse()
            given = {name.lower(): value for name, value in found.getheaders()}
            return Answer(found.status, given, found.read())
        except (OSError, http.client.HTTPException) as error:
            return Answer(0, {}, b"", repr(error))
        finally:
            server.close()

    return get


@dataclass
class Known:
    """What a reader has of an address."""

    tag: str
    modified: str
    found: list[Any]


class Reader:
    """A crawler that remembers."""

    def __init__(self, command: dict[str, Any]) -> None:
        self.name = command["name"]
        self.stop = Path(command["stop"])
        #: When this is there, everything is read a last time.
        self.quiet = Path(command["quiet"]) if "quiet" in command else None
        seed = f"{command['seed']}-{self.name}"
        self.rng = random.Random(seed)  # noqa: S311 (nothing secret)
        self.journal = Journal(Path(command["folder"]), f"reader-{self.name}")
        port = command.get("port")
        self.get: Get = from_client() if port is None else from_server(port)
        self.known: dict[str, Known] = {}
        self.is_quiet = False

    def run(self) -> None:
        """Read until the race is over, and all once more in the quiet after it."""
        while not self.stop.exists():
            if self.rng.random() < 0.3:
                self.crawl_slowly(self.rng.choice(SECTIONS))
            self.crawl(self.rng.choice(SECTIONS))
            if self.rng.random() < 0.1:
                self.ask("/sitemap.xml")
                self.ask("/robots.txt")
        if self.quiet is None:
            return
        while not self.quiet.exists():
            time.sleep(0.02)
        self.is_quiet = True
        # The second time with the tags that were given the first time.
        for section in SECTIONS * 2:
            self.crawl(section)

    def crawl(self, section: str) -> None:
        """Read a section's index and pages, until it lists no more of them."""
        graces, start = self._graces(section), time.time()
        pages: dict[int, list[Any] | None] = {}
        whole: list[Any] | None = None
        address = f"/sitemap-{section}.xml"
        for _ in range(ROUNDS):
            found = self.ask(address)
            if found is None:
                return
            numbers = [n for n, _ in found if isinstance(n, int)]
            if len(numbers) < len(found):
                # One page's entries, and no index.
                whole = found
                break
            new = [number for number in numbers if number not in pages]
            if not new:
                break
            for number in self.rng.sample(new, len(new)):
                pages[number] = self.ask(f"/sitemap-{section}-{number}.xml")
        if None in pages.values():
            return
        end, later = time.time(), self._graces(section)
        listed = [page for page in pages.values() if page is not None]
        self.journal.write(
            crawl=section,
            start=start,
            end=end,
            graces=sorted({*graces, *later}),
            found=whole if whole is not None else [e for page in listed for e in page],
            pages=sorted(pages),
            quiet=self.is_quiet,
        )

    def crawl_slowly(self, section: str) -> None:
        """Read a section's index, and in the next second the pages that it listed."""
        graces, start = self._graces(section), time.time()
        listed = self.ask(f"/sitemap-{section}.xml") or []
        numbers = [n for n, _ in listed if isinstance(n, int)]
        found: list[Any] = []
        for number in numbers:
            time.sleep(1 / len(numbers))
            page = self.ask(f"/sitemap-{section}-{number}.xml")
            if page is None:
                return
            found += page
        if numbers:
            self.journal.write(
                old=section,
                start=start,
                end=time.time(),
                graces=sorted(graces | self._graces(section)),
                found=found,
                pages=numbers,
            )

    def _graces(self, section: str) -> set[float]:
        """Return until when pages show what they had before they were split."""
        pages = Page.objects.filter(section__name=section, grace_until__gt=0)
        try:
            return set(pages.values_list("grace_until", flat=True))
        except (Error, connection.Database.Error):
            # It was ended; whoever asks again gets another.
            connection.close()
            return set()

    def _build_of(self, path: str) -> tuple[float, ...]:
        """Return until when a page is being built, and of when it is."""
        match = _PATH.fullmatch(path)
        if match is None:
            return (0.0,)
        pages = Page.objects.filter(section__name=match[1], number=match[2])
        try:
            return pages.values_list("building_until", "read_at").get()
        except Page.DoesNotExist:
            return (0.0,)
        except (Error, connection.Database.Error):
            connection.close()
            return (0.0,)

    def ask(self, path: str) -> list[Any] | None:
        """Ask for an address; returns what it lists, None if that is not to be had."""
        known = self.known.get(path)
        headers = self._conditions(known)
        before = self._build_of(path)
        begun = time.time()
        answer = self.get(path, headers)
        ended = time.time()
        after = self._build_of(path)
        found, error = None, answer.error
        if answer.status == 200 and path.endswith(".xml"):
            try:
                found = parse(answer.body)
            except (ElementTree.ParseError, ValueError, AssertionError) as failure:
                error = f"{failure!r}: {answer.body[:300]!r}"
            else:
                tag = answer.headers.get("etag", "")
                modified = answer.headers.get("last-modified", "")
                self.known[path] = Known(tag, modified, found)
        if answer.status == 304 and known is not None:
            found = known.found
        self.journal.write(
            get=path,
            begun=begun,
            ended=ended,
            status=answer.status,
            sent=headers,
            tag=answer.headers.get("etag", ""),
            modified=answer.headers.get("last-modified", ""),
            retry=answer.headers.get("retry-after", ""),
            hash=blake2b(answer.body, digest_size=8).hexdigest(),
            found=found,
            error=error,
            built=before != after or max(*before, *after) > begun,
            quiet=self.is_quiet,
        )
        return found

    def _conditions(self, known: Known | None) -> dict[str, str]:
        """Return how to ask for what is known: by its tag, its date, or both."""
        headers = {}
        if known is not None:
            how = self.rng.choice(["tag", "tag", "date", "both", "nothing"])
            if how in ("tag", "both") and known.tag:
                headers["If-None-Match"] = known.tag
            if how in ("date", "both") and known.modified:
                headers["If-Modified-Since"] = known.modified
        return headers


def parse(body: bytes) -> list[Any]:
    """Return locations of a urlset, or page numbers of an index, and lastmods."""
    root = ElementTree.fromstring(body)  # noqa: S314 (our own bytes)
    assert root.tag in (f"{_XML}urlset", f"{_XML}sitemapindex"), root.tag
    found = []
    for element in root:
        location = element.findtext(f"{_XML}loc", "")
        assert location.startswith(f"{ORIGIN}/"), location
        text = element.findtext(f"{_XML}lastmod")
        lastmod = None if text is None else dt.datetime.fromisoformat(text).timestamp()
        name: str | int = location.removeprefix(ORIGIN)
        if element.tag == f"{_XML}sitemap":
            name = _number(location)
        found.append([name, None if lastmod is None else round(lastmod)])
    return found


def _number(location: str) -> int | str:
    """Return a page's number; the address itself of a section with one page."""
    text = location.removesuffix(".xml").rpartition("-")[2]
    return int(text) if text.isdecimal() else location


def read(command: dict[str, Any]) -> None:
    """Be a reader until the race is over."""
    Reader(command).run()
