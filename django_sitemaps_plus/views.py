"""
The views: the addresses that ``urls`` serves, and contrib's ``index`` and ``sitemap``.

``index`` and ``sitemap`` take what ``django.contrib.sitemaps.views`` takes and give
what it gives, without tables of ours. A project that includes
``django_sitemaps_plus.urls`` uses the others.
"""

from __future__ import annotations

import datetime as dt
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.contrib.sitemaps import views as contrib
from django.db import DatabaseError, connections, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.http import http_date
from django.views.decorators.http import require_safe

from .conf import get_settings
from .delivery.engines import files_of
from .exceptions import ConfigurationError, NotReady, TooManyBadRows
from .models import tables_exist
from .pagination import ledger
from .protocol.errors import PageFull
from .protocol.robots import closed, robots_txt
from .publishing import compression, pages, storage
from .publishing import index as indexes
from .publishing.index import Document
from .sitemaps import sections
from .sitemaps.contrib_templates import is_own
from .sitemaps.registry import instance
from .sitemaps.sections import SectionSource, source_of
from .sitemaps.site import SiteAddress, of_request, rendering_context

View = Callable[..., HttpResponseBase]

_CONTRIB_URL_NAME = "django.contrib.sitemaps.views.sitemap"
_ROBOTS_TAG = "noindex, noodp, noarchive"
#: Seconds after which a client may ask again for what could not be made.
_RETRY = 60


def _guarded(view: View) -> View:
    """
    Answer what is not ready with 503 and the reason, not with a traceback.

    Outside of ATOMIC_REQUESTS: a claim that is not committed is none.
    """

    @functools.wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return view(request, *args, **kwargs)
        except NotReady as error:
            return _unavailable(str(error), error.retry_after)
        except TooManyBadRows as error:
            return _unavailable(str(error), _RETRY)
        except DatabaseError:
            if tables_exist(ledger.pages().db):
                raise
            return _unavailable(
                "The tables of django_sitemaps_plus are missing: run "
                "'manage.py migrate sitemaps_plus'.",
                _RETRY,
            )

    guarded = require_safe(inner)
    for alias in connections:
        guarded = transaction.non_atomic_requests(using=alias)(guarded)
    return guarded


def _unavailable(reason: str, retry_after: int) -> HttpResponse:
    response = HttpResponse(
        f"{reason}\n", status=503, content_type="text/plain; charset=utf-8"
    )
    response.headers["Retry-After"] = str(retry_after)
    response.headers["Cache-Control"] = "no-store"
    return response


# The addresses of ``urls``


@_guarded
def site(request: HttpRequest, *, gz: bool = False) -> HttpResponseBase:
    """``/sitemap.xml``: all entries, or the index."""
    document = indexes.document_of("", indexes.all_sources(), of_request(request))
    return _send(request, document, gz=gz)


@_guarded
def site_part(request: HttpRequest, part: int, *, gz: bool = False) -> HttpResponseBase:
    """``/sitemap-index-<part>.xml``: a further file of the index."""
    document = None
    if part > 1:
        place = of_request(request)
        document = indexes.document_of("", indexes.all_sources(), place, part)
    if document is None:
        raise Http404(f"The index has no part {part}.")
    return _send(request, document, gz=gz)


@_guarded
def section(request: HttpRequest, name: str, *, gz: bool = False) -> HttpResponseBase:
    """``/sitemap-<section>.xml``: the section's entries, or its index."""
    sources = [sections.source(name)]
    document = indexes.document_of(name, sources, of_request(request))
    return _send(request, document, gz=gz)


@_guarded
def section_part(
    request: HttpRequest, name: str, part: int, *, gz: bool = False
) -> HttpResponseBase:
    """``/sitemap-<section>-index-<part>.xml``: a further file of its index."""
    document = None
    if part > 1:
        sources = [sections.source(name)]
        document = indexes.document_of(name, sources, of_request(request), part)
    if document is None:
        raise Http404(f"The index of the section {name!r} has no part {part}.")
    return _send(request, document, gz=gz)


@_guarded
def page(
    request: HttpRequest, page: tuple[str, str], *, gz: bool = False
) -> HttpResponseBase:
    """``/sitemap-<section>-<page>.xml``: one page of a section."""
    name, text = page
    # The length first: Python refuses to read a number of some thousand digits.
    if len(text) > 9 or text != str(int(text)) or int(text) == 0:
        raise Http404(
            f"{text!r} is no page number: they count from 1, without leading zeros."
        )
    number, place = int(text), of_request(request)
    response = _send_kept(request, name, number, place, gz=gz)
    if response is not None:
        return response
    source = sections.source(name)
    document = indexes.page_document(source, number, place)
    if document is None and source.key is not None:
        ledger.fill(source, indexes.FILL_SECONDS)
        document = indexes.page_document(source, number, place)
    if document is None:
        raise Http404(f"The section {name!r} has no page {number}.")
    return _send(request, document, gz=gz)


def _send_kept(
    request: HttpRequest, name: str, number: int, place: SiteAddress, *, gz: bool
) -> HttpResponseBase | None:
    """Send a fresh page by one query, its bytes read only if they are wanted."""
    state = pages.fresh_state(name, number)
    if state is None:
        return None
    tag = indexes.page_tag(state, place)
    response = _not_modified(request, tag, state.changed_at, gz=gz)
    if response is not None:
        return response
    data = storage.read(storage.file_name(name, number, state.checksum, place))
    if data is None:
        return None
    return _send(request, Document(tag, data, state.changed_at), gz=gz)


@_guarded
def robots(request: HttpRequest) -> HttpResponseBase:
    """``/robots.txt``: the rules of the settings, and where the sitemap is."""
    groups = get_settings().robots_groups()
    sitemaps: list[str] = []
    if not closed(groups):
        place = of_request(request)
        sitemaps += indexes.addresses(place)
    response = HttpResponse(
        robots_txt(groups, sitemaps), content_type="text/plain; charset=utf-8"
    )
    _cache_control(response)
    return response


def _send(
    request: HttpRequest, document: Document | None, *, gz: bool
) -> HttpResponseBase:
    """Send a document: gzipped if it can be, or 304 if the client has it."""
    if document is None:
        raise Http404("There is nothing here.")
    tag, changed_at = document.tag, document.changed_at
    response = _not_modified(request, tag, changed_at, gz=gz)
    if response is not None:
        return response
    whole = _whole(document, packed=_takes_gzip(request), gz=gz)
    return _with_headers(request, whole, tag, changed_at, gz=gz)


def _not_modified(
    request: HttpRequest, tag: str, changed_at: float | None, *, gz: bool
) -> HttpResponseBase | None:
    """Return 304 (or 412) if the client's conditions say so, else None."""
    modified = None if changed_at is None else _whole_second(changed_at)
    response: HttpResponseBase | None = get_conditional_response(
        request, _etag(request, tag, gz=gz), modified
    )
    if response is None:
        return None
    return _with_headers(request, response, tag, changed_at, gz=gz)


def _etag(request: HttpRequest, tag: str, *, gz: bool) -> str:
    return f'"{tag}-gz"' if gz or _takes_gzip(request) else f'"{tag}"'


def _whole_second(moment: float) -> int:
    """Round up: a Last-Modified must not be older than the bytes."""
    return -int(-moment // 1)


def _with_headers(
    request: HttpRequest,
    response: HttpResponseBase,
    tag: str,
    changed_at: float | None,
    *,
    gz: bool,
) -> HttpResponseBase:
    # A 304 says them too: https://www.rfc-editor.org/rfc/rfc9110#section-15.4.5
    response.headers["ETag"] = _etag(request, tag, gz=gz)
    if changed_at is not None:
        # Not later than the response, or it is no date of a change:
        # https://www.rfc-editor.org/rfc/rfc9110#section-8.8.2.1
        shown = min(_whole_second(changed_at), int(time.time()))
        response.headers["Last-Modified"] = http_date(shown)
    _cache_control(response)
    if not gz:
        patch_vary_headers(response, ["Accept-Encoding"])
    response.headers["X-Robots-Tag"] = _ROBOTS_TAG
    return response


class _GzipFile(HttpResponse):
    """
    A gzipped file, which is not an encoding of anything else.

    GZipMiddleware leaves alone what says that it has an encoding; this would become
    smaller by being gzipped again, and crawlers unpack once.
    """

    def has_header(self, header: str) -> bool:
        """Tell whether there is such a header; whether it is encoded: yes."""
        return header.lower() == "content-encoding" or super().has_header(header)

    __contains__ = has_header


def _whole(document: Document, *, packed: bool, gz: bool) -> HttpResponse:
    body = document.packed if packed or gz else compression.unpack(document.packed)
    response: HttpResponse
    if gz:
        response = _GzipFile(body, content_type="application/gzip")
    else:
        response = HttpResponse(body, content_type="application/xml")
        if packed:
            response.headers["Content-Encoding"] = "gzip"
    # A server that sends no body for HEAD could not tell.
    response.headers["Content-Length"] = str(len(body))
    return response


@require_safe
def engine_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """``/<key>.txt``: what an engine fetches to know that the host is ours."""
    hosts = {request.get_host(), of_request(request).origin.host}
    for host in sorted(hosts):
        text = files_of(host).get(name)
        if text is not None:
            response = HttpResponse(text, content_type="text/plain; charset=utf-8")
            # Who takes a key back wants it gone at once.
            response.headers["Cache-Control"] = "no-cache"
            return response
    raise Http404(f"No engine wants {name!r} on this host.")


def _cache_control(response: HttpResponseBase) -> None:
    value = get_settings().CACHE_CONTROL
    if value is not None:
        response.headers["Cache-Control"] = value


def _takes_gzip(request: HttpRequest) -> bool:
    """Read Accept-Encoding (RFC 9110, section 12.5.3)."""
    weights = {}
    for part in request.headers.get("Accept-Encoding", "").lower().split(","):
        coding, _, parameters = part.strip().partition(";")
        name, _, value = parameters.strip().partition("=")
        try:
            weights[coding.strip()] = float(value) if name.strip() == "q" else 1.0
        except ValueError:
            weights[coding.strip()] = 0.0
    return weights.get("gzip", weights.get("*", 0.0)) > 0


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

    With a template of the project's own, contrib's ``TemplateResponse``.
    """
    if is_own(template_name, "sitemap_index.xml"):
        return contrib.index(
            request,
            dict(sitemaps),
            template_name=template_name,
            content_type=content_type,
            sitemap_url_name=sitemap_url_name,
        )
    place = of_request(request)
    items: list[tuple[str, Any]] = []
    lastmods = []
    for name, given in sitemaps.items():
        made = instance(given)
        source = source_of(name, made)
        with rendering_context(place):
            lastmod = made.get_latest_lastmod()
            path = reverse(sitemap_url_name, kwargs={"section": name})
        if not isinstance(lastmod, dt.date):
            lastmod = None  # a text may be anything
        lastmods.append(lastmod)
        start = f"{place.with_scheme(made.protocol).origin}{path}"
        items.append((start, lastmod))
        items += [
            (f"{start}?p={number}", lastmod)
            for number in range(2, indexes.position_pages(source) + 1)
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

    With a template of the project's own, contrib's ``TemplateResponse``. Raises
    ``ConfigurationError`` if the sections together are more than a page may hold.

    503 if more rows are bad than ``MAX_BAD`` allows, where contrib's raises.
    """
    if section is not None and section not in sitemaps:
        raise Http404(f"No sitemap available for section: {section!r}")
    if is_own(template_name, "sitemap.xml"):
        return contrib.sitemap(
            request,
            dict(sitemaps),
            section=section,
            template_name=template_name,
            content_type=content_type,
        )
    chosen = sitemaps if section is None else {section: sitemaps[section]}
    sources = [source_of(name, instance(given)) for name, given in chosen.items()]
    number = _page_number(request, sources)
    try:
        made = indexes.by_position(sources, number, of_request(request))
    except PageFull as error:
        raise ConfigurationError(
            f"The sections {', '.join(sorted(chosen))} together are more than one "
            "sitemap may hold (50,000 URLs, 50 MB). Serve "
            "django_sitemaps_plus.views.index at this address, and this view with a "
            "section."
        ) from error
    except TooManyBadRows as error:
        return _unavailable(str(error), _RETRY)
    return _contrib_response(b"".join(made.chunks), content_type, made.lastmods)


def _page_number(request: HttpRequest, sources: Sequence[SectionSource]) -> int:
    """Return ``?p=``; 404 with contrib's texts if there is no such page."""
    text = request.GET.get("p", "1")
    try:
        number = int(text)
    except ValueError as error:
        raise Http404(f"No page '{text}'") from error
    if not all(1 <= number <= indexes.position_pages(source) for source in sources):
        raise Http404(f"Page {text} empty")
    return number


def _contrib_response(
    body: bytes, content_type: str, lastmods: Sequence[Sequence[Any]]
) -> HttpResponse:
    """Return contrib's headers: Last-Modified only where all items have a lastmod."""
    response = HttpResponse(body, content_type=content_type)
    response.headers["X-Robots-Tag"] = _ROBOTS_TAG
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
