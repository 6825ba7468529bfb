"""
The stylesheet that sitemaps name, for people who open one in a browser.

Its address is relative, in the folder in which all of them are: stored pages depend
neither on the site's address nor on where static files are, and a stylesheet that
changes rebuilds no page. It has no suffix, because proxies send ``*.css`` elsewhere.
"""

from __future__ import annotations

from django_sitemaps_plus.conf import get_settings

#: Where the stylesheet is, beside the sitemaps.
PATH = "sitemap-style"


def stylesheet() -> str:
    """Return the address that a sitemap names; empty if ``STYLESHEET`` is off."""
    return PATH if get_settings().STYLESHEET else ""
