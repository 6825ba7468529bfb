"""What the answers of listed URLs say: may they be indexed, and are they the page?"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urldefrag, urljoin, urlsplit

from django.conf import settings as django_settings
from django.shortcuts import resolve_url

from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.locations import resolve

from .urls import CRAWLERS, Problem

#: Bytes of a page that are looked at.
MOST_BYTES = 512 * 1024
#: A page of fewer words that asks for a password has nothing else to say.
_FEW_WORDS = 150
#: Rules of ``robots`` that have a colon themselves, and so name no crawler.
#: https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
_WITH_VALUE: Final = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
_CRAWLERS: Final = frozenset({*map(str.lower, CRAWLERS), "googlebot-news", "slurp"})
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
    #: How long it took.
    seconds: float = 0
    #: Why there was no answer; empty if there was one.
    failure: str = ""


def problems_of(url: str, answer: Answer) -> Iterator[Problem]:
    """Yield what the answer of a URL shows to be wrong."""
    status = answer.status
    if answer.failure:
        yield kinds.FAILS, answer.failure
    elif 300 <= status < 400 and "location" in answer.headers:
        target = urljoin(url, answer.headers["location"])
        if _is_login(target):
            yield kinds.LOGIN, f"redirects to {target} ({status})"
        else:
            yield kinds.REDIRECTS, f"redirects to {target} ({status})"
    elif status == 401:
        yield kinds.LOGIN, "answers 401"
    elif status != 200:
        yield kinds.FAILS, f"answers {status}"
    elif not answer.body.strip():
        yield kinds.EMPTY, "answers with an empty body"
    else:
        yield from _of_page(url, answer)


def _of_page(url: str, answer: Answer) -> Iterator[Problem]:
    """Yield what a page and its headers say."""
    forbidding = dict.fromkeys(
        _forbidden(answer.headers.get("x-robots-tag", "")), "the header X-Robots-Tag"
    )
    page = _Page()
    if "html" in answer.headers.get("content-type", "text/html"):
        page.feed(answer.body.decode("utf-8", "replace"))
        page.close()
    for agent in page.forbidden:
        forbidding.setdefault(agent, "its meta element")
    if "" in forbidding:
        yield kinds.NOINDEX, f"noindex in {forbidding['']}"
    else:
        for agent, where in forbidding.items():
            yield kinds.NOINDEX_FOR_ONE, f"noindex for {agent} in {where}"
    links = [page.canonical, *_LINK.findall(answer.headers.get("link", ""))]
    for href in filter(None, links):
        canonical = _written(urljoin(url, href))
        if canonical != _written(url):
            yield kinds.CANONICAL, f"its canonical is {canonical}"
            break
    if page.passwords == 1 and page.words < _FEW_WORDS:
        yield kinds.LOGIN, "is a login page"


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


def _forbidden(value: str, agent: str = "") -> Iterator[str]:
    """Yield the crawlers that robots rules keep from indexing; empty: all."""
    for part in value.split(","):
        name, colon, rule = part.partition(":")
        if colon and name.strip().lower() not in _WITH_VALUE:
            agent, part = name.strip().lower(), rule
        if part.strip().lower() in _FORBID and (not agent or agent in _CRAWLERS):
            yield agent


class _Page(HTMLParser):
    """What a web page says of itself."""

    def __init__(self) -> None:
        super().__init__()
        self.canonical = ""
        #: The crawlers that may not index it; empty: all.
        self.forbidden: list[str] = []
        self.passwords = self.words = 0
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at an element."""
        found = {name: value or "" for name, value in attrs}
        if tag in ("script", "style"):
            self._silent += 1
        elif tag == "meta":
            name = found.get("name", "").strip().lower()
            if name == "robots" or name in _CRAWLERS:
                agent = "" if name == "robots" else name
                self.forbidden += _forbidden(found.get("content", ""), agent)
        elif tag == "link" and "canonical" in found.get("rel", "").lower().split():
            self.canonical = self.canonical or found.get("href", "")
        elif tag == "input" and found.get("type", "").lower() == "password":
            is_new = found.get("autocomplete", "").lower() == "new-password"
            # A page where one registers may well be listed.
            self.passwords += 2 if is_new else 1

    def handle_endtag(self, tag: str) -> None:
        """Look at the end of an element."""
        if tag in ("script", "style"):
            self._silent = max(0, self._silent - 1)

    def handle_data(self, data: str) -> None:
        """Count the words that a visitor reads."""
        if not self._silent:
            self.words += len(data.split())


def percentiles(seconds: array[float]) -> dict[str, float]:
    """Return how long answers took: half of them, 95 in 100, the slowest."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    return {
        "p50": round(ordered[round(last * 0.5)], 4),
        "p95": round(ordered[round(last * 0.95)], 4),
        "max": round(ordered[last], 4),
    }
