"""W3C Datetime: https://www.w3.org/TR/NOTE-datetime."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.protocol.dates import parse_w3c, w3c
from django_sitemaps_plus.protocol.errors import DateError
from tests.protocol.strategies import any_text, anything, dates, safe_datetimes, zones

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str, zone: tzinfo | None = None) -> datetime:
    """Return the datetime of an ISO text, with a zone put on it."""
    return datetime.fromisoformat(text).replace(tzinfo=zone)


def offset(minutes: int, seconds: int = 0) -> timezone:
    return timezone(timedelta(minutes=minutes, seconds=seconds))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (date(2026, 11, 21), "2026-11-21"),
        (date(1, 1, 1), "0001-01-01"),
        (at("2026-01-02 03:04:05.999999", UTC), "2026-01-02T03:04:05+00:00"),
        (at("2026-01-02 03:04", ZoneInfo("Asia/Kolkata")), "2026-01-02T03:04:00+05:30"),
        (
            at("2026-01-02 03:04:05", ZoneInfo("Pacific/Kiritimati")),
            "2026-01-02T03:04:05+14:00",
        ),
        (at("2026-01-02 03:04:05"), "2026-01-02T03:04:05+01:00"),
        (at("2026-07-02 03:04:05"), "2026-07-02T03:04:05+02:00"),
        (at("2026-10-25 02:30:00").replace(fold=0), "2026-10-25T02:30:00+02:00"),
        (at("2026-10-25 02:30:00").replace(fold=1), "2026-10-25T02:30:00+01:00"),
        (at("0001-01-01", UTC), "0001-01-01T00:00:00+00:00"),
        (datetime.max.replace(tzinfo=UTC), "9999-12-31T23:59:59+00:00"),
        # Berlin was 53 minutes and 28 seconds ahead until 1893: the instant stays.
        (at("1890-01-01 12:00:00"), "1890-01-01T11:59:32+00:53"),
        # The first day of the calendar, as its offset allows it.
        (at("0001-01-01", offset(10, 40)), "0001-01-01T00:00:20+00:11"),
        # No schema allows that offset.
        (at("2026-01-02 20:00", offset(1_200)), "2026-01-02T00:00:00+00:00"),
    ],
)
def test_writes_seconds_and_the_offset_of_that_day(value: Any, written: str) -> None:
    assert w3c(value, BERLIN) == written


@pytest.mark.parametrize(
    "value",
    [
        datetime.min.replace(tzinfo=offset(10, 20)),
        datetime.max.replace(tzinfo=offset(10, 40)),
        datetime.min.replace(tzinfo=offset(1_200)),
        datetime.max.replace(tzinfo=offset(-1_200)),
        at("0001-01-01 00:00:00"),  # in Berlin's local mean time
    ],
)
def test_a_time_that_would_leave_the_calendar_is_refused(value: datetime) -> None:
    with pytest.raises(DateError, match="outside the years 1 to 9999"):
        w3c(value, BERLIN)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026", "2026-01-01 00:00:00"),
        ("2026-02", "2026-02-01 00:00:00"),
        ("2026-02-28", "2026-02-28 00:00:00"),
        ("2024-02-29", "2024-02-29 00:00:00"),
        ("2026-01-02T03:04Z", "2026-01-02 03:04:00"),
        ("2026-01-02T03:04:05+01:00", "2026-01-02 02:04:05"),
        ("2026-01-02T03:04:05+14:00", "2026-01-01 13:04:05"),
        ("2026-01-02T03:04:05-14:00", "2026-01-02 17:04:05"),
        ("2026-01-02T03:04:05.6-09:30", "2026-01-02 12:34:05.600000"),
        ("2026-01-02T03:04:05.1234567Z", "2026-01-02 03:04:05.123456"),
    ],
)
def test_a_legal_text_stays_as_it_is_and_is_read(text: str, instant: str) -> None:
    assert w3c(text, BERLIN) == text
    assert parse_w3c(text) == at(instant, UTC)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        *(
            (text, "not a W3C Datetime")
            for text in (
                *("", "yesterday", "2026-1-2", "2026-01-02Z", "2026-01-02\n", "٢٠٢٦"),
                *("2026-01-02 03:04:05Z", "2026-01-02t03:04:05z", "2026-01-02T03Z"),
                *("2026-01-02T03:04:05.Z", "2026-01-02T03:04:05+0100"),
                *("2026-01-02T24:00:00Z", "2026-01-02T03:04:05+01:60"),
            )
        ),
        ("2026-01-02T03:04", "has a time but no zone"),
        ("0000-01-01", "year"),
        ("2026-13-01", "month"),
        ("2026-02-29", "day"),
        ("2026-01-02T03:60:00Z", "minute"),
        ("2026-01-02T03:04:60Z", "second"),
        ("2026-01-02T03:04:05+14:01", "beyond 14:00"),
        ("2026-01-02T03:04:05-14:01", "beyond 14:00"),
        ("0001-01-01T00:00:00+01:00", "out of range"),
        *((value, "neither a date nor a text") for value in (None, 0, b"2026")),
    ],
)
def test_any_other_value_is_refused_with_the_reason(text: Any, reason: str) -> None:
    with pytest.raises(DateError, match=reason):
        w3c(text, BERLIN)


@given(value=safe_datetimes, zone=zones)
def test_the_instant_survives_to_the_second(value: datetime, zone: Any) -> None:
    aware = value if value.tzinfo else value.replace(tzinfo=zone)

    text = w3c(value, zone)

    assert abs(parse_w3c(text) - aware.astimezone(UTC)) < timedelta(seconds=1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", text)
    assert w3c(text, zone) == text


@given(value=anything | dates, zone=zones)
def test_anything_becomes_a_w3c_datetime_or_a_date_error(value: Any, zone: Any) -> None:
    try:
        text = w3c(value, zone)
    except DateError:
        return
    assert re.match(r"[0-9]{4}(-|\Z)", text)
    assert len(text) in (4, 7, 10) or text[10] == "T"


@given(text=any_text | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.Z+-]{0,20}"))
def test_what_is_accepted_is_read_as_utc(text: str) -> None:
    try:
        assert w3c(text, BERLIN) == text
    except DateError:
        return
    assert parse_w3c(text).tzinfo is UTC
