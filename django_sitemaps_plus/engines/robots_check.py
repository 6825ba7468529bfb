"""
Check the robots.txt that a site serves, with this package or without it.

https://www.rfc-editor.org/rfc/rfc9309#section-2.3
"""

from __future__ import annotations

from django_sitemaps_plus.protocol.limits import MAX_ROBOTS_BYTES
from django_sitemaps_plus.protocol.robots import closed, read

from . import http
from .base import CheckResult
from .errors import TransportError
from .keyfile import unreachable_fix


def check(origin: str, *, timeout: float, private: bool = False) -> CheckResult:
    """
    Fetch a site's robots.txt and check that it allows crawling.

    ``private`` allows private addresses. Redirects are not followed, and pass.
    """
    try:
        response = http.send(
            "GET",
            f"{origin}/robots.txt",
            timeout=timeout,
            limit=MAX_ROBOTS_BYTES,
            plain=True,
            public=not private,
        )
    except TransportError as error:
        return CheckResult.bad(
            f"robots.txt cannot be fetched. {error}",
            unreachable_fix(error),
        )
    if response.status >= 500:
        return CheckResult.bad(
            f"robots.txt fails with status {response.status}, so crawlers stay "
            "away from the whole site.",
            "Check the site's log.",
        )
    if response.status == 200 and closed(read(response.text)):
        return CheckResult.bad(
            "The site's live robots.txt blocks all crawlers.",
            "Allow crawling in it, or use --force.",
        )
    return CheckResult.good("The site's live robots.txt allows crawling.")
