"""What a web page says of itself, as a crawler reads it that runs no scripts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urljoin

from django_sitemaps_plus.protocol.markup import parts

#: Elements that show nothing, or of which only a browser without scripts shows more.
_INERT: Final = frozenset(
    {"script", "style", "template", "textarea", "title", "noscript", "iframe"}
)
#: Elements that show something without a word.
_PICTURES: Final = frozenset(
    {"img", "picture", "video", "audio", "iframe", "object", "embed", "canvas", "svg"}
    | {"frame", "button", "select", "textarea", "input"}
)
#: Where forms stand that a page has besides what it is about.
_BESIDES: Final = frozenset({"header", "nav", "footer", "aside", "dialog"})
#: https://html.spec.whatwg.org/multipage/semantics.html#attr-meta-http-equiv-refresh
_REFRESH: Final = re.compile(
    r"\s*+(?=[\d.])(\d{0,9})[\d.]*+(?:\s*+[;,]|\s)\s*+(?:url\s*+=\s*+)?+(.*)",
    re.ASCII | re.DOTALL | re.IGNORECASE,
)
#: The most seconds after which a refresh is a redirect, and not the end of a visit.
_SOON = 60
#: Characters of its text in which a page says that it is none.
_START = 2_000
#: Characters of a URL and of a title that are looked at. Of a URL Python compares the
#: host in the square of its length.
LONGEST_URL, _LONGEST_TITLE = 5_000, 1_000
#: Letters of languages that put no spaces between words: about two are a word.
_UNSPACED: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff]")


def url_of_reference(base: str, reference: str) -> str:
    """Return the URL that a reference leads to; an illegal one as it is written."""
    reference = reference[:LONGEST_URL]
    try:
        return urljoin(base, reference)
    except ValueError:
        return reference


def refreshed(value: str) -> str:
    """Return where ``Refresh: 5; url=/b/`` leads soon; empty: to the page itself."""
    match = _REFRESH.match(value)
    if match is None or int(match[1] or 0) > _SOON:
        return ""
    url = match[2].strip()
    return url[1:].partition(url[0])[0] if url[:1] in ("'", '"') else url


@dataclass
class WebPage:
    """What a web page says of itself."""

    #: The URL against which the relative ones in it are read.
    base: str
    #: The addresses of its canonicals, as they are written.
    canonicals: list[str] = field(default_factory=list)
    #: Rules of meta elements for crawlers, by the crawler's name: "robots" is all.
    robots: list[tuple[str, str]] = field(default_factory=list)
    #: Where it leads by itself; empty: nowhere.
    refresh: str = ""
    #: Its title, and its first heading, by their element.
    titles: dict[str, str] = field(default_factory=dict)
    #: How many words a visitor reads, and how these begin, except examples of code.
    words: int = 0
    start: str = ""
    #: Whether it shows something without a word, or by a script.
    has_more: bool = False
    #: Whether it has a script, which may write what it shows.
    has_script: bool = False
    #: Fields for passwords, where it does not ask for a new one.
    passwords: int = 0

    @classmethod
    def read(cls, url: str, text: str) -> WebPage:
        """Read a page that was found at a URL."""
        reader = _Reader(cls(url))
        for tag, attributes, content in parts(text):
            if not tag:
                reader.see_text(content)
            elif tag.startswith("/"):
                reader.see_end(tag[1:])
            else:
                reader.see_start(tag, attributes)
        return reader.page


class _Reader:
    """Fills a ``WebPage``."""

    def __init__(self, page: WebPage) -> None:
        self.page = page
        self._has_base = False
        #: The inert element that is open, and how many templates are inside another.
        self._inert, self._depth = "", 0
        self._besides = self._codes = 0
        #: The element whose text is a title: "title", "h1"; empty: none.
        self._titled = ""

    def see_start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """Look at an element."""
        if tag == "script" or attributes.get("role") == "img" or tag in _PICTURES:
            self.page.has_more |= attributes.get("type", "").lower() != "hidden"
        kind = attributes.get("type", "")
        self.page.has_script |= tag == "script" and "json" not in kind
        if self._inert:
            # Only templates are nested: in the others this is text.
            self._depth += tag == self._inert == "template"
            return
        if tag in _INERT:
            self._inert, self._depth = tag, 1
        self._besides += tag in _BESIDES
        self._codes += tag == "code"
        if tag in ("title", "h1") and tag not in self.page.titles:
            self._titled, self.page.titles[tag] = tag, ""
        look = getattr(self, f"_see_{tag}", None)
        if look is not None:
            look(attributes)

    def see_end(self, tag: str) -> None:
        """Look at the end of an element."""
        if tag == self._titled:
            self._titled = ""
        if tag == self._inert:
            self._depth -= 1
            self._inert = self._inert if self._depth else ""
        elif tag in _BESIDES and not self._inert:
            self._besides = max(0, self._besides - 1)
        elif tag == "code" and not self._inert:
            self._codes = max(0, self._codes - 1)

    def see_text(self, text: str) -> None:
        """Count the words that a visitor reads."""
        if self._titled and len(self.page.titles[self._titled]) < _LONGEST_TITLE:
            self.page.titles[self._titled] += text[:_LONGEST_TITLE]
        if not self._inert:
            self.page.words += len(text.split()) + len(_UNSPACED.findall(text)) // 2
            if not self._codes and len(self.page.start) < _START:
                self.page.start += text[:_START]

    def _see_base(self, attributes: Mapping[str, str]) -> None:
        href = attributes.get("href", "")[:LONGEST_URL]
        if "href" in attributes and not self._has_base:
            self._has_base = True
            # Browsers ignore one that is illegal.
            with suppress(ValueError):
                self.page.base = urljoin(self.page.base, href)

    def _see_meta(self, attributes: Mapping[str, str]) -> None:
        content = attributes.get("content", "")
        if name := attributes.get("name", "").strip().lower():
            self.page.robots.append((name, content))
        if attributes.get("http-equiv", "").lower() == "refresh":
            self.page.refresh = self.page.refresh or refreshed(content)

    def _see_link(self, attributes: Mapping[str, str]) -> None:
        href = attributes.get("href", "").strip()
        if href and "canonical" in attributes.get("rel", "").lower().split():
            self.page.canonicals.append(href)

    def _see_input(self, attributes: Mapping[str, str]) -> None:
        is_new = attributes.get("autocomplete", "").lower() == "new-password"
        if attributes.get("type", "").lower() == "password" and not self._besides:
            # A page where one registers may well be listed.
            self.page.passwords += 2 if is_new else 1
