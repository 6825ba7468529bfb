"""
URLs that once accepted ``GET …?sitemap=``, and what to use instead.

They are never requested; configuring one is an error that names the replacement.
"""

from __future__ import annotations

import re
import urllib.parse

_INDEXNOW = "Use the engine django_sitemaps_plus.engines.indexnow.IndexNow"
_PING = r"(/webmasters?(/sitemaps|/tools)?)?/ping(\.aspx)?/?"

#: By name: a pattern of host and path in lower case, and since when it does not work
#: and what to use instead.
RETIRED = {
    # https://developers.google.com/search/blog/2023/06/sitemaps-lastmod-ping
    "Google": (
        rf"(www\.)?google(\.[a-z]{{2,3}}){{1,2}}{_PING}",
        "Google retired its ping in 2023; it answers 404. Submit the sitemap in "
        "Search Console, and name it in robots.txt.",
    ),
    # https://blogs.bing.com/webmaster/may-2022/
    # Spring-cleaning-Removed-Bing-anonymous-sitemap-submission
    "Bing": (
        r"((www\.|ssl\.)?bing|(webmaster|search|www)\.(live|msn))\.com" + _PING,
        "Bing, formerly MSN and Live Search, retired its ping in December 2021; it "
        f"answers 410. {_INDEXNOW}.",
    ),
    "Yahoo": (
        r"search\.yahooapis\.com/siteexplorerservice/.*",
        "Yahoo closed its Site Explorer over a decade ago, and uses the index of Bing. "
        f"{_INDEXNOW}, which reaches Bing.",
    ),
    "Ask": (
        r"submissions\.ask\.com/.*",
        "Ask.com stopped crawling in 2010 and closed in May 2026, without a "
        "replacement. Remove it.",
    ),
    # Named in no page of https://yandex.com/support/webmaster/en/
    "Yandex": (
        r"webmaster\.yandex(\.[a-z]{2,3}){1,2}(/ping/?|/wmconsole(/.*)?)",
        "Yandex documents no ping: a page of its Webmaster that answers there has "
        f"received nothing. {_INDEXNOW}, in which Yandex takes part.",
    ),
}


def sentence(url: str) -> str:
    """
    Return why a URL no longer works and what to use instead.

    Returns an empty string if it is not known to be retired. The scheme is optional.
    """
    try:
        parts = urllib.parse.urlsplit(url if "//" in url[:8] else f"//{url}")
        address = f"{parts.hostname or ''}{parts.path.lower() or '/'}"
    except ValueError:
        return ""
    for pattern, text in RETIRED.values():
        if re.fullmatch(pattern, address):
            return text
    return ""
