"""
What an audit can find: each kind with its id, its level and what to do.

The ids stand in docs/audit.md, and can be silenced as those of system checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.utils import translation

from django_sitemaps_plus.protocol.documentation import page

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
    def see(self) -> str:
        """The sentence that names the page of the documentation about it."""
        number = self.id.removeprefix(_PREFIX)
        return f"See {page('crawler' if number.startswith('A2') else 'audit', number)}."

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
    ERROR,
    _("sections with pages that were not built, and so not checked"),
    _("run manage.py build_sitemaps"),
)
NOT_A_SITEMAP = _kind(
    "A002",
    ERROR,
    _("invalid sitemaps"),
    _("correct the view or the template that writes them"),
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
    _(
        "exclude repeated rows in items(), or use a column for the URL that is unique; "
        "with i18n, write {language} into the path of the Route"
    ),
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

SIMILAR = _kind(
    "A021",
    WARNING,
    _("URLs that differ only in how they are written"),
    _(
        "list one of them, and let the others redirect: case, a slash, index.html and "
        "the order of parameters make copies of a page"
    ),
)

PLACEHOLDER = _kind(
    "A022",
    WARNING,
    _("URLs with a placeholder in place of a value"),
    _(
        "exclude rows without the value in items(), or correct the code that makes the "
        "URL"
    ),
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

BEFORE_THE_WEB = _kind(
    "A036",
    WARNING,
    _("lastmods before the web existed"),
    _("use the time of the last change, or no lastmod where it is not known"),
)
FUTURE_NEWS = _kind(
    "A037",
    WARNING,
    _("news with a date in the future"),
    _("list articles from their publication on: see appears"),
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

NOT_LISTED = _kind(
    "A044",
    WARNING,
    _("alternates of the site that no section lists"),
    _("list all languages of a page, or leave those out that are not public"),
)
MIXED_SCHEMES = _kind(
    "A045",
    WARNING,
    _("alternates that mix http and https"),
    _("write all of them with the scheme that visitors use"),
)
ONE_FOR_ALL = _kind(
    "A046",
    WARNING,
    _("alternates that give several languages one URL"),
    _("give each language its own URL, and one for the rest as x-default"),
)

# Images and videos

INSECURE_IMAGE = _kind(
    "A050",
    WARNING,
    _("images with http on pages with https"),
    _("give images the https address: browsers may not show them otherwise"),
)
DISALLOWED_IMAGE = _kind(
    "A051",
    WARNING,
    _("images that robots.txt disallows"),
    _("let robots.txt allow the images, or leave them out of images"),
)
VIDEO_IS_PAGE = _kind(
    "A052",
    ERROR,
    _("videos whose content is the page itself"),
    _("give content_loc the address of the file, or player_loc that of the player"),
)
EXPIRED_VIDEO = _kind(
    "A053",
    WARNING,
    _("videos that have expired"),
    _("leave videos out after their expiration_date"),
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
    _("URLs that forbid all search engines, or Google, to index them"),
    _("exclude them in items(), or remove noindex from the page and its headers"),
)
NOINDEX_FOR_ONE = _kind(
    "A104",
    WARNING,
    _("URLs that forbid a search engine other than Google to index them"),
    _("exclude them in items(), or remove the engine's noindex"),
)
CANONICAL = _kind(
    "A105",
    ERROR,
    _("URLs whose canonical is another URL, or several"),
    _("list the canonical URL only, or correct the page's link"),
)
EMPTY = _kind(
    "A106",
    ERROR,
    _("URLs that answer with an empty body"),
    _("correct the view, or exclude them in items()"),
)

UNREACHABLE = _kind(
    "A107",
    ERROR,
    _("URLs that could not be reached"),
    _(
        "let the site answer at its address: see the server, its certificate, "
        "BASE_URL and ALLOWED_HOSTS"
    ),
)
LOGIN_FORM = _kind(
    "A108",
    WARNING,
    _("URLs that look like a login page"),
    _("exclude them in items() if there is nothing else on them"),
)
SOFT_404 = _kind(
    "A109",
    WARNING,
    _("URLs that answer 200 and look like an error page"),
    _("exclude them in items(), and let the view answer 404"),
)
SLOW = _kind(
    "A110",
    WARNING,
    _("URLs that answer after more than 3 seconds"),
    _("let the view do less or store what it needs: slow sites are crawled less"),
)
TOO_LONG = _kind(
    "A111",
    WARNING,
    _("web pages above 2 MB, of which Googlebot does not read the rest"),
    _("move scripts, styles and data out of the page, or divide it"),
)
MISSING_IMAGE = _kind(
    "A112",
    WARNING,
    _("URLs whose first image is missing"),
    _("correct the address of the image, or upload the file"),
)

# How robots.txt and the sitemaps arrive

NO_ANSWER = _kind(
    "A200",
    ERROR,
    _("addresses that do not answer"),
    _(
        "check the name's A and AAAA records, the firewall, the web server, and "
        "that the certificate is valid for this name and comes with its whole chain"
    ),
)
EXPIRES = _kind(
    "A201",
    WARNING,
    _("certificates that expire soon"),
    _("renew the certificate, and check what should have renewed it"),
)
MOVED = _kind(
    "A202",
    ERROR,
    _("redirects to another address, or without an end"),
    _(
        "set SITEMAPS_PLUS['BASE_URL'] to the address that does not redirect, if "
        "that is the site's; if it is a bucket's or a CDN's, let this host answer by "
        "itself, because search engines refuse sitemaps of another; behind a proxy "
        "that ends TLS set SECURE_PROXY_SSL_HEADER"
    ),
)
REFUSED = _kind(
    "A203",
    ERROR,
    _("answers that refuse crawlers"),
    _(
        "exempt robots.txt and sitemaps from the rule that refuses them; if it goes"
        " by address, the firewall's log says whether real crawlers pass"
    ),
)
CHALLENGED = _kind(
    "A204",
    WARNING,
    _("challenges in place of an answer"),
    _(
        "let the firewall allow verified crawlers, and look in its log or in Search"
        " Console: that this machine was challenged does not say that Googlebot is"
    ),
)
NOT_SERVED = _kind(
    "A205",
    ERROR,
    _("robots.txt or sitemaps that do not answer 200"),
    _(
        "include django_sitemaps_plus.urls at the root, let the web server pass "
        "these paths to Django, and read the log"
    ),
)
CUT_OFF = _kind(
    "A206",
    ERROR,
    _("answers that are cut off"),
    _(
        "read the web server's error log: its buffers or its disk may be full, or a"
        " Content-Length wrong"
    ),
)
ENCODED = _kind(
    "A207",
    ERROR,
    _("answers that are compressed twice, or not as they say"),
    _(
        "compress in one place only, Django or the web server, and let .gz files "
        "pass unchanged"
    ),
)
HEADER = _kind(
    "A208",
    WARNING,
    _("headers that are not those that Django sends"),
    _(
        "let the web server pass Content-Type and X-Robots-Tag unchanged, and look "
        "what it does to pages: those that arrive with noindex are not found"
    ),
)
NOT_OURS = _kind(
    "A209",
    ERROR,
    _("answers that are not from this site"),
    _(
        "put the include of django_sitemaps_plus.urls in front of patterns that "
        "match every path, and check which virtual server, file, settings and "
        "database answer"
    ),
)
OLD_COPY = _kind(
    "A210",
    ERROR,
    _("old copies from a cache"),
    _(
        "clear the cache, and let it obey the Cache-Control header or ask again "
        "with If-None-Match"
    ),
)
DIFFERENT = _kind(
    "A211",
    WARNING,
    _("sitemaps that differ from what this code would send"),
    _(
        "restart the site's processes after a deployment, and remove sitemaps that "
        "the web server sends from files"
    ),
)
SITEMAP_DISALLOWED = _kind(
    "A212",
    ERROR,
    _("sitemaps that robots.txt disallows"),
    _("allow the sitemaps in robots.txt (SITEMAPS_PLUS['ROBOTS'])"),
)
OTHER_SITEMAPS = _kind(
    "A213",
    ERROR,
    _("robots.txt names sitemaps that are old or another site's"),
    _("correct the Sitemap lines, or let Django answer /robots.txt"),
)
NOT_NAMED = _kind(
    "A214",
    WARNING,
    _("robots.txt does not name the sitemap"),
    _("add the Sitemap line, or let Django answer /robots.txt"),
)

#: Kinds that are found only where URLs are fetched.
FETCHED = frozenset(kind for kind in KINDS if kind >= FAILS)
