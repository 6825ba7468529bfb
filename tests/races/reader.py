"""
A process that reads as crawlers do: an index, its pages, what it has not seen yet.

It comes again with the tags and dates that it was given. What it was answered is in its
journal, with how the pages stood just before and after; ``verdict`` says whether that
was right.
"""

from __future__ import annotations

import datetime as dt
import http.client
import json
import math
import random
import re
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from django.db import Error, connection
from django.test import Client

from django_sitemaps_plus.models import Page

from .journal import Journal, Line
from .site import HOST, ORIGIN

SECTIONS = ("news", "filed", "tags")
#: Longer nobody waits for an answer.
TIMEOUT = 90
#: How often an index is read again in one crawl, because it lists more pages.
ROUNDS = 20
ADDRESS = re.compile(r"/sitemap-(\w+?)(?:-(\d+))?\.xml")
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


class Noted(NamedTuple):
    """How a page stood at some moment."""

    number: int
    lower: float
    upper: float
    #: Until when somebody has it for building, and of when what is built is.
    building: float
    read_at: float
    entries: int | None


def noted(section: str) -> list[Noted] | None:
    """Return how the pages of a section stand; None if that is not to be had."""
    columns = ("number", "lower", "claimed_until", "read_at", "entries")
    pages = Page.objects.filter(section__name=section).order_by("position")
    try:
        rows = list(pages.values_list(*columns))
    except (Error, connection.Database.Error):
        # It was ended; whoever asks again gets another.
        connection.close()
        return None
    lowers = [
        -math.inf if row[1] is None else int(json.loads(row[1])[0]) for row in rows
    ]
    uppers = [*lowers[1:], math.inf]
    return [
        Noted(row[0], lower, upper, *row[2:])
        for row, lower, upper in zip(rows, lowers, uppers, strict=True)
    ]


class Reader:
    """A crawler that remembers."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.stop = Path(told["stop"])
        #: When this is there, everything is read a last time.
        self.quiet = Path(told["quiet"])
        self.is_quiet = False
        self.rng = random.Random()  # noqa: S311 (nothing secret)
        self.journal = Journal(Path(told["folder"]), f"reader-{told['name']}")
        port = told.get("port")
        self.get: Get = from_client() if port is None else from_server(port)
        #: By path, the last answer with a body.
        self.known: dict[str, Line] = {}

    def run(self) -> None:
        """Read until the race is over, and all once more in the quiet after it."""
        while not self.stop.exists():
            self.crawl(self.rng.choice(SECTIONS))
            if self.rng.random() < 0.1:
                self.ask("/sitemap.xml")
                self.ask("/robots.txt")
        while not self.quiet.exists():
            time.sleep(0.02)
        self.is_quiet = True
        # The second time with the tags that were given the first time.
        for section in SECTIONS * 2:
            self.crawl(section)

    def crawl(self, section: str) -> None:
        """Read a section's index and pages, until it lists no more of them."""
        start, pages = time.time(), dict[int, Any]()
        for _ in range(ROUNDS):
            found = self.ask(f"/sitemap-{section}.xml")
            if found is None:
                return
            # Where there are none, these are its entries, and it is no index.
            new = {n for n, _ in found if isinstance(n, int)} - pages.keys()
            if not new:
                break
            for number in self.rng.sample(sorted(new), len(new)):
                pages[number] = self.ask(f"/sitemap-{section}-{number}.xml")
        if None not in pages.values():
            self.journal.write(crawl=section, start=start, quiet=self.is_quiet)

    def ask(self, path: str) -> list[Any] | None:
        """Ask for an address; returns what it lists, None if that is not to be had."""
        known = self.known.get(path, {})
        sent = self._conditions(known)
        match = ADDRESS.fullmatch(path)
        before = noted(match[1]) if match else []
        begun = time.time()
        answer = self.get(path, sent)
        line: Line = {
            "get": path,
            "begun": begun,
            "ended": time.time(),
            "status": answer.status,
            "sent": sent,
            "tag": answer.headers.get("etag", ""),
            "modified": answer.headers.get("last-modified", ""),
            "retry": answer.headers.get("retry-after", ""),
            "hash": blake2b(answer.body, digest_size=8).hexdigest(),
            "found": known.get("found") if answer.status == 304 else None,
            "error": answer.error,
            "before": before,
            "after": noted(match[1]) if match else [],
            "quiet": self.is_quiet,
        }
        if answer.status == 200 and path.endswith(".xml"):
            try:
                line["found"] = parse(answer.body)
            except (ElementTree.ParseError, ValueError, AssertionError) as failure:
                line["error"] = f"{failure!r}: {answer.body[:300]!r}"
            else:
                self.known[path] = line
        self.journal.write(**line)
        return line["found"]

    def _conditions(self, known: Line) -> dict[str, str]:
        """Return how to ask for what is known: by its tag, its date, or both."""
        how = self.rng.choice(["tag", "tag", "date", "date", "both", "nothing"])
        headers = {}
        if how in ("tag", "both") and known.get("tag"):
            headers["If-None-Match"] = known["tag"]
        if how in ("date", "both") and known.get("modified"):
            headers["If-Modified-Since"] = known["modified"]
        return headers


def parse(body: bytes) -> list[Any]:
    """Return locations of a urlset, or page numbers of an index, and lastmods."""
    root = ElementTree.fromstring(body)  # noqa: S314 (our own bytes)
    assert root.tag in (f"{_XML}urlset", f"{_XML}sitemapindex"), root.tag
    found: list[Any] = []
    for element in root:
        location = element.findtext(f"{_XML}loc", "")
        assert location.startswith(f"{ORIGIN}/"), location
        text = element.findtext(f"{_XML}lastmod")
        lastmod = text and round(dt.datetime.fromisoformat(text).timestamp())
        name = location.removeprefix(ORIGIN)
        match = ADDRESS.fullmatch(name)
        # In the site's index, a section with one page has no number.
        found.append([int(match[2]) if match and match[2] else name, lastmod])
    return found


def read(told: dict[str, Any]) -> None:
    """Be a reader until the race is over."""
    Reader(told).run()
