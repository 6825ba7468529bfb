"""
What an audit can find: each kind with its id, its level and what to do.

The ids stand in docs/audit.md, and can be silenced as those of system checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.utils import translation

#: The levels, the gravest first.
ERROR, WARNING = LEVELS = "error", "warning"
#: What every id begins with.
_PREFIX = "sitemaps_plus."


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding."""

    id: str
    level: str
    #: What is wrong, as a heading: in English, as commands print it.
    title: str
    #: What to do about it, in English.
    fix: str

    @property
    def translated_title(self) -> str:
        """The title in the language that is active."""
        return translation.gettext(self.title)

    @property
    def translated_fix(self) -> str:
        """What to do about it, in the language that is active."""
        return translation.gettext(self.fix)


KINDS: Final[dict[str, Kind]] = {}


def _kind(number: str, level: str, title: str, fix: str) -> str:
    """Add a kind; returns its id."""
    kind = Kind(f"{_PREFIX}{number}", level, title, fix)
    KINDS[kind.id] = kind
    return kind.id


def _(text: str) -> str:
    """Mark a text for the catalogues: ``gettext_noop()`` would read the settings."""
    return text


# What is read

NOT_BUILT = _kind(
    "A001",
    WARNING,
    _("sections with pages that were not built, and so not checked"),
    _("run manage.py build_sitemaps"),
)
NOT_A_SITEMAP = _kind(
    "A002",
    ERROR,
    _("invalid sitemaps"),
    _(
        "correct the template or the view that writes it; this package's own pages are "
        "valid: run manage.py build_sitemaps"
    ),
)
TOO_LARGE = _kind(
    "A003",
    ERROR,
    _("pages above the limits of 50,000 URLs, 1,000 news and 50 MB"),
    _("set a lower limit on the sitemap class"),
)
LEFT_OUT = _kind(
    "A004",
    WARNING,
    _("rows that are left out"),
    _(
        "correct the rows or exclude them in items(), then run manage.py "
        "build_sitemaps --reconcile"
    ),
)
TAG_LEFT_OUT = _kind(
    "A005",
    WARNING,
    _("rows that are listed without a tag, because its value is illegal"),
    _("correct the values; each is named with what is wrong with it"),
)

# URLs

BAD_URL = _kind(
    "A010",
    ERROR,
    _("URLs that are malformed, too long or too short"),
    _(
        "let location() return a path, or a URL of up to 2,048 characters, without a "
        "fragment"
    ),
)
FOREIGN_HOST = _kind(
    "A011",
    ERROR,
    _("URLs of another host"),
    _(
        "list only URLs of the site's own address; use a section of SITES for another "
        "host"
    ),
)
FOREIGN_SCHEME = _kind(
    "A012",
    ERROR,
    _("URLs of another scheme"),
    _("write paths in location(), or the scheme of SITEMAPS_PLUS['BASE_URL']"),
)
OUTSIDE = _kind(
    "A013",
    ERROR,
    _("URLs outside the path of the site's address"),
    _("list only URLs below the path of SITEMAPS_PLUS['BASE_URL']"),
)
REPEATED = _kind(
    "A014",
    WARNING,
    _("URLs that a section lists more than once"),
    _("exclude repeated rows in items(), or use a column for the URL that is unique"),
)
SHARED = _kind(
    "A015",
    WARNING,
    _("URLs that several sections list"),
    _("exclude them in items() of all sections but one"),
)
SESSION = _kind(
    "A016",
    ERROR,
    _("URLs with a session id"),
    _("leave the session out of the URL: it is another one for each visitor"),
)
TRACKING = _kind(
    "A017",
    WARNING,
    _("URLs with tracking parameters"),
    _(
        "list the URL without utm_source, gclid and the like: they make copies of a "
        "page"
    ),
)
DISALLOWED = _kind(
    "A018",
    WARNING,
    _("URLs that robots.txt disallows"),
    _(
        "exclude them in items(), or change robots.txt (SITEMAPS_PLUS['ROBOTS']): what "
        "is listed should be allowed"
    ),
)
DISALLOWED_FOR_ONE = _kind(
    "A019",
    WARNING,
    _("URLs that robots.txt disallows for one search engine"),
    _("let the crawler's group in robots.txt allow what is listed"),
)
ROBOTS_FAILS = _kind(
    "A020",
    ERROR,
    _("robots.txt returns an error"),
    _("correct the view that answers /robots.txt"),
)

# Dates

BAD_LASTMOD = _kind(
    "A030",
    ERROR,
    _("invalid lastmod dates"),
    _("write a date, or a time with its zone, such as 2026-01-31T12:00:00+00:00"),
)
FUTURE = _kind(
    "A031",
    ERROR,
    _("lastmods in the future"),
    _("use the time of the last change; a date of publication belongs in appears"),
)
ALL_EQUAL = _kind(
    "A032",
    WARNING,
    _("sections with the same lastmod everywhere"),
    _(
        "use a column that changes with each object; crawlers ignore a lastmod that "
        "says nothing"
    ),
)
ALWAYS_NOW = _kind(
    "A033",
    WARNING,
    _("lastmods that are always the present time"),
    _("use the time at which the object changed, or no lastmod at all"),
)
MOVES_ALONE = _kind(
    "A034",
    WARNING,
    _("lastmod changes without other changes"),
    _("set lastmod only where the content changes: auto_now sets it with every save()"),
)
OLD_NEWS = _kind(
    "A035",
    WARNING,
    _("news that is older than two days"),
    _("list articles of the last two days only, and let expires remove them"),
)

# Languages

UNKNOWN_LANGUAGE = _kind(
    "A040",
    ERROR,
    _("alternates with an unknown language or region"),
    _(
        "use a language of ISO 639-1 and, after it, a region of ISO 3166-1: en-gb, not "
        "en-uk; or x-default"
    ),
)
NOT_RETURNED = _kind(
    "A041",
    ERROR,
    _("alternates that do not link back"),
    _(
        "give each of the URLs the same set of alternates; engines ignore one-sided "
        "ones"
    ),
)
NOT_ITSELF = _kind(
    "A042",
    WARNING,
    _("URLs whose alternates do not name the URL itself"),
    _("add the URL under its own language to its alternates"),
)
TWO_OF_A_LANGUAGE = _kind(
    "A043",
    ERROR,
    _("URLs with several alternates of one language"),
    _("give one URL for each language"),
)

# What the URLs answer

FAILS = _kind(
    "A100",
    ERROR,
    _("URLs that do not answer 200"),
    _("exclude what is not public in items(), or correct the view"),
)
REDIRECTS = _kind(
    "A101",
    ERROR,
    _("URLs that redirect"),
    _("list the URL to which it leads"),
)
LOGIN = _kind(
    "A102",
    ERROR,
    _("URLs that want a login"),
    _("exclude what visitors cannot see in items()"),
)
NOINDEX = _kind(
    "A103",
    ERROR,
    _("URLs that forbid being indexed"),
    _("exclude them in items(), or remove noindex from the page and its headers"),
)
NOINDEX_FOR_ONE = _kind(
    "A104",
    WARNING,
    _("URLs that forbid one search engine to index them"),
    _("exclude them in items(), or remove the engine's noindex"),
)
CANONICAL = _kind(
    "A105",
    ERROR,
    _("URLs whose canonical is another URL"),
    _("list the canonical URL only, or correct the page's link"),
)
EMPTY = _kind(
    "A106",
    ERROR,
    _("URLs that answer with an empty body"),
    _("correct the view, or exclude them in items()"),
)

#: From here on the URLs have to be fetched.
FETCHED = frozenset(
    {FAILS, REDIRECTS, LOGIN, NOINDEX, NOINDEX_FOR_ONE, CANONICAL, EMPTY}
)
