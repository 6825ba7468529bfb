"""A ``Route`` of a path gives what str.format() and quote() give, or refuses."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from django.db.models import F
from django.urls import NoReverseMatch
from django.utils import translation
from hypothesis import example, given
from hypothesis import strategies as st

from django_sitemaps_plus import Route
from django_sitemaps_plus.exceptions import RouteError
from django_sitemaps_plus.models import Page
from tests.sitemaps.test_routes import any_value, assembled, outcome, segments
from tests.support.factories import articles
from tests.support.helpers import body, locations, script_name

#: What RFC 3986 lets stand in a path: pchar and "/".
SAFE = "/:@!$&'()*+,;=~"
NAMES = ["slug", "b", "class", "größe"]
#: No digit behind a "%", which would be refused.
texts = st.text("xy/é日 -_~+&%{}\\^$(|\n\"'", max_size=6)
values = st.fixed_dictionaries(dict.fromkeys(NAMES, segments | any_value))


def wanted(path: str, row: dict[str, Any]) -> object:
    """Return the URL of a row, or the type of the exception."""
    shown = {name: outcome(str, value) for name, value in row.items()}
    used = [shown[name] for name in NAMES if f"{{{name}}}" in path.replace("{{", "")]
    if any(isinstance(text, type) or not text or "/" in text for text in used):
        return NoReverseMatch
    return outcome(quote, path.format(**shown), safe=SAFE)


@given(
    st.lists(st.tuples(texts, st.sampled_from(NAMES)), max_size=4),
    texts,
    st.lists(values, min_size=1, max_size=4),
    st.sets(st.sampled_from(NAMES)),
)
@example([("p/", "slug")], "/", [dict.fromkeys(NAMES, "é %41/ü")], set())
@example([("", "slug"), ("", "slug")], "", [dict.fromkeys(NAMES, "a b")], set())
def test_values_are_filled_in_as_format_and_quote_do(
    fields: list[tuple[str, str]], end: str, rows: list[dict[str, Any]], fixed: set[str]
) -> None:
    path = "/x" + "".join(
        text.replace("{", "{{").replace("}", "}}") + f"{{{name}}}"
        for text, name in fields
    )
    path += end.replace("{", "{{").replace("}", "}}")
    names = sorted({name for _, name in fields})
    constants = {name: rows[0][name] for name in names if name in fixed}
    rows = [{name: constants.get(name, row[name]) for name in names} for row in rows]
    expected = [wanted(path, row) for row in rows]
    varying = [name for name in names if name not in constants]
    route = Route(path, **{**dict.fromkeys(varying, F("x")), **constants})
    assert [outcome(route, **row) for row in rows] == expected
    try:
        compiled = route.compile()
    except RouteError:
        assert all(isinstance(url, type) for url in expected)
        return
    columns = [[row[name] for name in varying] for row in rows]
    assert [outcome(compiled.exact, row) for row in columns] == expected
    assert [outcome(route.of, row) for row in columns] == expected
    bulk = compiled.texts([[row[name] for row in rows] for name in varying])
    if bulk is not None and varying:
        assert [assembled(compiled, bulk, i) for i in range(len(rows))] == expected


def test_columns_that_fit_are_made_in_bulk() -> None:
    compiled = Route("/é/{a}-{b}/{a}", a=F("x"), b=F("y")).compile()
    assert (compiled.pieces, compiled.slots) == (("/%C3%A9/", "-", "/", ""), (0, 1, 0))
    assert compiled.texts([["a b", 7], ["?", "%"]]) == [["a%20b", "7"], ["%3F", "%25"]]
    assert compiled.texts([["a/b"], ["?"]]) is None


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("/{a}{b}", ["", "xy"]),
        ("/{a}{b}", ["xy", ""]),
        ("/{a}-{b}", ["", "x-y"]),
        ("/{a}-{b}", ["x-y", ""]),
        ("/{a}/{b}", ["x/y", "z"]),
        ("/{a}/{b}", ["", "x/y"]),
    ],
)
def test_no_value_is_shared_with_its_neighbour(path: str, values: list[str]) -> None:
    compiled = Route(path, a=F("x"), b=F("y")).compile()
    with pytest.raises(NoReverseMatch, match="is empty or has a '/'"):
        compiled.exact(values)
    assert compiled.texts([[value] for value in values]) is None
    with pytest.raises(NoReverseMatch):
        Route(path)(**dict(zip("ab", values, strict=True)))


def test_a_path_is_of_the_host_and_of_no_script() -> None:
    with script_name("/api/"):
        assert Route("/p/{slug}")(slug="a") == "/p/a"
        assert Route("/p/{slug}", slug=F("x")).compile().pieces == ("/p/", "")


def test_the_language_is_the_active_one_unless_it_is_given() -> None:
    route = Route("/{language}/p/{slug}", slug=F("x"))
    for language, start in (("de", "/de/p/"), ("pt-br", "/pt-br/p/"), (None, "/en/p/")):
        with translation.override(language):
            assert route.compile().pieces == (start, "")
            assert route(slug="a") == f"{start}a"
            given = Route(route.viewname, slug=F("x"), language=F("y"))
            assert given.compile().slots == (1, 0)
            assert route(slug="a", language="fr") == "/fr/p/a"


BRACES = "Write placeholders as {slug}, and a brace itself twice."
NAME = "Write a name alone, as {slug}, and format its value in an expression."


@pytest.mark.parametrize(
    ("route", "problem"),
    [
        (
            Route("/p/{slug"),
            f"the braces do not match (expected '}}' before end of string). {BRACES}",
        ),
        (
            Route("/p/slug}"),
            "the braces do not match (Single '}' encountered in format string). "
            f"{BRACES}",
        ),
        *(
            (Route(f"/p/{field}"), f"'{field}' is not the name of a value. {NAME}")
            for field in ("{}", "{0}", "{a!r}", "{a:>3}", "{a.b}", "{a[0]}")
        ),
        (
            Route("/p/{slug}", F("x")),
            'the values of a path have names. Write slug=F("slug").',
        ),
        (
            Route("/p/{slug}"),
            "the placeholder {slug} has no value. Name the column, for example "
            'slug=F("slug").',
        ),
        (
            Route("/p/<slug:slug>", slug=F("x")),
            "there is no placeholder for slug (there is none). Write {slug} into the "
            "path, or remove slug.",
        ),
        (
            Route("//cdn.example/{a}", a=F("x")),
            "a path that begins with '//' is on another host. Write one '/'.",
        ),
        (
            Route("/p?id={pk}", pk=F("pk")),
            "'?' is not part of a path. For another URL use an expression such as "
            "Concat(), or a method.",
        ),
        (
            Route("/caf%C3%A9/{pk}", pk=F("pk")),
            "'%C3' would be encoded twice. Write the character itself.",
        ),
        (
            Route("/a/../{pk}", pk=F("pk")),
            "location '/a/../': has a segment '.' or '..': crawlers would request "
            "another URL. Write the path without that.",
        ),
        (
            Route("/p/{kind}{pk}", kind="", pk=F("pk")),
            "A value of '/p/{kind}{pk}' is empty or has a '/': kind=''.",
        ),
        *(
            (
                Route(f"{start}p/{{pk}}", pk=F("pk")),
                f"no URL pattern is named '{start}p/{{pk}}'. A path begins with '/', "
                "without scheme and host, which are the site's: write '/p/{pk}'.",
            )
            for start in ("https://www.example.com/", "")
        ),
    ],
)
def test_what_is_not_a_path_is_refused(route: Route, problem: str) -> None:
    with pytest.raises(RouteError) as raised:
        route.compile()
    assert str(raised.value) == f"{route!r}: {problem}"


def test_a_call_with_other_values_says_which() -> None:
    for kwargs, problem in [
        ({}, r"Route\('/p/{slug}'\): the placeholder {slug} has no value"),
        ({"slug": "a", "b": 1}, "there is no placeholder for b"),
        ({"slug": "a/b"}, "A value of '/p/{slug}' is empty or has a '/': slug='a/b'"),
    ]:
        with pytest.raises(NoReverseMatch, match=problem):
            Route("/p/{slug}")(**kwargs)


# On pages


@pytest.mark.django_db
def test_a_path_that_django_does_not_serve_is_listed(both: Any) -> None:
    for slug in ("plain", "größe 1", "a?b&c", "50%", "", "a/b", "..", "'<x>'"):
        articles(1, slug=slug, weight=0.5)
    page = both(location=Route("/p/{slug}/", slug=F("slug")), priority=F("weight"))
    assert b"/p/&apos;%3Cx%3E&apos;/" in body(page)
    assert locations(page) == [
        f"https://www.example.com/p/{slug}/"
        for slug in ("plain", "gr%C3%B6%C3%9Fe%201", "a%3Fb&c", "50%25", "'%3Cx%3E'")
    ]
    bad = [reason for _, reason in Page.objects.first().problems]
    assert bad == [
        "A value of '/p/{slug}/' is empty or has a '/': slug=''.",
        "A value of '/p/{slug}/' is empty or has a '/': slug='a/b'.",
        "location '/p/../': has a segment '.' or '..': crawlers would request another "
        "URL",
    ]
