"""How robots.txt and sitemaps arrive: can they be read, and are they what was sent?"""

from __future__ import annotations

import io
import re
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urlsplit

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.contrib.audit.entries import SITEMAP, Entry, Unreadable, parse
from django_sitemaps_plus.contrib.audit.kinds import _, error, warning
from django_sitemaps_plus.contrib.audit.rules import challenger
from django_sitemaps_plus.contrib.audit.web_pages import LONGEST_URL
from django_sitemaps_plus.management.utils import counted
from django_sitemaps_plus.protocol.dates import parse_w3c
from django_sitemaps_plus.protocol.limits import MAX_BYTES
from django_sitemaps_plus.protocol.robots import closed, read, sitemaps_of
from django_sitemaps_plus.serving.responses import ROBOTS_TAG

from . import Arrived, FetchedAnswer, Problem, rule
from .answers import CUT_OFF, ENCODED, SLOW, challenged, status_in_words
from .documents import TOO_LARGE
from .indexing import rules_of
from .robots import decode, forbids, groups_naming, problems_of_length

NO_ANSWER = error(
    "A200",
    _("addresses that do not answer"),
    _(
        "check the name's A and AAAA records, the firewall, the web server, and "
        "that the certificate is valid for this name and comes with its whole chain"
    ),
)
EXPIRES = warning(
    "A201",
    _("certificates that expire soon"),
    _("renew the certificate, and check what should have renewed it"),
)
REFUSED = error(
    "A203",
    _("answers that refuse crawlers"),
    _(
        "exempt robots.txt and sitemaps from the rule that refuses them; if it goes"
        " by address, the firewall's log says whether real crawlers pass"
    ),
)
NOT_SERVED = error(
    "A205",
    _("robots.txt or sitemaps that do not answer 200"),
    _(
        "include django_sitemaps_plus.urls at the root, let the web server pass "
        "these paths to Django, and read the log"
    ),
)
HEADER = warning(
    "A208",
    _("headers that are not those that Django sends"),
    _(
        "let the web server pass Content-Type and X-Robots-Tag unchanged, and check "
        "that it adds no noindex to pages"
    ),
)
NOT_OURS = error(
    "A209",
    _("answers that are not from this site"),
    _(
        "check which cache, virtual server, file, settings and database answer; if "
        "another view of this project does, put the include of "
        "django_sitemaps_plus.urls in front of it"
    ),
)
OLD_COPY = error(
    "A210",
    _("old copies from a cache"),
    _(
        "clear the cache, and let it obey the Cache-Control header or ask again "
        "with If-None-Match"
    ),
)
DIFFERENT = warning(
    "A211",
    _("sitemaps that differ from what this code would send"),
    _(
        "restart the site's processes after a deployment, and remove sitemaps that "
        "the web server sends from files"
    ),
)
SITEMAP_DISALLOWED = error(
    "A212",
    _("sitemaps that robots.txt disallows"),
    _("allow the sitemaps in robots.txt (SITEMAPS_PLUS['ROBOTS'])"),
)
OTHER_SITEMAPS = error(
    "A213",
    _("robots.txt names sitemaps that are old or another site's"),
    _("correct the Sitemap lines, or let Django answer /robots.txt"),
)
NOT_NAMED = warning(
    "A214",
    _("robots.txt does not name the sitemap"),
    _("add the Sitemap line, or let Django answer /robots.txt"),
)

#: The content types of robots.txt, of a sitemap and of its gzipped twin.
TEXT: Final = ("text/plain",)
XML_TYPES: Final = ("application/xml", "text/xml")
GZ: Final = ("application/gzip", "application/x-gzip")
_GZIP: Final = b"\x1f\x8b"
_PAGES: Final = (b"<!doctype", b"<html")
#: A certificate expires soon if this is left of its time, and of it no more than that.
_SOON, _SOON_SHARE = 14 * 86_400, 1 / 4
#: Seconds after which a sitemap is slow: that of a page may be built on request.
_SLOW = 10
#: Seconds that any copy may be outdated.
_SLACK = 60
_MAX_AGE: Final = re.compile(r"(?:s-maxage|max-age)\s*=\s*\"?(\d{1,9})")
_AGE: Final = re.compile(r"[0-9]{1,9}")
#: Headers in which caches say whether they had an answer.
_HITS: Final = (
    *("x-cache", "x-cache-status", "x-proxy-cache", "x-varnish-cache"),
    *("cache-status", "cf-cache-status"),
)
#: Rules of ``X-Robots-Tag`` that do not keep anybody from reading the sitemap.
_AS_GOOD: Final = frozenset({"noindex", "noodp", "noarchive", "nosnippet"})
#: The share of a sitemap's entries that another version of it has, too.
_ENOUGH = 4 / 5


class Unusable(Exception):
    """An answer that has nothing for a crawler: ``problem`` says why."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.problem = Problem(kind, text)


def text_of_answer(url: str, answer: FetchedAnswer) -> bytes:
    """
    Return the text of an answer, decompressed.

    Raises:
        Unusable: A crawler would get nothing that it can read.
    """
    if answer.failure:
        raise Unusable(NO_ANSWER, answer.failure.rstrip("."))
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
        raise Unusable(*challenged(who, status)[:2])
    if status in (401, 403, 407, 429):
        raise Unusable(REFUSED, f"answers {status}")
    if status != 200:
        why = status_in_words(status, body)
        kind = REFUSED if "certificate" in why else NOT_SERVED
        raise Unusable(kind, f"answers {why}")
    return body


def _decompressed(url: str, answer: FetchedAnswer) -> bytes:
    """Undo the Content-Encoding and, of a .gz file, its own compression."""
    if "longer than" in answer.flaw:
        raise Unusable(TOO_LARGE, f"is larger than {MAX_BYTES:,} bytes")
    if "too slow" in answer.flaw or " within " in answer.flaw:
        raise Unusable(NO_ANSWER, answer.flaw.rstrip("."))
    if answer.flaw:
        size = answer.headers.get("content-length")
        of = f" of {int(size):,}" if size and size.isdecimal() else ""
        text = f"ends after {len(answer.body):,}{of} bytes"
        raise Unusable(CUT_OFF, text)
    if not answer.body and answer.status == 200:
        if urlsplit(url).path == "/robots.txt":
            return b""  # which allows all
        raise Unusable(NOT_OURS, "is empty")
    given = answer.headers.get("content-encoding", "").lower().split(",")
    encodings = [name for name in map(str.strip, given) if name not in ("", "identity")]
    body, is_gz = answer.body, urlsplit(url).path.endswith(".gz")
    if encodings and encodings != ["gzip"]:
        names = ", ".join(encodings)
        text = f"has the Content-Encoding {names}, where gzip is accepted"
        raise Unusable(ENCODED, text)
    if encodings:
        body = _unpacked(body, "claims to be gzipped, and is not")
    if is_gz and _is_web_page(body):
        raise Unusable(NOT_OURS, "is a web page")
    if is_gz:
        why = "was decompressed on its way, although its name ends .gz"
        body = _unpacked(body, why)
    if body.startswith(_GZIP):
        raise Unusable(ENCODED, "is still gzipped after it was decompressed")
    return body


def _unpacked(body: bytes, if_it_is_not: str) -> bytes:
    if not body.startswith(_GZIP):
        raise Unusable(ENCODED, if_it_is_not)
    unpacking = zlib.decompressobj(wbits=31)
    try:
        text = unpacking.decompress(body, MAX_BYTES + 1)
    except zlib.error as error:
        raise Unusable(ENCODED, f"is damaged: {error}") from error
    if len(text) > MAX_BYTES:
        text_of = f"is larger than {MAX_BYTES:,} bytes when it is decompressed"
        raise Unusable(TOO_LARGE, text_of)
    if not unpacking.eof:
        raise Unusable(CUT_OFF, "ends in the middle of what is compressed")
    return text


# What surrounds it


@rule(Arrived)
def certificate(seen: Arrived) -> Iterator[Problem]:
    """Find certificates that expire soon, by what they were issued for."""
    if seen.answer.valid is not None:
        since, until = seen.answer.valid
        left = until - time.time()
        if left < min(_SOON, (until - since) * _SOON_SHARE):
            text = f"the certificate expires in {_span_in_words(left)}"
            yield Problem(EXPIRES, text, "://".join(origin_of(seen.url)))


@rule(Arrived)
def slowness(seen: Arrived) -> Iterator[Problem]:
    """Find what crawlers wait for: they give up after a while."""
    if seen.answer.seconds > _SLOW:
        yield Problem(SLOW, f"answers after {seen.answer.seconds:.0f} s")


@rule(Arrived)
def headers(seen: Arrived) -> Iterator[Problem]:
    """Find headers that are not as Django sends them."""
    answer, types = seen.answer, seen.types
    if answer.status != 200 or _is_web_page(seen.body):
        return
    media_type = answer.media_type.partition(";")[0].strip()
    if media_type not in types:
        text = f"Content-Type is {media_type or 'missing'}, not {types[0]}"
        yield Problem(HEADER, text)
    tag = answer.headers.get("x-robots-tag", "").lower()
    # What is said to other bots, and how much may be shown, is no matter here.
    rules = {one for _, one in rules_of(tag) if ":" not in one}
    if types == TEXT:
        # The view of robots.txt may be the project's own; hardly one would say that.
        sent, is_meant = "", rules.isdisjoint({"noindex", "none"})
    else:
        # Another rule that keeps search engines from listing the file is as good.
        sent, is_meant = ROBOTS_TAG, "noindex" in rules and rules <= _AS_GOOD
    if not is_meant:
        text = f"X-Robots-Tag is {tag or 'missing'}, not {sent or 'missing'}"
        yield Problem(HEADER, text)


def _span_in_words(seconds: float) -> str:
    """Return a time span: "3 days", "2 hours", "50 minutes"."""
    for unit, name in ((86_400, "days"), (3_600, "hours")):
        if seconds >= 2 * unit:
            return f"{int(seconds // unit):,} {name}"
    return counted(max(0, int(seconds // 60)), "minute")


# What it says


def of_robots(
    body: bytes, own: Sequence[str], ours: Sequence[str]
) -> Iterator[Problem]:
    """
    Yield what is wrong with a robots.txt; with none, all is allowed.

    ``own`` are the addresses of the sitemap, ``ours`` all that Django would name.
    """
    if _is_web_page(body):
        yield Problem(NOT_OURS, "is a web page")
        return
    yield from problems_of_length(body)
    text = decode(body)
    groups, path = read(text), urlsplit(own[0]).path
    shut = [
        crawler
        for crawler in ("Googlebot", "bingbot")
        if forbids(groups_naming(groups, crawler) or groups)(path)
    ]
    if shut:
        what = f"the whole site, and so {path}," if closed(groups) else path
        yield Problem(SITEMAP_DISALLOWED, f"disallows {what} for {' and '.join(shut)}")
        return
    there = sitemaps_of(text)
    if set(own).intersection(there):
        return
    strangers = [url for url in there if url not in ours]
    if strangers:
        yield Problem(OTHER_SITEMAPS, f"names {strangers[0]}, and not {own[0]}")
    else:
        yield Problem(NOT_NAMED, f"does not name {own[0]}")


def _is_web_page(body: bytes) -> bool:
    return body.lstrip(b"\xef\xbb\xbf \t\r\n")[:9].lower().startswith(_PAGES)


def arrived_entries(body: bytes) -> list[Entry]:
    """
    Return the entries of a sitemap that arrived.

    Raises:
        Unusable: It is not one.
    """
    if _is_web_page(body):
        raise Unusable(NOT_OURS, "is a web page")
    try:
        return list(parse("The answer", io.BytesIO(body), namespace=SITEMAP))
    except Unreadable as error:
        raise Unusable(NOT_OURS, str(error).rstrip(".")) from error


def of_content(there: Sequence[Entry], expected: Sequence[Entry]) -> Problem | None:
    """Return why a sitemap cannot be a version of the expected one; None if it can."""
    if expected and not there:
        return Problem(NOT_OURS, f"has no entry, and should have {len(expected):,}")
    origins = {origin_of(entry.location) for entry in expected}
    for entry in there:
        if origins and origin_of(entry.location) not in origins:
            return Problem(NOT_OURS, f"lists {entry.location}")
    return None


def of_difference(there: Sequence[Entry], expected: Sequence[Entry]) -> Problem:
    """Return how a sitemap differs from the expected one, of which it is no copy."""
    has, wanted = by_location(there), by_location(expected)
    both = [one for one in wanted if one in has]
    dated = [one for one in both if has[one].lastmod != wanted[one].lastmod]
    others = [
        one
        for one in both
        if has[one] != wanted[one]._replace(lastmod=has[one].lastmod)
    ]
    said = []
    lacks = [one for one in wanted if one not in has]
    more = [one for one in has if one not in wanted]
    if more and lacks and not both:
        text = f"{counted(len(more), 'URL')} too many, {len(lacks):,} missing"
        return Problem(NOT_OURS, f"{text}: it lists {_some(more)}")
    if lacks:
        said.append(f"lacks {_some(lacks)}")
    if more:
        said.append(f"lists {_some(more)}, which it should not")
    if dated:
        was, now = (of[dated[0]].lastmod or "missing" for of in (has, wanted))
        said.append(f"has another lastmod for {_some(dated)} ({was}, not {now})")
    if others:
        said.append(f"has other tags for {_some(others)}")
    same, most = len(both) - len(dated), max(len(has), len(wanted))
    # No deployment that goes on makes a larger difference.
    kind_of = DIFFERENT if same >= _ENOUGH * most else NOT_OURS
    counts = f"has {len(there):,} entries, and should have {len(expected):,}"
    return Problem(kind_of, " and ".join(said) or counts)


def is_alike(was: Mapping[str, Entry], now: Mapping[str, Entry]) -> bool:
    """Return whether one may have become the other: it has most of its URLs."""
    return len(was.keys() & now.keys()) >= _ENOUGH * max(1, min(len(was), len(now)))


def by_location(entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return entries by their locations."""
    return {entry.location: entry for entry in entries}


def _some(urls: Sequence[str]) -> str:
    """Return the first two of some URLs, and how many more there are."""
    first = ", ".join(urls[:2])
    return f"{first} and {len(urls) - 2:,} more" if len(urls) > 2 else first


def origin_of(url: str) -> tuple[str, str]:
    """Return the scheme and the host of a URL; empty if it is illegal."""
    try:
        return urlsplit(url[:LONGEST_URL])[:2]
    except ValueError:
        return "", ""


def is_from_cache(answer: FetchedAnswer) -> bool:
    """Return whether a cache says that it had an answer already."""
    said = [answer.headers.get(name, "").lower() for name in _HITS]
    return bool(_age_of(answer)) or any("hit" in one for one in said)


def is_sent_by_django(answer: FetchedAnswer) -> bool:
    """Return whether Django has sent an answer, now or when it was copied."""
    return answer.headers.get("x-robots-tag", "").lower() == ROBOTS_TAG


def copied_at(answer: FetchedAnswer, there: Sequence[Entry]) -> float:
    """Return a time before which a copy was not made, in seconds since the epoch."""
    now = time.time()
    times = [seconds(entry.lastmod) for entry in there]
    with suppress(TypeError, ValueError, OverflowError):
        modified = parsedate_to_datetime(answer.headers.get("last-modified", ""))
        times.append(modified.timestamp())
    if (age := _age_of(answer)) is not None:
        times.append(now - age)
    return max((one for one in times if one is not None and one <= now), default=0.0)


def seconds(lastmod: str) -> float | None:
    """Return a lastmod in seconds since the epoch; None for anything else."""
    try:
        return parse_w3c(lastmod).timestamp()
    except ValueError:
        return None


def _age_of(answer: FetchedAnswer) -> int | None:
    age = answer.headers.get("age", "")
    return int(age) if _AGE.fullmatch(age) else None


def of_copy(
    answer: FetchedAnswer,
    there: Sequence[Entry],
    expected: Sequence[Entry],
    since: float | None,
) -> Iterator[Problem]:
    """
    Yield that a cache has sent an old copy, unless ``CACHE_CONTROL`` allows it.

    ``since`` is when it was outdated at the latest; its age counts if that is more.
    """
    ages = _MAX_AGE.findall((get_settings().CACHE_CONTROL or "").lower())
    age, most = _age_of(answer), max(map(int, ages), default=0) + _SLACK
    outdated = 0 if since is None else time.time() - since
    if max(age or 0, outdated) <= most:
        return
    said = [f"outdated for {_span_in_words(outdated)}"] if outdated > most else []
    if age is not None:
        said.append(f"{_span_in_words(age)} old")
    was, now = (
        max((entry.lastmod for entry in some), default="") for some in (there, expected)
    )
    if was != now:
        said.append(f"its newest lastmod is {was or 'missing'}, not {now or 'missing'}")
    yield Problem(OLD_COPY, f"is an old copy: {', '.join(said)}")
