"""``Route`` gives what ``reverse()`` gives, or refuses with the reason."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F
from django.test import override_settings
from django.urls import (
    NoReverseMatch,
    clear_url_caches,
    include,
    path,
    reverse,
    set_urlconf,
)
from django.utils import translation
from hypothesis import example, given
from hypothesis import strategies as st

from django_sitemaps_plus.exceptions import RouteError
from django_sitemaps_plus.sitemaps.compiled_routes import CompiledRoute
from django_sitemaps_plus.sitemaps.routes import Route
from tests.support import route_urls
from tests.support.helpers import script_name

pytestmark = pytest.mark.urls("tests.support.route_urls")


@contextmanager
def under(
    prefix: str = "/", language: str | None = "en", urlconf: Any = None
) -> Iterator[None]:
    """Set what a URL depends on besides its values."""
    set_urlconf(urlconf)
    try:
        with script_name(prefix), translation.override(language):
            yield
    finally:
        set_urlconf(None)


def outcome(function: Callable[..., str], *args: Any, **kwargs: Any) -> object:
    """Return the URL, or the type of the exception."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return type(error)


def assembled(compiled: CompiledRoute, texts: Sequence[Sequence[str]], row: int) -> str:
    """Put the texts of a row between the pieces, as a page is written."""
    url = compiled.pieces[0]
    for slot, piece in zip(compiled.slots, compiled.pieces[1:], strict=True):
        url += texts[slot][row] + piece
    return url


def check_rows(
    viewname: str, names: Sequence[str] | None, rows: Sequence[Sequence[Any]]
) -> bool:
    """
    Compare every way to a URL with ``reverse()``; ``names`` None: positional.

    Returns whether the rows were made in bulk.
    """
    calls = [
        (list(row), {}) if names is None else ([], dict(zip(names, row, strict=True)))
        for row in rows
    ]
    wanted = [outcome(reverse, viewname, args=one, kwargs=two) for one, two in calls]
    args, kwargs = calls[0]
    route = Route(viewname, *[F("x")] * len(args), **dict.fromkeys(kwargs, F("x")))
    assert [outcome(route, *args, **kwargs) for args, kwargs in calls] == wanted
    try:
        compiled = route.compile()
    except RouteError:
        assert all(isinstance(url, type) for url in wanted)
        return False
    assert [outcome(compiled.exact, row) for row in rows] == wanted
    texts = compiled.texts(list(zip(*rows, strict=True)))
    if texts is None:
        return False
    assert [assembled(compiled, texts, row) for row in range(len(rows))] == wanted
    return True


any_text = st.text(st.characters(exclude_categories=()), max_size=12)
odd_values = [
    *["", "/", "//x", "a/b", "\n", "a\n", "a\nb", "%41", "%(value)s", "%s", "é~()*"],
    *["2024", "1066", "no", "NOT", "a", "the end", "٣٤", "x.y", "aa", "\ud83d"],
    *[None, True, b"x", 2.5, Decimal("1.10"), translation.gettext_lazy("x")],
]
any_value = any_text | st.sampled_from(odd_values) | st.integers() | st.uuids()
digits = st.integers(min_value=0, max_value=9999)
years = st.integers(min_value=1800, max_value=2100)
slugs = st.text("abcXYZ059-_", min_size=1, max_size=8)
segments = st.text(min_size=1, max_size=8).filter(lambda text: "/" not in text)
CASES: list[tuple[str, dict[str, st.SearchStrategy[Any]]]] = [
    *((name, {"value": digits}) for name in ("int", "clash")),
    *((name, {"value": segments}) for name in ("str", "shouting")),
    *((name, {"value": st.text(min_size=1)}) for name in ("path", "anything")),
    *((name, {"value": slugs}) for name in ("slug", "slash", "kind", "both")),
    *((name, {"value": slugs}) for name in ("percent", "percents")),
    ("uuid", {"value": st.uuids() | st.uuids().map(str)}),
    ("year", {"value": years}),
    ("two", {"rest": st.text(min_size=1), "year": digits, "text": segments}),
    ("joined", {"first": segments, "second": segments}),
    ("choice", {"value": slugs | digits}),
    ("choice", {"value": slugs, "year": digits}),
    ("kind", {"value": slugs, "kind": st.sampled_from(["list", "grid"])}),
    ("under", {"n": digits, "kind": st.just(1)}),
    *((name, {}) for name in ("both", "optional", "maybe", "alternatives")),
    ("named", {"year": years, "text": segments}),
    ("unnamed", {"_0": digits, "_1": slugs}),
    ("optional", {"page": digits}),
    *((name, {"text": slugs}) for name in ("maybe", "again", "possessive")),
    ("nested", {"_0": st.builds("{}-{}".format, digits, slugs)}),
    ("ahead", {"text": segments}),
    ("either", {"text": st.sampled_from("abcd")}),
    ("scoped", {"text": st.sampled_from(["a", "AF"])}),
    ("open", {"text": st.sampled_from(["xml", "rss", "xml2"])}),
    ("dot", {"text": st.text()}),
    ("class", {"text": st.text("nopz", min_size=2, max_size=5)}),
    ("format", {"value": slugs | st.just("%(value)s")}),
    ("reserved", {"self": slugs}),
    *((name, {"slug": slugs}) for name in ("one:page", "about", "translated")),
    *((name, {"slug": slugs, "year": years}) for name in ("shop:page", "blog:page")),
    ("two:deep:odd", {"text": segments, "year": years}),
    ("shop:deep:home", {"year": years}),
    *((name, {"text": segments}) for name in ("other:odd", "bare:odd", "i18n:odd")),
    *((f"{name}unknown", {"slug": slugs}) for name in ("", "shop:")),
    *((f"{name}:page", {"slug": slugs}) for name in ("unknown", "one:unknown")),
    ("str", {"values": slugs}),
]
POSITIONAL: list[tuple[str, list[st.SearchStrategy[Any]]]] = [
    *((name, list(values.values())) for name, values in CASES if name != "two"),
    ("two", [digits, segments, st.text(min_size=1)]),
    ("twice", [st.integers(0, 9), st.integers(0, 9)]),
    ("choice", [digits]),
]
contexts = st.tuples(
    st.sampled_from(["/", "/sub/", "/ü %2f%s/", "//host/", "/a\\b(c/"]),
    st.sampled_from(["en", "de", "pt-br", None]),
    st.sampled_from([None, "tests.support.route_urls", route_urls.unprefixed]),
)


def rows_of(values: Sequence[st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Return rows of values: those that fit, and now and then some that may not."""
    fitting = st.lists(st.tuples(*values), min_size=1, max_size=4)
    mixed = st.tuples(*(value | any_value for value in values))
    return fitting | st.lists(mixed, min_size=1, max_size=4)


@pytest.mark.parametrize("named", [True, False])
@given(data=st.data(), context=contexts)
@pytest.mark.costly
def test_parameters_give_what_reverse_gives(
    named: bool, data: st.DataObject, context: tuple[str, str | None, Any]
) -> None:
    if named:
        viewname, found = data.draw(st.sampled_from(CASES))
        names, values = list(found), list(found.values())
    else:
        viewname, values = data.draw(st.sampled_from(POSITIONAL))
    rows = data.draw(rows_of(values))
    with under(*context):
        check_rows(viewname, names if named else None, rows)


@given(st.data(), contexts)
def test_constants_give_what_reverse_gives(
    data: st.DataObject, context: tuple[str, str | None, Any]
) -> None:
    viewname, values = data.draw(st.sampled_from(CASES))
    row = data.draw(rows_of(list(values.values())))[0]
    constants = dict(zip(values, row, strict=True))
    varying = {name: constants[name] for name in values if data.draw(st.booleans())}
    with under(*context):
        wanted = outcome(reverse, viewname, kwargs=constants)
        route = Route(viewname, **{**constants, **dict.fromkeys(varying, F("x"))})
        assert list(route.expressions) == list(varying)
        try:
            compiled = route.compile()
        except RouteError:
            assert isinstance(wanted, type)
            return
        assert outcome(compiled.exact, [*varying.values()]) == wanted
        texts = compiled.texts([[value] for value in varying.values()])
        if texts is not None:
            assert assembled(compiled, texts, 0) == wanted


@given(st.lists(any_value | segments, min_size=1, max_size=6))
@example(["ok", ""])
@example(["", "ok"])
@example([""])
@example(["a\nb", ""])
@example(["/x"])
@example(["x", "/x"])
def test_any_values_in_columns(values: list[Any]) -> None:
    rows = [[value] for value in values]
    for viewname, name in [("anything", "value"), ("str", "value"), ("dot", "text")]:
        check_rows(viewname, [name], rows)


def test_every_character_is_encoded_in_bulk_as_reverse_does() -> None:
    characters = [chr(code) for code in range(1, 0x250) if chr(code) != "\n"]
    assert check_rows("dot", ["text"], [["".join(characters)], ["日本🎉"], ["\0"]])


@pytest.mark.parametrize(
    ("viewname", "row"),
    [
        ("int", {"value": [1, "02", Decimal(3)]}),
        ("str", {"value": ["ascii", "Überraschung, %41 & mehr", "日本 語", 7]}),
        ("slug", {"value": ["a-b", "A_1"]}),
        ("path", {"value": ["a/b", "/é//"]}),
        ("uuid", {"value": [uuid.UUID(int=7), str(uuid.UUID(int=8))]}),
        ("year", {"value": [1999, "2024"]}),
        ("shouting", {"value": ["é", "loud"]}),
        ("two", {"year": [1, 2], "text": ["é", "b"], "rest": ["x/ÿ", "/"]}),
        ("anything", {"value": ["a/", "b"]}),
        ("choice", {"year": [2024, 1], "value": ["a", "b"]}),
        ("named", {"year": [2024, 1066], "text": ["é", "b"]}),
        ("unnamed", {"_0": [1, 2], "_1": ["é", "b"]}),
        ("again", {"text": ["aé", "b"]}),
        ("either", {"text": ["a", "cc"]}),
        ("class", {"text": ["nn", "zzzzz"]}),
        ("blog:page", {"year": [2024, 1066], "slug": ["a", "b"]}),
        ("two:deep:odd", {"year": [1999, "2024"], "text": ["é", "b"]}),
        ("translated", {"slug": ["a", "b"]}),
    ],
)
def test_columns_that_fit_are_made_in_bulk(
    viewname: str, row: dict[str, list[Any]]
) -> None:
    assert check_rows(viewname, list(row), list(zip(*row.values(), strict=True)))


def test_one_value_that_does_not_fit_leaves_the_rows_to_exact() -> None:
    for viewname, value in [
        *(("int", "-1"), ("slug", "a b"), ("str", "a/b"), ("str", ""), ("uuid", "7")),
        *(("path", "a\nb"), ("shouting", "no"), ("str", "\ud83d"), ("anything", "/x")),
        ("year", 1066),
    ]:
        fitting = uuid.UUID(int=7) if viewname == "uuid" else 2024
        assert not check_rows(viewname, ["value"], [[fitting], [value], [fitting]])


def test_a_number_too_long_for_text_is_a_bad_row() -> None:
    # Python refuses to write it, in the messages too.
    number = Route("int", value=F("x")).compile()
    with pytest.raises(NoReverseMatch, match=r"'int' matches value=<int>\.$"):
        number.exact([10**5000])
    assert number.texts([[1, 10**5000]]) is None
    text = Route("str", value=F("x")).compile()
    assert outcome(text.exact, [10**5000]) is ValueError
    assert outcome(reverse, "str", args=[10**5000]) is ValueError
    with pytest.raises(RouteError, match=r"^Route\('str', value=<int>\): Exceeds"):
        Route("str", value=10**5000).compile()


def test_pieces_are_encoded_and_hold_the_constants() -> None:
    route = Route("two", rest=F("body"), year=F("year"), text="ü/ü"[0])
    with under("/ü %/"):
        compiled = route.compile()
    assert route.params == ("rest", "year", "text")
    assert route.expressions == {"rest": F("body"), "year": F("year")}
    assert compiled.pieces == ("/%C3%BC%20%25/two/", "-%C3%BC/%C3%A9~(*)/", "")
    assert compiled.slots == (1, 0)
    assert compiled.exact(["a", 1]) == "/%C3%BC%20%25/two/1-%C3%BC/%C3%A9~(*)/a"


def test_a_route_of_constants_is_one_piece() -> None:
    compiled = Route("str", "a b").compile()
    assert (compiled.pieces, compiled.slots) == (("/str/a%20b/",), ())
    assert (compiled.exact([]), compiled.texts([])) == ("/str/a%20b/", [])


@pytest.mark.parametrize("kind", ["list", "grid"])
def test_a_constant_or_a_column_chooses_among_the_patterns_of_a_name(kind: str) -> None:
    compiled = Route("kind", value=F("x"), kind=kind).compile()
    assert compiled.pieces == (f"/{kind}/", "/")
    assert compiled.texts([["a"]]) == [["a"]]
    assert compiled.exact(["a"]) == f"/{kind}/a/"
    # In bulk nobody could say for which rows the pattern is the right one.
    compiled = Route("kind", value=F("x"), kind=F("y")).compile()
    assert compiled.exact(["a", kind]) == f"/{kind}/a/"
    assert compiled.texts([["a"], [kind]]) is None
    assert outcome(compiled.exact, ["a", "tree"]) is NoReverseMatch


def test_of_repeated_groups_the_last_value_counts() -> None:
    assert reverse("twice", args=[1, 2]) == "/twice/22/"
    for args, pieces, slots in [
        ((F("a"), 2), ("/twice/22/",), ()),
        ((1, F("b")), ("/twice/", "", "/"), (0, 0)),
        ((F("a"), F("b")), ("/twice/", "", "/"), (1, 1)),
    ]:
        route = Route("twice", *args)
        compiled = route.compile()
        values = [{0: 1, 1: 2}[param] for param in route.expressions]
        assert (compiled.pieces, compiled.slots) == (pieces, slots)
        assert compiled.exact(values) == "/twice/22/"


def test_mixed_arguments_are_refused_like_reverse_does() -> None:
    with pytest.raises(
        ValueError, match=r"^Route\('str', 1, value=F\(x\)\): give args"
    ):
        Route("str", 1, value=F("x"))
    with pytest.raises(ValueError, match="mix"):
        Route("str")(1, value=2)
    # A parameter may be called like one of Python's.
    with override_settings(ROOT_URLCONF=(path("<viewname>", print, name="x"),)):
        assert Route("x")(viewname="v") == "/v"


def test_a_call_follows_language_prefix_and_urlconf() -> None:
    about, text = Route("about", slug=F("slug")), Route("str", value=F("x"))
    for language in ("en", "de", "en"):
        with under(language=language):
            assert about(slug="x") == f"/{language}/about/x/"
        with under("/sub/", language, route_urls.unprefixed):
            tail = "about/x/" if language == "en" else f"{language}/about/x/"
            assert about(slug="x") == f"/sub/{tail}"
            assert text(value="x") == "/sub/elsewhere/x/"
    assert text(value="x") == "/str/x/"


def test_a_call_follows_the_settings_and_cleared_url_caches() -> None:
    class urlconf:  # noqa: N801 (it stands for a module)
        urlpatterns = (path("old/<value>/", print, name="str"),)

    route = Route("str", value=F("x"))
    assert route(value="x") == "/str/x/"
    with override_settings(ROOT_URLCONF=urlconf):
        assert route(value="x") == "/old/x/"
        urlconf.urlpatterns = (path("new/<value>/", print, name="str"),)
        clear_url_caches()
        assert route(value="x") == "/new/x/"
    assert route(value="x") == "/str/x/"


def test_a_bad_row_names_the_route_and_its_values() -> None:
    compiled = Route("two", year=F("year"), text="t", rest=F("rest")).compile()
    with pytest.raises(NoReverseMatch) as raised:
        compiled.exact(["x" * 200, None])
    assert str(raised.value) == (
        f"No URL pattern named 'two' matches year='{'x' * 79}, text='t', rest=None."
    )


def test_an_unknown_name_in_a_urlconf_that_includes_itself() -> None:
    class urlconf:  # noqa: N801 (it stands for a module)
        urlpatterns = [path("page/", print, name="page")]  # noqa: RUF012 (the same)

    urlconf.urlpatterns.append(path("in/", include((urlconf.urlpatterns, "in"))))
    with (
        override_settings(ROOT_URLCONF=urlconf),
        pytest.raises(RouteError, match=r"Did you mean 'in:page' or 'page'\?$"),
    ):
        Route("in:pages").compile()


@pytest.mark.parametrize(
    ("route", "message"),
    [
        (
            Route("slugg", value=F("x")),
            "Route('slugg', value=F(x)): no URL pattern is named 'slugg'. Did you mean "
            "'slug'?",
        ),
        (
            Route("quite-another"),
            "Route('quite-another'): no URL pattern is named 'quite-another'. Give a "
            "path() that name, or use the name of another.",
        ),
        (
            Route("choice", slag=F("x")),
            "Route('choice', slag=F(x)): no URL pattern of that name takes (slag). "
            "Give the parameters that one takes: (value) or (year, value).",
        ),
        (
            Route("unnamed", F("x")),
            "Route('unnamed', F(x)): no URL pattern of that name takes "
            "(1 positional). Give the parameters that one takes: (2 positional).",
        ),
        (
            Route("reserved", self=F("x")),
            "Route('reserved', self=F(x)): reverse() cannot take a parameter called "
            "self. Rename it in the URL pattern.",
        ),
        (
            Route("year", value=1066),
            "Route('year', value=1066): no URL pattern of that name takes "
            "value=1066. Give values that one takes.",
        ),
        (
            Route("year", value=[]),
            "Route('year', value=[]): reverse() fails with TypeError: int() argument "
            "must be a string, a bytes-like object or a real number, not 'list'",
        ),
        (
            Route("both"),
            "Route('both'): reverse() fails without 'value' for the URL pattern "
            r"'^/both/(?P<value>[-a-zA-Z0-9_]+)/\\Z'. Give it as well.",
        ),
        (
            Route("percent", value=F("x")),
            "Route('percent', value=F(x)): reverse() fails on the '%' in the URL "
            r"pattern '^/100%/(?P<value>[-a-zA-Z0-9_]+)/\\Z'. Take it out of the "
            "pattern.",
        ),
        (
            Route("clash", value=F("x")),
            "Route('clash', value=F(x)): the URL pattern "
            r"'^/(?P<value>[0-9]+)/(?P<value>[0-9]+)/\\Z' is invalid: redefinition of "
            "group name 'value' as group 2; was group 1 at position 24.",
        ),
        (
            Route("str", value="\ud83d"),
            r"Route('str', value='\ud83d'): 'utf-8' codec can't encode character "
            r"'\ud83d' in position 5: surrogates not allowed",
        ),
    ],
)
def test_refusals(route: Route, message: str) -> None:
    with pytest.raises(RouteError) as raised:
        route.compile()
    assert str(raised.value) == message
    assert isinstance(raised.value, ImproperlyConfigured)
