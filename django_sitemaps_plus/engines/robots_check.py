"""
What crawlers are told by a site's robots.txt, whoever serves it.

https://www.rfc-editor.org/rfc/rfc9309#section-2.3
"""

from __future__ import annotations

from django_sitemaps_plus.protocol.limits import MAX_ROBOTS_BYTES
from django_sitemaps_plus.protocol.robots import closed, read

from . import http
from .base import CheckResult
from .errors import TransportError


def look(origin: str, *, timeout: float, private: bool = False) -> CheckResult:
    """
    Fetch a site's robots.txt and say whether it lets crawlers in.

    ``private`` allows private addresses. A redirect is not followed, and says nothing.
    """
    try:
        response = http.send(
            "GET",
            f"{origin}/robots.txt",
            timeout=timeout,
            total=timeout,
            limit=MAX_ROBOTS_BYTES,
            plain=True,
            public=not private,
        )
    except TransportError as error:
        return CheckResult(
            is_good=False,
            text=f"robots.txt cannot be fetched. {error}",
            fix="Let the site be reached from here under the address that BASE_URL "
            "has.",
        )
    if response.status >= 500:
        return CheckResult(
            is_good=False,
            text=f"robots.txt has an error ({response.status}), which crawlers take "
            "for a site that is closed.",
            fix="Look into the log of the site.",
        )
    if response.status == 200 and closed(read(response.text)):
        return CheckResult(
            is_good=False,
            text="robots.txt, as the site serves it, keeps all crawlers out.",
            fix="Change it where it is served, or use --force.",
        )
    return CheckResult(
        is_good=True, text="robots.txt, as it is served, lets crawlers in."
    )
