"""Checks of the addresses: where they are, who answers there, and by what templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Tags
from django.test import RequestFactory
from django.urls import NoReverseMatch, ResolverMatch, reverse

from django_sitemaps_plus.db import NoQueriesError, no_queries
from django_sitemaps_plus.exceptions import describe
from django_sitemaps_plus.health.answering import APP, ROBOTS, others
from django_sitemaps_plus.protocol.robots import closed, read, sitemaps_of
from django_sitemaps_plus.serving.index import INCLUDE, address
from django_sitemaps_plus.serving.responses import is_own
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, Site, SiteAddress

from .messages import check, message, section_names
from .registration import check_modules, name_of


@check(Tags.urls, of_each_site=True)
def check_addresses(**kwargs: Any) -> Iterator[CheckMessage]:
    """W005, W006 and W022: where the addresses are, and whether they have sections."""
    if not getattr(django_settings, "ROOT_URLCONF", None):
        return
    site = Site.current().name
    try:
        with PLACEHOLDER_SITE.rendering():
            address = reverse(f"{APP}:site", current_app=site or None)
    except NoReverseMatch:
        address = ""
    match = Site.current().resolved(address)
    # W015 says where another view answers.
    if match and APP in match.app_names and match.kwargs.get("site", "") != site:
        address = ""
    if not address:
        if section_names():
            include = INCLUDE[:-1] + f', {{"site": "{site}"}})' if site else INCLUDE
            text = "Sections are registered, but no URLconf includes their addresses."
            yield message("W005", text, f"Add {include} to urlpatterns.")
        return
    if not section_names():
        yield from check_modules()
    if address != "/sitemap.xml":
        yield message(
            "W006",
            f"The sitemap's address is {address}: crawlers look for robots.txt only at "
            "the root, and accept a sitemap only for pages below its own folder unless "
            "robots.txt names it.",
            f"Include the URLs at the root, outside of i18n_patterns(): {INCLUDE}.",
        )


@check(Tags.urls)
def check_templates(**kwargs: Any) -> Iterator[CheckMessage]:
    """W007: templates that cost speed."""
    for name in ("sitemap.xml", "sitemap_index.xml"):
        if is_own(name, name):
            yield message(
                "W007",
                f"The project's template {name!r} renders contrib-style sitemaps fifty "
                "times slower than this package does.",
                "Remove the template, or silence this check.",
            )


#: Addresses that a message names.
_NAMED = 3


@check(Tags.urls, of_each_site=True)
def check_answers(**kwargs: Any) -> Iterator[CheckMessage]:
    """W015 and W016: addresses that a view of another URL pattern answers."""
    if not getattr(django_settings, "ROOT_URLCONF", None):
        return
    for other, answered in others(section_names()).items():
        paths = list(answered)
        if paths == [ROBOTS]:
            yield from _check_robots(other, answered[ROBOTS])
            continue
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        verb = "are" if len(paths) > 1 else "is"
        yield message(
            "W015",
            f"{', '.join(paths[:_NAMED])}{more} {verb} answered by {other}, which "
            "comes first in the URLconf: crawlers and engines get another page.",
            f'Put path("", include("{APP}.urls")) at the beginning of urlpatterns in '
            f"{name_of(Site.current().urlconf)}.",
        )


def _check_robots(other: str, match: ResolverMatch) -> Iterator[CheckMessage]:
    """W016: a robots.txt of the project's own that does not name the sitemap."""
    given = Site.current().base_url
    site = SiteAddress.parse(given or "https://www.example.com")
    wanted = address(site, "site")
    line = f"Sitemap: {wanted}"
    try:
        text = _answer(match)
    except Exception as error:  # a view of theirs, called without middleware
        is_query = isinstance(error, NoQueriesError)
        reason = "it asks the database" if is_query else describe(error)
        problem = f"could not be read by this check ({reason})"
        remedy = "Make sure that it has the line '{}', then silence this check"
    else:
        named = sitemaps_of(text)
        if not given:  # only a request or the database knows the site's host
            named = [urlsplit(url).path for url in named]
            wanted = urlsplit(wanted).path
        if closed(read(text)) or wanted in named:
            return
        problem = "does not name the sitemap"
        remedy = "Add the line '{}' to it"
    yield message(
        "W016",
        f"{ROBOTS} is answered by {other}, which {problem}.",
        f"{remedy.format(line)}; or remove the pattern, and have "
        "SITEMAPS_PLUS['ROBOTS'] say what it says.",
    )


def _answer(match: ResolverMatch) -> str:
    """Return what a view answers to a GET; raises whatever it raises."""
    with no_queries():
        response = match.func(RequestFactory().get(ROBOTS), *match.args, **match.kwargs)
        if hasattr(response, "render"):
            response = response.render()
        return str(response.getvalue(), "utf-8", "replace")
