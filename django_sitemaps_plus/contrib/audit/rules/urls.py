"""URLs that are wrong by themselves: address, form, parameters, escapes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from django_sitemaps_plus.contrib.audit.kinds import _, error, warning
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.locations import plain
from django_sitemaps_plus.sitemaps.site import SiteAddress

from . import Listed, Problem, rule

BAD_URL = error(
    "A010",
    _("URLs that are malformed, too long or too short"),
    _(
        "let location() return a path, or a URL of up to 2,048 characters, without a "
        "fragment"
    ),
)
FOREIGN_HOST = error(
    "A011",
    _("URLs of another host"),
    _(
        "list only URLs of the site's own address; use a section of SITES for another "
        "host"
    ),
)
FOREIGN_SCHEME = error(
    "A012",
    _("URLs of another scheme"),
    _("write paths in location(), or the scheme of SITEMAPS_PLUS['BASE_URL']"),
)
OUTSIDE = error(
    "A013",
    _("URLs outside the path of the site's address"),
    _("list only URLs below the path of SITEMAPS_PLUS['BASE_URL']"),
)
SESSION = error(
    "A016",
    _("URLs with a session id"),
    _("leave the session out of the URL: it is another one for each visitor"),
)
TRACKING = warning(
    "A017",
    _("URLs with tracking parameters"),
    _(
        "list the URL without utm_source, gclid and the like: they make copies of a "
        "page"
    ),
)
PLACEHOLDER = warning(
    "A022",
    _("URLs with a placeholder in place of a value"),
    _(
        "exclude rows without the value in items(), or correct the code that makes the "
        "URL"
    ),
)
ENCODING = warning(
    "A023",
    _("URLs that are encoded twice, or not as UTF-8"),
    _("give reverse() the values as they are: it encodes them once, as UTF-8"),
)
PRIVATE = warning(
    "A024",
    _("URLs with a token, a password or an e-mail address"),
    _("leave it out of the URL: everybody can read a sitemap"),
)

#: Parameters that say where a visitor came from, and change nothing on the page.
_TRACKING = re.compile(
    r"[?&;](utm_[a-z_]+|gad_[a-z]+|gclid|gbraid|wbraid|dclid|gclsrc|fbclid|msclkid|yclid|ysclid"
    r"|ttclid|twclid|li_fat_id|igshid|mc_cid|mc_eid|_hsenc|_hsmi|mkt_tok|_openstat"
    r"|srsltid|_ga|_gl|(?:mtm|pk|piwik|matomo)_[a-z_]+)=",
    re.IGNORECASE,
)
#: Session ids that the build lists, as their names may mean something else.
_SESSION = re.compile(
    r"[?&;](cfid|cftoken|oscsid|zenid|sid(?==[\w-]{16}))=", re.IGNORECASE
)
#: Parameters that only one visitor should know: a token that is no word, an address.
_PRIVATE = re.compile(
    r"[?&;]((?:access_?|auth_?|reset_?)?token(?==(?:[a-z._-]*[0-9]|[^&;]{16}))"
    r"|(?:password|passwd|api_?key)(?==[^&;])|e-?mail(?==[^&;@]{1,64}?(?:@|%40)))=",
    re.IGNORECASE,
)
#: What stands in a URL where a value was missing, or where it was not filled in.
_MISSING: Final = ("None", "undefined", "null", "NULL", "nan", "NaN")
_PLACEHOLDERS: Final = (
    *(f"{mark}{one}" for mark in "/=" for one in _MISSING),
    *("%7B%7B", "%7B%25"),
)
_PLACEHOLDER = re.compile(
    f"/({'|'.join(_MISSING)})(?![^/?])|=({'|'.join(_MISSING)})(?![^&])"
    "|(%7B(?:%7B|%25)[^/?]*)"
)
#: A percent sign that was encoded although it began an escape; not in parameters, which
#: may have a whole URL.
_TWICE = re.compile(r"\A[^?]*?(%25[0-9a-f]{2})", re.IGNORECASE)
#: What the messages of ``protocol`` about a location have, and the kind that it is.
_KINDS: Final = (
    (re.compile(r"not a URL of http"), FOREIGN_HOST),
    (re.compile(r"session id"), SESSION),
    (re.compile(r"the folder of the sitemap"), OUTSIDE),
)
_SCHEMES = re.compile(r"location '(https?)://([^/'?]+).*not a URL of (https?)://(.+)\Z")


@rule(Listed)
def illegal_addresses(seen: Listed) -> Iterator[Problem]:
    """Find URLs that are illegal in the site's sitemaps."""
    site = seen.section.site
    origin, text = str(site.origin), seen.text
    start = f"{origin}{site.folder}"
    paths = text.replace(f"\n{origin}/", "\n/").removeprefix(origin)
    is_ours = text.count(f"\n{start}") + text.startswith(start)
    if is_ours < len(seen.urls) or not plain(paths):
        for url in seen.urls:
            yield from _of_one(url, site)


def _of_one(url: str, site: SiteAddress) -> Iterator[Problem]:
    if url.startswith("/"):
        yield Problem(BAD_URL, "is a path: write the whole URL", url)
        return
    try:
        path = site.origin.local_path(url)
    except LocationError as error:
        text = str(error)
        yield Problem(kind_of_location(text), text.rpartition(": ")[2], url)
        return
    written = f"{site.origin}{path}"
    if written != url and urlsplit(url).path:
        yield Problem(BAD_URL, f"must be written {written}", url)
    if not path.startswith(site.folder):
        yield Problem(OUTSIDE, f"is not in {site.folder}", url)


def kind_of_location(reason: str) -> str:
    """Return the kind of finding that a location is which is illegal for a reason."""
    schemes = _SCHEMES.search(reason)
    if schemes and schemes[1] != schemes[3] and schemes[2].lower() == schemes[4]:
        return FOREIGN_SCHEME
    return next((one for pattern, one in _KINDS if pattern.search(reason)), BAD_URL)


@rule(Listed)
def parameters(seen: Listed) -> Iterator[Problem]:
    """Find parameters that make copies of a page, or reveal secrets."""
    if "?" not in seen.text:
        return
    for url in seen.urls:
        for pattern, found in _PARAMETERS.items():
            if match := pattern.search(url):
                yield Problem(found, f"has the parameter {match[1]}", url)
        if "&amp;" in url:
            yield Problem(BAD_URL, "has &amp; in place of &", url)


_PARAMETERS: Final = {_TRACKING: TRACKING, _SESSION: SESSION, _PRIVATE: PRIVATE}


@rule(Listed)
def placeholders(seen: Listed) -> Iterator[Problem]:
    """Find values that were missing, or not filled in."""
    if any(one in seen.text for one in _PLACEHOLDERS):
        for url in seen.urls:
            if match := _PLACEHOLDER.search(url):
                value = next(filter(None, match.groups()))
                yield Problem(PLACEHOLDER, f"has {unquote(value)} in it", url)


@rule(Listed)
def escapes(seen: Listed) -> Iterator[Problem]:
    """Find escapes that servers and crawlers read in different ways."""
    if "%25" in seen.text:
        for url in seen.urls:
            if match := _TWICE.search(url):
                text = f"has {match[1]}, which is encoded twice"
                yield Problem(ENCODING, text, url)
    if "%" in seen.text and not _is_utf_8(seen.text):
        for url in seen.urls:
            if not _is_utf_8(url):
                yield Problem(ENCODING, "is not encoded as UTF-8", url)


def _is_utf_8(text: str) -> bool:
    try:
        unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        return False
    return True
