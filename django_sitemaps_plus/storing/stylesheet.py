"""Where the stylesheet is, beside the sitemaps."""

from __future__ import annotations

from django_sitemaps_plus.conf import get_settings

#: Where the stylesheet is, beside the sitemaps.
STYLESHEET_PATH = "sitemap-style"


def stylesheet() -> str:
    """Return the address that a sitemap names; empty if ``STYLESHEET`` is off."""
    return STYLESHEET_PATH if get_settings().STYLESHEET else ""
