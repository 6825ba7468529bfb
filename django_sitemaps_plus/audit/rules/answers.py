"""What the answers of listed URLs say: may they be indexed, and are they the page?"""

from __future__ import annotations

import datetime as dt
import re
from array import array
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urldefrag, urljoin, urlsplit

from django.conf import settings as django_settings
from django.shortcuts import resolve_url

from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.protocol.errors import LocationError, excerpt
from django_sitemaps_plus.protocol.locations import resolve

from .urls import CRAWLERS, Problem
from .web_pages import WebPage, refreshed

#: Bytes of a page that are looked at.
MOST_BYTES = 512 * 1024
#: Bytes of a web page that Googlebot reads.
#: https://developers.google.com/search/docs/crawling-indexing/googlebot
GOOGLE_READS = 2_000_000
#: Seconds from which an answer is slow: crawlers come less often to such sites.
_SLOW = 3.0
#: A page of fewer words that asks for a password has nothing else to say.
_FEW_WORDS = 150
#: Rules of ``robots`` that have a colon themselves, and so name no crawler.
#: https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
_WITH_VALUE: Final = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
_CRAWLERS: Final = frozenset({*map(str.lower, CRAWLERS), "googlebot-news", "slurp"})
#: What statuses say of the site rather than of the URL.
_MEANS: Final = {
    400: "as Django does for a host that is not in ALLOWED_HOSTS",
    502: "as a web server does when Django does not run",
    504: "as a web server does when Django takes too long",
}
_FORBID: Final = frozenset({"noindex", "none"})


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a GET request for a listed URL."""

    #: 0 if there was none.
    status: int
    #: By lower-case name.
    headers: Mapping[str, str] = field(default_factory=dict)
    #: At most ``MOST_BYTES``.
    body: bytes = b""
    #: How many bytes the whole body has; above ``GOOGLE_READS`` it may have more.
    size: int = 0
    #: How long it took.
    seconds: float = 0
    #: Why there was no answer of the page's view; empty if there was one.
    failure: str = ""
    #: After how many seconds the site wants to be asked again.
    wait: float = 0
    #: Why the body is incomplete; empty if it is complete.
    flaw: str = ""
    #: From when until when the certificate is valid; None without TLS.
    valid: tuple[float, float] | None = None


def problems_of(url: str, answer: Answer, now: dt.datetime) -> Iterator[Problem]:
    """Yield what the answer of a URL shows to be wrong."""
    status = answer.status
    if answer.seconds > _SLOW:
        yield kinds.SLOW, f"answers after {answer.seconds:.1f} s"
    if answer.failure:
        yield kinds.UNREACHABLE, answer.failure.rstrip(".")
    elif 300 <= status < 400 and "location" in answer.headers:
        target = urljoin(url, answer.headers["location"])
        kind = kinds.LOGIN if _is_login(target) else kinds.REDIRECTS
        yield kind, f"redirects to {target} ({status})"
    elif status == 401:
        yield kinds.LOGIN, "answers 401"
    elif status != 200:
        yield kinds.FAILS, f"answers {in_words(status)}"
    elif not answer.body.strip():
        yield kinds.EMPTY, "answers with an empty body"
    else:
        page = WebPage(url, has_more=True)
        if "html" in answer.headers.get("content-type", "text/html"):
            page = WebPage.read(url, answer.body.decode("utf-8", "replace"))
            if answer.size > GOOGLE_READS:
                yield kinds.TOO_LONG, f"has over {GOOGLE_READS:,} bytes"
        yield from _forbidden(answer, page, now)
        yield from _elsewhere(url, answer, page)
        yield from _without_content(page)


def in_words(status: int) -> str:
    """Return a status, and what it usually means where that helps."""
    return f"{status}, {_MEANS[status]}" if status in _MEANS else str(status)


def problems_of_image(url: str, answer: Answer) -> Iterator[Problem]:
    """Yield what the answer of an image's URL shows to be wrong."""
    kind = answer.headers.get("content-type", "image/")
    if answer.failure:
        yield kinds.MISSING_IMAGE, f"{url}: {answer.failure}"
    elif answer.status != 200:
        yield kinds.MISSING_IMAGE, f"{url} answers {answer.status}"
    elif kind.startswith("text/html"):
        yield kinds.MISSING_IMAGE, f"{url} is a web page"


def _without_content(page: WebPage) -> Iterator[Problem]:
    """Yield what makes a page one that nobody searches for."""
    if not page.words and not page.has_more:
        yield kinds.EMPTY, "answers with an empty <body>"
    elif any(map(_NOT_FOUND.search, page.titles.values())):
        yield kinds.SOFT_404, f"is called {excerpt(next(iter(page.titles.values())))}"
    elif page.passwords == 1 and page.words < _FEW_WORDS:
        yield kinds.LOGIN_FORM, f"has a login form and {page.words} words"


def _elsewhere(url: str, answer: Answer, page: WebPage) -> Iterator[Problem]:
    """Yield what says that the page is to be found at another URL."""
    refresh = refreshed(answer.headers.get("refresh", "")) or page.refresh
    if refresh and (target := _written(urljoin(page.base, refresh))) != _written(url):
        yield kinds.REDIRECTS, f"refreshes to {target}"
    links = [urljoin(page.base, href) for href in page.canonicals]
    links += [
        urljoin(url, one) for one in _LINK.findall(answer.headers.get("link", ""))
    ]
    canonicals = list(dict.fromkeys(map(_written, links)))
    if len(canonicals) > 1:
        yield kinds.CANONICAL, f"its canonicals differ: {' and '.join(canonicals)}"
    elif canonicals and canonicals[0] != _written(url):
        yield kinds.CANONICAL, f"its canonical is {canonicals[0]}"


def _forbidden(answer: Answer, page: WebPage, now: dt.datetime) -> Iterator[Problem]:
    """Yield who may not index a page, or not any more."""
    rules = [("", answer.headers.get("x-robots-tag", ""), "the header X-Robots-Tag")]
    rules += [
        ("" if name == "robots" else name, content, "its meta element")
        for name, content in page.robots
        if name == "robots" or name in _CRAWLERS
    ]
    forbidden: dict[str, str] = {}
    for agent, value, where in rules:
        for one, why in _agents_of(value, agent, now):
            forbidden.setdefault(one, f"{why} in {where}")
    if "" in forbidden:
        yield kinds.NOINDEX, forbidden[""]
        return
    for agent, text in forbidden.items():
        kind = kinds.NOINDEX if agent == "googlebot" else kinds.NOINDEX_FOR_ONE
        yield kind, f"{text}, for {agent}"


def _agents_of(value: str, agent: str, now: dt.datetime) -> Iterator[tuple[str, str]]:
    """Yield the crawlers that rules keep from indexing, and by which; "": all."""
    for part in map(str.strip, _WEEKDAY.sub("", value).split(",")):
        name, colon, rule = part.partition(":")
        if colon and name.strip().lower() not in _WITH_VALUE:
            agent, part = name.strip().lower(), rule.strip()
        if agent and agent not in _CRAWLERS:
            continue
        if part.lower() in _FORBID:
            yield agent, part.lower()
        elif part.lower().startswith("unavailable_after") and _is_past(part, now):
            yield agent, part


def _is_past(rule: str, now: dt.datetime) -> bool:
    """Return whether the time of an ``unavailable_after`` has come: any format."""
    text = rule.partition(":")[2].strip()
    for read in (dt.datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, TypeError):
            time = read(text)
            return (time if time.tzinfo else time.replace(tzinfo=dt.UTC)) < now
    return False


#: The name of a day in a date, whose comma does not end a rule.
_WEEKDAY: Final = re.compile(r"\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,", re.IGNORECASE)
#: What pages are called that answer 200 and say that there is no page.
_NOT_FOUND: Final = re.compile(
    r"\A\W*(?:(?:error|fehler|erreur|http)\W+)?404(?:\W*\Z|\W+(?:error|not|page|seite)\b)"
    r"|\b(?:page|site|article|product|document|file) (?:was |is |could )?not"
    r" (?:be )?found\b|\A\W*not found\W*\Z"
    r"|\bseite (?:wurde )?nicht gefunden\b|\bpage (?:introuvable|non trouvée)\b"
    r"|\bp[áa]gina no encontrada\b|\bpagina non trovata\b",
    re.IGNORECASE,
)
#: https://www.rfc-editor.org/rfc/rfc8288, as Google reads it for documents.
_LINK: Final = re.compile(r'<([^>]+)>\s*;[^,]*rel="?canonical"?', re.IGNORECASE)


def _is_login(target: str) -> bool:
    login = resolve_url(django_settings.LOGIN_URL)
    return urlsplit(target).path == urlsplit(login).path


def _written(url: str) -> str:
    """Return a URL as this package writes it; one that is illegal as it is."""
    try:
        return resolve(urldefrag(url).url, None)
    except LocationError:
        return url


def percentiles(seconds: array[float]) -> dict[str, float]:
    """Return how long answers took: half of them, 95 in 100, the slowest."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    return {
        "p50": round(ordered[round(last * 0.5)], 4),
        "p95": round(ordered[round(last * 0.95)], 4),
        "max": round(ordered[last], 4),
    }
