"""What listed URLs answer: a page, or a redirect, an error, nothing?"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings as django_settings
from django.shortcuts import resolve_url

from django_sitemaps_plus.contrib.audit.kinds import _, error, warning
from django_sitemaps_plus.contrib.audit.rules import GOOGLE_READS
from django_sitemaps_plus.contrib.audit.web_pages import url_of_reference

from . import Answered, FetchedAnswer, Problem, rule

FAILS = error(
    "A100",
    _("URLs that do not answer 200"),
    _("exclude what is not public in items(), or correct the view"),
)
REDIRECTS = error("A101", _("URLs that redirect"), _("list the URL to which it leads"))
LOGIN = error(
    "A102",
    _("URLs that want a login"),
    _("exclude what visitors cannot see in items()"),
)
EMPTY = error(
    "A106",
    _("URLs that answer with an empty body"),
    _("correct the view, or exclude them in items()"),
)
UNREACHABLE = error(
    "A107",
    _("URLs that could not be reached"),
    _(
        "let the site answer at its address: see the server, its certificate, "
        "BASE_URL and ALLOWED_HOSTS"
    ),
)
SLOW = warning(
    "A110",
    _("URLs that answer after more than 3 seconds"),
    _("let the view do less or store what it needs: slow sites are crawled less"),
)
TOO_LONG = warning(
    "A111",
    _("web pages above 2 MB: Googlebot ignores the rest"),
    _("move scripts, styles and data out of the page, or divide it"),
)
MISSING_IMAGE = warning(
    "A112",
    _("URLs whose first image is missing"),
    _("correct the address of the image, or upload the file"),
)
MOVED = error(
    "A202",
    _("redirects to another address, or without an end"),
    _(
        "set SITEMAPS_PLUS['BASE_URL'] to the address that does not redirect, if "
        "that is the site's; if it is a bucket's or a CDN's, let this host answer by "
        "itself, because search engines refuse sitemaps of another; behind a proxy "
        "that ends TLS set SECURE_PROXY_SSL_HEADER"
    ),
)
CHALLENGED = warning(
    "A204",
    _("challenges in place of an answer"),
    _(
        "let the firewall allow verified crawlers, and look in its log or in Search"
        " Console: that this machine was challenged does not say that Googlebot is"
    ),
)
CUT_OFF = error(
    "A206",
    _("answers that are cut off"),
    _(
        "read the web server's error log: its buffers or its disk may be full, or"
        " Content-Length is wrong"
    ),
)
ENCODED = error(
    "A207",
    _("answers that are compressed twice, or not as they say"),
    _(
        "compress in one place only, Django or the web server, and let .gz files "
        "pass unchanged"
    ),
)

#: Seconds from which an answer is slow: crawlers come less often to such sites.
_SLOW = 3.0
#: What statuses say of the site rather than of the URL.
_MEANS: Final = {
    400: "as Django does if ALLOWED_HOSTS lacks the requested host",
    502: "as a web server does when Django does not run",
    504: "as a web server does when Django takes too long",
}
#: The error pages of nginx, and of what is made of it.
_OF_WEB_SERVER: Final = re.compile(
    rb"\A\s*<html>\s*<head><title>((?:400|503) [^<]{1,100})</title></head>\s*"
    rb"<body[^<>]*>\s*<center>"
)
#: The end of a page inside of what needs an end of its own.
_OPEN: Final = re.compile(
    rb"<(title|h[1-6]|a|em|strong|span|div|main|article|section|ul|table|script|style)"
    rb"\b[^<>]*(?:>[^<>]*)?\Z",
    re.IGNORECASE,
)


@rule(Answered)
def answers(seen: Answered) -> Iterator[Problem]:
    """Find responses that are not pages, or arrive late or damaged."""
    answer, status = seen.answer, seen.answer.status
    if answer.seconds > _SLOW:
        yield Problem(SLOW, f"answers after {answer.seconds:.1f} s")
    if answer.failure:
        yield Problem(UNREACHABLE, answer.failure.rstrip("."))
    elif status != 200 and seen.challenger:
        yield challenged(seen.challenger, status)
    elif 300 <= status < 400 and "location" in answer.headers:
        target = url_of_reference(seen.url, answer.headers["location"])
        found = LOGIN if is_login(target) else REDIRECTS
        if target.partition("#")[0] == seen.url:
            found, target = MOVED, "itself, without an end"
        yield Problem(found, f"redirects to {target} ({status})")
    elif status == 401:
        yield Problem(LOGIN, "answers 401")
    elif status != 200:
        yield Problem(FAILS, f"answers {status_in_words(status, answer.body)}")
    elif answer.flaw:
        yield Problem(CUT_OFF, f"ends too early: {answer.flaw.rstrip('.')}")
    elif not answer.body.strip():
        yield Problem(EMPTY, "answers with an empty body")
    else:
        yield from _of_body(seen)


def _of_body(seen: Answered) -> Iterator[Problem]:
    if seen.reading.flaw:
        yield Problem(ENCODED, f"was not read: {seen.reading.flaw}")
    is_html = "html" in (seen.answer.media_type or "html")
    if is_html and seen.answer.size > GOOGLE_READS:
        yield Problem(TOO_LONG, f"has over {GOOGLE_READS:,} bytes")
    elif b"<html" in seen.reading.body[:1_000].lower() and (
        inside := _OPEN.search(seen.reading.body[-1_000:].rstrip())
    ):
        yield Problem(CUT_OFF, f"ends inside <{inside[1].decode().lower()}>")
    if seen.challenger:
        yield challenged(seen.challenger, seen.answer.status)
    elif seen.is_empty:
        yield Problem(EMPTY, "answers with an empty <body>")


def status_in_words(status: int, body: bytes = b"") -> str:
    """Return a status, and what its page says or what it usually means."""
    if page := _OF_WEB_SERVER.search(body[:2_000]):
        said = page[1].decode("utf-8", "replace").removeprefix(f"{status} ")
        why = ": in maintenance, or asked too often (see --rate)" * (status == 503)
        return f"{status}: {said}, says the web server{why}"
    return f"{status}, {_MEANS[status]}" if status in _MEANS else str(status)


def problems_of_image(url: str, answer: FetchedAnswer) -> Iterator[Problem]:
    """Yield what the answer of an image's URL shows to be wrong."""
    if answer.failure:
        yield Problem(MISSING_IMAGE, f"{url}: {answer.failure}")
    elif 300 <= answer.status < 400:
        return  # which search engines follow
    elif answer.status != 200:
        yield Problem(MISSING_IMAGE, f"{url} answers {answer.status}")
    elif answer.media_type.startswith("text/html"):
        yield Problem(MISSING_IMAGE, f"{url} is a web page")


def is_login(target: str) -> bool:
    """Return whether a URL is the page on which visitors log in."""
    login = resolve_url(django_settings.LOGIN_URL)
    with suppress(ValueError):
        return urlsplit(target).path == urlsplit(login).path
    return False


def challenged(who: str, status: int) -> Problem:
    """Return what a challenge in place of an answer says."""
    text = (
        f"{who} challenges this machine ({status}), which does not say that it "
        "challenges Googlebot"
    )
    return Problem(CHALLENGED, text)


def percentiles(seconds: array[float]) -> dict[str, float]:
    """Return how long answers took: half of them, 95 in 100, the slowest."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    shares = {"p50": 0.5, "p95": 0.95, "max": 1}
    return {name: round(ordered[round(last * one)], 4) for name, one in shares.items()}
