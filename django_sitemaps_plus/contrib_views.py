"""
Contrib's ``index`` and ``sitemap``, without a template for each URL.

Each takes what its namesake in ``django.contrib.sitemaps.views`` takes, and gives what
that gives, without tables of ours. Projects import them from ``views``.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from django.contrib.sitemaps import views as contrib
from django.core.paginator import EmptyPage
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.http import http_date

from .exceptions import ConfigurationError, TooManyBadRows
from .protocol.errors import PageFull
from .protocol.locations import resolve
from .protocol.markup import date_text
from .protocol.writers import index_xml, sitemap_xml
from .serving.responses import ROBOTS_TAG, is_own, unavailable
from .sitemaps.as_columns import newest_in
from .sitemaps.registry import instance
from .sitemaps.sections import SectionSource, live_source, overridden
from .sitemaps.site import requested_address

_CONTRIB_URL_NAME = "django.contrib.sitemaps.views.sitemap"


def index(
    request: HttpRequest,
    sitemaps: Mapping[str, Any],
    template_name: str = "sitemap_index.xml",
    content_type: str = "application/xml",
    sitemap_url_name: str = _CONTRIB_URL_NAME,
) -> HttpResponseBase:
    """
    Contrib's index of a dict of sitemaps, paged by position.

    Under the request's language, URLconf and Host, as contrib's; nothing is stored.
    With a template of the project's own, contrib's ``TemplateResponse``.
    """
    if is_own(template_name, "sitemap_index.xml"):
        given = cast(Any, sitemaps), template_name, content_type, sitemap_url_name
        return contrib.index(request, *given)
    place, zone = requested_address(request), timezone.get_default_timezone()
    items: list[str] = []
    lastmods = []
    for name, given in sitemaps.items():
        declared = instance(given)
        found = live_source(name, declared)
        newest = None
        if not (found.hook or overridden(declared, "get_latest_lastmod")):
            newest = newest_in(declared, found.items)
        if newest is None:
            lastmod, pages = declared.get_latest_lastmod(), found.position_pages
        else:
            lastmod, pages = newest[0], math.ceil(newest[1] / found.items_per_page)
        path = reverse(sitemap_url_name, kwargs={"section": name})
        if not isinstance(lastmod, dt.date):
            lastmod = None  # a text may be anything
        lastmods.append(lastmod)
        start = resolve(path, str(place.with_scheme(declared.protocol).origin))
        dated = None if lastmod is None else date_text(lastmod, zone, "lastmod")
        items.append(sitemap_xml(start, dated))
        items += [
            sitemap_xml(f"{start}?p={number}", dated) for number in range(2, pages + 1)
        ]
    return _response(index_xml(items), content_type, [lastmods])


def sitemap(
    request: HttpRequest,
    sitemaps: Mapping[str, Any],
    section: str | None = None,
    template_name: str = "sitemap.xml",
    content_type: str = "application/xml",
) -> HttpResponseBase:
    """
    Contrib's page ``?p=`` of one section, or of all of them, by position.

    Under the request's language, URLconf and Host, as contrib's; nothing is stored.
    With a template of the project's own, contrib's ``TemplateResponse``. Raises
    ``ConfigurationError`` if the sections together are more than a page may hold.

    503 if more rows are bad than ``MAX_BAD`` allows, where contrib's raises.
    """
    if section is not None and section not in sitemaps:
        raise Http404(f"No sitemap available for section: {section!r}")
    if is_own(template_name, "sitemap.xml"):
        given = cast(Any, sitemaps), section, template_name, content_type
        return contrib.sitemap(request, *given)
    from .building.by_position import by_position

    chosen = sitemaps if section is None else {section: sitemaps[section]}
    sources = [live_source(name, instance(given)) for name, given in chosen.items()]
    number = _page_number(request, sources)
    try:
        built = by_position(sources, number, requested_address(request))
    except PageFull as error:
        raise ConfigurationError(
            f"The sections {', '.join(sorted(chosen))} together are more than one "
            "sitemap may hold (50,000 URLs, 50 MB). Serve "
            "django_sitemaps_plus.views.index at this address, and this view with a "
            "section."
        ) from error
    except TooManyBadRows:
        return unavailable()
    except EmptyPage as error:
        raise Http404(f"Page {number} empty") from error
    return _response(built.body, content_type, built.lastmods)


def _page_number(request: HttpRequest, sources: Sequence[SectionSource]) -> int:
    """Return ``?p=``; 404 with contrib's texts if there is no such page."""
    text = request.GET.get("p", "1")
    try:
        number = int(text)
    except ValueError as error:
        raise Http404(f"No page '{text}'") from error
    # A class that makes its pages itself says it when it is asked for this one.
    if not all(one.hook or 1 <= number <= one.position_pages for one in sources):
        raise Http404(f"Page {text} empty")
    return number


def _response(
    body: bytes, content_type: str, lastmods: Sequence[Sequence[Any]]
) -> HttpResponse:
    """Return contrib's headers: Last-Modified only where all items have a lastmod."""
    response = HttpResponse(body, content_type=content_type)
    response.headers["X-Robots-Tag"] = ROBOTS_TAG
    moments = [_in_utc(lastmod) for dates in lastmods for lastmod in dates]
    known = [moment for moment in moments if moment is not None]
    if known and len(known) == len(moments) and all(lastmods):
        response.headers["Last-Modified"] = http_date(max(known).timestamp())
    return response


def _in_utc(lastmod: Any) -> dt.datetime | None:
    """
    Read a lastmod as contrib does for this header: without a zone it is UTC.

    None for anything but a date, and for a time outside the calendar in UTC.
    """
    if not isinstance(lastmod, dt.date):
        return None
    moment = lastmod
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime.combine(moment, dt.time.min)
    if timezone.is_naive(moment):
        moment = moment.replace(tzinfo=dt.UTC)
    try:
        return moment.astimezone(dt.UTC)
    except OverflowError:
        return None
