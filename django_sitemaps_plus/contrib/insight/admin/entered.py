"""What people enter or paste in place of a URL, and what they may mean by it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from django_sitemaps_plus.db import digest_of
from django_sitemaps_plus.models import UrlChange
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.robots import octets
from django_sitemaps_plus.sitemaps.site import SiteAddress

#: What tells visitors apart, and not pages.
_TRACKING = re.compile(r"(utm_\w+|\w*clid|srsltid|_ga|_gl|(mtm|pk)_\w+)(=|$)", re.I)
#: What stands around a URL in other texts, and what browsers put before it.
_QUOTES = " \t\r\n\"'`<>\u00ab\u00bb\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a"
_SOURCE = "view-source:"
#: A path without its first slash. With a dot it may be a host.
_RELATIVE = re.compile(r"[^\s/?.:]+/\S*")
_INDEX = re.compile(r"(?<=/)index\.(html?|php)\Z", re.I)


def stored_location(entered: str, site: SiteAddress) -> str:
    """
    Return what rows store of a URL: its path, or all of it on another host.

    A scheme or the first slash may be missing. A fragment is left out, because it is
    not of the URL that is listed. Raises ``LocationError`` for what is not a URL of
    the site.
    """
    # Somebody may have copied it out of the sitemap.
    text = entered.strip(_QUOTES).removeprefix(_SOURCE).strip(_QUOTES)
    text = text.replace("&amp;", "&").partition("#")[0]
    if _RELATIVE.fullmatch(text):
        start = "/" if text.startswith(site.prefix[1:]) else site.prefix
        text = f"{start}{text}"
    bare = text.removeprefix("//")
    if re.split("[/?]", bare, maxsplit=1)[0].lower() == site.origin.host:
        text = f"{site.origin.scheme}://{bare}"
    for scheme in ("http", "https"):
        with suppress(LocationError):
            return site.with_scheme(scheme).origin.local_path(text)
    if UrlChange.objects.on_site().filter(digest=digest_of(text)).exists():
        return text
    # It says what is wrong.
    return site.origin.local_path(text)


def alike(location: str) -> list[str]:
    """Return other spellings of a location, the likeliest first."""
    path, _, query = location.partition("?")
    own = "&".join(one for one in query.split("&") if not _TRACKING.match(one))
    spelled = dict.fromkeys(
        f"{one}?{rest}" if rest else one
        for rest in (query, own, "")
        for one in _paths(path)
    )
    return [one for one in spelled if one != location]


def _paths(path: str) -> Iterator[str]:
    """Yield a path with escapes as they should be, with and without a slash."""
    path = _INDEX.sub("", path)
    normal = octets(path)
    for one in (path, normal, normal.lower() if "%" not in path else normal):
        yield one
        # A folder and a file.
        yield one[:-1] if one.endswith("/") and one != "/" else f"{one}/"
