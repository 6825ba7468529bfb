"""Locations: RFC 3986, RFC 3987 and the rules of sitemaps.org."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.limits import MAX_LOCATION, MIN_LOCATION
from django_sitemaps_plus.protocol.locations import (
    ORIGIN_MARK,
    Origin,
    page_of,
    plain,
    refuse_ambiguous,
    refuse_outside,
    resolve,
    unambiguous,
)
from tests.protocol.strategies import (
    any_text,
    anything,
    locations,
    paths,
    urls_anywhere,
)

SITE = Origin("https", "www.example.com")
LONG = "/" + "a" * (MAX_LOCATION - len("https://www.example.com/"))

# Origins


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("https://www.example.com", "https://www.example.com"),
        ("https://www.example.com/", "https://www.example.com"),
        ("HTTPS://WWW.Example.COM:443", "https://www.example.com"),
        ("http://www.example.com:80", "http://www.example.com"),
        ("http://www.example.com:443", "http://www.example.com:443"),
        ("http://www.example.com:08000", "http://www.example.com:8000"),
        ("http://www.example.com:", "http://www.example.com"),
        ("https://www.example.com./", "https://www.example.com"),
        ("https://Bücher.example:8443", "https://xn--bcher-kva.example:8443"),
        ("https://ПРИМЕР.испытание", "https://xn--e1afmkfd.xn--80akhbyknj4f"),
        ("https://bücher。example", "https://xn--bcher-kva.example"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[0:0::1]:8000", "http://[::1]:8000"),
        ("http://my_host", "http://my_host"),
    ],
)
def test_an_origin_is_normalised(text: str, origin: str) -> None:
    assert str(Origin.parse(text)) == origin
    assert Origin.parse(origin) == Origin.parse(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("www.example.com", "neither a path nor an http"),
        ("//www.example.com", "neither a path nor an http"),
        ("ftp://www.example.com", "neither a path nor an http"),
        (" https://www.example.com", "neither a path nor an http"),
        *((f"https://{end}", "no host") for end in ("", ":8000")),
        ("https://ann:secret@www.example.com", "credentials"),
        ("https://www.example.com\\@evil.example", "credentials"),
        ("https://www.example.com/app", "more than scheme and host"),
        ("https://www.example.com?a", "more than scheme and host"),
        ("https://www.example.com#a", "fragment"),
        ("https://www.example.com\n", "control character"),
        *((f"https://www.example.com:{port}", "port") for port in ("0", "65536", "٨٠")),
        *(
            (f"https://{host}", "host is not legal")
            for host in (
                *("www..example.com", "www.ex%61mple.com", "bücher..example"),
                *("a" * 64 + ".example", "ü" * 64 + ".example", "℀.example"),
                "www.example.com\\.evil.example",
            )
        ),
        ("https://" + "a." * 130 + "example", "too long"),
        ("https://straße.example", "IDNA 2008"),
        ("https://[::1", "host or port"),
        ("https://[1:2]", "expected|At least"),
        ("https://[fe80::1%eth0]", "zone"),
        ("https://[]", "."),
    ],
)
def test_what_is_not_an_origin_is_refused_with_the_reason(
    text: str, reason: str
) -> None:
    with pytest.raises(LocationError, match=reason):
        Origin.parse(text)


@given(text=any_text | any_text.map(lambda text: f"https://{text}"))
def test_any_text_is_an_ascii_origin_or_refused(text: str) -> None:
    try:
        origin = Origin.parse(text)
    except LocationError:
        return
    assert str(origin).isascii()
    assert Origin.parse(str(origin)) == origin
    assert urlsplit(str(origin)).hostname


# Paths


@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("/", "/"),
        ("/articles/tea-1/?page=2&a=b/c", "/articles/tea-1/?page=2&a=b/c"),
        ("/a-._~!$&'()*+,;=:@/?", "/a-._~!$&'()*+,;=:@/?"),
        ("/ü/", "/%C3%BC/"),
        ("/\U0001f375?q=чай", "/%F0%9F%8D%B5?q=%D1%87%D0%B0%D0%B9"),
        ("/a b", "/a%20b"),
        ('/"<>\\^`{|}[]', "/%22%3C%3E%5C%5E%60%7B%7C%7D%5B%5D"),
        ("/%41%c3%BC", "/%41%c3%BC"),
        ("/100%", "/100%25"),
        ("/100%/%4", "/100%25/%254"),
        ("/%zz%C3%BC", "/%25zz%C3%BC"),
        ("/%é", "/%25%C3%A9"),
        ("/\\evil.example", "/%5Cevil.example"),
        ("https://www.example.com", "/"),
        ("https://www.example.com?a=1", "/?a=1"),
        ("https://www.example.com/ü", "/%C3%BC"),
        ("HTTPS://WWW.EXAMPLE.COM:443/A", "/A"),
        ("/redirect?to=//evil.example", "/redirect?to=//evil.example"),
        ("/a//b", "/a//b"),
        (LONG, LONG),
    ],
)
def test_a_location_of_the_site_becomes_a_path(location: str, path: str) -> None:
    assert SITE.local_path(location) == path
    assert SITE.absolute(location) == f"https://www.example.com{path}"


def test_a_host_is_compared_as_punycode() -> None:
    site = Origin.parse("https://bücher.example:8443")
    for host in ("BÜCHER.example", "xn--bcher-kva.example"):
        assert site.local_path(f"https://{host}:8443/x") == "/x"


def test_a_url_of_the_site_may_lack_its_scheme() -> None:
    """As django-hosts writes it."""
    assert SITE.local_path("//www.example.com/a/") == "/a/"
    assert SITE.local_path("//WWW.example.com:443?b") == "/?b"
    plain = Origin.parse("http://www.example.com:8000")
    assert plain.local_path("//www.example.com:8000/ä") == "/%C3%A4"
    assert SITE.absolute("//WWW.example.com/a/") == f"{SITE}/a/"
    assert plain.absolute("//other.example/a/") == "http://other.example/a/"


@pytest.mark.parametrize(
    ("location", "page"),
    [
        ("", "/"),
        ("#about", "/"),
        ("/a/#b#c", "/a/"),
        ("/a/?b=%23#c", "/a/?b=%23"),
        ("https://other.example/#/a", "https://other.example/"),
        ("/a/%23b", "/a/%23b"),
        (None, None),
        (b"/#a", b"/#a"),
    ],
)
def test_the_page_of_which_a_location_is_a_part(location: Any, page: Any) -> None:
    assert page_of(location) == page


ILLEGAL_ANYWHERE = [
    *((location, "not a text") for location in (None, b"/a")),
    ("", "empty"),
    *((location, "neither a path nor") for location in ("a", "../a", "?a")),
    ("javascript:alert(1)", "neither a path nor"),
    ("ftp://www.example.com/", "neither a path nor"),
    ("https:///a", "no host"),
    ("https://ann:secret@www.example.com/a", "credentials"),
    ("https://@www.example.com/a", "credentials"),
    *((f"{start}/a#b", "fragment") for start in ("", "https://www.example.com")),
    *((f"/a{end}", "control character") for end in ("\x00", "\n", "\x7f", "\x85")),
    (f"{ORIGIN_MARK}/a", "control character"),
    ("/a\ud800", "lone surrogate"),
    ("/" + "a" * 10_000, "10024 characters, over 2048"),
    (LONG + "a", "2049 characters, over 2048"),
    ("/" + "ü" * 400, "2424 characters, over 2048"),
]


@pytest.mark.parametrize(("location", "reason"), ILLEGAL_ANYWHERE)
def test_what_is_not_legal_is_refused_here_and_elsewhere(
    location: Any, reason: str
) -> None:
    with pytest.raises(LocationError, match=reason):
        SITE.local_path(location)
    with pytest.raises(LocationError, match=reason) as caught:
        SITE.absolute(location)
    assert len(str(caught.value)) < 200
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("http://www.example.com/a", "not a URL of https://www.example.com"),
        ("https://example.com/a", "not a URL of"),
        ("//example.com/a", "not a URL of"),
        ("//www.example.com:8443/a", "not a URL of"),
        ("//www.example.com//a", "two slashes"),
        ("///a", "no host"),
        ("https://www.example.com.evil.example/a", "not a URL of"),
        ("https://www.example.com:8443/a", "not a URL of"),
        ("https://www.example.com//a", "two slashes"),
    ],
)
def test_what_is_not_of_the_site_is_refused(location: str, reason: str) -> None:
    with pytest.raises(LocationError, match=reason):
        SITE.local_path(location)


def test_the_length_counts_the_origin() -> None:
    """The schemas want 12 characters: "http://web/" has eleven."""
    with pytest.raises(LocationError, match="over 2048"):
        Origin("https", "www2.example.com").local_path(LONG)
    web = Origin("http", "web")
    assert web.local_path("/a") == "/a"
    with pytest.raises(LocationError, match=f"under {MIN_LOCATION}"):
        web.local_path("/")


@given(location=any_text | any_text.map(lambda text: f"/{text}") | paths | anything)
def test_any_location_becomes_a_uri_or_is_refused(location: Any) -> None:
    try:
        path = SITE.local_path(location)
    except LocationError:
        return
    assert path.isascii()
    assert re.match(r"/(?!/)", path)
    assert quote(path, safe="/-._~!$&'()*+,;=:@?%") == path
    assert SITE.local_path(path) == path
    parts = urlsplit(f"{SITE}{path}")
    assert (parts.scheme, parts.netloc, parts.fragment) == (*str(SITE).split("://"), "")


@given(path=paths.filter(lambda path: "%" not in path))
def test_a_uri_says_what_the_iri_said(path: str) -> None:
    assert unquote(SITE.local_path(path)) == path


@given(location=locations)
def test_an_absolute_url_stays_when_made_absolute_again(location: str) -> None:
    uri = SITE.absolute(location)

    assert uri.isascii()
    assert SITE.absolute(uri) == uri
    assert urlsplit(uri).hostname


def test_a_path_goes_behind_the_mark_and_a_url_does_not() -> None:
    """The host of another site is normalised."""
    assert resolve("/ü", ORIGIN_MARK) == f"{ORIGIN_MARK}/%C3%BC"
    assert resolve("/", ORIGIN_MARK) == f"{ORIGIN_MARK}/"
    uri = "http://xn--bcher-kva.example/%C3%BC%20b?q=%C3%BC//"
    for start in (ORIGIN_MARK, str(SITE)):
        assert resolve("HTTP://Bücher.Example:80/ü b?q=ü//", start) == uri


# Many at once

alphabet = st.sampled_from("ab/%1fG?&'é \n\x00[#~")
lines = st.lists(st.text(alphabet, max_size=8).map(lambda text: f"/{text}"), max_size=6)


@given(found=lines | st.lists(paths | any_text | urls_anywhere, max_size=3))
def test_plain_means_that_each_line_is_returned_unchanged(found: list[str]) -> None:
    if not plain("\n".join(found)):
        return
    for line in "\n".join(found).split("\n"):
        assert SITE.local_path(line) == line


@given(found=lines.filter(len))
def test_locations_that_need_no_change_are_plain(found: list[str]) -> None:
    try:
        unchanged = [SITE.local_path(line) for line in found] == found
    except LocationError:
        unchanged = False
    if unchanged:
        assert plain("\n".join(found))


@pytest.mark.parametrize(
    ("joined", "expected"),
    [
        *((joined, True) for joined in ("/", "/a\n/b/?c=%C3%bc&d='e'")),
        *((joined, False) for joined in ("", "\n", "/a\n\n/b", "/a\nb", "/a\n//b")),
        *((joined, False) for joined in ("//a\n/b", "/a\n/%", "/%4\n1", "/%4\n/1")),
        *((joined, False) for joined in ("/%%41", "/a\r\n/b", "/a\x0b", "/a\ud800")),
    ],
)
def test_plain_at_the_edges(joined: str, expected: bool) -> None:
    assert plain(joined) is expected


@pytest.mark.parametrize("before", [0, 1, 1_780, 1_781, 5_000])
def test_a_line_that_might_not_fit_is_not_plain(before: int) -> None:
    """Even behind the longest origin: 267 characters."""
    lines = ["/" * 1 + "b" * (before % 900)] * (before // 900 + 1)
    fitting = "/" + "a" * (MAX_LOCATION - 267 - 1)

    assert plain("\n".join([*lines, fitting, *lines]))
    assert not plain("\n".join([*lines, fitting + "a", *lines]))


# What is of no page of its own


DOTS = ["/t/../", "/./a", "/a/..", "/.", "/%2E%2e/a", "/.%2e?x"]
SESSIONS = [
    *("/?sessionid=1", "/a;jsessionid=1F?x=1", "/a?x=1&PHPSESSID=2"),
    *("/a?session_id=2", "/a?ASPSESSIONIDQCSABTRA=2"),
]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        *((path, "has a segment '.' or '..'") for path in DOTS),
        *((path, "has a session id") for path in SESSIONS),
    ],
)
def test_a_path_of_another_page_or_visitor_is_refused(path: str, reason: str) -> None:
    assert not plain(f"/a\n{path}\n/b")
    for location in (path, f"https://www.example.com{path}"):
        with pytest.raises(LocationError, match=re.escape(reason)):
            SITE.local_path(location)


@pytest.mark.parametrize(
    "path",
    [
        *("/.well-known/x", "/a..b/", "/...", "/a./", "/%2e%2ea"),
        *("/sessionid/", "/?sessions=1", "/?mysessionid=1", "/?q=sessionid", "/?id=1"),
    ],
)
def test_a_path_that_only_looks_like_it_is_fine(path: str) -> None:
    assert SITE.local_path(path) == path
    assert plain(f"/a\n{path}\n/b")
    # Dots in a query are no segments.
    assert SITE.local_path("/a?next=/../b") == "/a?next=/../b"


_PARTS = st.text("./=;&?aS", max_size=4) | st.sampled_from(
    ["..", "sessionid", "/..", "a/"]
)


@given(
    pieces=st.lists(_PARTS, min_size=2, max_size=3),
    values=st.lists(st.tuples(_PARTS, _PARTS), min_size=1, max_size=3),
)
def test_what_is_proved_of_many_is_true_of_each(
    pieces: list[str], values: list[tuple[str, str]]
) -> None:
    start, *rest = [f"/{pieces[0]}", *pieces[1:]]
    columns = list(zip(*values, strict=True))[: len(rest)]
    if any("" in column or "\n" in column for column in columns):
        return
    if unambiguous([start, *rest], ["\n".join(column) for column in columns]):
        for row in zip(*columns, strict=True):
            url = start + "".join(map("".join, zip(row, rest, strict=True)))
            # A route has no query.
            refuse_ambiguous(url.replace("?", "%3F"))


def test_slugs_and_endings_are_proved_at_once() -> None:
    assert unambiguous(["/", "/", ".html"], ["news\nv1.2", "one\ntwo..three"])
    assert not unambiguous(["/", "/"], [".\nnews"])
    assert not unambiguous(["/", "/"], ["news\n."])
    assert not unambiguous(["/", "/"], ["news\nold/."])


def test_a_path_outside_the_folder_of_the_sitemap() -> None:
    refuse_outside("/shop/a", "/shop/")
    for path in ("/about/", "/shopping/", "/shop"):
        with pytest.raises(
            LocationError, match="not in /shop/, the folder of the site"
        ):
            refuse_outside(path, "/shop/")
