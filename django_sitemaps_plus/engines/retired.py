"""
Addresses that took ``GET …?sitemap=`` once, and what took their place.

None is called any more: whoever configures one is told so.
"""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Retired:
    """An interface that is gone."""

    name: str
    #: What the lower-case host and path are.
    host: re.Pattern[str]
    path: re.Pattern[str]
    #: Since when, and what to use.
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
            "Google's ping was retired in 2023 and answers 404. Use the engine "
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
            "Bing's ping, once MSN's and Live Search's, answers 410 since December "
            f"2021. {_INDEXNOW}."
        ),
    ),
    Retired(
        name="Yahoo",
        host=re.compile(r"search\.yahooapis\.com"),
        path=re.compile(r"/siteexplorerservice/.*"),
        text=(
            "Yahoo's Site Explorer has been gone for over a decade; Yahoo shows what "
            f"Bing finds. {_INDEXNOW}, which tells Bing."
        ),
    ),
    Retired(
        name="Ask",
        host=re.compile(r"submissions\.ask\.com"),
        path=re.compile(r"/.*"),
        text=(
            "Ask.com stopped crawling in 2010 and closed in May 2026; nothing took its "
            "place. Remove it."
        ),
    ),
)


def sentence(url: str) -> str:
    """
    Return why an address is not used any more, and what took its place.

    Empty: it is not known to be retired. The scheme may be missing.
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
