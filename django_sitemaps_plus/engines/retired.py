"""
URLs that once accepted ``GET …?sitemap=``, and what to use instead.

They are never requested; configuring one is an error that names the replacement.
"""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retired:
    """An interface that no longer works."""

    name: str
    #: Match the whole host and path in lower case.
    host: re.Pattern[str]
    path: re.Pattern[str]
    #: Since when, and what to use instead.
    text: str


_INDEXNOW = "Use the engine django_sitemaps_plus.engines.indexnow.IndexNow"
_PING = r"(/webmasters?(/sitemaps|/tools)?)?/ping(\.aspx)?/?"

RETIRED = (
    # https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping
    Retired(
        name="Google",
        host=re.compile(r"(www\.)?google(\.[a-z]{2,3}){1,2}"),
        path=re.compile(_PING),
        text=(
            "Google retired its ping in 2023; it answers 404. Use the engine "
            "django_sitemaps_plus.engines.google.SearchConsole, and the Sitemap line "
            "of robots.txt."
        ),
    ),
    # https://blogs.bing.com/webmaster/may-2022/
    # Spring-cleaning-Removed-Bing-anonymous-sitemap-submission
    Retired(
        name="Bing",
        host=re.compile(
            r"(www\.)?bing\.com|(webmaster|search|www)\.(live|msn)\.com|ssl\.bing\.com"
        ),
        path=re.compile(_PING),
        text=(
            "Bing, formerly MSN and Live Search, retired its ping in December 2021; "
            f"it answers 410. {_INDEXNOW}."
        ),
    ),
    Retired(
        name="Yahoo",
        host=re.compile(r"search\.yahooapis\.com"),
        path=re.compile(r"/siteexplorerservice/.*"),
        text=(
            "Yahoo closed its Site Explorer over a decade ago, and uses the index of "
            f"Bing. {_INDEXNOW}, which reaches Bing."
        ),
    ),
    Retired(
        name="Ask",
        host=re.compile(r"submissions\.ask\.com"),
        path=re.compile(r"/.*"),
        text=(
            "Ask.com stopped crawling in 2010 and closed in May 2026, without a "
            "replacement. Remove it."
        ),
    ),
)


def sentence(url: str) -> str:
    """
    Return why a URL no longer works and what to use instead.

    Returns an empty string if it is not known to be retired. The scheme is optional.
    """
    try:
        parts = urllib.parse.urlsplit(url if "//" in url[:8] else f"//{url}")
        host = parts.hostname or ""
    except ValueError:
        return ""
    path = parts.path.lower() or "/"
    for known in RETIRED:
        if known.host.fullmatch(host) and known.path.fullmatch(path):
            return known.text
    return ""
