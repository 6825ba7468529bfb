"""How robots.txt and sitemaps arrive: can they be read, and are they what was sent?"""

from __future__ import annotations

import io
import re
import time
import zlib
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.audit.entries import Entry, Unreadable, parse
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.protocol.limits import MAX_BYTES
from django_sitemaps_plus.protocol.robots import forbids, named, read, sitemaps_of
from django_sitemaps_plus.publishing.responses import ROBOTS_TAG

from .answers import Answer, challenged, challenger
from .answers import in_words as status_in_words
from .urls import Problem

#: The content types of robots.txt, of a sitemap and of its gzipped twin.
_TEXT: Final = ("text/plain",)
XML: Final = ("application/xml", "text/xml")
GZ: Final = ("application/gzip", "application/x-gzip")
_GZIP: Final = b"\x1f\x8b"
_PAGES: Final = (b"<!doctype", b"<html")
#: A certificate expires soon if this is left of its time, and of it no more than that.
_SOON, _SOON_SHARE = 14 * 86_400, 1 / 4
#: Seconds that any copy may be outdated.
_SLACK = 60
_MAX_AGE: Final = re.compile(r"(?:s-maxage|max-age)\s*=\s*\"?(\d{1,9})")


class Unusable(Exception):
    """An answer that has nothing for a crawler: ``problem`` says why."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.problem: Problem = (kind, text)


def document_of(url: str, answer: Answer) -> bytes:
    """
    Return the text of an answer, decompressed.

    Raises:
        Unusable: A crawler would get nothing that it can read.
    """
    if answer.failure:
        raise Unusable(kinds.NO_ANSWER, answer.failure.rstrip("."))
    try:
        body = _decompressed(url, answer)
    except Unusable:
        if answer.status == 200 and not challenger(answer, answer.body):
            raise
        body = answer.body
    status = answer.status
    if status in (404, 410) and url.endswith("/robots.txt"):
        return b""  # which allows all: RFC 9309, section 2.3.1.3
    if who := challenger(answer, body):
        raise Unusable(*challenged(who, status))
    if status in (401, 403, 407, 429):
        raise Unusable(kinds.REFUSED, f"answers {status}")
    if status == 400:
        why = "as Django does where ALLOWED_HOSTS lacks the Host that it is asked for"
        raise Unusable(kinds.NOT_SERVED, f"answers 400, {why}")
    if status != 200:
        raise Unusable(kinds.NOT_SERVED, f"answers {status_in_words(status)}")
    return body


def _decompressed(url: str, answer: Answer) -> bytes:
    """Undo the Content-Encoding and, of a .gz file, its own compression."""
    if "longer than" in answer.flaw:
        raise Unusable(kinds.TOO_LARGE, f"is larger than {MAX_BYTES:,} bytes")
    if "too slow" in answer.flaw or " within " in answer.flaw:
        raise Unusable(kinds.NO_ANSWER, answer.flaw.rstrip("."))
    if answer.flaw:
        size = answer.headers.get("content-length")
        of = f" of {int(size):,}" if size and size.isdecimal() else ""
        text = f"ends after {len(answer.body):,}{of} bytes"
        raise Unusable(kinds.CUT_OFF, text)
    given = answer.headers.get("content-encoding", "").lower().split(",")
    encodings = [name for name in map(str.strip, given) if name not in ("", "identity")]
    body, is_gz = answer.body, urlsplit(url).path.endswith(".gz")
    if encodings and encodings != ["gzip"]:
        text = (
            f"has the Content-Encoding {', '.join(encodings)}, where gzip is accepted"
        )
        raise Unusable(kinds.ENCODED, text)
    if encodings:
        body = _unpacked(body, "says that it is gzipped, and is not")
    if is_gz and _is_web_page(body):
        raise Unusable(kinds.NOT_OURS, "is a web page")
    if is_gz:
        body = _unpacked(
            body, "was decompressed on its way, although its name ends .gz"
        )
    if body.startswith(_GZIP):
        raise Unusable(kinds.ENCODED, "is still gzipped after it was decompressed")
    return body


def _unpacked(body: bytes, if_it_is_not: str) -> bytes:
    if not body.startswith(_GZIP):
        raise Unusable(kinds.ENCODED, if_it_is_not)
    unpacking = zlib.decompressobj(wbits=31)
    try:
        text = unpacking.decompress(body, MAX_BYTES + 1)
    except zlib.error as error:
        raise Unusable(kinds.ENCODED, f"is damaged: {error}") from error
    if len(text) > MAX_BYTES:
        text_of = f"is larger than {MAX_BYTES:,} bytes when it is decompressed"
        raise Unusable(kinds.TOO_LARGE, text_of)
    if not unpacking.eof:
        raise Unusable(kinds.CUT_OFF, "ends in the middle of what is compressed")
    return text


# What surrounds it


def of_certificate(answer: Answer) -> Problem | None:
    """Return that the certificate expires soon, by what it was issued for."""
    if answer.valid is not None:
        since, until = answer.valid
        left = until - time.time()
        if left < min(_SOON, (until - since) * _SOON_SHARE):
            return kinds.EXPIRES, f"the certificate expires in {in_words(left)}"
    return None


def of_headers(answer: Answer, types: tuple[str, ...]) -> Iterator[Problem]:
    """Yield the headers that are not as Django sends them."""
    kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in types:
        yield kinds.HEADER, f"Content-Type is {kind or 'missing'}, not {types[0]}"
    tag = answer.headers.get("x-robots-tag", "").lower()
    # The view of robots.txt may be the project's own; hardly one would say that.
    sent = ROBOTS_TAG if types is not _TEXT else tag.replace("noindex", "")
    if tag != sent:
        yield (
            kinds.HEADER,
            f"X-Robots-Tag is {tag or 'missing'}, not {sent or 'missing'}",
        )


def in_words(seconds: float) -> str:
    """Return a time span: "3 days", "2 hours", "50 minutes"."""
    for unit, name in ((86_400, "days"), (3_600, "hours")):
        if seconds >= 2 * unit:
            return f"{int(seconds // unit):,} {name}"
    return f"{max(0, int(seconds // 60))} minutes"


# What it says


def of_robots(
    answer: Answer, body: bytes, own: Sequence[str], ours: Sequence[str]
) -> Iterator[Problem]:
    """
    Yield what is wrong with a robots.txt; with none, all is allowed.

    ``own`` are the addresses of the sitemap, ``ours`` all that Django would name.
    """
    if _is_web_page(body):
        yield kinds.NOT_OURS, "is a web page"
        return
    if answer.status == 200:
        yield from of_headers(answer, _TEXT)
    text = body.decode("utf-8", "replace")
    groups, path = read(text), urlsplit(own[0]).path
    shut = [
        crawler
        for crawler in ("Googlebot", "bingbot")
        if forbids(named(groups, crawler) or groups)(path)
    ]
    if shut:
        yield kinds.SITEMAP_DISALLOWED, f"disallows {path} for {' and '.join(shut)}"
        return
    there = sitemaps_of(text)
    if set(own).intersection(there):
        return
    strangers = [url for url in there if url not in ours]
    if strangers:
        yield kinds.OTHER_SITEMAPS, f"names {strangers[0]}, and not {own[0]}"
    else:
        yield kinds.NOT_NAMED, f"does not name {own[0]}"


def _is_web_page(body: bytes) -> bool:
    return body.lstrip(b"\xef\xbb\xbf \t\r\n")[:9].lower().startswith(_PAGES)


def entries_of(body: bytes) -> list[Entry]:
    """
    Return the entries of a sitemap that arrived.

    Raises:
        Unusable: It is not one.
    """
    if _is_web_page(body):
        raise Unusable(kinds.NOT_OURS, "is a web page")
    try:
        return list(parse("The answer", io.BytesIO(body)))
    except Unreadable as error:
        raise Unusable(kinds.NOT_OURS, str(error).rstrip(".")) from error


def of_content(there: Sequence[Entry], expected: Sequence[Entry]) -> Problem | None:
    """Return why a sitemap cannot be a version of the expected one; None if it can."""
    if expected and not there:
        return kinds.NOT_OURS, f"has no entry, and should have {len(expected):,}"
    hosts = {origin_of(entry.location)[1] for entry in expected}
    for entry in there:
        if hosts and origin_of(entry.location)[1] not in hosts:
            return kinds.NOT_OURS, f"lists {entry.location}"
    return None


def origin_of(url: str) -> tuple[str, str]:
    """Return the scheme and the host of a URL; empty if it is illegal."""
    try:
        return urlsplit(url)[:2]
    except ValueError:
        return "", ""


def of_copy(
    answer: Answer, there: Sequence[Entry], expected: Sequence[Entry], outdated: float
) -> Iterator[Problem]:
    """
    Yield that a cache has sent an old copy, unless ``CACHE_CONTROL`` allows it.

    ``outdated`` is for how many seconds there has been another version at least.
    """
    ages = _MAX_AGE.findall((get_settings().CACHE_CONTROL or "").lower())
    if outdated <= max(map(int, ages), default=0) + _SLACK:
        return
    said = [f"outdated for {in_words(outdated)}"]
    age = answer.headers.get("age", "")
    if age.isdecimal():
        said.append(f"{in_words(int(age))} old")
    was, now = (
        max((entry.lastmod for entry in some), default="") for some in (there, expected)
    )
    if was != now:
        said.append(f"its newest lastmod is {was or 'missing'}, not {now or 'missing'}")
    yield kinds.OLD_COPY, f"is an old copy: {', '.join(said)}"
