"""
The views of the addresses that ``urls`` serves.

``index`` and ``sitemap``, in place of contrib's, are to be found here, too.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from django.core.exceptions import DisallowedHost
from django.core.paginator import Paginator
from django.db import DatabaseError, connections, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.template import TemplateDoesNotExist
from django.template.backends.django import DjangoTemplates
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from .conf import get_settings
from .contrib_views import index, sitemap
from .db import tables_are_missing
from .delivery.engines import files_of
from .exceptions import NotReady, TooManyBadRows
from .pagination.queries import ledger
from .protocol.llms import Link, llms_txt
from .protocol.robots import closed
from .publishing import index as indexes
from .publishing.cache_tags import patch_cache_tags
from .publishing.documents import (
    UnusableError,
    as_text,
    former_document,
    fresh_document,
    page_or_former,
)
from .publishing.formats import feed_document, recent_document, robots_of
from .publishing.freshness import fresh_state, served, tag_of
from .publishing.readers import reader_counts
from .publishing.responses import (
    cache_control,
    in_one_language,
    not_modified,
    send,
    unavailable,
)
from .publishing.site_map import headings, link_page
from .sitemaps.attributes import section_title
from .sitemaps.registry import registry
from .sitemaps.sections import SectionSource, source
from .sitemaps.site import (
    Site,
    SiteAddress,
    address_of_host,
    rendering_context,
    working_for,
)
from .sitemaps.tenants import tables_missing

__all__ = [
    "engine_file",
    "feed",
    "gathered",
    "index",
    "llms",
    "page",
    "recent",
    "robots",
    "site_map",
    "site_map_section",
    "sitemap",
    "style",
]

logger = logging.getLogger("django_sitemaps_plus")

View = Callable[..., HttpResponseBase]

#: The reason is in the log, and may hold what is nobody's business.
_BEING_BUILT = "The sitemap is being built. Please try again shortly."


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
            with working_for(Site.of_request(request, site)):
                return view(request, *args, **kwargs)
        except NotReady as error:
            logger.info("%s: %s", request.path, error)
            return unavailable(_BEING_BUILT, error.retry_after)
        except (TooManyBadRows, UnusableError) as error:
            logger.info("%s: %s", request.path, error)
            return unavailable()
        except DatabaseError:
            if tables_are_missing(ledger()):
                return unavailable(tables_missing(ledger()))
            # A lock, a restart, a server that is away or only lets read, for which each
            # database has other errors. Crawlers retry later.
            logger.exception("%s: the database failed.", request.path)
            return unavailable()

    return _in_autocommit(inner)


def _in_autocommit(view: View) -> View:
    """Answer GET and HEAD, with ``ATOMIC_REQUESTS`` too outside of a transaction."""
    own = require_safe(view)
    for alias in connections:
        own = transaction.non_atomic_requests(using=alias)(own)
    return own


def _tagged(view: View) -> View:
    """Name the cache tags of what was asked for; errors are raised, and have none."""

    @functools.wraps(view)
    def inner(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = view(request, *args, **kwargs)
        patch_cache_tags(response, request.path, kwargs.get("site", ""))
        return response

    return inner


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
@_tagged
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
        place = Site.current().address_for(request)
        is_text = ending == "txt"
        document = indexes.document_of(name, sources, place, part or 1, text=is_text)
    if document is None:
        owner = f" of the section {name!r}" if name else ""
        raise Http404(f"The index{owner} has no part {part}.")
    return send(request, document, gz=gz)


@_guarded
@_tagged
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
    number, place = int(text), Site.current().address_for(request)
    _refuse_other_sites(name)
    is_text = ending == "txt"
    sources = indexes.usable([name])
    if sources:
        response = _send_fresh(request, sources[0], number, place, text=is_text, gz=gz)
        if response is not None:
            return response
        document = page_or_former(sources[0], number, place)
    else:
        document = former_document(name, number, place)
    if document is None:
        raise Http404(f"The section {name!r} has no page {number}.")
    return send(request, as_text(document) if is_text else document, gz=gz)


@_guarded
@_tagged
@_counted
def feed(request: HttpRequest, *, ending: str, name: str = "") -> HttpResponseBase:
    """``/sitemap.atom``, ``/sitemap-<section>.rss``: what changed last, as a feed."""
    if name:
        _refuse_other_sites(name)
    return send(
        request,
        feed_document(ending, name, Site.current().address_for(request)),
        gz=False,
    )


@_guarded
@_tagged
@_counted
def recent(request: HttpRequest, *, what: str, gz: bool = False) -> HttpResponseBase:
    """``/sitemap-recent.xml``: what changed within some days, the newest first."""
    return send(request, recent_document(Site.current().address_for(request)), gz=gz)


def _refuse_other_sites(name: str) -> None:
    """Raise ``Http404`` for a section that only another of ``SITES`` has."""
    if name not in registry.sources():
        raise Http404(f"This site has no section {name!r}.")


def _send_fresh(
    request: HttpRequest,
    section: SectionSource,
    number: int,
    site: SiteAddress,
    *,
    text: bool,
    gz: bool,
) -> HttpResponseBase | None:
    """Send a fresh page by one query; its bytes are read only if they are wanted."""
    if "If-None-Match" in request.headers or "If-Modified-Since" in request.headers:
        state = fresh_state(section, number)
        if state is None:
            return None
        checksum, changed_at = served(state, time.time())
        tag = tag_of(checksum, site.with_scheme(section.sitemap.protocol))
        response = not_modified(request, tag, changed_at, gz=gz)
        # Of a page in error it depends on its bytes whether they may be sent.
        if response is not None and not state.error:
            return response
    document = fresh_document(section, number, site, text=text)
    return None if document is None else send(request, document, gz=gz)


@_in_autocommit
@_tagged
def robots(request: HttpRequest, *, site: str = "") -> HttpResponseBase:
    """
    ``/robots.txt``: the rules of the settings, and where the sitemap is.

    Also while the database is away: without it crawlers stay away from the whole site.
    """
    if closed(get_settings().robots_groups()):
        return _file(robots_of(None), "text/plain")
    try:
        with working_for(Site.of_request(request, site)):
            text = robots_of(Site.current().address_for(request))
    except DatabaseError as error:
        logger.warning("The domain of the current Site cannot be read: %s", error)
        text = robots_of(address_of_host(request))
    return _file(text, "text/plain")


def _file(text: str, kind: str) -> HttpResponse:
    response = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    cache_control(response)
    return in_one_language(response)


@_guarded
def site_map(request: HttpRequest) -> HttpResponseBase:
    """``/sitemap/``: the sections, for people, in the template ``HTML_SITEMAP``."""
    found = headings(Site.current().address_for(request))
    return _for_people(request, "site_map", {"sections": found})


@_guarded
def site_map_section(
    request: HttpRequest, *, name: str, number: int | None = None, page: int = 1
) -> HttpResponseBase:
    """``/sitemap/<section>/``: a hundred links of a section, for people."""
    _refuse_other_sites(name)
    found = link_page(source(name), Site.current().address_for(request), number, page)
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
@_tagged
def style(request: HttpRequest, *, site: str = "") -> HttpResponseBase:
    """
    ``/sitemap-style``: the stylesheet of the sitemaps, in the request's language.

    Also where ``STYLESHEET`` is off: pages that a browser has may name it yet.
    """
    name = "django_sitemaps_plus/sitemap.css"
    try:
        body = render_to_string(name).encode()
    except TemplateDoesNotExist:
        # TEMPLATES is empty, or knows other engines only.
        own = {"NAME": "own", "APP_DIRS": True, "DIRS": [], "OPTIONS": {}}
        body = DjangoTemplates(own).get_template(name).render().encode()
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    response = HttpResponse(body, content_type="text/css; charset=utf-8")
    response.headers["ETag"] = tag
    cache_control(response)
    return get_conditional_response(request, tag, None, response) or response


@_guarded
@_tagged
def llms(request: HttpRequest, name: str) -> HttpResponseBase:
    """``/llms.txt``: sections with a title, where the settings ask for it."""
    settings = get_settings()
    if settings.LLMS is None or closed(settings.robots_groups()):
        raise Http404("This site has no llms.txt.")
    place = Site.current().address_for(request)
    with rendering_context(place):
        links = [
            Link(
                title,
                indexes.address(place, "section", found.name),
                str(getattr(found.sitemap, "section_description", "")),
            )
            for found in indexes.all_sources()
            if (title := section_title(found.sitemap))
        ]
        head = settings.LLMS
        text = llms_txt(str(head["title"]), str(head.get("description", "")), links)
    return _file(text, "text/markdown")


@require_safe
@_tagged
def engine_file(request: HttpRequest, name: str, *, site: str = "") -> HttpResponseBase:
    """``/<key>.txt``: what an engine fetches to know that the host is ours."""
    with working_for(Site.of_request(request, site)):
        hosts = {Site.current().address_for(request).origin.host}
    # Behind a front end the Host may be a name that only its requests have.
    with suppress(DisallowedHost):
        hosts.add(request.get_host())
    for host in sorted(hosts):
        text = files_of(host).get(name)
        if text is not None:
            response = _file(text, "text/plain")
            # A key that is taken back must be gone at once.
            response.headers["Cache-Control"] = "no-cache"
            return response
    raise Http404(f"No engine wants {name!r} on this host.")
