"""What the audit reads of others is read in linear time."""

from __future__ import annotations

import datetime as dt
import io
import zlib
from contextlib import suppress

import pytest

from django_sitemaps_plus.contrib.audit import saved
from django_sitemaps_plus.contrib.audit.entries import Entry, Unreadable, parse
from django_sitemaps_plus.contrib.audit.rules import (
    Answered,
    Arrived,
    AuditedSection,
    FetchedAnswer,
    Listed,
    Visit,
    arrivals,
    look,
)
from django_sitemaps_plus.contrib.audit.rules.robots import forbids
from django_sitemaps_plus.contrib.audit.together import form_of
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.protocol.robots import Group
from django_sitemaps_plus.sitemaps.site import SiteAddress
from tests.support.linear_time import (
    HEADER,
    HEADERS,
    PACKAGE,
    PAGE,
    TAGS,
    WORDS,
    Reads,
    patterns_are_known,
    readers_in,
    takes_twice_as_long,
)

URL = "https://www.example.com/a/"
NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def web_page(text: str) -> None:
    page = FetchedAnswer(200, {"content-type": "text/html"}, text.encode(), len(text))
    list(look(Answered(Visit(NOW), URL, page)))


def with_header(name: str) -> Reads:
    def reads(text: str) -> None:
        headers = {"content-type": "text/html", name: text}
        page, redirect = (
            FetchedAnswer(200, headers, b"<p>a"),
            FetchedAnswer(302, headers),
        )
        list(look(Answered(Visit(NOW), URL, page)))
        list(look(Answered(Visit(NOW), URL, redirect)))
        list(look(Arrived(URL, page, b"", arrivals.XML_TYPES)))
        arrivals.is_from_cache(redirect)
        arrivals.copied_at(redirect, [])

    return reads


def in_page(start: str, end: str) -> Reads:
    """Return what reads a page with a text in it."""
    return lambda text: web_page(f"{start}{text}{end}")


def robots(text: str) -> None:
    own = [URL]
    list(arrivals.of_robots(text.encode(), own, own))


def robots_rule(text: str) -> None:
    """A rule, and a path that is nearly as it is."""
    path = f"/{text.replace('*', 'c')}"
    for rule in (f"/{text}*b", f"/{text}*b$", "/*a*a*a*a*b"):
        forbids([Group(("*",), disallow=(rule,))])(path)


def sitemap(text: str) -> None:
    with suppress(Unreadable):
        list(parse("It", io.BytesIO(text.encode())))
    with suppress(arrivals.Unusable):
        packed = FetchedAnswer(200, {"content-encoding": "gzip"}, zlib.compress(b"a"))
        arrivals.text_of_answer(URL, packed)


def in_sitemap(start: str, end: str = "") -> Reads:
    head = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    return lambda text: sitemap(f"{head}{start}{text}{end}")


def nested(text: str) -> None:
    """Elements around a text, all of which have it."""
    depth = len(text) // 12
    image = "<url xmlns='http://www.google.com/schemas/sitemap-image/1.1'>"
    in_sitemap(image + "<loc>" * depth + text[:90_000])("</loc>" * depth)


def listed(text: str) -> None:
    """The texts of an entry."""
    url = f"{URL}?{text}"
    links = (("en", url), (text, url))
    some = Entry(url, text, "", "", links, text, (url,), (url,), (text,))
    section = AuditedSection("a", SiteAddress(Origin("https", "www.example.com")), NOW)
    list(look(Listed(section, "a-1", [url], [text], [some])))
    form_of(url)
    arrivals.origin_of(text)
    arrivals.origin_of(f"https://{text}")
    arrivals.seconds(text)
    saved._name_of(text)


def differences(text: str) -> None:
    there = [Entry(f"{URL}{number}", text[:9]) for number in range(len(text) // 20)]
    arrivals.of_difference(there, [one._replace(priority="1") for one in there])


#: What reads a text, what it may consist of, and the most characters.
READERS: dict[str, tuple[Reads, tuple[str, ...], int]] = {
    "a web page": (web_page, TAGS, PAGE),
    "a title": (in_page("<title>", "zzz</title>"), WORDS, PAGE),
    "a heading": (in_page("<h1>", "zzz</h1>"), ("a<b>", *WORDS), PAGE),
    "a refresh": (
        in_page("<meta http-equiv=refresh content='0", "z\nz'>"),
        (" ", "0", ".", ";", " ;", "url", "url =", '"', '""', "; url=", "\n", "a"),
        PAGE,
    ),
    "a canonical": (
        in_page("<link rel=canonical href='", "'>"),
        ("a", "../", "//a", "\u0300\u0316", "%", "?", ";", "#", "[", ":", "@"),
        PAGE,
    ),
    "a canonical's host": (
        in_page("<base href='//a'><link rel=canonical href='//a", "'>"),
        ("\u0300\u0316", "a.", "xn--", "[", "1:", "ü"),
        PAGE,
    ),
    "rules of a page": (in_page("<meta name=robots content='", "'>"), HEADER, PAGE),
    **{
        f"the header {name}": (with_header(name), HEADER, HEADERS)
        for name in (
            *("link", "location", "refresh", "x-robots-tag", "content-type", "age"),
            *("last-modified", "cache-control", "content-length", "x-cache"),
        )
    },
    "robots.txt": (
        robots,
        (
            *("User-agent: *\n", "Disallow: /*a\n", "User-agent: *\nAllow: /a\n"),
            *("sitemap", "sitemap :", "sitemap: a\n", ":", "\n", " ", "#"),
        ),
        512_000,
    ),
    "a rule": (robots_rule, ("*a", "a", "*", "ab*", "%", "$", "%c3", "aa*ab"), HEADERS),
    "a sitemap": (sitemap, TAGS, PAGE),
    "entries": (
        in_sitemap(""),
        (
            *("<url>", "<url/>", "<url><loc>a</loc></url>"),
            *("<a xmlns:b='c'>", "&amp;", "a "),
        ),
        PAGE,
    ),
    "a long tag": (in_sitemap("<url a='"), ("a", " ", "&amp;", "<"), 16 * PAGE),
    "nested texts": (nested, ("a",), PAGE),
    "texts of an entry": (
        listed,
        (
            *("-xml", "-gz", ".xml", "_", "%", "a", "-", "\u0300\u0316", "1", "a-"),
            *("9.", ":", "=None", "&a=", "%25"),
        ),
        100_000,
    ),
    "other entries": (differences, ("a",), HEADERS),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.costly
def test_twice_as_much_takes_twice_as_long(name: str) -> None:
    takes_twice_as_long(*READERS[name])


def test_it_is_known_of_each_pattern_whom_it_reads() -> None:
    """Each rule is measured, whoever adds it."""
    rules = " ".join(readers_in(PACKAGE / "contrib/audit/rules"))
    measured = f"entries languages saved together web_pages {rules}"
    patterns_are_known(PACKAGE / "contrib/audit", measured)
