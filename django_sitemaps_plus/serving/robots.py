"""robots.txt: the rules of the settings, and where the sitemaps are."""

from __future__ import annotations

import logging

from django.db import DatabaseError
from django.http import HttpRequest

from django_sitemaps_plus import hooks
from django_sitemaps_plus.protocol.robots import with_sitemaps
from django_sitemaps_plus.sitemaps.site import (
    Site,
    SiteAddress,
    address_of_host,
    working_for,
)

from .extra import extra_sitemaps
from .index import addresses
from .robots_rules import rules

logger = logging.getLogger("django_sitemaps_plus")


def robots_for(request: HttpRequest, site: str) -> str:
    """Return the robots.txt of a request; ``site`` is one of ``SITES``, or empty."""
    if rules().are_closed:
        return rules().text
    try:
        with working_for(Site.of_request(request, site)):
            return robots_of(Site.current().address_for(request))
    except DatabaseError as error:
        logger.warning("The domain of the current Site cannot be read: %s", error)
        return robots_of(address_of_host(request))


def robots_of(site: SiteAddress) -> str:
    """Return the robots.txt of a site; it names the sitemaps that crawlers may read."""
    if rules().are_closed:
        return rules().text
    own = [*addresses(site), *hooks.sitemaps(site)]
    own += extra_sitemaps(site, in_index=False)
    return with_sitemaps(rules().text, own)
