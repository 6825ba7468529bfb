"""
The views of the addresses that ``urls`` serves.

``index`` and ``sitemap``, in place of contrib's, are to be found here, too. What a
process needs to answer is imported by the first request.
"""

from __future__ import annotations

import functools
import hashlib
import logging
from contextlib import suppress
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import DisallowedHost
from django.db import DatabaseError, connections, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template import TemplateDoesNotExist
from django.template.backends.django import DjangoTemplates
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from . import hooks
from .contrib_views import index as index
from .contrib_views import sitemap as sitemap
from .converters import View
from .db import is_without_connection, tables_are_missing
from .exceptions import (
    ConfigurationError,
    HookError,
    NotReady,
    TooManyBadRows,
    UnusableError,
)
from .pagination.queries import ledger
from .serving.responses import cache_control, file_response, unavailable
from .sitemaps.site import Site, working_for
from .sitemaps.tenants import tables_missing

logger = logging.getLogger("django_sitemaps_plus")


#: The reason is in the log, and may hold what is nobody's business.
_BEING_BUILT = "The sitemap is being built. Please try again shortly."


# Around a view, from the outside in: ``_public`` (GET and HEAD, without a login, in no
# transaction) and ``_guarded`` (the site; 503 in place of an error).


def _guarded(view: View, *, is_sitemap: bool) -> View:
    """
    Answer what is not ready with 503 and one sentence, not with a traceback.

    Apps look at other answers. Outside of ATOMIC_REQUESTS: a claim that is not
    committed is none. ``site``, one of ``SITES``, comes from the URLconf that includes
    the addresses.
    """

    @functools.wraps(view)
    def inner(
        request: HttpRequest, *args: Any, site: str = "", **kwargs: Any
    ) -> HttpResponseBase:
        try:
            with working_for(Site.of_request(request, site)):
                response = view(request, *args, **kwargs)
                hooks.answered(request, response, site="", is_sitemap=is_sitemap)
                return response
        except NotReady as error:
            logger.info("%s: %s", request.path, error)
            return unavailable(_BEING_BUILT, error.retry_after)
        except (TooManyBadRows, UnusableError) as error:
            logger.info("%s: %s", request.path, error)
            return unavailable()
        except ConfigurationError as error:
            # Servers run no checks, which say the same.
            logger.error("%s: %s", request.path, error)
            return unavailable()
        except HookError:
            logger.exception("%s: an app could not answer.", request.path)
            return unavailable()
        except DatabaseError as error:
            # Who could not connect would wait for that once more.
            is_away = is_without_connection(ledger(), error)
            if not is_away and tables_are_missing(ledger()):
                return unavailable(tables_missing(ledger()))
            # A lock, a restart, a server that is away or only lets read, for which each
            # database has other errors. Crawlers retry later.
            logger.exception("%s: the database failed.", request.path)
            return unavailable()

    return _public(inner)


def _public(view: View) -> View:
    """
    Answer GET and HEAD to anyone: crawlers have no login.

    Outside of a transaction, with ``ATOMIC_REQUESTS`` too.
    """
    own = login_not_required(require_safe(view))
    for alias in connections:
        own = transaction.non_atomic_requests(using=alias)(own)
    return own


def sitemap_view(view: View) -> View:
    """Make of a function the view of a sitemap or a feed, of this app or another."""
    return _guarded(view, is_sitemap=True)


def file_view(view: View) -> View:
    """Make of a function the view of another file."""
    return _guarded(view, is_sitemap=False)


# The addresses of ``urls``


@sitemap_view
def gathered(request: HttpRequest, **given: Any) -> HttpResponseBase:
    """``/sitemap.xml``, ``/sitemap-<section>.xml``: see ``serving.answers``."""
    from .serving import answers

    return answers.gathered(request, **given)


@sitemap_view
def page(request: HttpRequest, **given: Any) -> HttpResponseBase:
    """``/sitemap-<section>-<page>.xml``: see ``serving.answers``."""
    from .serving import answers

    return answers.page(request, **given)


@_public
def robots(request: HttpRequest, *, site: str = "") -> HttpResponseBase:
    """
    ``/robots.txt``: the rules of the settings, and where the sitemap is.

    Also while the database is away, or another setting is wrong: without it crawlers
    stay away from the whole site.
    """
    from .serving.robots import robots_for, rules

    try:
        response = file_response(robots_for(request, site), "text/plain")
    except HookError:
        logger.exception("%s cannot name all sitemaps.", request.path)
        return unavailable()
    except ConfigurationError as error:
        logger.error("%s is not complete: %s", request.path, error)
        try:
            text = rules().text
        except ConfigurationError:
            # To leave out a rule may let crawlers in; without it they keep what they
            # know.
            return unavailable("ROBOTS is wrong: see the log.")
        headers = {"Cache-Control": "no-cache"}
        kind = "text/plain; charset=utf-8"
        return HttpResponse(text, content_type=kind, headers=headers)
    hooks.answered(request, response, site=site, is_sitemap=False)
    return response


@_public
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
    answer = get_conditional_response(request, tag, None, response) or response
    hooks.answered(request, answer, site=site, is_sitemap=False)
    return answer


@file_view
def engine_file(request: HttpRequest, name: str) -> HttpResponseBase:
    """``/<key>.txt``: what an engine fetches to know that the host is ours."""
    from .delivery.engines import files_of

    hosts = {Site.current().address_for(request).origin.host}
    # Behind a front end the Host may be a name that only its requests have.
    with suppress(DisallowedHost):
        hosts.add(request.get_host())
    for host in sorted(hosts):
        text = files_of(host).get(name)
        if text is not None:
            response = file_response(text, "text/plain")
            # A key that is taken back must be gone at once.
            response.headers["Cache-Control"] = "no-cache"
            return response
    raise Http404(f"No engine uses a file {name!r} on this host.")
