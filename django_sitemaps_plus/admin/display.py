"""What all lists show: times, links, states, what is registered."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.timesince import timesince, timeuntil
from django.utils.translation import gettext

from django_sitemaps_plus.delivery import guards
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.publishing.status import problem_of
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import configured

#: Rows that a list counts at most: filters find what lies beyond.
MOST = 10_000

#: Colours of words, on white with a contrast of at least 4.5 to 1.
GREEN, RED, BLUE, BROWN, OLIVE, PURPLE, GREY = (
    *("#1b6e2c", "#b00020", "#1a5fb4", "#8a4b00", "#7a5c00", "#6a1b9a", "#555555"),
)

Column = Callable[[Any, Any], str]


# Times


def when(seconds: float | None) -> str:
    """Return a time as Django shows datetimes, and how long ago that is."""
    return f"{datetime_of(seconds)} ({_ago(seconds, 2)})" if seconds else "–"


def ago(seconds: float | None) -> str:
    """Return how long ago a time is, for lists; hovering shows the time."""
    if not seconds:
        return "–"
    return format_html(
        '<span style="white-space:nowrap" title="{}">{}</span>',
        datetime_of(seconds),
        _ago(seconds, 1),
    )


def until(seconds: float | None) -> str:
    """Return in how long something is due, in a few words."""
    if seconds is None:
        return "–"
    left = seconds - time.time()
    if left <= 0:
        return gettext("now")
    if left < 60:
        # For which timeuntil() says "0 minutes".
        return gettext("in under a minute")
    return gettext("in %(time)s") % {"time": timeuntil(_utc(seconds), depth=1)}


def datetime_of(seconds: float) -> str:
    """Return a time as Django shows datetimes."""
    return str(formats.localize(timezone.localtime(_utc(seconds))))


def _ago(seconds: float, units: int) -> str:
    if time.time() - seconds < 60:
        # For which timesince() says "0 minutes".
        return gettext("just now")
    return gettext("%(time)s ago") % {"time": timesince(_utc(seconds), depth=units)}


def _utc(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


def column(name: str, label: Any, shown: Callable[[Any], str]) -> Column:
    """Return a column of a list that shows a field of its rows."""

    def value(self: Any, row: Any) -> str:
        return shown(getattr(row, name))

    return admin.display(description=label)(value)


def times(name: str, label: Any) -> tuple[Column, Column]:
    """Return the columns of a time: for lists, and for the view of one row."""
    return column(name, label, ago), column(name, label, when)


# Words


def coloured(word: Any, colour: str, rest: str = "", state: str = "") -> str:
    """Return a word for a state in a colour, and more about it."""
    return format_html(
        '<strong class="sitemaps-{}" style="color:{};background:#fff;'
        'padding:1px 4px">{}</strong> '
        '<span style="overflow-wrap:anywhere">{}</span>',
        state,
        colour,
        word,
        rest,
    )


def link(location: str, text: str = "") -> str:
    """Return a link to a location, on the host that the project configures."""
    site = configured()
    # Long ones are broken, so that the columns beside them can be seen.
    style = "display:inline-block;min-width:12em;overflow-wrap:anywhere"
    return format_html(
        '<a href="{}" rel="noopener" style="{}">{}</a>',
        site.url(location) if site else location,
        style,
        text or location,
    )


# What the project declares


def registered() -> tuple[list[str], str]:
    """Return the registered sections, and why they are not known, if so."""
    try:
        return list(registry.sources()), ""
    except ConfigurationError as error:
        return [], str(error)


def problems() -> dict[str, str]:
    """Return the registered sections, each with why it cannot be used, if so."""
    return {name: problem_of(name) for name in registered()[0]}


def known_engines() -> tuple[list[str], str]:
    """Return the aliases of the engines, and why nothing may be sent, if so."""
    try:
        return list(engines()), guards.refusal() if engines() else ""
    except ConfigurationError as error:
        return [], str(error)
