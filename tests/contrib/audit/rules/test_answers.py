"""What the answer of a listed URL shows to be wrong, and what it does not."""

from __future__ import annotations

import datetime as dt
import gzip
from array import array
from collections import Counter
from typing import Any

import pytest

from django_sitemaps_plus.contrib.audit.asking import Asking, Pace
from django_sitemaps_plus.contrib.audit.entries import Entry
from django_sitemaps_plus.contrib.audit.findings import Findings
from django_sitemaps_plus.contrib.audit.listed import ListedDocument
from django_sitemaps_plus.contrib.audit.rules import (
    Answered,
    FetchedAnswer,
    Visit,
    look,
)
from django_sitemaps_plus.contrib.audit.rules.answers import (
    percentiles,
    problems_of_image,
)
from tests.contrib.audit import kinds

SITE = "https://www.example.com"
URL = f"{SITE}/a/?page=2"
WORDS = "word " * 200
NOW = dt.datetime(2026, 6, 15, 12, tzinfo=dt.UTC)


def problems_of(
    url: str, answer: FetchedAnswer, now: dt.datetime
) -> list[tuple[str, str]]:
    """Return the kinds and texts of what is said of the only answer."""
    visit = Visit(now)
    found = [*look(Answered(visit, url, answer)), *look(visit)]
    return [(one.kind, one.text) for one in found]


def problems(
    body: str = f"<html>{WORDS}", status: int = 200, **headers: str
) -> list[tuple[str, str]]:
    """Return what is said of an answer."""
    known = {name.replace("_", "-"): value for name, value in headers.items()}
    return problems_of(URL, FetchedAnswer(status, known, body.encode()), NOW)


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("noindex", kinds.NOINDEX),
        ("nofollow, NOINDEX", kinds.NOINDEX),
        ("none", kinds.NOINDEX),
        ("max-snippet: 5, noindex", kinds.NOINDEX),
        ("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex", kinds.NOINDEX),
        ("googlebot: noindex", kinds.NOINDEX),
        ("otherbot: nofollow, bingbot: nofollow, noindex", kinds.NOINDEX_FOR_ONE),
        ("googlebot: nofollow", None),
        ("otherbot: noindex, nofollow", None),
        ("all, noimageindex, notranslate", None),
        ("", None),
        ("unavailable_after: Mon, 1 Jan 99999999999999999999 00:00:00 GMT", None),
    ],
)
def test_the_header_says_who_may_not_index(header: str, kind: str | None) -> None:
    found = [one for one, _ in problems(x_robots_tag=header)]
    assert found == ([] if kind is None else [kind])


@pytest.mark.parametrize(
    ("meta", "kind"),
    [
        ('name="robots" content="noindex"', kinds.NOINDEX),
        ('content="NONE" NAME="Robots"', kinds.NOINDEX),
        ('name="googlebot" content="noindex"', kinds.NOINDEX),
        ('name="bingbot" content="noindex"', kinds.NOINDEX_FOR_ONE),
        ('name="otherbot" content="noindex"', None),
        ('name="description" content="noindex"', None),
        ('name="robots" content="index,follow"', None),
    ],
)
def test_the_meta_element_says_who_may_not_index(meta: str, kind: str | None) -> None:
    found = [one for one, _ in problems(f"<meta {meta}>{WORDS}")]
    assert found == ([] if kind is None else [kind])
    assert problems(f"<!-- <meta {meta}> -->{WORDS}") == []


def test_what_is_forbidden_to_all_is_not_said_of_one_too() -> None:
    page = f'<meta name="googlebot" content="noindex">{WORDS}'
    assert problems(page, x_robots_tag="noindex") == [
        (kinds.NOINDEX, "noindex in the header X-Robots-Tag")
    ]


@pytest.mark.parametrize("tag", ["textarea", "template", "title", "noscript"])
def test_what_is_text_or_not_shown_is_no_meta_element(tag: str) -> None:
    meta = '<meta name="robots" content="noindex">'
    assert problems(f"<{tag}>{meta}</{tag}>{WORDS}") == []
    nested = f"<template><template></template>{meta}</template>{WORDS}"
    assert problems(nested) == []
    assert [kind for kind, _ in problems(f"<{tag}></{tag}>{meta}{WORDS}")] == [
        kinds.NOINDEX
    ]


@pytest.mark.parametrize(
    ("end", "kind"),
    [
        ("25 Jun 2020 15:00:00 PST", kinds.NOINDEX),
        ("2020-06-25", kinds.NOINDEX),
        ("Thursday, 25-Jun-20 15:00:00 UTC", kinds.NOINDEX),
        ("Thu, 25 Jun 2020 15:00:00 GMT", kinds.NOINDEX),
        ("Sat, 25 Jun 2050 15:00:00 GMT", None),
        ("some day", None),
    ],
)
def test_what_was_available_until_some_day_is_not_indexed_after_it(
    end: str, kind: str | None
) -> None:
    header = f"nofollow, unavailable_after: {end}"
    expected = [] if kind is None else [kind]
    assert [one for one, _ in problems(x_robots_tag=header)] == expected
    assert [one for one, _ in problems(x_robots_tag=f"{header}, none")] == [
        kinds.NOINDEX
    ]


@pytest.mark.parametrize(
    "href", ["?page=2", "/a/?page=2#top", URL, "https://WWW.example.com:443/a/?page=2"]
)
def test_a_canonical_may_be_the_url_written_in_another_way(href: str) -> None:
    assert problems(f'<link href="{href}" rel="canonical">{WORDS}') == []


@pytest.mark.parametrize(
    ("body", "header"),
    [
        ('<link rel="Canonical" href="/a/">', ""),
        ('<link rel="alternate canonical" href="/a/">', ""),
        ("", '<../a/>; title="a, b"; rel="next canonical"'),
        ("", '</b/>; rel="next", <https://www.example.com/a/>; rel="canonical"'),
    ],
)
def test_a_canonical_elsewhere_is_named(body: str, header: str) -> None:
    expected = "its canonical is https://www.example.com/a/"
    assert problems(f"{body}{WORDS}", link=header) == [(kinds.CANONICAL, expected)]


def test_a_relative_canonical_begins_at_the_base() -> None:
    base = '<base target="_blank"><base href="/a/b/"><base href="/c/">'
    assert problems(f'<link rel="canonical" href="../?page=2">{base}{WORDS}') == []
    ((kind, text),) = problems(f'{base}<link rel="canonical" href="x">{WORDS}')
    assert (kind, text) == (
        kinds.CANONICAL,
        "its canonical is https://www.example.com/a/b/x",
    )


def test_canonicals_that_contradict_each_other_are_both_named() -> None:
    own = '<link rel="canonical" href="?page=2">'
    other = '<https://www.example.com/b/>; rel="canonical"'
    assert problems(f"{own}{own}{WORDS}") == []
    assert problems(f"{own}{WORDS}", link=other) == [
        (
            kinds.CANONICAL,
            f"its canonicals differ: {URL} and https://www.example.com/b/",
        )
    ]


@pytest.mark.parametrize(
    ("content", "target"),
    [
        ("0; url=/b/", "/b/"),
        ("5;URL='https://www.example.com/b/'", "/b/"),
        ("300", None),
        ("300; url=?page=2", None),
        ("60; url=", None),
        ("60; url=''", None),
        ("60.5; url=/b/", "/b/"),
        ("1800; url=/b/", None),
    ],
)
def test_a_refresh_to_another_url_is_a_redirect(
    content: str, target: str | None
) -> None:
    text = f"refreshes to https://www.example.com{target}"
    expected = [] if target is None else [(kinds.REDIRECTS, text)]
    meta = f'<meta http-equiv="Refresh" content="{content}">'
    assert problems(f"{meta}{WORDS}") == problems(refresh=content) == expected
    assert problems(f"<noscript>{meta}</noscript>{WORDS}") == []


@pytest.mark.parametrize(
    ("body", "headers", "text"),
    [
        ("<link rel=canonical href={}>", {}, "its canonical is {}"),
        ("", {"link": "<{}>; rel=canonical"}, "its canonical is {}"),
        ("<meta http-equiv=refresh content=0;url={}>", {}, "refreshes to {}"),
        ("", {"refresh": "0;url={}"}, "refreshes to {}"),
        ("<base href={}><link rel=canonical href='?page=2'>", {}, ""),
        ("<![foo[ ]]><meta name=robots content=noindex>", {}, "noindex in its meta"),
    ],
)
def test_what_no_parser_understands_is_named_and_ends_nothing(
    body: str, headers: dict[str, str], text: str
) -> None:
    url = "https://[domain]/"
    given = {name: value.format(url) for name, value in headers.items()}
    found = problems(f"{body.format(url)}{WORDS}", **given)
    assert [text.format(url) in said for _, said in found] == [True] * bool(text)
    redirect = problems(status=302, location=url)
    assert redirect == [(kinds.REDIRECTS, f"redirects to {url} (302)")]


def test_redirects_say_where_to_and_those_to_the_login_that_they_are() -> None:
    assert problems(status=301, location="../b/") == [
        (kinds.REDIRECTS, "redirects to https://www.example.com/b/ (301)")
    ]
    ((kind, _),) = problems(status=302, location="/accounts/login/?next=/a/")
    assert kind == kinds.LOGIN


@pytest.mark.parametrize(("status", "kind"), [(404, kinds.FAILS), (401, kinds.LOGIN)])
def test_a_status_that_is_not_200_is_said(status: int, kind: str) -> None:
    assert problems(status=status) == [(kind, f"answers {status}")]


def test_a_login_page_is_told_from_pages_with_a_login_form() -> None:
    form = '<form><input type="password"></form>'
    hidden = f"<script>{WORDS}</script>"
    assert [kind for kind, _ in problems(f"Log in{form}{hidden}")] == [kinds.LOGIN_FORM]
    assert problems(f"{WORDS}{form}") == []
    new = '<input type="password" autocomplete="new-password">'
    assert problems(f"Register<form>{new}</form>") == []
    assert problems(f"<header>{form}</header>Short") == []


@pytest.mark.parametrize(
    ("title", "is_error"),
    [
        ("404 Not Found", True),
        ("Error 404", True),
        ("Page not found | Shop", True),
        ("Seite nicht gefunden", True),
        ("Page introuvable", True),
        ("My Shop: Page not found", True),
        ("Oops! That page can\u2019t be found. \u2013 My Shop", True),
        ("The page you were looking for could not be found", True),
        ("Die angeforderte Seite konnte nicht gefunden werden", True),
        ("Server Error (500)", True),
        ("404 ways to cook an egg", False),
        ("404 error pages: how to design them", False),
        ("WordPress: page not found after an update", False),
        ("Room 404", False),
        ("Not Found", False),
        ("Not Found - The Band | Songs", False),
        ("Error: Not Found", True),
        ("Not Found (404)", True),
        ("404", False),
        ("Lost and found", False),
        ("What to do where a key is not found in a dict", False),
    ],
)
def test_a_page_that_is_called_not_found_looks_like_an_error(
    title: str, is_error: bool
) -> None:
    expected = [kinds.SOFT_404] if is_error else []
    for page in (f"<title>{title}</title>", f"<title>Shop</title><h1>{title}</h1>"):
        assert [kind for kind, _ in problems(f"{page}{WORDS}")] == expected


@pytest.mark.parametrize(
    "title", ["404", "My Shop - 404", "Not Found", "Not Found | My Shop"]
)
@pytest.mark.parametrize("heading", ["", "<h1>Oops</h1>", "<h1>404</h1>"])
def test_two_words_alone_are_an_error_where_there_is_little_else(
    title: str, heading: str
) -> None:
    found = problems(f"<title>{title}</title>{heading}Go to the start page.")
    assert found == [(kinds.SOFT_404, f"is called {title!r}")]


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/songs/not-found/", "<title>Not Found | Songs</title><h1>Not Found</h1>"),
        ("/songs/12_not_found", "<title>Not Found</title><h1>Not Found</h1>"),
        ("/songs/7/", "<title>Not Found - The Band - Songs</title><h1>Not Found</h1>"),
        ("/songs/7/", "<title>The Band: Not Found</title><h1>Not Found</h1>"),
        ("/songs/7/", "<title>Not Found</title><h1>Not Found, by The Band</h1>"),
        ("/bars/404/", "<title>404 | Bars</title><h1>404</h1>"),
        ("/bars/7/", "<title>Bar 404, Berlin</title><h1>404</h1>"),
    ],
)
def test_what_has_the_name_of_an_error_is_none(path: str, page: str) -> None:
    answer = FetchedAnswer(200, {}, f"{page}Open from 8 pm.".encode())
    assert problems_of(f"{SITE}{path}", answer, NOW) == []


@pytest.mark.parametrize(
    "page",
    [
        "<title>Index of /</title><h1>Index of /</h1><pre><a href='../'>../</a></pre>",
        "<title>Index of /media/2026/</title>a.png",
        "<title>Directory listing for /media/</title>a.png",
        "<title>OperationalError at /shop/</title>Exception",
        "<title>Shop</title><p>Error establishing a database connection",
        f"<title>Shop</title>Traceback (most recent call last): {WORDS}",
        "<title>Shop</title><pre>Traceback (most recent call last):\n  File</pre>",
        "<h1>Shop</h1><p>Sorry! OperationalError: could not connect",
        "<title>Shop</title>SQLSTATE[42S02]: Base table or view not found",
        "<b>Fatal error</b>: Uncaught App\\Db\\AwayException in /srv/a.php:3",
        "<b>Parse error</b>: unexpected '}' in <b>/srv/a.php</b> on line 3",
        "<code>shop</code> <p>Traceback (most recent call last):",
    ],
)
def test_a_folder_a_traceback_and_a_database_s_error_are_no_pages(page: str) -> None:
    assert [kind for kind, _ in problems(page)] == [kinds.SOFT_404]


def test_a_traceback_that_is_sent_as_text_is_no_page() -> None:
    text = "Traceback (most recent call last):\n  File"
    found = problems(text, content_type="text/plain")
    assert found == [(kinds.SOFT_404, "says 'Traceback (most recent call last)'")]
    assert problems(WORDS, content_type="text/plain") == []


@pytest.mark.parametrize(
    "page",
    [
        f"<title>Index of names</title>{WORDS}",
        f"<h1>What is a traceback?</h1>{WORDS}Traceback (most recent call last):",
        "<h1>Errors</h1>See <code>Traceback (most recent call last):</code>",
        "<h1>Lost</h1>What to do if SQLSTATE is 42S02",
    ],
)
def test_a_page_about_errors_is_a_page(page: str) -> None:
    assert problems(page) == []


@pytest.mark.parametrize(
    ("title", "is_raw"),
    [
        ("{{ product.name }}", True),
        ("{{ product.name }} | Shop", True),
        ("Shop - {% block title %}", True),
        ("{{ name }} for sale", True),
        ("${title}", True),
        ("What {{ mustache }} means", False),
        ("{curly}", False),
    ],
)
def test_a_title_that_no_template_filled_in_is_named(title: str, is_raw: bool) -> None:
    expected = [(kinds.RAW_TITLE, f"is called {title!r}")] if is_raw else []
    assert problems(f"<title> {title} </title>{WORDS}") == expected


def test_an_error_page_that_is_listed_is_no_name() -> None:
    page = b"<title>404</title><h1>404</h1>Go home."
    found = problems_of(f"{SITE}/404/", FetchedAnswer(200, {}, page), NOW)
    assert [kind for kind, _ in found] == [kinds.SOFT_404]


def test_a_body_without_words_is_empty_unless_it_shows_something_else() -> None:
    page = "<html><head><title>Shop</title></head><body> {} </body></html>"
    assert problems(page.format("")) == [(kinds.EMPTY, "answers with an empty <body>")]
    for content in (
        "<img src=x>",
        "<div id=app></div><script src=x></script>",
        "<form><input name=q></form>",
        "<textarea>A paste</textarea>",
        "<button aria-label=Play></button>",
        "<div style='background: url(x)' role=img></div>",
        "<frameset><frame src=x></frameset>",
        "Hi",
    ):
        assert problems(page.format(content)) == []
    hidden = page.format("<input type=hidden name=csrf>")
    assert [kind for kind, _ in problems(hidden)] == [kinds.EMPTY]
    long = FetchedAnswer(200, {}, b"<html><style>", size=2_000_001)
    assert [kind for kind, _ in problems_of(URL, long, NOW)] == [kinds.TOO_LONG]


def test_words_without_spaces_between_them_are_counted() -> None:
    form = '<form><input type="password"></form>'
    assert problems(f"{'漢字' * 500}{form}") == []
    assert problems(f"登录 密码{form}") == [
        (kinds.LOGIN_FORM, "has a login form and 4 words")
    ]
    titled = problems(f"<title>Log in</title>{form}Now")
    text = "is called 'Log in' and has a login form and 1 words"
    assert titled == [(kinds.LOGIN_FORM, text)]


def test_a_login_box_that_most_pages_have_is_no_login_page() -> None:
    form = "<div><form><input name=p type=password></form></div>"

    def found(number: int, title: str, others: int = 0) -> Counter[str]:
        """Return what is found of pages with the box, and others without it."""
        pages = {
            f"/{n}/": f"<title>{title.format(n)}</title>{n}{form}"
            for n in range(number)
        }
        pages |= {f"/other/{n}/": f"<title>{n}</title>{WORDS}" for n in range(others)}
        findings = Findings([])

        def fetch(url: str) -> FetchedAnswer:
            return FetchedAnswer(200, {}, pages[url.removeprefix(SITE)].encode())

        asking = Asking(
            findings, fetch, Visit(NOW), Pace(None), False, lambda done, of: None
        )
        document = ListedDocument("article", "article-1", bytes)
        entries = [(document, Entry(f"{SITE}{path}")) for path in pages]
        asking.ask(entries, len(entries))
        return Counter(
            {kind: sum(of.values()) for kind, of in findings.by_kind().items()}
        )

    assert found(62, "Product {}") == {}
    assert found(62, "Log in") == {kinds.LOGIN_FORM: 62}
    assert found(5, "Members {}", others=20) == {kinds.LOGIN_FORM: 5}
    assert found(1, "Members") == {kinds.LOGIN_FORM: 1}


def test_slow_and_large_pages_are_named() -> None:
    def kinds_of(**fields: Any) -> list[str]:
        answer = FetchedAnswer(200, {}, f"<html>{WORDS}".encode(), **fields)
        return [kind for kind, _ in problems_of(URL, answer, NOW)]

    assert kinds_of(seconds=3.0, size=2_000_000) == []
    assert kinds_of(seconds=3.1, size=2_000_001) == [kinds.SLOW, kinds.TOO_LONG]


def test_an_image_answers_with_an_image() -> None:
    def texts(status: int, kind: str) -> list[str]:
        answer = FetchedAnswer(status, {"content-type": kind})
        return [one.text for one in problems_of_image("/i.png", answer)]

    assert texts(200, "image/png") == []
    assert texts(302, "text/html") == []
    assert texts(404, "text/html") == ["/i.png answers 404"]
    assert texts(200, "text/html; charset=utf-8") == ["/i.png is a web page"]


def test_a_page_that_is_cut_off_is_not_judged_by_its_beginning() -> None:
    answer = FetchedAnswer(
        200, {}, b"<html><body>", flaw="It did not finish its answer."
    )
    text = "ends too early: It did not finish its answer"
    assert problems_of(URL, answer, NOW) == [(kinds.CUT_OFF, text)]


@pytest.mark.parametrize(
    ("end", "inside"),
    [
        ("<h1>Artic", "h1"),
        ("<H2 class=a>Artic\n", "h2"),
        ('<p>Artic <a href="/a', "a"),
        ("<p>Artic", ""),
        ("<h1>Article</h1><p>5 < 7, <b>and", ""),
        ("<ul><li>Artic", ""),
    ],
)
def test_a_page_that_ends_inside_of_an_element_is_cut_off(
    end: str, inside: str
) -> None:
    found = [(kinds.CUT_OFF, f"ends inside <{inside}>")] if inside else []
    assert problems(f"<!doctype html><html lang=en><body><p>{WORDS}{end}") == found
    assert problems(f"<p>{WORDS}{end}") == []


def test_a_redirect_to_the_url_itself_has_no_end() -> None:
    text = "redirects to itself, without an end (301)"
    assert problems("", 301, location=URL) == [(kinds.MOVED, text)]


def test_a_503_of_the_web_server_says_when_it_sends_one() -> None:
    page = (
        "<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>"
        "<body>\r\n<center><h1>503 Service Temporarily Unavailable</h1></center>"
    )
    ((kind, text),) = problems(page, 503)
    assert (kind, "or asked too often (see --rate)" in text) == (kinds.FAILS, True)


def test_a_challenge_in_place_of_a_page_is_not_the_page_s_fault() -> None:
    challenge = "<title>Just a moment...</title><script src=x></script>"
    asked = {"cf_mitigated": "challenge"}
    for found in (
        problems(challenge),
        problems(challenge, status=403),
        problems("<p>Prove it", **asked),
        problems("", status=503, **asked),
    ):
        assert [kind for kind, _ in found] == [kinds.CHALLENGED]
        assert "Cloudflare challenges this machine" in found[0][1]
    assert problems(f"<script src=/_Incapsula_Resource?a></script>{WORDS}") == []


NOINDEX = '<meta name="robots" content="noindex">'


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (f"{NOINDEX}{WORDS}".encode(), {"content-type": "TEXT/HTML"}),
        (gzip.compress(f"{NOINDEX}{WORDS}".encode()), {"content-encoding": "gzip"}),
        (f"{NOINDEX}{WORDS}".encode("utf-16"), {}),
        (
            f"{NOINDEX}{WORDS}".encode("utf-16-be"),
            {"content-type": "text/html; charset=UTF-16BE"},
        ),
        (f"{NOINDEX}{WORDS}".encode(), {"content-type": "text/html; charset=no-such"}),
    ],
    ids=["upper case", "gzip", "byte order mark", "charset", "unknown charset"],
)
def test_noindex_is_read_however_the_page_is_sent(
    body: bytes, headers: dict[str, str]
) -> None:
    found = problems_of(URL, FetchedAnswer(200, headers, body, len(body)), NOW)
    assert found == [(kinds.NOINDEX, "noindex in its meta element")]


@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_a_page_that_cannot_be_decoded_is_not_said_to_be_in_order(
    encoding: str,
) -> None:
    ((kind, text),) = problems(WORDS, content_encoding=encoding)
    assert (kind, text.partition(":")[0]) == (kinds.ENCODED, "was not read")


def test_what_is_no_web_page_is_judged_by_its_headers_only() -> None:
    body = '<meta name="robots" content="noindex">'
    assert problems(body, content_type="application/pdf") == []
    assert problems(" \n ") == [(kinds.EMPTY, "answers with an empty body")]


def test_no_answer_is_a_finding_with_its_reason() -> None:
    answer = FetchedAnswer(0, failure="www.example.com did not answer within 30 s.")
    text = "www.example.com did not answer within 30 s"
    assert problems_of(URL, answer, NOW) == [(kinds.UNREACHABLE, text)]


@pytest.mark.parametrize(
    ("status", "text"), [(400, "ALLOWED_HOSTS"), (502, "does not run")]
)
def test_a_status_that_is_the_site_s_says_where_to_look(status: int, text: str) -> None:
    ((kind, said),) = problems_of(URL, FetchedAnswer(status, seconds=0.1), NOW)
    assert kind == kinds.FAILS
    assert said.startswith(f"answers {status},")
    assert text in said


def test_a_400_of_the_web_server_is_not_told_as_django_s() -> None:
    page = (
        b"<html>\r\n<head><title>400 No required SSL certificate was sent</title>"
        b"</head>\r\n<body>\r\n<center><h1>400 Bad Request</h1></center>"
    )
    text = "answers 400: No required SSL certificate was sent, says the web server"
    assert problems_of(URL, FetchedAnswer(400, body=page), NOW) == [(kinds.FAILS, text)]


def test_percentiles_are_of_the_answers() -> None:
    seconds = array("d", [one / 100 for one in range(100, -1, -1)])
    assert percentiles(seconds) == {"p50": 0.5, "p95": 0.95, "max": 1.0}
    assert percentiles(array("d", [2.0])) == {"p50": 2.0, "p95": 2.0, "max": 2.0}
