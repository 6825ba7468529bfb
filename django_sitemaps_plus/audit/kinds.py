"""
What an audit can find: each kind with its id, its level and what to do.

The ids stand in docs/audit.md, and can be silenced as those of system checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

#: The levels, the gravest first.
ERROR, WARNING = LEVELS = "error", "warning"
#: What every id begins with.
_PREFIX = "sitemaps_plus."


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding."""

    id: str
    level: str
    #: What is wrong, as a heading.
    title: str
    #: What to do about it.
    fix: str


KINDS: Final[dict[str, Kind]] = {}


def _kind(number: str, level: str, title: str, fix: str) -> str:
    """Add a kind; returns its id."""
    kind = Kind(f"{_PREFIX}{number}", level, title, fix)
    KINDS[kind.id] = kind
    return kind.id


# What is read

NOT_BUILT = _kind(
    "A001",
    WARNING,
    "pages that were not built, and so not checked",
    "run manage.py build_sitemaps",
)
NOT_A_SITEMAP = _kind(
    "A002",
    ERROR,
    "documents that are no valid sitemap",
    "correct the template or the view that writes it; this package's own pages are "
    "valid: run manage.py build_sitemaps",
)
TOO_LARGE = _kind(
    "A003",
    ERROR,
    "pages above the limits of 50,000 URLs, 1,000 news and 50 MB",
    "lower limit on the sitemap class",
)
LEFT_OUT = _kind(
    "A004",
    WARNING,
    "rows that are left out",
    "correct the rows or exclude them in items(), then run manage.py build_sitemaps "
    "--reconcile",
)
TAG_LEFT_OUT = _kind(
    "A005",
    WARNING,
    "rows that are listed without a tag, because its value is illegal",
    "correct the values; changefreq is a word of the protocol, priority is from 0 to 1",
)

# URLs

BAD_URL = _kind(
    "A010",
    ERROR,
    "URLs that are malformed, too long or too short",
    "let location() return a path, or a URL of up to 2,048 characters, without a "
    "fragment",
)
FOREIGN_HOST = _kind(
    "A011",
    ERROR,
    "URLs of another host",
    "list only URLs of the site's own address; use a section of SITES for another host",
)
FOREIGN_SCHEME = _kind(
    "A012",
    ERROR,
    "URLs of another scheme",
    "write paths in location(), or the scheme of SITEMAPS_PLUS['BASE_URL']",
)
OUTSIDE = _kind(
    "A013",
    ERROR,
    "URLs outside the path of the site's address",
    "list only URLs below the path of SITEMAPS_PLUS['BASE_URL']",
)
REPEATED = _kind(
    "A014",
    WARNING,
    "URLs that a section lists more than once",
    "exclude repeated rows in items(), or use a column for the URL that is unique",
)
SHARED = _kind(
    "A015",
    WARNING,
    "URLs that several sections list",
    "exclude them in items() of all sections but one",
)
SESSION = _kind(
    "A016",
    ERROR,
    "URLs with a session id",
    "leave the session out of the URL: it is another one for each visitor",
)
TRACKING = _kind(
    "A017",
    WARNING,
    "URLs with tracking parameters",
    "list the URL without utm_source, gclid and the like: they make copies of a page",
)
DISALLOWED = _kind(
    "A018",
    WARNING,
    "URLs that robots.txt disallows",
    "exclude them in items(), or change robots.txt (SITEMAPS_PLUS['ROBOTS']): what is "
    "listed should be allowed",
)
DISALLOWED_FOR_ONE = _kind(
    "A019",
    WARNING,
    "URLs that robots.txt disallows for one search engine",
    "let the crawler's group in robots.txt allow what is listed",
)
ROBOTS_FAILS = _kind(
    "A020",
    ERROR,
    "robots.txt that fails, so that crawlers stay away",
    "correct the view that answers /robots.txt",
)

# Dates

BAD_LASTMOD = _kind(
    "A030",
    ERROR,
    "lastmods that are no W3C Datetime",
    "write a date, or a time with its zone, such as 2026-01-31T12:00:00+00:00",
)
FUTURE = _kind(
    "A031",
    ERROR,
    "lastmods in the future",
    "use the time of the last change; a date of publication belongs into appears",
)
ALL_EQUAL = _kind(
    "A032",
    WARNING,
    "sections of which all lastmods are equal",
    "use a column that changes with each object; crawlers ignore a lastmod that says "
    "nothing",
)
ALWAYS_NOW = _kind(
    "A033",
    WARNING,
    "lastmods that are always the present time",
    "use the time at which the object changed, or no lastmod at all",
)
MOVES_ALONE = _kind(
    "A034",
    WARNING,
    "sections of which lastmod moves while nothing else does",
    "set lastmod only where the content changes: auto_now sets it with every save()",
)
OLD_NEWS = _kind(
    "A035",
    WARNING,
    "news that are older than two days",
    "list articles of the last two days only, and let expires remove them",
)

# Languages

UNKNOWN_LANGUAGE = _kind(
    "A040",
    ERROR,
    "alternates with an unknown language or region",
    "use a language of ISO 639-1 and, after it, a region of ISO 3166-1: en-gb, not "
    "en-uk; or x-default",
)
NOT_RETURNED = _kind(
    "A041",
    ERROR,
    "alternates that do not link back",
    "give each of the URLs the same set of alternates; engines ignore one-sided ones",
)
NOT_ITSELF = _kind(
    "A042",
    WARNING,
    "URLs whose alternates do not name the URL itself",
    "add the URL under its own language to its alternates",
)
TWO_OF_A_LANGUAGE = _kind(
    "A043",
    ERROR,
    "URLs with several alternates of one language",
    "give one URL for each language",
)

# What the URLs answer

FAILS = _kind(
    "A100",
    ERROR,
    "URLs that do not answer 200",
    "exclude what is not public in items(), or correct the view",
)
REDIRECTS = _kind(
    "A101",
    ERROR,
    "URLs that redirect",
    "list the URL to which it leads",
)
LOGIN = _kind(
    "A102",
    ERROR,
    "URLs that want a login",
    "exclude what visitors cannot see in items()",
)
NOINDEX = _kind(
    "A103",
    ERROR,
    "URLs that forbid being indexed",
    "exclude them in items(), or remove noindex from the page and its headers",
)
NOINDEX_FOR_ONE = _kind(
    "A104",
    WARNING,
    "URLs that forbid one search engine to index them",
    "exclude them in items(), or remove the engine's noindex",
)
CANONICAL = _kind(
    "A105",
    ERROR,
    "URLs whose canonical is another URL",
    "list the canonical URL only, or correct the page's link",
)
EMPTY = _kind(
    "A106",
    ERROR,
    "URLs that answer with an empty body",
    "correct the view, or exclude them in items()",
)

#: From here on the URLs have to be fetched.
FETCHED = frozenset(
    {FAILS, REDIRECTS, LOGIN, NOINDEX, NOINDEX_FOR_ONE, CANONICAL, EMPTY}
)
