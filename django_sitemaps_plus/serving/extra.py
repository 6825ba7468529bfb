"""Sitemaps of other systems, which the index or robots.txt lists beside ours."""

from __future__ import annotations

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.protocol.locations import resolve
from django_sitemaps_plus.sitemaps.site import SiteAddress


def extra_sitemaps(site: SiteAddress, *, in_index: bool) -> list[str]:
    """
    Return the addresses of ``EXTRA_SITEMAPS`` that the index lists, or robots.txt.

    An index may list sitemaps of its own host, in its folder.
    https://www.sitemaps.org/protocol.html#index
    """
    found = []
    for extra in get_settings().extra_sitemaps:
        url = resolve(extra.url, str(site.origin))
        if (extra.in_index and may_be_in_index(url, site)) is in_index:
            found.append(url)
    return found


def may_be_in_index(url: str, site: SiteAddress) -> bool:
    """Return whether the index of a site may list a sitemap."""
    return url.startswith(f"{site.origin}{site.folder}")
