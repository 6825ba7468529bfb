"""
Answers to requests for stored bytes: conditions, encodings and headers (RFC 9110).
"""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib.sitemaps import views as contrib
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotModified,
)
from django.http.response import ResponseHeaders
from django.template import TemplateDoesNotExist
from django.template.loader import get_template
from django.utils.cache import get_conditional_response
from django.utils.http import http_date

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.protocol.dates import LATEST

if TYPE_CHECKING:
    from .documents import Document

_Response = TypeVar("_Response", bound=HttpResponseBase)

#: Search engines do not list the file itself.
ROBOTS_TAG = "noindex, noodp, noarchive"


#: Conditions that come before If-None-Match (RFC 9110, section 13.2.2).
_OTHERS = {"HTTP_IF_MATCH", "HTTP_IF_UNMODIFIED_SINCE"}


def send_document(
    request: HttpRequest, document: Document, *, gz: bool = False
) -> HttpResponseBase:
    """Send a document: gzipped if it can be, or 304 if the client has it."""
    packed = gz or _takes_gzip(request)
    etag, changed = _etag(document.tag, packed=packed), _seconds(document.changed_at)
    # A client with the former version does not have the current one.
    response = None if document.is_former else _conditional(request, etag, changed)
    if response is None:
        response = _whole(document, packed=packed, gz=gz)
    return _with_headers(response, etag, changed, gz=gz)


def not_modified(
    request: HttpRequest, tag: str, changed_at: float | None, *, gz: bool
) -> HttpResponseBase | None:
    """Return 304 (or 412) if the client's conditions say so, else None."""
    etag, changed = _etag(tag, packed=gz or _takes_gzip(request)), _seconds(changed_at)
    response = _conditional(request, etag, changed)
    return response and _with_headers(response, etag, changed, gz=gz)


def _conditional(
    request: HttpRequest, etag: str, changed: int | None
) -> HttpResponseBase | None:
    is_same = request.META.get("HTTP_IF_NONE_MATCH") == etag
    if is_same and not _OTHERS & request.META.keys():
        # As nearly all crawlers ask; the rest is left to Django.
        return HttpResponseNotModified()
    return get_conditional_response(request, etag, changed)


def _etag(tag: str, *, packed: bool) -> str:
    return f'"{tag}-gz"' if packed else f'"{tag}"'


def _seconds(moment: float | None) -> int | None:
    """Round up: a Last-Modified must not be older than the bytes. None: not known."""
    is_known = moment is not None and 0 < moment < LATEST
    return -int(-(moment or 0.0) // 1) if is_known else None


def _with_headers(
    response: HttpResponseBase, etag: str, changed: int | None, *, gz: bool
) -> HttpResponseBase:
    # A 304 says them too: https://www.rfc-editor.org/rfc/rfc9110#section-15.4.5
    response.headers["ETag"] = etag
    if changed is not None:
        # Not later than the response, or it is not the date of a change:
        # https://www.rfc-editor.org/rfc/rfc9110#section-8.8.2.1
        response.headers["Last-Modified"] = _http_date(min(changed, int(time.time())))
    cache_control(response)
    if not gz:
        response.headers["Vary"] = "Accept-Encoding"
    response.headers["X-Robots-Tag"] = ROBOTS_TAG
    return _in_one_language(response)


_http_date = lru_cache(maxsize=1024)(http_date)


class _Headers(ResponseHeaders):
    """The headers of a response that is the same in all languages."""

    def __setitem__(self, key: str, value: Any) -> None:
        """Set a header; ``Vary`` without the language, and not if it had no other."""
        if key.lower() == "vary":
            names = [name.strip() for name in str(value).split(",")]
            kept = [name for name in names if name.lower() != "accept-language"]
            if not kept:
                return
            value = ", ".join(kept)
        super().__setitem__(key, value)


def _in_one_language(response: _Response) -> _Response:
    """
    Keep ``Vary: Accept-Language`` from a response that depends on no language.

    ``LocaleMiddleware`` adds it to all, and then caches store one for each language.
    """
    # Not copied: each header would be encoded once more.
    response.headers.__class__ = _Headers
    return response


class _GzipFile(HttpResponse):
    """
    A gzipped file, which is not an encoding of anything else.

    GZipMiddleware leaves alone what says that it has an encoding; this would become
    smaller by being gzipped again, and crawlers unpack once.
    """

    def has_header(self, header: str) -> bool:
        """Return whether there is such a header; whether it is encoded: yes."""
        return header.lower() == "content-encoding" or super().has_header(header)

    __contains__ = has_header


def _whole(document: Document, *, packed: bool, gz: bool) -> HttpResponse:
    body = document.packed if packed else document.body
    response: HttpResponse
    if gz:
        response = _GzipFile(body, content_type="application/gzip")
    else:
        response = HttpResponse(body, content_type=document.content_type)
        if packed:
            response.headers["Content-Encoding"] = "gzip"
    # A server that sends no body for HEAD could not tell.
    response.headers["Content-Length"] = str(len(body))
    return response


def cache_control(response: HttpResponseBase) -> None:
    """Set the Cache-Control header of the settings."""
    value = get_settings().CACHE_CONTROL
    if value is not None:
        response.headers["Cache-Control"] = value


def _takes_gzip(request: HttpRequest) -> bool:
    """Read Accept-Encoding (RFC 9110, section 12.5.3)."""
    weights = {}
    for part in request.META.get("HTTP_ACCEPT_ENCODING", "").lower().split(","):
        coding, _, parameters = part.strip().partition(";")
        name, _, value = parameters.strip().partition("=")
        try:
            weights[coding.strip()] = float(value) if name.strip() == "q" else 1.0
        except ValueError:
            weights[coding.strip()] = 0.0
    return weights.get("gzip", weights.get("*", 0.0)) > 0


def file_response(text: str, kind: str) -> HttpResponse:
    """Return a file that is not a sitemap."""
    response = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    cache_control(response)
    return _in_one_language(response)


#: Seconds after which a client may ask again for what cannot be built.
_RETRY = 60
#: The reason is in the log, and may hold what is nobody's business.
_NOT_NOW = "The sitemap cannot be built at the moment. Please try again later."


def unavailable(reason: str = _NOT_NOW, retry_after: int = _RETRY) -> HttpResponse:
    """Return a 503: crawlers retry after so many seconds, and keep what they have."""
    headers = {"Retry-After": str(retry_after), "Cache-Control": "no-store"}
    kind = "text/plain; charset=utf-8"
    return HttpResponse(f"{reason}\n", status=503, content_type=kind, headers=headers)


def is_own(name: str, default: str) -> bool:
    """Return whether the template ``name`` is the project's own."""
    if name != default:
        return True
    try:
        origin = getattr(get_template(name), "origin", None)
    except TemplateDoesNotExist:
        return False
    shipped = Path(contrib.__file__).parent
    return shipped not in Path(str(getattr(origin, "name", ""))).parents
