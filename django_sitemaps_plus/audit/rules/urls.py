"""What is wrong with URLs by themselves: address, form, parameters, robots.txt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.audit.problems import kind_of
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.locations import local_path, plain
from django_sitemaps_plus.protocol.robots import Group, closed, forbids, named
from django_sitemaps_plus.sitemaps.site import SiteAddress

#: The crawlers of search engines. What robots.txt forbids others, such as those that
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
    r"|ttclid|twclid|li_fat_id|igshid|mc_cid|mc_eid|_hsenc|_hsmi|mkt_tok|_openstat"
    r"|srsltid|_ga|_gl|(?:mtm|pk|piwik|matomo)_[a-z_]+)=",
    re.IGNORECASE,
)
#: Session ids that the build lists, as their names may mean something else.
_SESSION = re.compile(
    r"[?&;](cfid|cftoken|oscsid|zenid|sid(?==[\w-]{16}))=", re.IGNORECASE
)
#: What a folder's URL and that of the file in it have between them.
_INDEX = re.compile(r"/(?:index|default)\.(?:html?|php|aspx?|jsp)\Z")
_SLASHES = re.compile("(?<!:)//+")
#: What stands in a URL where a value was missing, or where it was not filled in.
_PLACEHOLDERS: Final = ("/None", "/undefined", "=None", "%7B%7B", "%7B%25")
_PLACEHOLDER = re.compile(
    "/(None|undefined)(?![^/?])|=(None)(?![^&])|(%7B(?:%7B|%25)[^/?]*)"
)
_ESCAPE = re.compile("%[0-9a-f]{2}", re.IGNORECASE)

#: The kind of a finding, and what is wrong.
Problem = tuple[str, str]


@dataclass(frozen=True)
class Urls:
    """What the URLs of a site have to be."""

    site: SiteAddress
    #: What forbids a path to a crawler, and the crawler's name; empty: to all.
    robots: Sequence[tuple[str, Callable[[str], bool]]] = ()
    #: Whether the path of an image is forbidden to Google's crawler of images.
    forbids_image: Callable[[str], bool] = lambda path: False

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
                if match := _SESSION.search(url):
                    yield url, (kinds.SESSION, f"has the parameter {match[1]}")
                if "&amp;" in url:
                    yield url, (kinds.BAD_URL, "has &amp; in place of &")
        if any(one in joined for one in _PLACEHOLDERS):
            for url in locations:
                if match := _PLACEHOLDER.search(url):
                    value = next(filter(None, match.groups()))
                    yield url, (kinds.PLACEHOLDER, f"has {unquote(value)} in it")
        forbidden: set[str] = set()
        for crawler, is_forbidden in self.robots:
            kind = kinds.DISALLOWED_FOR_ONE if crawler else kinds.DISALLOWED
            for url in locations:
                if url in forbidden or not url.startswith(f"{origin}/"):
                    continue
                if is_forbidden(url[len(origin) :]):
                    forbidden.add(url)
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

    Crawlers kept from the whole site are left out: that is meant.
    """
    of_each = [("", list(groups)), *((name, named(groups, name)) for name in CRAWLERS)]
    return [
        (crawler, forbids(some))
        for crawler, some in of_each
        if not closed(some) and any(any(group.disallow) for group in some)
    ]


def image_rules(groups: Sequence[Group]) -> Callable[[str], bool]:
    """Return what robots.txt forbids to Google's crawler of images."""
    own = named(groups, "Googlebot-Image") or named(groups, "Googlebot") or groups
    return forbids(() if closed(own) else own)


def form_of(url: str) -> str:
    """Return what the URLs of one page have in common, however they are written."""
    path, mark, query = url.partition("?")
    path = path.lower()
    if "//" in path[8:]:
        path = _SLASHES.sub("/", path)
    path = _INDEX.sub("/", path).rstrip("/")
    if "&" in query:
        query = "&".join(sorted(query.split("&")))
    if "%" in query:
        query = _ESCAPE.sub(lambda found: found[0].upper(), query)
    return path + mark + query if query else path
