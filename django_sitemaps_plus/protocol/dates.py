"""W3C Datetime: https://www.w3.org/TR/NOTE-datetime."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

from .errors import DateError

# Not 24:00: some versions of Python read it as the next midnight.
_W3C = re.compile(
    r"[0-9]{4}(?:-[0-9]{2}(?:-[0-9]{2}"
    r"(?P<time>T(?!24)[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:[0-5][0-9])?)?)?)?"
)
_MINUTE = timedelta(minutes=1)

# The offsets of xsd:dateTime, in which the sitemap schemas write their dates.
# https://www.w3.org/TR/xmlschema-2/#dateTime-timezones
_MAX_OFFSET = timedelta(hours=14)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
#: The first and the last second that are a date in each zone.
EARLIEST = (datetime.min.replace(tzinfo=UTC) + timedelta(days=1)).timestamp()
LATEST = (datetime.max.replace(tzinfo=UTC) - timedelta(days=1)).timestamp()


def moment(seconds: float) -> datetime:
    """Return the time so many seconds after the epoch; the nearest that is a date."""
    # Not a number is below all of them.
    seconds = seconds if seconds >= EARLIEST else EARLIEST
    return _EPOCH + timedelta(seconds=min(seconds, LATEST))


def w3c(value: date | datetime | str, zone: tzinfo) -> str:
    """Write a date as W3C Datetime, to the second, with its offset.

    An aware datetime keeps its own offset; a naive one is a time of ``zone``. An
    offset that has seconds (local mean time, before the zones) is rounded to the
    minute, one beyond 14 hours becomes UTC; the instant stays. A text must be a legal
    W3C Datetime and is returned as it is.

    Raises:
        DateError: The value is none of these, or not within the years 1 to 9999.
    """
    if isinstance(value, datetime):
        return _datetime(value, zone)
    if isinstance(value, date):
        return value.isoformat()
    parse_w3c(value)
    return value


def parse_w3c(text: str) -> datetime:
    """Read a W3C Datetime as an aware datetime in UTC.

    What is not said is the first of it: a date means its midnight in UTC, a year its
    first day. Fractions of a second finer than a microsecond are cut off.

    Raises:
        DateError: Not a W3C Datetime, or its instant not within the years 1 to 9999.
    """
    if not isinstance(text, str):
        raise DateError.of("date", text, "neither a date nor a text")
    match = _W3C.fullmatch(text)
    if match is None:
        raise DateError.of("date", text, "not a W3C Datetime (YYYY-MM-DD ...)")
    if match["time"] and not match["zone"]:
        raise DateError.of("date", text, "has a time but no zone")
    try:
        # A year or a month is completed to its first day.
        read = datetime.fromisoformat(text + "-01-01"[len(text) - 4 :])
        if match["zone"] is None:
            return read.replace(tzinfo=UTC)
        if abs(read.utcoffset() or timedelta()) > _MAX_OFFSET:
            raise ValueError("its offset is beyond 14:00")
        return read.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise DateError.of("date", text, error) from error


def _datetime(value: datetime, zone: tzinfo) -> str:
    try:
        offset = value.utcoffset()
        if offset is None:
            value = value.replace(tzinfo=zone)
            offset = value.utcoffset()
        if offset is None:
            raise DateError.of("date", value, "its zone gives no offset")
        if offset % _MINUTE or abs(offset) > _MAX_OFFSET:
            # Not by astimezone(), whose way over UTC may lead out of the calendar.
            is_far = abs(offset) > _MAX_OFFSET
            whole = timedelta() if is_far else round(offset / _MINUTE) * _MINUTE
            shifted = value.replace(tzinfo=None) + (whole - offset)
            value = shifted.replace(tzinfo=timezone(whole))
    except OverflowError as error:
        raise DateError.of(
            "date", value, "outside the years 1 to 9999 in its zone"
        ) from error
    return value.isoformat(timespec="seconds")
