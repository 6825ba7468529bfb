"""What all lists show: times, links, states, what is registered."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from django.contrib import admin
from django.template.defaultfilters import filesizeformat
from django.utils import formats, timezone
from django.utils.encoding import uri_to_iri
from django.utils.html import format_html, format_html_join
from django.utils.timesince import timesince, timeuntil
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.delivery import guards
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.health import EngineHealth, Health
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.publishing.status import problem_of
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import configured

#: Rows that a list counts at most: filters find what lies beyond.
MOST = 10_000

Column = Callable[[Any, Any], str]


# Times


def when(seconds: float | None) -> str:
    """Return a time as Django shows datetimes, and how long ago that is."""
    return f"{datetime_of(seconds)} ({_ago(seconds, 2)})" if seconds else "–"


def ago(seconds: float | None) -> str:
    """Return how long ago a time is; hovering shows the time."""
    if not seconds:
        return "–"
    return format_html(
        '<time class="sitemaps-when" datetime="{}" title="{}">{}</time>',
        _utc(seconds).isoformat(timespec="seconds"),
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


def column(name: str, label: Any, shown: Callable[[Any], Any] = str) -> Column:
    """Return a column of a list that shows a field of its rows."""

    def value(self: Any, row: Any) -> Any:
        return shown(getattr(row, name))

    return admin.display(description=label)(value)


def times(name: str, label: Any) -> tuple[Column, Column]:
    """Return the columns of a time: for lists, and for the view of one row."""
    return column(name, label, ago), column(name, label, when)


# Words


def number(value: int | None) -> str:
    """Return a whole number with the separators of the language."""
    return (
        "–" if value is None else str(formats.number_format(value, force_grouping=True))
    )


def size(value: int | None) -> str:
    """Return a number of bytes as people read it."""
    return filesizeformat(value) if value else "–"


def state(word: Any, name: str, rest: Any = "") -> str:
    """Return a word for a state, by whose name it is coloured, and more about it."""
    more = format_html(' <span class="sitemaps-rest">{}</span>', rest) if rest else ""
    return format_html('<strong class="sitemaps-{}">{}</strong>{}', name, word, more)


#: The levels of what an audit finds.
LEVELS = {"error": _("error"), "warning": _("warning")}
#: How an engine is doing, in words.
_HEALTH: dict[Health, Any] = {
    Health.REFUSED: _("nothing is sent"),
    Health.BLOCKED: _("needs attention"),
    Health.PAUSED: _("paused"),
    Health.UNUSED: _("ready, nothing sent yet"),
    Health.FINE: _("works"),
    Health.UNKNOWN: _("not in the settings"),
}


def health(found: EngineHealth) -> str:
    """Return how an engine is doing: a word, why, and when it is tried again."""
    parts = [found.reason]
    if found.health in (Health.PAUSED, Health.BLOCKED):
        at = max(found.state.paused_until, time.time())
        parts.append(gettext("Next try %(time)s.") % {"time": until(at)})
    rest = " ".join(filter(None, parts))
    return state(_HEALTH[found.health], found.health.value, rest)


def decoded(url: str) -> str:
    """Return a URL as people read it: percent-encoded letters are shown as letters."""
    # What cannot be seen, or turns the text around, stays encoded.
    return "".join(one if one.isprintable() else quote(one) for one in uri_to_iri(url))


def link(location: str, text: str = "") -> str:
    """
    Return a link to a location, on the host that the project configures.

    It shows the path of what is on that host, as people read it.
    """
    site = configured()
    url = site.url(location) if site else location
    path = url.removeprefix(str(site.origin)) if site else url
    shown = text or decoded(path if path.startswith("/") else url)
    return format_html(
        '<a class="{}" href="{}" rel="noopener">{}</a>',
        "sitemaps-name" if text else "sitemaps-url",
        url,
        shown,
    )


def table(heads: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    """Return a small table; a dash if it has no rows."""
    if not rows:
        return "–"
    head = format_html_join("", '<th scope="col">{}</th>', ((one,) for one in heads))
    lines = (
        (format_html_join("", "<td>{}</td>", ((cell,) for cell in row)),)
        for row in rows
    )
    return format_html(
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>",
        head,
        format_html_join("", "<tr>{}</tr>", lines),
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
