"""What is wrong with URLs by themselves: address, form, parameters, robots.txt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.audit.problems import kind_of
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.locations import local_path, plain
from django_sitemaps_plus.protocol.robots import Group, closed, forbids, named
from django_sitemaps_plus.sitemaps.site import SiteAddress

#: The crawlers of search engines. What robots.txt keeps from others, such as those that
#: train models, is meant.
CRAWLERS: Final = (
    "Googlebot",
    "bingbot",
    "YandexBot",
    "Baiduspider",
    "Applebot",
    "DuckDuckBot",
)
#: Parameters that say where a visitor came from, and change nothing on the page.
_TRACKING = re.compile(
    r"[?&;](utm_[a-z_]+|gclid|gbraid|wbraid|dclid|gclsrc|fbclid|msclkid|yclid|ysclid"
    r"|ttclid|twclid|li_fat_id|igshid|mc_cid|mc_eid|_hsenc|_hsmi|mkt_tok|_openstat)=",
    re.IGNORECASE,
)

#: The kind of a finding, and what is wrong.
Problem = tuple[str, str]


@dataclass(frozen=True)
class Urls:
    """What the URLs of a site have to be."""

    site: SiteAddress
    #: What forbids a path to a crawler, and the crawler's name; empty: to all.
    robots: Sequence[tuple[str, Callable[[str], bool]]] = ()

    def problems(self, locations: Sequence[str]) -> Iterator[tuple[str, Problem]]:
        """Yield the URLs with which something is wrong, and what."""
        origin = str(self.site.origin)
        start = f"{origin}{self.site.folder}"
        joined = "\n".join(locations)
        paths = joined.replace(f"\n{origin}/", "\n/").removeprefix(origin)
        is_ours = joined.count(f"\n{start}") + joined.startswith(start)
        if is_ours < len(locations) or not plain(paths):
            for url in locations:
                yield from ((url, problem) for problem in self._of_one(url))
        if "?" in joined:
            for url in locations:
                if match := _TRACKING.search(url):
                    yield url, (kinds.TRACKING, f"has the parameter {match[1]}")
        known: set[str] = set()
        for crawler, is_forbidden in self.robots:
            kind = kinds.DISALLOWED_FOR_ONE if crawler else kinds.DISALLOWED
            for url in locations:
                is_own = url.startswith(f"{origin}/")
                if is_own and is_forbidden(url[len(origin) :]) and url not in known:
                    known.add(url)
                    yield url, (kind, f"by the rules for {crawler or 'all crawlers'}")

    def _of_one(self, url: str) -> Iterator[Problem]:
        """Yield what makes a URL illegal in the site's sitemaps."""
        site = self.site
        if url.startswith("/"):
            yield kinds.BAD_URL, "is a path: a whole URL has to stand there"
            return
        try:
            path = local_path(url, site.origin)
        except LocationError as error:
            yield kind_of(str(error)), str(error).rpartition(": ")[2]
            return
        written = f"{site.origin}{path}"
        if written != url and urlsplit(url).path:
            yield kinds.BAD_URL, f"has to be written {written}"
        if not path.startswith(site.folder):
            yield kinds.OUTSIDE, f"is not in {site.folder}"


def rules(groups: Sequence[Group]) -> list[tuple[str, Callable[[str], bool]]]:
    """
    Return what robots.txt forbids to all crawlers, and to single search engines.

    Of whom it forbids the whole site nothing is said: that is meant, and known.
    """
    own = [("", list(groups)), *((name, named(groups, name)) for name in CRAWLERS)]
    return [
        (crawler, forbids(some))
        for crawler, some in own
        if not closed(some) and any(any(group.disallow) for group in some)
    ]
