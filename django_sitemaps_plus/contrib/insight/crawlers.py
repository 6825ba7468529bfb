"""
Well-known crawlers, by the names that their owners publish for robots.txt.

A name says who a client claims to be. Only the client's address proves it:
https://developers.google.com/search/docs/crawling-indexing/verifying-googlebot
"""

from __future__ import annotations

import re
from functools import lru_cache

from django_sitemaps_plus.protocol.robots import PRESETS

#: The names, as they stand in the User-Agent header. Lists of the owners:
#: https://developers.google.com/search/docs/crawling-indexing/overview-google-crawlers
#: https://www.bing.com/webmasters/help/which-crawlers-does-bing-use-8c184ec0
#: https://yandex.com/support/webmaster/robot-workings/check-yandex-robots.html
#: https://support.apple.com/en-us/119829
CRAWLER_NAMES = (
    # Google
    "Googlebot",
    "Googlebot-Image",
    "Googlebot-News",
    "Googlebot-Video",
    "Storebot-Google",
    "Google-InspectionTool",
    "GoogleOther",
    "AdsBot-Google",
    "Mediapartners-Google",
    # Microsoft
    "bingbot",
    "BingPreview",
    "AdIdxBot",
    # other search engines
    "YandexBot",
    "YandexImages",
    "Baiduspider",
    "Applebot",
    "DuckDuckBot",
    "SeznamBot",
    "Yeti",
    "Sogou",
    "360Spider",
    "PetalBot",
    "Qwantbot",
    "MojeekBot",
    "Slurp",
    # assistants and language models; of the presets two are in no header
    *(name for preset in PRESETS.values() for name in preset),
    "Bytespider",
    # archives, previews and tools for search managers
    "archive.org_bot",
    "facebookexternalhit",
    "AhrefsBot",
    "SemrushBot",
    "MJ12bot",
    "DotBot",
    "Screaming Frog SEO Spider",
)
#: The most characters of a User-Agent header that are looked through.
_LONGEST = 512

_BY_LOWER = {name.lower(): name for name in CRAWLER_NAMES}
#: The longest first: "Googlebot-Image" is not "Googlebot".
_ANY = re.compile(
    rf"(?<![a-z])(?:{'|'.join(map(re.escape, sorted(_BY_LOWER, key=len)[::-1]))})"
    r"(?![a-z])"
)


def crawler_of(user_agent: str) -> str:
    """Return the crawler that a User-Agent header names; empty if it is none."""
    return _crawler_of(user_agent[:_LONGEST])


@lru_cache(maxsize=512)
def _crawler_of(user_agent: str) -> str:
    found = _ANY.search(user_agent.lower())
    return _BY_LOWER[found[0]] if found else ""
