"""What the answers of listed URLs say: may they be indexed, and are they the page?"""

from __future__ import annotations

import datetime as dt
import re
import zlib
from array import array
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Final
from urllib.parse import urldefrag, urlsplit

from django.conf import settings as django_settings
from django.shortcuts import resolve_url

from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.protocol.errors import excerpt
from django_sitemaps_plus.protocol.locations import resolve

from .urls import CRAWLERS, Problem
from .web_pages import WebPage, joined, refreshed

#: Bytes of a web page that Googlebot reads, and that are looked at.
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
    #: At most ``GOOGLE_READS`` bytes.
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
    elif status != 200 and (who := challenger(answer, answer.body)):
        yield challenged(who, status)
    elif 300 <= status < 400 and "location" in answer.headers:
        target = joined(url, answer.headers["location"])
        kind = kinds.LOGIN if _is_login(target) else kinds.REDIRECTS
        yield kind, f"redirects to {target} ({status})"
    elif status == 401:
        yield kinds.LOGIN, "answers 401"
    elif status != 200:
        yield kinds.FAILS, f"answers {in_words(status)}"
    elif answer.flaw:
        yield kinds.CUT_OFF, f"ends too early: {answer.flaw.rstrip('.')}"
    elif not answer.body.strip():
        yield kinds.EMPTY, "answers with an empty body"
    else:
        yield from _of_content(url, answer, now)


def in_words(status: int) -> str:
    """Return a status, and what it usually means where that helps."""
    return f"{status}, {_MEANS[status]}" if status in _MEANS else str(status)


def _of_content(url: str, answer: Answer, now: dt.datetime) -> Iterator[Problem]:
    page, body = WebPage(url, has_more=True), answer.body
    kind = answer.headers.get("content-type", "text/html").lower()
    if "html" in kind:
        try:
            body = _unpacked(answer)
            page = WebPage.read(url, _decoded(body, kind))
        except (ValueError, zlib.error) as error:
            yield kinds.ENCODED, f"was not read: {error}"
        if answer.size > GOOGLE_READS:
            yield kinds.TOO_LONG, f"has over {GOOGLE_READS:,} bytes"
    # Firewalls put their scripts into ordinary pages, too.
    if page.words < _FEW_WORDS and (who := challenger(answer, body)):
        yield challenged(who, answer.status)
        return
    yield from _forbidden(answer, page, now)
    yield from _elsewhere(url, answer, page)
    yield from _without_content(page, is_cut=answer.size > GOOGLE_READS)


def _unpacked(answer: Answer) -> bytes:
    encoding = answer.headers.get("content-encoding", "").strip().lower()
    if encoding == "gzip":
        return zlib.decompressobj(wbits=31).decompress(answer.body, GOOGLE_READS)
    if encoding not in ("", "identity"):
        raise ValueError(f"its Content-Encoding is {encoding}, without being asked")
    return answer.body


def _decoded(body: bytes, kind: str) -> str:
    charset = _CHARSET.search(kind)
    name = charset[1] if charset else "utf-8"
    try:
        return body.decode("utf-16" if body.startswith(_UTF_16) else name, "replace")
    except (LookupError, UnicodeError):
        return body.decode("utf-8", "replace")


def problems_of_image(url: str, answer: Answer) -> Iterator[Problem]:
    """Yield what the answer of an image's URL shows to be wrong."""
    kind = answer.headers.get("content-type", "image/")
    if answer.failure:
        yield kinds.MISSING_IMAGE, f"{url}: {answer.failure}"
    elif 300 <= answer.status < 400:
        return  # which search engines follow
    elif answer.status != 200:
        yield kinds.MISSING_IMAGE, f"{url} answers {answer.status}"
    elif kind.startswith("text/html"):
        yield kinds.MISSING_IMAGE, f"{url} is a web page"


def _without_content(page: WebPage, *, is_cut: bool) -> Iterator[Problem]:
    """Yield what makes a page one that nobody searches for."""
    if not page.words and not page.has_more and not is_cut:
        yield kinds.EMPTY, "answers with an empty <body>"
        return
    is_short = page.words < _FEW_WORDS
    errors = [one for one in page.titles.values() if _is_error(one, is_short)]
    if errors:
        yield kinds.SOFT_404, f"is called {excerpt(errors[0].strip())}"
    elif page.passwords == 1 and is_short:
        yield kinds.LOGIN_FORM, f"has a login form and {page.words} words"


def _is_error(title: str, is_short: bool) -> bool:
    """Return whether a part of a title says no more than that there is no page."""
    title = title.replace("’", "'")
    parts = [" ".join(part.split()) for part in _BETWEEN.split(title)]
    return any(map(_ERROR.fullmatch, parts)) or (is_short and "404" in parts)


def _elsewhere(url: str, answer: Answer, page: WebPage) -> Iterator[Problem]:
    """Yield what says that the page is to be found at another URL."""
    refresh = refreshed(answer.headers.get("refresh", "")) or page.refresh
    if refresh and (target := _written(joined(page.base, refresh))) != _written(url):
        yield kinds.REDIRECTS, f"refreshes to {target}"
    links = [joined(page.base, href) for href in page.canonicals]
    links += [joined(url, one) for one in _LINK.findall(answer.headers.get("link", ""))]
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


_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)")
#: Its marks of the order of bytes.
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
#: The name of a day in a date, whose comma does not end a rule.
_WEEKDAY: Final = re.compile(r"\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,", re.IGNORECASE)
#: What stands between the parts of a title, such as the site's name.
_BETWEEN: Final = re.compile(r"\s[-–—|•·»«/]+\s|[|•»«]")
#: What pages are called that answer 200 and say that there is no page.
_ERROR: Final = re.compile(
    r"(?:[^:]{1,60}: )?\W*(?:(?:oops|ups|sorry|error|fehler|erreur|http|404|500|the"
    r"|this|that|requested|die|diese|angeforderte|la|cette)\W+)*(?:"
    r"(?:page|site|article|product|document|file|url)[\w ']{0,60}?(?:not|n't)(?: be)?"
    r" found"
    r"|not found|(?:error|fehler|erreur|http)\W+(?:404|500)|404\W+(?:error|page|seite)"
    r"|(?:internal )?server error|seite[\w ]{0,40} nicht (?:mehr )?gefunden(?: werden)?"
    r"|page (?:introuvable|non trouvée)|p[áa]gina no encontrada|pagina non trovata"
    r")(?:\W+(?:error|404|500|on this server))*\W*",
    re.IGNORECASE,
)
#: https://www.rfc-editor.org/rfc/rfc8288, as Google reads it for documents.
_LINK: Final = re.compile(
    r'<([^>]+)>\s*;(?:[^,<"]|"[^"]*")*?\brel\s*=\s*["\']?(?:[\w-]+\s+)*canonical\b',
    re.IGNORECASE,
)


def _is_login(target: str) -> bool:
    login = resolve_url(django_settings.LOGIN_URL)
    with suppress(ValueError):
        return urlsplit(target).path == urlsplit(login).path
    return False


def _written(url: str) -> str:
    """Return a URL as this package writes it; one that is illegal as it is."""
    try:
        return resolve(urldefrag(url).url, None)
    except ValueError:  # of urldefrag(), or a LocationError
        return url


def challenger(answer: Answer, body: bytes) -> str:
    """Return who asks a visitor to prove that he is no robot; empty if nobody does."""
    for name, who in _CHALLENGE_HEADERS.items():
        if answer.headers.get(name, "").lower() in ("challenge", "captcha"):
            return who
    start = body[:100_000]
    return next((who for mark, who in _CHALLENGES.items() if mark in start), "")


def challenged(who: str, status: int) -> Problem:
    """Return what a challenge in place of an answer says."""
    text = (
        f"{who} challenges this machine ({status}), which does not say that it "
        "challenges Googlebot"
    )
    return kinds.CHALLENGED, text


def percentiles(seconds: array[float]) -> dict[str, float]:
    """Return how long answers took: half of them, 95 in 100, the slowest."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    return {
        "p50": round(ordered[round(last * 0.5)], 4),
        "p95": round(ordered[round(last * 0.95)], 4),
        "max": round(ordered[last], 4),
    }
