"""
The schemas, element by element: what may stand where, how often, and with which text.

http://www.sitemaps.org/schemas/sitemap/0.9/sitemap.xsd, siteindex.xsd, and those of
Google's images, videos and news.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, NamedTuple
from xml.parsers import expat

from django_sitemaps_plus.protocol.dates import parse_w3c
from django_sitemaps_plus.protocol.errors import DateError
from django_sitemaps_plus.protocol.limits import (
    CHANGEFREQS,
    MAX_IMAGES,
    MAX_VIDEO_DESCRIPTION,
    MAX_VIDEO_DURATION,
    MAX_VIDEO_RATING,
    MAX_VIDEO_TAGS,
    MAX_VIDEO_TITLE,
    MAX_VIDEO_UPLOADER,
    MIN_VIDEO_DURATION,
)
from django_sitemaps_plus.protocol.markup import escape
from django_sitemaps_plus.protocol.writers import is_language

#: What is wrong with a document: the location of the entry, if there is one, and why.
Fault = Callable[[str, str], object]

SITEMAP: Final = "http://www.sitemaps.org/schemas/sitemap/0.9"
XHTML: Final = "http://www.w3.org/1999/xhtml"
_GOOGLE: Final = "http://www.google.com/schemas/sitemap-"
IMAGE, VIDEO, NEWS = (
    f"{_GOOGLE}{name}" for name in ("image/1.1", "video/1.1", "news/0.9")
)
#: Entries of a block, and bytes that are read at a time.
_ENTRIES, _BYTES = 5_000, 500_000


@dataclass(slots=True)
class Block:
    """Some entries of a document, column by column."""

    #: As URLs, not as XML.
    locations: list[str] = field(default_factory=list)
    #: Empty where there is none.
    lastmods: list[str] = field(default_factory=list)
    #: The alternates of each, as XML; empty where there are none.
    links: list[str] = field(default_factory=list)
    #: When the news of each were published; empty where there are none.
    news: list[str] = field(default_factory=list)
    #: Whether these are the sitemaps of an index.
    is_index: bool = False


class _Rule(NamedTuple):
    """How often an element may stand in another, and what its text may be."""

    least: int = 0
    most: int | None = 1
    #: Returns what is wrong with a text; empty if nothing is.
    check: Callable[[str], str] | None = None


def _some_text(text: str) -> str:
    return "" if text else "is empty"


def _at_most(most: int) -> Callable[[str], str]:
    def check(text: str) -> str:
        if len(text) > most:
            return f"has {len(text):,} characters, over {most:,}"
        return _some_text(text)

    return check


#: Without an exponent: https://www.w3.org/TR/xmlschema-2/#decimal-lexical-representation
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


def _number(low: str, high: str, *, is_whole: bool = False) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not _DECIMAL.fullmatch(text):
            return f"is {text!r}, and no number"
        value = Decimal(text)
        if is_whole and value != int(value):
            return f"is {text!r}, and no whole number"
        if not Decimal(low) <= value <= Decimal(high):
            return f"is {text}, not within {low} and {high}"
        return ""

    return check


def _word(words: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        return "" if text in words.split() else f"is {text!r}, not one of: {words}"

    return check


def _date(text: str) -> str:
    try:
        parse_w3c(text)
    except DateError as error:
        return f"is not a date: {error}"
    return ""


def _news_language(text: str) -> str:
    found = re.fullmatch(r"zh-cn|zh-tw|[a-z]{2,3}", text)
    return "" if found else f"is {text!r}, and no code of ISO 639, zh-cn or zh-tw"


_TEXT, _YES_NO = _Rule(1, 1, _some_text), _Rule(0, 1, _word("yes no"))
_ANY: Final = _Rule()
#: By parent, its children in their order. The texts of loc and lastmod are checked by
#: ``urls`` and ``lastmods``, with a finding of their own.
_RULES: Final[dict[str, dict[str, _Rule]]] = {
    f"{SITEMAP} url": {
        f"{SITEMAP} loc": _TEXT,
        f"{SITEMAP} lastmod": _ANY,
        f"{SITEMAP} changefreq": _Rule(0, 1, _word(" ".join(sorted(CHANGEFREQS)))),
        f"{SITEMAP} priority": _Rule(0, 1, _number("0", "1")),
    },
    f"{SITEMAP} sitemap": {
        f"{SITEMAP} loc": _TEXT,
        f"{SITEMAP} lastmod": _ANY,
    },
    f"{IMAGE} image": {
        f"{IMAGE} loc": _TEXT,
        **{
            f"{IMAGE} {name}": _ANY
            for name in ("caption", "geo_location", "title", "license")
        },
    },
    f"{NEWS} news": {
        f"{NEWS} publication": _Rule(1, 1),
        f"{NEWS} access": _ANY,
        f"{NEWS} genres": _ANY,
        f"{NEWS} publication_date": _Rule(1, 1, _date),
        f"{NEWS} title": _TEXT,
        f"{NEWS} keywords": _ANY,
        f"{NEWS} stock_tickers": _ANY,
    },
    f"{NEWS} publication": {
        f"{NEWS} name": _TEXT,
        f"{NEWS} language": _Rule(1, 1, _news_language),
    },
    f"{VIDEO} video": {
        f"{VIDEO} {name}": rule
        for name, rule in {
            "thumbnail_loc": _TEXT,
            "title": _Rule(1, 1, _at_most(MAX_VIDEO_TITLE)),
            "description": _Rule(1, 1, _at_most(MAX_VIDEO_DESCRIPTION)),
            "content_loc": _ANY,
            "player_loc": _ANY,
            "duration": _Rule(
                0,
                1,
                _number(
                    str(MIN_VIDEO_DURATION), str(MAX_VIDEO_DURATION), is_whole=True
                ),
            ),
            "expiration_date": _Rule(0, 1, _date),
            "rating": _Rule(0, 1, _number("0", str(MAX_VIDEO_RATING))),
            "content_segment_loc": _Rule(0, None),
            "view_count": _Rule(0, 1, _number("0", str(2**63 - 1), is_whole=True)),
            "publication_date": _Rule(0, 1, _date),
            "tag": _Rule(0, MAX_VIDEO_TAGS),
            "category": _ANY,
            "family_friendly": _YES_NO,
            "restriction": _ANY,
            "gallery_loc": _ANY,
            "price": _Rule(0, None),
            "requires_subscription": _YES_NO,
            "uploader": _Rule(0, 1, _at_most(MAX_VIDEO_UPLOADER)),
            "tvshow": _ANY,
            "platform": _ANY,
            "live": _YES_NO,
            "id": _Rule(0, None),
        }.items()
    },
}
#: What may stand in an entry beside its own: once the four are over, in any order.
_MEDIA: Final = {
    f"{IMAGE} image": MAX_IMAGES,
    f"{VIDEO} video": None,
    f"{NEWS} news": 1,
}
_KNOWN = (SITEMAP, IMAGE, VIDEO, NEWS)
#: The elements whose texts a block has.
_READ: Final = frozenset(
    {f"{SITEMAP} loc", f"{SITEMAP} lastmod", f"{NEWS} publication_date"}
)
_ROOTS: Final = {
    f"{SITEMAP} urlset": f"{SITEMAP} url",
    f"{SITEMAP} sitemapindex": f"{SITEMAP} sitemap",
}


def read(body: bytes, fault: Fault) -> Iterator[Block]:
    """Yield the entries of any document, and say what is wrong with it."""
    reader = _Reader(fault)
    try:
        for start in range(0, len(body), _BYTES):
            reader.feed(body[start : start + _BYTES])
            yield from reader.complete(_ENTRIES)
        reader.feed(b"", is_last=True)
    except expat.ExpatError as error:
        fault("", f"not well-formed XML: {error}")
    except _NoSitemapError as error:
        fault("", str(error))
    yield from reader.complete(1)


class _NoSitemapError(Exception):
    """What makes reading on pointless."""


class _Children:
    """The rules of an element, looked up by name."""

    def __init__(self, rules: dict[str, _Rule]) -> None:
        self.rules = rules
        self.places = {name: place for place, name in enumerate(rules)}
        self.required = [name for name, rule in rules.items() if rule.least]
        self.checks = {
            name: rule.check for name, rule in rules.items() if rule.check is not None
        }


_CHILDREN: Final = {name: _Children(rules) for name, rules in _RULES.items()}
_ROOT_CHILDREN: Final = {
    root: _Children({child: _Rule(0, None)}) for root, child in _ROOTS.items()
}


@dataclass(slots=True)
class _Element:
    """An element that is open: its name, and how many children it has had of each."""

    name: str
    children: _Children | None
    counts: dict[str, int] = field(default_factory=dict)
    #: The place among the rules of the child that came last.
    last: int = -1


class _Reader:
    """Calls of expat become blocks, and faults."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault
        self._open: list[_Element] = []
        self._text: list[str] = []
        self._values: dict[tuple[str, str], str] = {}
        self._links: list[str] = []
        self._wrong: list[str] = []
        self._block = Block()
        self._expat = expat.ParserCreate(namespace_separator=" ")
        self._expat.buffer_text = True
        self._expat.StartDoctypeDeclHandler = self._refuse
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._text.append

    def feed(self, data: bytes, *, is_last: bool = False) -> None:
        """Read on."""
        self._expat.Parse(data, is_last)

    def complete(self, least: int) -> Iterator[Block]:
        """Yield the entries that are complete, if there are enough."""
        if len(self._block.locations) >= least:
            done, self._block = self._block, Block(is_index=self._block.is_index)
            yield done

    def _refuse(self, *declared: object) -> None:
        raise _NoSitemapError("it has a document type, as web pages have")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._text.clear()
        if not self._open:
            if name not in _ROOTS:
                raise _NoSitemapError(f"it is {_shown(name)}, and no sitemap")
            self._block.is_index = name.endswith("index")
            self._open.append(_Element(name, _ROOT_CHILDREN[name]))
            return
        if len(self._open) == 1:
            self._values, self._links, self._wrong = {}, [], []
        self._check_place(self._open[-1], name)
        if name == f"{XHTML} link":
            self._link(attributes)
        self._open.append(_Element(name, _CHILDREN.get(name)))

    def _check_place(self, parent: _Element, name: str) -> None:
        """Note what is wrong with an element standing here."""
        parent.counts[name] = count = parent.counts.get(name, 0) + 1
        known = parent.children
        if known is None:
            return
        problem, most = "", None
        if (place := known.places.get(name)) is not None:
            most = known.rules[name].most
            problem = " stands too late" if place < parent.last else ""
            parent.last = max(place, parent.last)
        elif (space := name.rpartition(" ")[0]) and self._may_follow(parent, name):
            most, parent.last = _MEDIA.get(name), len(known.rules)
        elif space in _KNOWN or not space:
            problem = ": it has no such element"
        if most is not None and count == most + 1:
            problem = f" more than {_times(most)}"
        if problem:
            self._wrong.append(f"{_shown(name)} in {_shown(parent.name)}{problem}")

    @staticmethod
    def _may_follow(parent: _Element, name: str) -> bool:
        """Tell whether an element of another namespace may stand in an entry."""
        if parent.name != f"{SITEMAP} url":
            return False
        return name in _MEDIA or name.rpartition(" ")[0] not in _KNOWN

    def _link(self, attributes: dict[str, str]) -> None:
        """Note an alternate."""
        hreflang, href = attributes.get("hreflang", ""), attributes.get("href", "")
        if attributes.get("rel") != "alternate":
            return
        if not href or not is_language(hreflang):
            self._wrong.append(
                f"an alternate with hreflang {hreflang!r} and href {href!r}"
            )
        self._links.append(alternate(hreflang, href))

    def _end(self, name: str) -> None:
        closed = self._open.pop()
        text = "".join(self._text).strip()
        self._text.clear()
        if closed.children is not None:
            self._wrong += [
                f"{_shown(name)} without {_shown(child)}"
                for child in closed.children.required
                if child not in closed.counts
            ]
        if not self._open:
            return
        parent = self._open[-1]
        check = parent.children.checks.get(name) if parent.children else None
        if check is not None and (problem := check(text)):
            self._wrong.append(f"{_shown(name)} {problem}")
        if name in _READ:
            self._values.setdefault((parent.name, name), text)
        if name == f"{VIDEO} video" and not (
            {f"{VIDEO} content_loc", f"{VIDEO} player_loc"} & closed.counts.keys()
        ):
            self._wrong.append("a video with neither content_loc nor player_loc")
        if len(self._open) == 1:
            self._finish(name)

    def _finish(self, name: str) -> None:
        """Note an entry, and what is wrong with it."""
        get = self._values.get
        location = get((name, f"{SITEMAP} loc"), "")
        for problem in self._wrong:
            self._fault(location, problem)
        if not location:
            return
        block = self._block
        block.locations.append(location)
        block.lastmods.append(get((name, f"{SITEMAP} lastmod"), ""))
        block.links.append("".join(self._links))
        block.news.append(get((f"{NEWS} news", f"{NEWS} publication_date"), ""))


def _times(number: int) -> str:
    """Return how often something may stand somewhere, in words."""
    return "once" if number == 1 else f"{number:,} times"


def alternate(hreflang: str, href: str) -> str:
    """Return an alternate as ``Block.links`` has it."""
    return f'hreflang="{escape(hreflang)}" href="{escape(href)}"'


#: The alternates of an entry, in its links.
ALTERNATE: Final = re.compile(r'hreflang="([^"]*)" href="([^"]*)"')


def _shown(name: str) -> str:
    """Return an element as one writes it."""
    space, _, local = name.rpartition(" ")
    prefix = {IMAGE: "image:", VIDEO: "video:", NEWS: "news:"}.get(space, "")
    return f"<{prefix}{local}>"
