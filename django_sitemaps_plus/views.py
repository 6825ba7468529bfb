"""
The views: the addresses that ``urls`` serves, and contrib's ``index`` and ``sitemap``.

``index`` and ``sitemap`` take what ``django.contrib.sitemaps.views`` takes and give
what it gives, without tables of ours. A project that includes
``django_sitemaps_plus.urls`` uses the others.
"""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from django.contrib.sitemaps import views as contrib
from django.core.paginator import Paginator
from django.db import DatabaseError, connections, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from django.views.decorators.http import require_safe

from .conf import get_settings
from .db import MIGRATE, tables_are_missing
from .delivery.engines import files_of
from .exceptions import ConfigurationError, NotReady, TooManyBadRows
from .pagination.queries import ledger
from .protocol.errors import PageFull
from .protocol.llms import Link, llms_txt
from .protocol.robots import closed, robots_txt
from .publishing import index as indexes
from .publishing.by_position import by_position, position_pages
from .publishing.documents import (
    Document,
    UnusableError,
    as_text,
    former_document,
    fresh_document,
    fresh_text,
    page_or_former,
)
from .publishing.extra import extra_sitemaps
from .publishing.formats import (
    feed_document,
    listed_in_robots,
    recent_document,
)
from .publishing.freshness import fresh_state, tag_of
from .publishing.readers import reader_counts
from .publishing.responses import (
    ROBOTS_TAG,
    cache_control,
    in_one_language,
    not_modified,
    send,
)
from .publishing.site_map import headings, link_page
from .rendering.digest import definition
from .sitemaps.contrib_templates import is_own
from .sitemaps.registry import instance, registry
from .sitemaps.sections import SectionSource, live_source, source
from .sitemaps.site import (
    SiteAddress,
    address_of_host,
    of_request,
    rendering_context,
    requested_address,
    site_of_request,
    working_for,
)

logger = logging.getLogger("django_sitemaps_plus")

View = Callable[..., HttpResponseBase]

_CONTRIB_URL_NAME = "django.contrib.sitemaps.views.sitemap"
#: Seconds after which a client may ask again for what cannot be built.
_RETRY = 60
#: What is said of it: the reason is in the log, and may hold what is nobody's business.
_BEING_BUILT = "The sitemap is being built. Please try again shortly."
_NOT_NOW = "The sitemap cannot be built at the moment. Please try again later."


def _guarded(view: View) -> View:
    """
    Answer what is not ready with 503 and one sentence, not with a traceback.

    Outside of ATOMIC_REQUESTS: a claim that is not committed is none. ``site``, one of
    ``SITES``, comes from the URLconf that includes the addresses.
    """

    @functools.wraps(view)
    def inner(
        request: HttpRequest, *args: Any, site: str = "", **kwargs: Any
    ) -> HttpResponseBase:
        try:
            with working_for(site_of_request(request, site)):
                return view(request, *args, **kwargs)
        except NotReady as error:
            logger.info("%s: %s", request.path, error)
            return _unavailable(_BEING_BUILT, error.retry_after)
        except (TooManyBadRows, UnusableError) as error:
            logger.info("%s: %s", request.path, error)
            return _unavailable(_NOT_NOW, _RETRY)
        except DatabaseError:
            if tables_are_missing(ledger()):
                return _unavailable(MIGRATE, _RETRY)
            # A lock, a restart, a server that is away or only lets read, for which each
            # database has other errors: crawlers shall come again.
            logger.exception("%s: the database failed.", request.path)
            return _unavailable(_NOT_NOW, _RETRY)

    return _in_autocommit(inner)


def _in_autocommit(view: View) -> View:
    """Answer GET and HEAD, with ``ATOMIC_REQUESTS`` too outside of a transaction."""
    own = require_safe(view)
    for alias in connections:
        own = transaction.non_atomic_requests(using=alias)(own)
    return own


def _unavailable(reason: str, retry_after: int) -> HttpResponse:
    response = HttpResponse(
        f"{reason}\n", status=503, content_type="text/plain; charset=utf-8"
    )
    response.headers["Retry-After"] = str(retry_after)
    response.headers["Cache-Control"] = "no-store"
    return response


def _counted(view: View) -> View:
    """Count who got a sitemap or a feed, or heard that it has not changed."""

    @functools.wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        status = response.status_code
        if status in (200, 304) and request.method == "GET":
            agent = request.META.get("HTTP_USER_AGENT", "")
            reader_counts.count(request.path, agent, status)
        return response

    return inner


# The addresses of ``urls``


@_guarded
@_counted
def gathered(
    request: HttpRequest,
    *,
    name: str = "",
    part: int | None = None,
    ending: str = "xml",
    gz: bool = False,
) -> HttpResponseBase:
    """
    ``/sitemap.xml``, or ``/sitemap-<section>.xml``: all entries, or the index.

    With ``part``, counted from 2, a further file of that index. With the ending "txt"
    the URLs, one a line, or the index of text files.
    """
    if name:
        _refuse_other_sites(name)
    sources = indexes.usable([name]) if name else indexes.all_sources()
    document = None
    if part is None or part > 1:
        place = of_request(request)
        is_text = ending == "txt"
        document = indexes.document_of(name, sources, place, part or 1, text=is_text)
    if document is None:
        owner = f" of the section {name!r}" if name else ""
        raise Http404(f"The index{owner} has no part {part}.")
    return send(request, document, gz=gz)


@_guarded
@_counted
def page(
    request: HttpRequest,
    page: tuple[str, str],
    *,
    ending: str = "xml",
    gz: bool = False,
) -> HttpResponseBase:
    """``/sitemap-<section>-<page>.xml``: one page of a section, or its URLs ("txt")."""
    name, text = page
    # The length first: Python refuses to read a number of some thousand digits.
    if len(text) > 9 or text != str(int(text)) or int(text) == 0:
        raise Http404(
            f"{text!r} is not a page number: they count from 1, without leading zeros."
        )
    number, place = int(text), of_request(request)
    _refuse_other_sites(name)
    is_text = ending == "txt"
    sources = indexes.usable([name])
    if sources:
        fresh = fresh_text if is_text else fresh_document
        response = _send_fresh(request, name, number, place, fresh, gz=gz)
        if response is not None:
            return response
        document = page_or_former(sources[0], number, place)
    else:
        document = former_document(name, number, place)
    if document is None:
        raise Http404(f"The section {name!r} has no page {number}.")
    return send(request, as_text(document) if is_text else document, gz=gz)


@_guarded
@_counted
def feed(request: HttpRequest, *, ending: str, name: str = "") -> HttpResponseBase:
    """``/sitemap.atom``, ``/sitemap-<section>.rss``: what changed last, as a feed."""
    if name:
        _refuse_other_sites(name)
    return send(request, feed_document(ending, name, of_request(request)), gz=False)


@_guarded
@_counted
def recent(request: HttpRequest, *, what: str, gz: bool = False) -> HttpResponseBase:
    """``/sitemap-recent.xml``: what changed within some days, the newest first."""
    return send(request, recent_document(of_request(request)), gz=gz)


def _refuse_other_sites(name: str) -> None:
    """Raise ``Http404`` for a section that only another of ``SITES`` has."""
    if name not in registry.sources():
        raise Http404(f"This site has no section {name!r}.")


def _send_fresh(
    request: HttpRequest,
    name: str,
    number: int,
    site: SiteAddress,
    fresh: Callable[[str, int, SiteAddress], Document | None],
    *,
    gz: bool,
) -> HttpResponseBase | None:
    """Send a fresh page by one query; its bytes are read only if they are wanted."""
    if "If-None-Match" in request.headers or "If-Modified-Since" in request.headers:
        state = fresh_state(name, number)
        if state is None:
            return None
        checksum, changed_at = state.served(time.time())
        tag = tag_of(checksum, site.with_scheme(definition(name).protocol))
        response = not_modified(request, tag, changed_at, gz=gz)
        # Of a page in error it depends on its bytes whether they may be sent.
        if response is not None and not state.error:
            return response
    document = fresh(name, number, site)
    return None if document is None else send(request, document, gz=gz)


@_in_autocommit
def robots(request: HttpRequest, *, site: str = "") -> HttpResponseBase:
    """
    ``/robots.txt``: the rules of the settings, and where the sitemap is.

    Also while the database is away: without it crawlers stay away from the whole site.
    """
    groups = get_settings().robots_groups()
    sitemaps: list[str] = []
    if not closed(groups):
        try:
            with working_for(site_of_request(request, site)):
                sitemaps = _all_sitemaps(of_request(request))
        except DatabaseError as error:
            logger.warning("The domain of the current Site cannot be read: %s", error)
            sitemaps = _all_sitemaps(address_of_host(request))
    response = HttpResponse(
        robots_txt(groups, sitemaps), content_type="text/plain; charset=utf-8"
    )
    cache_control(response)
    return in_one_language(response)


def _all_sitemaps(place: SiteAddress) -> list[str]:
    """Return the addresses of the site's sitemaps, feeds and those of other systems."""
    own = [*indexes.addresses(place), *listed_in_robots(place)]
    return [*own, *extra_sitemaps(place, in_index=False)]


@_guarded
def site_map(request: HttpRequest) -> HttpResponseBase:
    """``/sitemap/``: the sections, for people, in the template ``HTML_SITEMAP``."""
    found = headings(of_request(request))
    return _for_people(request, "site_map", {"sections": found})


@_guarded
def site_map_section(
    request: HttpRequest, *, name: str, number: int | None = None, page: int = 1
) -> HttpResponseBase:
    """``/sitemap/<section>/``: a hundred links of a section, for people."""
    _refuse_other_sites(name)
    found = link_page(source(name), of_request(request), number, page)
    if found is None:
        raise Http404(f"The section {name!r} has no such page.")
    shown = Paginator(range(len(found.numbers)), 1).get_elided_page_range(found.part)
    parts = [
        (found.numbers[part - 1] if isinstance(part, int) else None, part)
        for part in shown
    ]
    pages_of_part = Paginator(range(found.pages), 1)
    context = {
        "found": found,
        "shown_pages": pages_of_part.get_elided_page_range(page),
        "gap": pages_of_part.ELLIPSIS,
        "shown_parts": parts,
    }
    return _for_people(request, "site_map_section", context)


def _for_people(
    request: HttpRequest, template: str, context: dict[str, Any]
) -> HttpResponse:
    context["base_template"] = get_settings().HTML_SITEMAP
    return render(request, f"django_sitemaps_plus/{template}.html", context)


@require_safe
def style(request: HttpRequest, *, site: str = "") -> HttpResponseBase:
    """
    ``/sitemap-style``: the stylesheet of the sitemaps, in the request's language.

    Also where ``STYLESHEET`` is off: pages that a browser has may name it yet.
    """
    body = render_to_string("django_sitemaps_plus/sitemap.css").encode()
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    response = HttpResponse(body, content_type="text/css; charset=utf-8")
    response.headers["ETag"] = tag
    cache_control(response)
    return get_conditional_response(request, tag, None, response) or response


@_guarded
def llms(request: HttpRequest, name: str) -> HttpResponseBase:
    """``/llms.txt``: sections with a title, where the settings ask for it."""
    settings = get_settings()
    if settings.LLMS is None or closed(settings.robots_groups()):
        raise Http404("This site has no llms.txt.")
    place = of_request(request)
    with rendering_context(place):
        links = [
            Link(
                str(found.sitemap.section_title),
                indexes.address(place, "section", found.name),
                str(found.sitemap.section_description),
            )
            for found in indexes.all_sources()
            if getattr(found.sitemap, "section_title", "")
        ]
        head = settings.LLMS
        text = llms_txt(str(head["title"]), str(head.get("description", "")), links)
    response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    cache_control(response)
    return in_one_language(response)


@require_safe
def engine_file(request: HttpRequest, name: str, *, site: str = "") -> HttpResponseBase:
    """``/<key>.txt``: what an engine fetches to know that the host is ours."""
    with working_for(site_of_request(request, site)):
        hosts = {request.get_host(), of_request(request).origin.host}
    for host in sorted(hosts):
        text = files_of(host).get(name)
        if text is not None:
            response = HttpResponse(text, content_type="text/plain; charset=utf-8")
            # Who takes a key back wants it gone at once.
            response.headers["Cache-Control"] = "no-cache"
            return in_one_language(response)
    raise Http404(f"No engine wants {name!r} on this host.")


# Contrib's views


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
        return contrib.index(
            request,
            cast(Any, sitemaps),
            template_name=template_name,
            content_type=content_type,
            sitemap_url_name=sitemap_url_name,
        )
    place = requested_address(request)
    items: list[tuple[str, Any]] = []
    lastmods = []
    for name, given in sitemaps.items():
        declared = instance(given)
        found = live_source(name, declared)
        lastmod = declared.get_latest_lastmod()
        path = reverse(sitemap_url_name, kwargs={"section": name})
        if not isinstance(lastmod, dt.date):
            lastmod = None  # a text may be anything
        lastmods.append(lastmod)
        start = f"{place.with_scheme(declared.protocol).origin}{path}"
        items.append((start, lastmod))
        items += [
            (f"{start}?p={number}", lastmod)
            for number in range(2, position_pages(found) + 1)
        ]
    body = indexes.index_bytes(items)
    return _contrib_response(body, content_type, [lastmods])


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
        return contrib.sitemap(
            request,
            cast(Any, sitemaps),
            section=section,
            template_name=template_name,
            content_type=content_type,
        )
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
        return _unavailable(_NOT_NOW, _RETRY)
    return _contrib_response(b"".join(built.chunks), content_type, built.lastmods)


def _page_number(request: HttpRequest, sources: Sequence[SectionSource]) -> int:
    """Return ``?p=``; 404 with contrib's texts if there is no such page."""
    text = request.GET.get("p", "1")
    try:
        number = int(text)
    except ValueError as error:
        raise Http404(f"No page '{text}'") from error
    if not all(1 <= number <= position_pages(found) for found in sources):
        raise Http404(f"Page {text} empty")
    return number


def _contrib_response(
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

    None for what is no date, and for a time that is not within the calendar in UTC.
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
