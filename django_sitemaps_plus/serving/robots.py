"""robots.txt: the rules of the settings, and where the sitemaps are."""

from __future__ import annotations

import logging

from django.db import DatabaseError
from django.http import HttpRequest

from django_sitemaps_plus import hooks
from django_sitemaps_plus.conf import Settings, get_settings, settings_of
from django_sitemaps_plus.protocol.robots import closed, robots_txt
from django_sitemaps_plus.sitemaps.site import (
    Site,
    SiteAddress,
    address_of_host,
    working_for,
)

from .extra import extra_sitemaps
from .index import addresses

logger = logging.getLogger("django_sitemaps_plus")


def robots_for(request: HttpRequest, site: str) -> str:
    """Return the robots.txt of a request; ``site`` is one of ``SITES``, or empty."""
    if closed(get_settings().robots_groups()):
        return robots_of(None)
    try:
        with working_for(Site.of_request(request, site)):
            return robots_of(Site.current().address_for(request))
    except DatabaseError as error:
        logger.warning("The domain of the current Site cannot be read: %s", error)
        return robots_of(address_of_host(request))


def robots_anyway() -> str:
    """
    Return the rules of robots.txt where other settings are wrong.

    Raises ``ConfigurationError`` if these are.
    """
    return robots_of(None, settings_of("ROBOTS"))


def robots_of(site: SiteAddress | None, settings: Settings | None = None) -> str:
    """Return robots.txt; it names the sitemaps of a site, if one is given."""
    own: list[str] = []
    if site is not None:
        own = [*addresses(site), *hooks.sitemaps(site)]
        own += extra_sitemaps(site, in_index=False)
    settings = settings or get_settings()
    return robots_txt(settings.robots_groups(), own, settings.robots_licenses())
