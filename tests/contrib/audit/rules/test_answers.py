"""What the answer of a listed URL shows to be wrong, and what it does not."""

from __future__ import annotations

import datetime as dt
import gzip
from array import array
from typing import Any

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
BASE = '<base target="_blank"><base href="/a/b/"><base href="/c/">'
WORDS = "word " * 200
NOINDEX = '<meta name="robots" content="noindex">'
NOW = dt.datetime(2026, 6, 15, 12, tzinfo=dt.UTC)


def problems_of(answer: FetchedAnswer, url: str = URL) -> list[tuple[str, str]]:
    """Return the kinds and texts of what is said of the only answer."""
    visit = Visit(NOW)
    found = [*look(Answered(visit, url, answer)), *look(visit)]
    return [(one.kind, one.text) for one in found]


def problems(
    body: str | bytes = f"<html>{WORDS}", status: int = 200, **headers: str
) -> list[tuple[str, str]]:
    """Return what is said of an answer."""
    known = {name.replace("_", "-"): value for name, value in headers.items()}
    data = body if isinstance(body, bytes) else body.encode()
    return problems_of(FetchedAnswer(status, known, data))


def kinds_of(*body: str, **headers: str) -> list[str]:
    """Return the kinds of what is said of an answer."""
    return [kind for kind, _ in problems(*body, **headers)]


def test_the_header_says_who_may_not_index() -> None:
    for header, kind in [
        ("noindex", kinds.NOINDEX),
        ("nofollow, NOINDEX", kinds.NOINDEX),
        ("none", kinds.NOINDEX),
        ("max-snippet: 5, noindex", kinds.NOINDEX),
        ("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex", kinds.NOINDEX),
        ("googlebot: noindex", kinds.NOINDEX),
        ("otherbot: nofollow, bingbot: nofollow, noindex", kinds.NOINDEX_FOR_ONE),
        ("googlebot: nofollow", ""),
        ("otherbot: noindex, nofollow", ""),
        ("all, noimageindex, notranslate", ""),
        ("", ""),
        ("unavailable_after: Mon, 1 Jan 99999999999999999999 00:00:00 GMT", ""),
        # What was available until some day is not indexed after it.
        ("nofollow, unavailable_after: 25 Jun 2020 15:00:00 PST", kinds.NOINDEX),
        ("nofollow, unavailable_after: 2020-06-25", kinds.NOINDEX),
        ("unavailable_after: Thursday, 25-Jun-20 15:00:00 UTC", kinds.NOINDEX),
        ("unavailable_after: Thu, 25 Jun 2020 15:00:00 GMT", kinds.NOINDEX),
        ("unavailable_after: Thu, 25 Jun 2020 15:00:00 GMT, none", kinds.NOINDEX),
        ("unavailable_after: Sat, 25 Jun 2050 15:00:00 GMT, none", kinds.NOINDEX),
        ("unavailable_after: Sat, 25 Jun 2050 15:00:00 GMT", ""),
        ("unavailable_after: some day", ""),
        ("unavailable_after: some day, none", kinds.NOINDEX),
    ]:
        assert kinds_of(x_robots_tag=header) == ([kind] if kind else [])


def test_the_meta_element_says_who_may_not_index() -> None:
    for meta, kind in [
        ('name="robots" content="noindex"', kinds.NOINDEX),
        ('content="NONE" NAME="Robots"', kinds.NOINDEX),
        ('name="googlebot" content="noindex"', kinds.NOINDEX),
        ('name="bingbot" content="noindex"', kinds.NOINDEX_FOR_ONE),
        ('name="otherbot" content="noindex"', ""),
        ('name="description" content="noindex"', ""),
        ('name="robots" content="index,follow"', ""),
    ]:
        assert kinds_of(f"<meta {meta}>{WORDS}") == ([kind] if kind else [])


def test_what_is_text_or_not_shown_is_no_meta_element() -> None:
    for tag in ("textarea", "template", "title", "noscript"):
        assert problems(f"<{tag}>{NOINDEX}</{tag}>{WORDS}") == []
        assert kinds_of(f"<{tag}></{tag}>{NOINDEX}{WORDS}") == [kinds.NOINDEX]
    nested = f"<template><template></template>{NOINDEX}</template>{WORDS}"
    assert problems(nested) == problems(f"<!-- {NOINDEX} -->{WORDS}") == []


def test_what_is_forbidden_to_all_is_not_said_of_one_too() -> None:
    page = f'<meta name="googlebot" content="noindex">{WORDS}'
    text = "noindex in the header X-Robots-Tag"
    assert problems(page, x_robots_tag="noindex") == [(kinds.NOINDEX, text)]


def test_a_canonical_may_be_the_url_written_in_another_way() -> None:
    same = "https://WWW.example.com:443/a/?page=2"
    for href in ("?page=2", "/a/?page=2#top", URL, same):
        assert problems(f'<link href="{href}" rel="canonical">{WORDS}') == []
    # A relative one begins at the base.
    assert problems(f'<link rel="canonical" href="../?page=2">{BASE}{WORDS}') == []


def test_a_canonical_elsewhere_is_named() -> None:
    for body, header, path in [
        ('<link rel="Canonical" href="/a/">', "", "a/"),
        ('<link rel="alternate canonical" href="/a/">', "", "a/"),
        ("", '<../a/>; title="a, b"; rel="next canonical"', "a/"),
        ("", f'</b/>; rel="next", <{SITE}/a/>; rel="canonical"', "a/"),
        (f'{BASE}<link rel="canonical" href="x">', "", "a/b/x"),
    ]:
        expected = (kinds.CANONICAL, f"its canonical is https://www.example.com/{path}")
        assert problems(f"{body}{WORDS}", link=header) == [expected]


def test_canonicals_that_contradict_each_other_are_both_named() -> None:
    own = '<link rel="canonical" href="?page=2">'
    assert problems(f"{own}{own}{WORDS}") == []
    found = problems(f"{own}{WORDS}", link=f'<{SITE}/b/>; rel="canonical"')
    text = f"its canonicals differ: {URL} and https://www.example.com/b/"
    assert found == [(kinds.CANONICAL, text)]


def test_a_refresh_to_another_url_is_a_redirect() -> None:
    for content, target in [
        ("0; url=/b/", "/b/"),
        ("5;URL='https://www.example.com/b/'", "/b/"),
        ("300", ""),
        ("300; url=?page=2", ""),
        ("60; url=", ""),
        ("60; url=''", ""),
        ("60.5; url=/b/", "/b/"),
        ("1800; url=/b/", ""),
    ]:
        text = f"refreshes to https://www.example.com{target}"
        expected = [(kinds.REDIRECTS, text)] if target else []
        meta = f'<meta http-equiv="Refresh" content="{content}">'
        assert problems(f"{meta}{WORDS}") == problems(refresh=content) == expected
        assert problems(f"<noscript>{meta}</noscript>{WORDS}") == []


def test_what_no_parser_understands_is_named_and_ends_nothing() -> None:
    url = "https://[domain]/"
    for body, headers, text in [
        ("<link rel=canonical href={}>", {}, "its canonical is {}"),
        ("", {"link": "<{}>; rel=canonical"}, "its canonical is {}"),
        ("<meta http-equiv=refresh content=0;url={}>", {}, "refreshes to {}"),
        ("", {"refresh": "0;url={}"}, "refreshes to {}"),
        ("<base href={}><link rel=canonical href='?page=2'>", {}, ""),
        ("<![foo[ ]]><meta name=robots content=noindex>", {}, "noindex in its meta"),
    ]:
        given = {name: value.format(url) for name, value in headers.items()}
        found = problems(f"{body.format(url)}{WORDS}", **given)
        assert [text.format(url) in said for _, said in found] == [True] * bool(text)
    redirect = problems(status=302, location=url)
    assert redirect == [(kinds.REDIRECTS, f"redirects to {url} (302)")]


def test_a_status_that_is_not_200_is_said_and_where_redirects_lead() -> None:
    text = "redirects to https://www.example.com/b/ (301)"
    assert problems("", 301, location="../b/") == [(kinds.REDIRECTS, text)]
    ((kind, _),) = problems("", 302, location="/accounts/login/?next=/a/")
    assert kind == kinds.LOGIN
    text = "redirects to itself, without an end (301)"
    assert problems("", 301, location=URL) == [(kinds.MOVED, text)]
    assert problems(status=404) == [(kinds.FAILS, "answers 404")]
    assert problems(status=401) == [(kinds.LOGIN, "answers 401")]


def test_a_login_page_is_told_from_pages_with_a_login_form() -> None:
    form = '<form><input type="password"></form>'
    new = '<input type="password" autocomplete="new-password">'
    # Words without spaces between them are counted.
    for start in (WORDS, "漢字" * 500):
        assert problems(f"{start}{form}") == []
    assert problems(f"Register<form>{new}</form>") == []
    assert problems(f"<header>{form}</header>Short") == []
    assert kinds_of(f"Log in{form}<script>{WORDS}</script>") == [kinds.LOGIN_FORM]
    text = "has a login form and 4 words"
    assert problems(f"登录 密码{form}") == [(kinds.LOGIN_FORM, text)]
    titled = problems(f"<title>Log in</title>{form}Now")
    text = "is called 'Log in' and has a login form and 1 words"
    assert titled == [(kinds.LOGIN_FORM, text)]


def test_a_page_that_is_called_not_found_looks_like_an_error() -> None:
    for title, is_error in [
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
    ]:
        for page in (f"<title>{title}</title>", f"<title>Shop</title><h1>{title}</h1>"):
            assert kinds_of(f"{page}{WORDS}") == [kinds.SOFT_404] * is_error


def test_two_words_alone_are_an_error_where_there_is_little_else() -> None:
    for title in ("404", "My Shop - 404", "Not Found", "Not Found | My Shop"):
        for heading in ("", "<h1>Oops</h1>", "<h1>404</h1>"):
            page = f"<title>{title}</title>{heading}Go to the start page."
            assert problems(page) == [(kinds.SOFT_404, f"is called {title!r}")]


def test_what_has_the_name_of_an_error_is_none() -> None:
    for path, page in [
        ("/songs/not-found/", "<title>Not Found | Songs</title><h1>Not Found</h1>"),
        ("/songs/12_not_found", "<title>Not Found</title><h1>Not Found</h1>"),
        ("/songs/7/", "<title>Not Found - The Band - Songs</title><h1>Not Found</h1>"),
        ("/songs/7/", "<title>The Band: Not Found</title><h1>Not Found</h1>"),
        ("/songs/7/", "<title>Not Found</title><h1>Not Found, by The Band</h1>"),
        ("/bars/404/", "<title>404 | Bars</title><h1>404</h1>"),
        ("/bars/7/", "<title>Bar 404, Berlin</title><h1>404</h1>"),
        # An error page that is listed.
        ("/404/", "<title>404</title><h1>404</h1>"),
    ]:
        answer = FetchedAnswer(200, {}, f"{page}Open from 8 pm.".encode())
        found = [kind for kind, _ in problems_of(answer, f"{SITE}{path}")]
        assert found == [kinds.SOFT_404] * (path == "/404/")


def test_tracebacks_folders_and_errors_of_databases_are_no_pages_about_them() -> None:
    for page, is_error in [
        ("<title>Index of /</title><h1>Index of /</h1><a href='../'>../</a>", True),
        ("<title>Index of /media/2026/</title>a.png", True),
        ("<title>Directory listing for /media/</title>a.png", True),
        ("<title>OperationalError at /shop/</title>Exception", True),
        ("<title>Shop</title><p>Error establishing a database connection", True),
        (f"<title>A</title>Traceback (most recent call last): {WORDS}", True),
        ("<title>A</title><pre>Traceback (most recent call last):\n  File</pre>", True),
        ("<h1>Shop</h1><p>Sorry! OperationalError: could not connect", True),
        ("<title>Shop</title>SQLSTATE[42S02]: Base table or view not found", True),
        ("<b>Fatal error</b>: Uncaught App\\Db\\AwayException in /srv/a.php:3", True),
        ("<b>Parse error</b>: unexpected '}' in <b>/srv/a.php</b> on line 3", True),
        ("<code>shop</code> <p>Traceback (most recent call last):", True),
        (f"<title>Index of names</title>{WORDS}", False),
        (f"<h1>About</h1>{WORDS}Traceback (most recent call last):", False),
        ("<h1>A</h1>See <code>Traceback (most recent call last):</code>", False),
        ("<h1>Lost</h1>What to do if SQLSTATE is 42S02", False),
    ]:
        assert kinds_of(page) == [kinds.SOFT_404] * is_error


def test_a_traceback_that_is_sent_as_text_is_no_page() -> None:
    text = "Traceback (most recent call last):\n  File"
    found = problems(text, content_type="text/plain")
    assert found == [(kinds.SOFT_404, "says 'Traceback (most recent call last)'")]
    assert problems(WORDS, content_type="text/plain") == []


def test_a_title_that_no_template_filled_in_is_named() -> None:
    for title, is_raw in [
        ("{{ product.name }}", True),
        ("{{ product.name }} | Shop", True),
        ("Shop - {% block title %}", True),
        ("{{ name }} for sale", True),
        ("${title}", True),
        ("What {{ mustache }} means", False),
        ("{curly}", False),
    ]:
        expected = [(kinds.RAW_TITLE, f"is called {title!r}")] if is_raw else []
        assert problems(f"<title> {title} </title>{WORDS}") == expected


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
    assert kinds_of(hidden) == [kinds.EMPTY]
    long = FetchedAnswer(200, {}, b"<html><style>", size=2_000_001)
    assert [kind for kind, _ in problems_of(long)] == [kinds.TOO_LONG]


def test_a_login_box_that_most_pages_have_is_no_login_page() -> None:
    form = "<div><form><input name=p type=password></form></div>"

    def found(number: int, title: str, others: int = 0) -> dict[str, int]:
        """Return what is found of pages with the box, and others without it."""
        pages = [f"<title>{title.format(n)}</title>{n}{form}" for n in range(number)]
        pages += [f"<title>{n}</title>{WORDS}" for n in range(others)]
        findings = Findings([])

        def fetch(url: str) -> FetchedAnswer:
            body = pages[int(url.removeprefix(f"{SITE}/"))]
            return FetchedAnswer(200, {}, body.encode())

        visit, pace = Visit(NOW), Pace(None)
        asking = Asking(findings, fetch, visit, pace, False, lambda done, of: None)
        document = ListedDocument("article", "article-1", bytes)
        entries = [(document, Entry(f"{SITE}/{n}")) for n in range(len(pages))]
        asking.ask(entries, len(entries))
        return {kind: sum(of.values()) for kind, of in findings.by_kind().items()}

    assert found(62, "Product {}") == {}
    assert found(62, "Log in") == {kinds.LOGIN_FORM: 62}
    assert found(5, "Members {}", others=20) == {kinds.LOGIN_FORM: 5}
    assert found(1, "Members") == {kinds.LOGIN_FORM: 1}


def test_slow_and_large_pages_are_named() -> None:
    def said(**fields: Any) -> list[str]:
        answer = FetchedAnswer(200, {}, f"<html>{WORDS}".encode(), **fields)
        return [kind for kind, _ in problems_of(answer)]

    assert said(seconds=3.0, size=2_000_000) == []
    assert said(seconds=3.1, size=2_000_001) == [kinds.SLOW, kinds.TOO_LONG]


def test_an_image_answers_with_an_image() -> None:
    def texts(status: int, kind: str) -> list[str]:
        answer = FetchedAnswer(status, {"content-type": kind})
        return [one.text for one in problems_of_image("/i.png", answer)]

    assert texts(200, "image/png") == []
    assert texts(302, "text/html") == []
    assert texts(404, "text/html") == ["/i.png answers 404"]
    assert texts(200, "text/html; charset=utf-8") == ["/i.png is a web page"]


def test_a_page_that_is_cut_off_is_not_judged_by_its_beginning() -> None:
    flaw = "It did not finish its answer."
    found = problems_of(FetchedAnswer(200, {}, b"<html><body>", flaw=flaw))
    text = "ends too early: It did not finish its answer"
    assert found == [(kinds.CUT_OFF, text)]
    found = problems_of(FetchedAnswer(0, failure="It did not answer within 30 s."))
    assert found == [(kinds.UNREACHABLE, "It did not answer within 30 s")]


def test_a_page_that_ends_inside_of_an_element_is_cut_off() -> None:
    for end, inside in {
        "<h1>Artic": "h1",
        "<H2 class=a>Artic\n": "h2",
        '<p>Artic <a href="/a': "a",
        "<p>Artic": "",
        "<h1>Article</h1><p>5 < 7, <b>and": "",
        "<ul><li>Artic": "",
    }.items():
        found = [(kinds.CUT_OFF, f"ends inside <{inside}>")] if inside else []
        assert problems(f"<!doctype html><html lang=en><body><p>{WORDS}{end}") == found
        assert problems(f"<p>{WORDS}{end}") == []


REST = ": Away, says the web server: in maintenance, or asked too often (see --rate)"


def test_a_status_that_is_the_site_s_says_where_to_look() -> None:
    for status, title, said in [
        (400, "", ", as Django does if ALLOWED_HOSTS lacks the requested host"),
        (400, "400 No SSL certificate", ": No SSL certificate, says the web server"),
        (502, "", ", as a web server does when Django does not run"),
        (503, "503 Away", REST),
    ]:
        page = (
            f"<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n"
            "<center><h1>400 Bad Request</h1></center>"
        )
        expected = [(kinds.FAILS, f"answers {status}{said}")]
        assert problems(page if title else "", status) == expected


def test_a_challenge_in_place_of_a_page_is_not_the_page_s_fault() -> None:
    challenge = "<title>Just a moment...</title><script src=x></script>"
    for found in (
        problems(challenge),
        problems(challenge, 403),
        problems("<p>Prove it", cf_mitigated="challenge"),
        problems("", 503, cf_mitigated="challenge"),
    ):
        ((kind, text),) = found
        assert kind == kinds.CHALLENGED
        assert "Cloudflare challenges this machine" in text
    assert problems(f"<script src=/_Incapsula_Resource?a></script>{WORDS}") == []


def test_noindex_is_read_however_the_page_is_sent() -> None:
    text = f"{NOINDEX}{WORDS}"
    for found in (
        problems(text, content_type="TEXT/HTML"),
        problems(gzip.compress(text.encode()), content_encoding="gzip"),
        problems(text.encode("utf-16")),
        problems(text.encode("utf-16-be"), content_type="text/html; charset=UTF-16BE"),
        problems(text, content_type="text/html; charset=no-such"),
    ):
        assert found == [(kinds.NOINDEX, "noindex in its meta element")]
    # What is no web page is judged by its headers only.
    assert problems(text, content_type="application/pdf") == []
    assert problems(" \n ") == [(kinds.EMPTY, "answers with an empty body")]
    for encoding in ("gzip", "br"):
        ((kind, said),) = problems(WORDS, content_encoding=encoding)
        assert (kind, said.partition(":")[0]) == (kinds.ENCODED, "was not read")


def test_percentiles_are_of_the_answers() -> None:
    seconds = array("d", [one / 100 for one in range(100, -1, -1)])
    assert percentiles(seconds) == {"p50": 0.5, "p95": 0.95, "max": 1.0}
    assert percentiles(array("d", [2.0])) == {"p50": 2.0, "p95": 2.0, "max": 2.0}
