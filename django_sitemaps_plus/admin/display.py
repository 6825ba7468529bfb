"""What all lists show: moments, links, what is registered."""

from __future__ import annotations

import datetime as dt
import time

from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.timesince import timesince
from django.utils.translation import gettext

from django_sitemaps_plus.delivery import guards
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import configured

#: Rows that a list counts at most: what lies behind is found by filters.
MOST = 10_000


def when(seconds: float | None) -> str:
    """Return a moment as Django shows datetimes, and how long ago that is."""
    if not seconds:
        return "–"
    return f"{moment_of(seconds)} ({_ago(seconds, 2)})"


def ago(seconds: float | None) -> str:
    """Return how long ago a moment is, for lists; the mouse shows the moment."""
    if not seconds:
        return "–"
    return format_html(
        '<span style="white-space:nowrap" title="{}">{}</span>',
        moment_of(seconds),
        _ago(seconds, 1),
    )


def moment_of(seconds: float) -> str:
    """Return a moment as Django shows datetimes."""
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return str(formats.localize(timezone.localtime(moment)))


def _ago(seconds: float, units: int) -> str:
    if time.time() - seconds < 60:
        # For which timesince() says "0 minutes".
        return gettext("just now")
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return gettext("%(time)s ago") % {"time": timesince(moment, depth=units)}


def link(address: str, text: str = "") -> str:
    """Return a link to an address of the site, on the host that the project names."""
    place = configured()
    is_path = address.startswith("/")
    href = f"{place.origin}{address}" if is_path and place else address
    # Long ones are broken, so that the columns beside them can be seen.
    style = "display:inline-block;min-width:12em;overflow-wrap:anywhere"
    return format_html(
        '<a href="{}" rel="noopener" style="{}">{}</a>', href, style, text or address
    )


def registered() -> tuple[list[str], str]:
    """Return the registered sections, and why they cannot be told, if they cannot."""
    try:
        return list(registry.sources()), ""
    except ConfigurationError as error:
        return [], str(error)


def known_engines() -> tuple[list[str], str]:
    """Return the aliases of the engines, and why they cannot be told, if so."""
    try:
        return list(engines()), guards.refusal() if engines() else ""
    except ConfigurationError as error:
        return [], str(error)
