"""Checks of who answers at the addresses: a URL pattern in front may take them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Tags
from django.test import RequestFactory
from django.urls import ResolverMatch

from django_sitemaps_plus.changes.receivers import NoQueriesError, no_queries
from django_sitemaps_plus.health.answering import APP, ROBOTS, others
from django_sitemaps_plus.protocol.robots import closed, read, sitemaps_of
from django_sitemaps_plus.rendering.serializer import describe
from django_sitemaps_plus.serving.index import address
from django_sitemaps_plus.sitemaps.site import Site, parse_base_url

from .messages import check, message, section_names
from .registration import name_of

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
    site = parse_base_url(given or "https://www.example.com")
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
