"""
Rules: what is wrong with listed URLs, with their answers, and with what crawlers get.

A module declares the kinds that it finds, and has a function for each thing that it
looks at. All of them are found here by themselves, and have one signature: a function
takes what it looks at, of ``seen``, and yields problems. It opens nothing. See "Add
a rule of the audit" in CONTRIBUTING.md.
"""

from __future__ import annotations

import datetime as dt
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeVar, cast

from django_sitemaps_plus.contrib.audit.entries import Entry
from django_sitemaps_plus.contrib.audit.kinds import known
from django_sitemaps_plus.contrib.audit.together import Together
from django_sitemaps_plus.contrib.audit.web_pages import WebPage
from django_sitemaps_plus.protocol.robots import Group
from django_sitemaps_plus.sitemaps.site import SiteAddress

T = TypeVar("T")

#: Bytes of a web page that Googlebot reads, and that are looked at.
#: https://developers.google.com/search/docs/crawling-indexing/googlebot
GOOGLE_READS = 2_000_000
#: A page of fewer words that asks for a password has nothing else to say.
FEW_WORDS = 150
#: What is in a challenge's headers, by its sender.
_CHALLENGE_HEADERS: Final = {
    "cf-mitigated": "Cloudflare",
    "x-amzn-waf-action": "AWS WAF",
}
#: What is in the body of a challenge.
_CHALLENGES: Final = {
    b"<title>Just a moment...</title>": "Cloudflare",
    b"_cf_chl_opt": "Cloudflare",
    b"awsWafCookieDomainList": "AWS WAF",
    b"captcha-delivery.com": "DataDome",
    b"_Incapsula_Resource": "Imperva",
    b"_pxAppId": "HUMAN",
    b"sucuri_cloudproxy_js": "Sucuri",
    b"/.well-known/sgcaptcha/": "SiteGround",
}
#: Where a header or a page names its charset.
CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)")
#: Its marks of the order of bytes.
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


class Problem(NamedTuple):
    """Something that is wrong."""

    #: The id of its kind.
    kind: str
    #: What is wrong, in a few words.
    text: str
    #: The URL with which it is; empty: what was looked at.
    url: str = ""
    #: The section and the page that list it; empty: what was looked at.
    section: str = ""
    page: str = ""


@dataclass
class Scope:
    """What rules remember from one look to the next."""

    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def kept(self, made: Callable[[Any], T]) -> T:
        """Return what a rule keeps here; made of this scope when it is first wanted."""
        if made not in self._kept:
            self._kept[made] = made(self)
        return cast(T, self._kept[made])


@dataclass
class AuditedSection(Scope):
    """A section whose pages are read."""

    name: str
    site: SiteAddress
    #: When the audit began, in UTC.
    now: dt.datetime
    #: The groups of the robots.txt that the site serves.
    robots: Sequence[Group] = ()
    #: How many entries an item has: one for each language.
    per_item: int = 1
    #: Whether it has news: its URLs are listed by other sections too.
    is_news: bool = False
    #: How many of its URLs all crawlers, or Google, may not fetch.
    disallowed: int = 0


class Place(NamedTuple):
    """A page that lists a URL."""

    section: str
    page: str
    #: Whether the section has news: its URLs are listed by other sections too.
    is_news: bool


@dataclass
class Listed:
    """Some entries that stand together on a page of a section."""

    section: AuditedSection
    #: The page's name.
    page: str
    urls: Sequence[str]
    #: The lastmod of each URL; empty where there is none.
    lastmods: Sequence[str]
    #: The entries that have alternates, images, videos or news.
    special: Sequence[Entry] = ()
    #: When the rows of the page were read; 0 if that is not known.
    read_at: float = 0
    #: What remembers the links between all pages, where these are compared.
    together: Together | None = None

    @cached_property
    def text(self) -> str:
        """All URLs, joined with line breaks: most rules find nothing in it."""
        return "\n".join(self.urls)


@dataclass(frozen=True, slots=True)
class FetchedAnswer:
    """The answer to a GET request."""

    #: 0 if there was none.
    status: int
    #: By lower-case name.
    headers: Mapping[str, str] = field(default_factory=dict)
    #: Its first bytes; of a listed URL those that Googlebot reads.
    body: bytes = b""
    #: How many bytes the whole body has; above what Googlebot reads it may have more.
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

    @property
    def media_type(self) -> str:
        """What its Content-Type says, in lower case; empty if it has none."""
        return self.headers.get("content-type", "").lower()


@dataclass
class Visit(Scope):
    """All listed URLs that are fetched."""

    #: When the audit began, in UTC.
    now: dt.datetime


class Reading(NamedTuple):
    """What a crawler reads in an answer."""

    page: WebPage
    #: The body, decompressed.
    body: bytes
    #: Why it could not be read; empty if it was, or is no text.
    flaw: str = ""


@dataclass
class Answered:
    """The answer of a listed URL."""

    visit: Visit
    url: str
    answer: FetchedAnswer
    #: The section and the page that list it.
    section: str = ""
    page: str = ""

    @cached_property
    def reading(self) -> Reading:
        """What a crawler reads in it; of what is neither HTML nor text, nothing."""
        kind = self.answer.media_type or "text/html"
        page, body = WebPage(self.url, has_more=True), self.answer.body
        if "html" not in kind and not kind.startswith("text/plain"):
            return Reading(page, body)
        try:
            body = _unpacked(self.answer)
        except (ValueError, zlib.error) as error:
            return Reading(page, body, str(error))
        text = _decoded(body, kind)
        if "html" in kind:
            return Reading(WebPage.read(self.url, text), body)
        page.start, page.words = text, len(text.split())
        return Reading(page, body)

    @property
    def is_whole(self) -> bool:
        """Whether it is a page of the site, or another file, that arrived whole."""
        answer = self.answer
        is_good = answer.status == 200 and not answer.failure and not answer.flaw
        return is_good and bool(answer.body.strip()) and not self.challenger

    @property
    def is_empty(self) -> bool:
        """Whether it is a page on which nothing is to be seen."""
        page = self.reading.page
        is_long = self.answer.size > GOOGLE_READS
        return not page.words and not page.has_more and not is_long

    @property
    def challenger(self) -> str:
        """Who asks visitors to prove that they are no robots; empty if nobody does."""
        if self.answer.status != 200:
            return challenger(self.answer, self.answer.body)
        # Firewalls put their scripts into ordinary pages, too.
        page, body, _ = self.reading
        return challenger(self.answer, body) if page.words < FEW_WORDS else ""

    def problem(self, kind: str, text: str) -> Problem:
        """Return what is wrong with it, to be told when all have been fetched."""
        return Problem(kind, text, self.url, self.section, self.page)


@dataclass
class Arrived:
    """A robots.txt or a sitemap as a crawler gets it."""

    url: str
    answer: FetchedAnswer
    #: Its text, decompressed.
    body: bytes
    #: The content types that it may have.
    types: Sequence[str]


def challenger(answer: FetchedAnswer, body: bytes) -> str:
    """Return who asks a visitor to prove that he is no robot; empty if nobody does."""
    for name, who in _CHALLENGE_HEADERS.items():
        if answer.headers.get(name, "").lower() in ("challenge", "captcha"):
            return who
    start = body[:100_000]
    return next((who for mark, who in _CHALLENGES.items() if mark in start), "")


def _unpacked(answer: FetchedAnswer) -> bytes:
    encoding = answer.headers.get("content-encoding", "").strip().lower()
    if encoding == "gzip":
        return zlib.decompressobj(wbits=31).decompress(answer.body, GOOGLE_READS)
    if encoding not in ("", "identity"):
        raise ValueError(f"its Content-Encoding is {encoding}, without being asked")
    return answer.body


def _decoded(body: bytes, kind: str) -> str:
    charset = CHARSET.search(kind)
    name = charset[1] if charset else "utf-8"
    try:
        return body.decode("utf-16" if body.startswith(_UTF_16) else name, "replace")
    except (LookupError, UnicodeError):
        return body.decode("utf-8", "replace")


Rule = Callable[[T], Iterator[Problem]]

_RULES: Final[dict[type, list[Rule[Any]]]] = {}


def rule(seen: type[T]) -> Callable[[Rule[T]], Rule[T]]:
    """Let a function look at each thing of a type: ``Listed``, ``Answered`` …"""

    def add(function: Rule[T]) -> Rule[T]:
        _RULES.setdefault(seen, []).append(function)
        return function

    return add


def look(seen: object) -> Iterator[Problem]:
    """Yield what all rules say of something."""
    known()  # which finds them
    for one in _RULES[type(seen)]:
        yield from one(seen)
