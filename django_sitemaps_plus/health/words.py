"""Numbers and times as people read them, in the active language."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

from django.utils import formats
from django.utils.dateparse import parse_datetime
from django.utils.timesince import timesince, timeuntil
from django.utils.translation import gettext, npgettext_lazy, override

from django_sitemaps_plus.protocol.dates import moment

#: Django's are in the nominative, which is wrong in "vor 2 Tagen".
_UNITS: dict[str, Any] = {
    "year": npgettext_lazy("ago, in", "%(num)d year", "%(num)d years", "num"),
    "month": npgettext_lazy("ago, in", "%(num)d month", "%(num)d months", "num"),
    "week": npgettext_lazy("ago, in", "%(num)d week", "%(num)d weeks", "num"),
    "day": npgettext_lazy("ago, in", "%(num)d day", "%(num)d days", "num"),
    "hour": npgettext_lazy("ago, in", "%(num)d hour", "%(num)d hours", "num"),
    "minute": npgettext_lazy("ago, in", "%(num)d minute", "%(num)d minutes", "num"),
}


def number(value: int) -> str:
    """Return a whole number with the separators of the language."""
    return str(formats.number_format(value, force_grouping=True))


def seconds_of(text: str | None) -> float | None:
    """Return a time as an engine writes it (RFC 3339); None for what is not one."""
    try:
        read = parse_datetime(text or "")
    except ValueError:
        return None
    if read is None:
        return None
    return read.replace(tzinfo=read.tzinfo or dt.UTC).timestamp()


def ago(seconds: float, units: int = 1) -> str:
    """
    Return how long ago a time is, such as "8 minutes ago", in one unit or in two.

    A time that is still to come is said as ``until`` says it.
    """
    age = time.time() - seconds
    if age <= -60:
        return until(seconds)
    if age < 60:
        # For which timesince() says "0 minutes".
        return gettext("just now")
    time_passed = timesince(moment(seconds), time_strings=_UNITS, depth=units)
    return gettext("%(time)s ago") % {"time": time_passed}


def until(seconds: float) -> str:
    """Return in how long something is due, in a few words."""
    left = seconds - time.time()
    if left <= 0:
        return gettext("now")
    if left < 60:
        # For which timeuntil() says "0 minutes".
        return gettext("in under a minute")
    time_left = timeuntil(moment(seconds), time_strings=_UNITS, depth=1)
    return gettext("in %(time)s") % {"time": time_left}


def plain_ago(seconds: float) -> str:
    """Return how long ago a time is: "8 minutes ago"; empty for none."""
    with override("en"):
        # Lines break where they have to.
        return ago(seconds).replace("\xa0", " ") if seconds else ""
