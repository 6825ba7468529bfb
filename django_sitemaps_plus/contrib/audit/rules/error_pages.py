"""Pages that answer 200 and are an error page, or ask for a password."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from django_sitemaps_plus.contrib.audit.kinds import _, warning
from django_sitemaps_plus.contrib.audit.rules import FEW_WORDS
from django_sitemaps_plus.protocol.errors import excerpt

from . import Answered, Problem, Visit, rule

LOGIN_FORM = warning(
    "A108",
    _("URLs that look like a login page"),
    _("exclude them in items() if there is nothing else on them"),
)
SOFT_404 = warning(
    "A109",
    _("URLs that answer 200 and look like an error page"),
    _("exclude them in items(), and let the view answer 404"),
)
RAW_TITLE = warning(
    "A113",
    _("web pages whose title is the tag of a template"),
    _("let the server fill in the title: search results show it as it is"),
)

#: Characters of a title that are looked at.
_LONGEST: Final = 300
#: What stands between the parts of a title, such as the site's name.
_BETWEEN: Final = re.compile(r"\s[-–—|•·»«/]+\s|[|•»«]")
#: What pages are called that answer 200 and say that there is no page.
_ERROR: Final = re.compile(
    r"(?:[^:]{1,60}: )?\W*(?:(?:oops|ups|sorry|error|fehler|erreur|http|404|500|the"
    r"|this|that|requested|die|diese|angeforderte|la|cette)\W+)*(?:"
    r"(?:page|site|article|product|document|file|url)[\w ']{0,60}?(?:not|n't)(?: be)?"
    r" found"
    r"|(?:404|error|oops|sorry|http)\W+not found|not found\W+404"
    r"|(?:error|fehler|erreur|http)\W+(?:404|500)|404\W+(?:error|page|seite)"
    r"|(?:internal )?server error|seite[\w ]{0,40} nicht (?:mehr )?gefunden(?: werden)?"
    r"|(?:(?:page|article|product|offer|item|content|listing)\W+(?:is )?)?"
    r"no longer (?:available|exists)|[\w ]{0,40}nicht mehr verfügbar"
    r"|[\w ']{0,40}n'est plus disponible|page (?:introuvable|non trouvée)"
    r"|p[áa]gina no encontrada|pagina non trovata"
    r"|(?:index of|directory listing for) /\S*|\w{1,60}(?:error|exception) at /\S*"
    r")(?:\W+(?:error|404|500|on this server))*\W*",
    re.IGNORECASE,
)
#: What a page says where its view or its database failed, in place of what it is about.
_BROKEN: Final = re.compile(
    r"traceback \(most recent call last\)|error establishing a database connection"
    r"|you have an error in your sql syntax|\bsqlstate\[\w{1,9}\]|\bora-\d{5}:"
    r"|\b(?:operational|programming|database|interface)error(?:: | at /)"
    r"|could not connect to server|no such table: "
    r"|uncaught [\w\\]{0,60}(?:exception|error)"
    r"|\b(?:fatal|parse) error: .{1,200} in /\S{1,200}\.php\b",
    re.IGNORECASE,
)
#: In so many of its first characters a long page says that.
_FIRST = 200
#: What templates have in place of a value.
_TAG: Final = re.compile(r"\{\{[^{}]{1,100}\}\}|\{%[^{}]{1,100}%\}|\$\{[^{}]{1,100}\}")
#: What such pages are called, and other things, too.
_AMBIGUOUS: Final = frozenset({"404", "not found"})
#: So many parts has the title of an error page: what it says, and the site's name.
_FEW_PARTS = 2
_PASSWORD: Final = re.compile(rb"""type\s{0,9}=\s{0,9}["']?password""", re.IGNORECASE)
_WORD: Final = re.compile(r"\w+")
#: So few pages are not enough to know what all have.
_FEW = 2


class _Forms:
    """Pages with a field for a password."""

    def __init__(self, visit: Visit) -> None:
        #: How many pages there are, and how many have such a field.
        self.pages = self.with_field = 0
        #: Those that seem to be about that.
        self.logins: list[Problem] = []


@rule(Answered)
def error_pages(seen: Answered) -> Iterator[Problem]:
    """Find error pages and login pages."""
    forms = seen.visit.kept(_Forms)
    forms.pages += 1
    forms.with_field += _PASSWORD.search(seen.answer.body) is not None
    if not seen.is_whole or seen.is_empty:
        return
    page = seen.reading.page
    is_short = page.words < FEW_WORDS
    titles = [title for title in page.titles.values() if title.strip()]
    errors = [
        title
        for title in titles
        if any(
            _ERROR.fullmatch(part) and not _is_named(seen.url, [part])
            for part in _parts(title)
        )
    ]
    raw = page.titles.get("title", "").strip()
    if _TAG.match(raw) or any(map(_TAG.fullmatch, _parts(raw))):
        yield Problem(RAW_TITLE, f"is called {excerpt(raw)}")
    if said := _BROKEN.search(page.start if is_short else page.start.strip()[:_FIRST]):
        yield Problem(SOFT_404, f"says {excerpt(said[0])}")
        return
    if is_short and not errors and _may_be_error(seen.url, titles):
        errors = titles
    if errors:
        yield Problem(SOFT_404, f"is called {excerpt(errors[0].strip())}")
    elif page.passwords == 1 and is_short:
        called = f"is called {excerpt(titles[0].strip())} and " if titles else ""
        text = f"{called}has a login form and {page.words} words"
        forms.logins.append(seen.problem(LOGIN_FORM, text))


@rule(Visit)
def login_pages(visit: Visit) -> Iterator[Problem]:
    """Find login pages, but not a box that most pages have beside what differs."""
    forms = visit.kept(_Forms)
    texts = {problem.text for problem in forms.logins}
    is_box = forms.with_field > max(_FEW, forms.pages / 2)
    if not (is_box and len(texts) > len(forms.logins) / 2):
        yield from forms.logins


def _parts(title: str) -> list[str]:
    """Return what stands in a title between dashes, such as the site's name."""
    title = title[:_LONGEST].replace("’", "'")
    return [" ".join(part.split()) for part in _BETWEEN.split(title)]


def _may_be_error(url: str, titles: Sequence[str]) -> bool:
    """
    Return whether titles say that the page is missing, unless that is a name.

    There are songs called "Not Found" and bars called 404: their titles say more, or
    their URLs have the name.
    """
    names: set[str] = set()
    for number, title in enumerate(titles):
        parts = _parts(title.lower())
        own = _AMBIGUOUS.intersection(parts)
        is_long = len(parts) > _FEW_PARTS or not own
        if is_long and (
            not number or any(name in title.lower() for name in _AMBIGUOUS)
        ):
            return False
        names |= own
    return bool(names) and not _is_named(url, names)


def _is_named(url: str, names: Iterable[str]) -> bool:
    """Return whether a URL has one of some names: of a band, say."""
    _, *below = urlsplit(url).path.lower().replace("_", "-").strip("/").split("/")
    slugs = [f"-{'-'.join(re.findall(_WORD, name.lower()))}-" for name in names]
    return any(slug in f"-{part}-" for slug in slugs for part in below)
