"""What the answer of a listed URL shows to be wrong, and what it does not."""

from __future__ import annotations

from array import array

import pytest

from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.audit.rules.answers import Answer, percentiles, problems_of

URL = "https://www.example.com/a/?page=2"
WORDS = "word " * 200


def problems(
    body: str = f"<html>{WORDS}", status: int = 200, **headers: str
) -> list[tuple[str, str]]:
    """Return what is said of an answer."""
    known = {name.replace("_", "-"): value for name, value in headers.items()}
    return list(problems_of(URL, Answer(status, known, body.encode())))


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("noindex", kinds.NOINDEX),
        ("nofollow, NOINDEX", kinds.NOINDEX),
        ("none", kinds.NOINDEX),
        ("max-snippet: 5, noindex", kinds.NOINDEX),
        ("unavailable_after: 25 Jun 2030 15:00:00 PST, noindex", kinds.NOINDEX),
        ("googlebot: noindex", kinds.NOINDEX_FOR_ONE),
        ("otherbot: nofollow, bingbot: nofollow, noindex", kinds.NOINDEX_FOR_ONE),
        ("googlebot: nofollow", None),
        ("otherbot: noindex, nofollow", None),
        ("all, noimageindex, notranslate", None),
        ("", None),
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
        ('name="googlebot" content="noindex"', kinds.NOINDEX_FOR_ONE),
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


@pytest.mark.parametrize(
    "href",
    ["?page=2", "/a/?page=2#top", URL, "https://WWW.example.com:443/a/?page=2"],
)
def test_a_canonical_may_be_the_url_written_in_another_way(href: str) -> None:
    assert problems(f'<link href="{href}" rel="canonical">{WORDS}') == []


@pytest.mark.parametrize(
    ("body", "header"),
    [
        ('<link rel="Canonical" href="/a/">', ""),
        ('<link rel="alternate canonical" href="/a/">', ""),
        ("", '</b/>; rel="next", <https://www.example.com/a/>; rel="canonical"'),
    ],
)
def test_a_canonical_elsewhere_is_named(body: str, header: str) -> None:
    expected = "its canonical is https://www.example.com/a/"
    assert problems(f"{body}{WORDS}", link=header) == [(kinds.CANONICAL, expected)]


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
    assert [kind for kind, _ in problems(f"Log in{form}{hidden}")] == [kinds.LOGIN]
    assert problems(f"{WORDS}{form}") == []
    new = '<input type="password" autocomplete="new-password">'
    assert problems(f"Register<form>{new}</form>") == []


def test_what_is_no_web_page_is_judged_by_its_headers_only() -> None:
    body = '<meta name="robots" content="noindex">'
    assert problems(body, content_type="application/pdf") == []
    assert problems(" \n ") == [(kinds.EMPTY, "answers with an empty body")]


def test_no_answer_is_a_finding_with_its_reason() -> None:
    answer = Answer(0, failure="www.example.com did not answer within 30 s.")
    assert list(problems_of(URL, answer)) == [(kinds.FAILS, answer.failure)]


def test_percentiles_are_of_the_answers() -> None:
    seconds = array("d", [one / 100 for one in range(100, -1, -1)])
    assert percentiles(seconds) == {"p50": 0.5, "p95": 0.95, "max": 1.0}
    assert percentiles(array("d", [2.0])) == {"p50": 2.0, "p95": 2.0, "max": 2.0}
