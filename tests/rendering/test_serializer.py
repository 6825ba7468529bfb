"""A thousand rows at once, or one by one: the same entries, the same faults."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from django.db.models import F
from hypothesis import example, given
from hypothesis import strategies as st

from django_sitemaps_plus import Route
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.rendering.columns import (
    Constant,
    LastmodColumn,
    RouteLocations,
    RowBatch,
    Tally,
    TextLocations,
    epoch,
)
from django_sitemaps_plus.rendering.serializer import Serializer

ORIGIN = Origin("https", "www.example.com")
BERLIN = dt.timezone(dt.timedelta(hours=1))
MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC)
ZERO = "0000-00-00 00:00:00.000000"

TEXTS = st.text(max_size=20) | st.sampled_from(
    [
        *("", "/", "//x", "/a", "/%", "/%41", "/%zz", "/ü", "/a b", "/a&b", "/<"),
        *("/\n", "/\x1a", "/\x00", "/\ud800", "/a#b", "/" + "a" * 3000, "/100%25s/"),
        *("https://www.example.com/a", "https://other.example/", "javascript:x"),
    ]
)
LOCATIONS = TEXTS | st.none() | st.integers()
SLUGS = st.text(max_size=8) | st.sampled_from(
    ["", ".", "..", "a/b", "é", "a%b", "a'b", "%2F", "\n", "\ud800", "x" * 3000]
)


def stored(values: Any, zero: str, *odd: str) -> Any:
    """Return values as databases write them, and what is none."""
    return st.none() | values.map(str) | st.sampled_from(["", "infinity", zero, *odd])


STAMPS = stored(st.datetimes(), ZERO, "2026-02-30 00:00:00", "2026-01-02 03:04:05+02")
STAMPS |= st.datetimes().map(lambda moment: f"{moment:%H:%M}")
DAYS = stored(st.dates(), ZERO[:10], "2026-02-30")
MOMENTS = (
    st.none()
    | st.datetimes(timezones=st.sampled_from([dt.UTC, BERLIN]) | st.none())
    | st.dates()
    | st.sampled_from(["2026-01-02", "yesterday", "2026", 7])
)
FREQUENCIES = st.sampled_from([None, "", "daily", "never", "Daily", 7])
PRIORITIES = st.sampled_from(
    [
        *(None, "", 0, 0.5, 1, True, False, 7, -0.0, 1e-7, "0.5", "x", float("nan")),
        *(Decimal("0.5"), Decimal("0.50"), Decimal("NaN"), Decimal("1E-2")),
    ]
)


def same(batch: RowBatch, **options: Any) -> None:
    """See that a batch gives the same in bulk and row by row."""
    serializer = Serializer(ORIGIN, dt.UTC, **options)
    bulk, exact = Tally(), Tally()
    quick = serializer.items(batch, bulk)
    batch.faults = {-1: "row by row, please"}
    slow = serializer.items(batch, exact)
    assert list(quick.each()) == list(slow.each())
    assert quick.whole == slow.whole == "".join(text or "" for text in slow.each())
    assert slow.each().count(None) == len(exact.bad)
    assert bulk == exact


def batch(rows: list[tuple[Any, ...]], form: str, zone: dt.tzinfo = dt.UTC) -> RowBatch:
    """Return rows of location, lastmod, changefreq and priority as a batch."""
    columns: list[Any] = list(zip(*rows, strict=True)) or [(), (), (), ()]
    for index, column in enumerate(columns):
        if len({*map(repr, column)}) == 1:
            columns[index] = Constant(column[0], len(column))
    locations, lastmods, *others = columns
    lastmods = LastmodColumn(lastmods, form, zone)
    return RowBatch(
        range(len(rows)), {None: TextLocations(locations)}, lastmods, *others
    )


def rows(lastmods: Any) -> Any:
    return st.lists(st.tuples(LOCATIONS, lastmods, FREQUENCIES, PRIORITIES), max_size=5)


LATEST = "2026-01-01T12:00:00"


@given(rows(STAMPS))
@example([("/a-legal-path", "2026-02-30 03:04:05", None, None)])
@example([("/a-legal-path", ZERO, None, None)])
@example([("/a-legal-path", "2026-01-02 03:04:05", None, 0.5)] * 2)
@example([("/a", "2026-01-02 03:04:05.5", None, 1), ("/b", None, None, True)])
@example([(f"/{n}", f"2026-01-02 03:04:0{n}", None, None) for n in "123"])
def test_the_database_s_times(found: Any) -> None:
    same(batch(found, "stamp"))
    same(batch(found, "stamp"), latest=LATEST)
    same(batch(found, "stamp", BERLIN))


@given(rows(DAYS))
@example([("/a-legal-path", "2026-02-30", None, None)])
@example([("/a-legal-path", "0000-00-00", None, None)])
@example([("/a-legal-path", "2026-01-02", "daily", "0.5")] * 2)
def test_the_database_s_days(found: Any) -> None:
    same(batch(found, "day"))
    same(batch(found, "day"), latest=LATEST)


@given(rows(MOMENTS))
@example([("/a", dt.datetime(1, 1, 1, tzinfo=BERLIN), None, None)])
@example([("/a", dt.datetime(999, 1, 1, tzinfo=dt.UTC), None, None)])
@example([("/a", dt.datetime(9999, 12, 31, 23, tzinfo=dt.UTC), None, None)])
@example([("/a", MOMENT, None, None), ("/b", MOMENT.date(), None, None)])
@example([("/a", MOMENT, None, None), ("/b", MOMENT.replace(tzinfo=None), None, None)])
def test_python_s_dates(found: Any) -> None:
    same(batch(found, "python", BERLIN))
    same(batch(found, "python", BERLIN), latest=LATEST)


@given(st.lists(TEXTS, max_size=6))
@example(["/a&b", "/a'b"])
@example(["/a\n/b", "/c"])
def test_locations(values: list[str]) -> None:
    same(batch([(value, None, None, None) for value in values], "python"))


@given(
    st.lists(st.tuples(SLUGS, SLUGS), min_size=1, max_size=5),
    st.sampled_from(["thing", "word", "article", "day"]),
    st.booleans(),
)
def test_routes_in_several_languages(
    values: list[tuple[str, str]], name: str, x_default: bool
) -> None:
    parameter = {"thing": "code", "day": "day"}.get(name, "slug")
    compiled = Route(name, **{parameter: F("slug")}).compile()
    none = [None] * len(values)
    columns = zip(("en", "de"), zip(*values, strict=True), strict=True)
    locations = {code: RouteLocations(compiled, [column]) for code, column in columns}
    labels = range(len(values))
    found = RowBatch(labels, {**locations}, LastmodColumn(none), none, none)
    same(found, alternates=True, x_default="en" if x_default else None)


@pytest.mark.parametrize(("form", "zero"), [("stamp", ZERO), ("day", ZERO[:10])])
def test_a_zero_date_of_mysql_is_none(form: str, zero: str) -> None:
    """As it is where the ORM reads it."""
    found = batch([("/a", zero, None, None), ("/b", zero, None, None)], form)
    texts = Serializer(ORIGIN, dt.UTC).items(found, Tally())
    assert (texts.whole.count("<loc>"), "lastmod" in texts.whole) == (2, False)


@pytest.mark.parametrize(
    ("values", "form", "expected"),
    [
        (["2026-01-02 03:04:05", "2026-01-02 03:04:05.6"], "stamp", "+00:00"),
        (["2026-01-02"], "day", ""),
        ([MOMENT, MOMENT], "python", "+00:00"),
    ],
)
def test_usual_lastmods_are_written_in_bulk(
    values: list[Any], form: str, expected: str
) -> None:
    lastmods = LastmodColumn(values, form)
    texts, suffix = lastmods.bulk() or ([], None)
    assert [text + expected for text in texts] == [
        lastmods.exact(index) for index in range(len(values))
    ]
    assert suffix == expected


def test_usual_locations_are_written_in_bulk() -> None:
    values = ["/é?a=b&c", "/%41/"]
    assert TextLocations(values[1:]).bulk() == (("", ""), [values[1:]])
    assert TextLocations(values).bulk() is None
    route = RouteLocations(Route("word", slug=F("slug")).compile(), [["é&"]])
    assert route.bulk() == (["/w%C3%B6rter/", "/"], [["%C3%A9&amp;"]])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (MOMENT, 1767323045.0),
        (MOMENT.astimezone(BERLIN), 1767323045.0),
        (dt.datetime(1969, 12, 31, 23, 59, 59, 5, tzinfo=dt.UTC), -1.0),
        (dt.date(2026, 1, 2), 1767312000.0),
        (dt.datetime.fromisoformat("2026-01-02T03:04:05"), 1767319445.0),
        (dt.datetime(1, 1, 1, tzinfo=BERLIN), None),
        ("2026-01-02", None),
        (None, None),
    ],
)
def test_seconds_of_a_lastmod(value: Any, expected: float | None) -> None:
    """Whole ones; times without a zone are of TIME_ZONE, dates begin in UTC."""
    assert epoch(value) == expected
