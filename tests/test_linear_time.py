"""
What others send is read in linear time: twice the text, twice the processor time.

What a thread reads for a minute stops all others of its process; no timeout ends it.
"""

from __future__ import annotations

from contextlib import suppress

import pytest
from django.test import RequestFactory
from django.urls import Resolver404, resolve

from django_sitemaps_plus.engines import own_files
from django_sitemaps_plus.engines.http import Response, explained
from django_sitemaps_plus.protocol.dates import parse_w3c
from django_sitemaps_plus.protocol.errors import LocationError, printable
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.protocol.robots import read, sitemaps_of
from django_sitemaps_plus.serving.responses import _takes_gzip
from tests.support.linear_time import (
    JSON,
    PACKAGE,
    TAGS,
    WORDS,
    Reads,
    patterns_are_known,
    takes_twice_as_long,
)


def engine_answer(text: str, kind: str = "text/html") -> None:
    response = Response(status=200, headers={"content-type": kind}, body=text.encode())
    explained(response, "It", "the URLs")
    explained(response, "It", "the sitemap", promised="page")


def engine_fields(text: str) -> None:
    """What stands in files that are fetched."""
    own_files.KEY.fullmatch(text)


def retry_after(text: str) -> None:
    for value in (text, f"Mon, {text}"):
        _ = Response(status=503, headers={"retry-after": value}, body=b"").retry_after


def robots(text: str) -> None:
    sitemaps_of(text)
    read(text)


def listed(text: str) -> None:
    """The texts of an entry."""
    with suppress(ValueError):
        parse_w3c(text)


def path_of_a_request(text: str) -> None:
    with suppress(Resolver404):
        resolve(f"/sitemap{text}")
    with suppress(Resolver404):
        resolve(f"/{text}")


def entered(text: str) -> None:
    with suppress(LocationError):
        Origin("https", "www.example.com").local_path(text)


def accepts(text: str) -> None:
    _takes_gzip(RequestFactory().get("/", headers={"accept-encoding": text}))


#: What reads a text, what it may consist of, and the most characters.
READERS: dict[str, tuple[Reads, tuple[str, ...], int]] = {
    "an engine's page": (engine_answer, TAGS, 65_536),
    "an engine's JSON": (
        lambda text: engine_answer(text, "application/json"),
        (*JSON, *WORDS),
        65_536,
    ),
    "fields of an answer": (
        engine_fields,
        ("1", "per", "per ", "per d", "a", "-", "+", "2026-", " "),
        65_536,
    ),
    "a text to store": (printable, (" ", "\x00", "a\n"), 65_536),
    "Retry-After": (
        retry_after,
        ("1", " ", "1 ", "Jan ", "a,", ":", "-", "1:"),
        65_536,
    ),
    "robots.txt": (
        robots,
        (
            *("User-agent: *\n", "Disallow: /*a\n", "User-agent: *\nAllow: /a\n"),
            *("sitemap", "sitemap :", "sitemap: a\n", ":", "\n", " ", "#"),
        ),
        512_000,
    ),
    "texts of an entry": (
        listed,
        (
            *("-xml", "-gz", ".xml", "_", "%", "a", "-", "1", "a-", "9.", ":"),
            "\u0300\u0316",
        ),
        100_000,
    ),
    "a request's path": (
        path_of_a_request,
        ("-", "-a", "-1", "-index-", "-index-1", "a", ".", "/", ".xml", "-1-", "%"),
        65_536,
    ),
    "Accept-Encoding": (accepts, ("a", ",", ";", "gzip;q=", "1", "gzip,", " "), 65_536),
    "what people enter": (
        entered,
        ("a", "&", "utm_", "clid", "%", "%2e", "./"),
        65_536,
    ),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.costly
def test_twice_as_much_takes_twice_as_long(name: str) -> None:
    takes_twice_as_long(*READERS[name])


#: Modules whose patterns and parsers read what others send: all are in ``READERS``.
MEASURED = "dates http own_files locations markup robots"
#: Those that read settings, code, rows, and pages of the package's own.
OWN = (
    "addresses conf digest extensions indexnow keys listing "
    "literal_paths media ping registration registry requests "
    "retired routes sections site storage url_patterns values writers"
)


def test_it_is_known_of_each_pattern_whom_it_reads() -> None:
    patterns_are_known(PACKAGE, MEASURED, OWN)
