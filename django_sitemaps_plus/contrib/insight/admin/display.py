"""What all lists show: times, links, states, what is registered."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from django.contrib import admin
from django.template.defaultfilters import filesizeformat
from django.urls import NoReverseMatch, reverse
from django.utils.encoding import uri_to_iri
from django.utils.formats import localize
from django.utils.html import format_html, format_html_join
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.delivery.engines import EngineHealth, engines, why_refused
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.health import words
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.protocol.dates import moment
from django_sitemaps_plus.serving.index import why_unusable
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import Site
from django_sitemaps_plus.storing.freshness import is_fresh

#: Rows that a list counts at most: filters find what lies beyond.
MOST = 10_000

Column = Callable[[Any, Any], str]


# Times


def exactly(seconds: float) -> str:
    """Return a time as Django shows datetimes."""
    return str(localize(localtime(moment(seconds))))


def when(seconds: float | None) -> str:
    """Return a time as Django shows datetimes, and how long ago that is."""
    if not seconds:
        return "–"
    return f"{exactly(seconds)} ({words.ago(seconds, 2)})"


def ago(seconds: float | None) -> str:
    """Return how long ago a time is; hovering shows the time."""
    if not seconds:
        return "–"
    html = '<time class="sitemaps-when" datetime="{}" title="{}">{}</time>'
    at = moment(seconds).isoformat(timespec="seconds")
    return format_html(html, at, exactly(seconds), words.ago(seconds))


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
    """Return a whole number as people of the language write it; a dash for none."""
    return "–" if value is None else words.number(value)


def key(text: str | None) -> str:
    """Return a row's key as people know it, of how the ledger writes it."""
    try:
        parts = json.loads(text or "[]")
    except ValueError:
        # It never was a key of this section.
        return text or ""
    return ", ".join(map(str, parts)) if isinstance(parts, list) else str(text)


def size(value: int | None) -> str:
    """Return a number of bytes as people read it."""
    return filesizeformat(value) if value else "–"


def state(word: Any, name: str, rest: Any = "") -> str:
    """Return a word for a state, by whose name it is coloured, and more about it."""
    more = format_html(' <span class="sitemaps-rest">{}</span>', rest) if rest else ""
    return format_html('<strong class="sitemaps-{}">{}</strong>{}', name, word, more)


#: The levels of what an audit finds.
LEVELS = {"error": _("error"), "warning": _("warning")}


def health(found: EngineHealth) -> str:
    """Return how an engine is doing: a word, why, and when it is tried again."""
    parts = [found.reason]
    if found.next_try is not None:
        at = max(found.next_try, time.time())
        parts.append(gettext("Next try %(time)s.") % {"time": words.until(at)})
    rest = " ".join(filter(None, parts))
    return state(found.health.label, found.health.value, rest)


def due(row: Any) -> str:
    """
    Return when a submission of ``with_pause`` is due, or why that is unknown.

    A pause of its engine, and a quota that is used up, put it off.
    """
    if known_engines()[1]:
        return gettext("waits: nothing is sent from here")
    at = max(row.due_at, row.paused_until or 0.0)
    return gettext("due %(time)s") % {"time": words.until(at)}


def decoded(url: str) -> str:
    """Return a URL as people read it: percent-encoded letters are shown as letters."""
    # What cannot be seen, or turns the text around, stays encoded.
    return "".join(one if one.isprintable() else quote(one) for one in uri_to_iri(url))


def link(location: str, text: str = "") -> str:
    """
    Return a link to a location, on the host that the project configures.

    It shows the path of what is on that host, as people read it.
    """
    site, url = Site.current().address(), url_of(location)
    path = url.removeprefix(str(site.origin)) if site else url
    shown = text or decoded(path if path.startswith("/") else url)
    kind = "sitemaps-name" if text else "sitemaps-url"
    html = '<a class="{}" href="{}" rel="noopener">{}</a>'
    return format_html(html, kind, url, shown)


def url_of(location: str) -> str:
    """Return the URL of a location, on the host that the project configures."""
    site = Site.current().address()
    return site.url(location) if site else location


def path_of(name: str, *args: str) -> str:
    """Return the path of one of our URLs; empty where the project includes none."""
    site = Site.current()
    app, view = site.name or None, f"django_sitemaps_plus:{name}"
    try:
        return reverse(view, site.urlconf, args, current_app=app)
    except NoReverseMatch:
        return ""


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
    return {name: why_unusable(name) for name in registered()[0]}


def state_of(page: Page) -> tuple[str, str]:
    """Return a page's state, as ``page_state``, and its section's problem."""
    name = page.section.name
    known = {name: why_unusable(name)} if name in registered()[0] else {}
    return page_state(page, known, time.time()), known.get(name, "")


def why_no_pages(name: str) -> str:
    """Return why no page of a section is stored, which can be used."""
    if reason := source(name).by_position:
        return gettext("Built for each request, because %s.") % reason
    return gettext("Not built yet. Run: python manage.py build_sitemaps")


def known_engines() -> tuple[list[str], str]:
    """Return the aliases of the engines, and why nothing may be sent, if so."""
    try:
        return list(engines()), why_refused() if engines() else ""
    except ConfigurationError as error:
        return [], str(error)


def page_state(page: Page, problems: Mapping[str, str], now: float) -> str:
    """
    Return the state of a page of ``page_rows``, in one of the words below.

    ``problems`` has every registered section, with why it cannot be used, if so.

    "broken" (its section cannot be used), "error" (it could not be built),
    "unregistered", "never" (built), "fresh", "waits" (a change may concern it) or "due"
    (for a comparison with its rows).
    """
    section = page.section
    if problems.get(section.name):
        return "broken"
    if page.error:
        return "error"
    if section.name not in problems:
        return "unregistered"
    if not page.checksum:
        return "never"
    current = source(section.name)
    if section.is_filled(current.signature) and is_fresh(current, page, now):
        return "fresh"
    return "waits" if page.waits else "due"
