"""
The tags and texts of web pages that others write, read in linear time.

Python's own parser takes the square of the time for tags and comments that do not end,
in versions that are in use. This one passes each character once, and leaves out what
does not end: https://html.spec.whatwg.org/multipage/parsing.html#tokenization.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

_MARKUP = re.compile(r"<(?:!--|/?[a-z][^\s/>]*+|[!?/])", re.ASCII | re.IGNORECASE)
_COMMENT_END = re.compile("--!?>")
#: An attribute up to its value, or with one that is not quoted; or the end of the tag.
_ATTRIBUTE = re.compile(
    r"[\s/]*+(?:(>)|([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:([\"'])|([^\s>]*+)))?+)", re.ASCII
)
#: Of few digits: Python refuses to read long numbers.
_REFERENCE = re.compile(r"&(?:#x?[0-9a-f]{1,7};?|[a-z][a-z0-9]{1,31};)", re.IGNORECASE)
#: Elements whose text has no tags, and their ends.
_RAW: Final = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.ASCII | re.IGNORECASE)
    for name in ("script", "style", "title", "textarea", "iframe", "noframes", "xmp")
}
_UNESCAPED: Final = ("title", "textarea")
_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class Part(NamedTuple):
    """A tag or a text."""

    #: "a" for ``<a>``, "/a" for ``</a>``, and "!doctype"; empty: a text.
    tag: str = ""
    #: By lower-case name; one without a value has "".
    attributes: Mapping[str, str] = _NONE
    text: str = ""


def parts(page: str) -> Iterator[Part]:
    """Yield what a page consists of; no comments."""
    at = 0
    while found := _MARKUP.search(page, at):
        if found.start() > at:
            yield Part(text=_unescaped(page[at : found.start()]))
        at, kind = found.end(), found[0][1:].lower()
        if kind == "!--":
            end = _COMMENT_END.search(page, at - 2)  # "<!-->" is one
            if end is None:
                return
            at = end.end()
        elif kind in ("!", "?", "/"):
            if page[at : at + 7].lower() == "doctype":
                yield Part("!doctype")
            at = page.find(">", at) + 1
            if not at:
                return
        else:
            attributes, at, is_empty = _attributes(page, at)
            if not at:
                return
            yield Part(kind, attributes)
            if is_empty:
                yield Part(f"/{kind}")
            elif kind in _RAW:
                end = _RAW[kind].search(page, at)
                text = page[at : end.start() if end else len(page)]
                at += len(text)
                if text:
                    is_plain = kind not in _UNESCAPED
                    yield Part(text=text if is_plain else _unescaped(text))
    if at < len(page):
        yield Part(text=_unescaped(page[at:]))


def _attributes(page: str, at: int) -> tuple[dict[str, str], int, bool]:
    """Return attributes, where the tag ends, and whether by "/>"; 0: nowhere."""
    attributes: dict[str, str] = {}
    while found := _ATTRIBUTE.match(page, at):
        end, name, quote, value = found.groups()
        at = found.end()
        if end:
            return attributes, at, found[0].endswith("/>")
        if quote:
            start, at = at, page.find(quote, at) + 1
            if not at:
                break
            value = page[start : at - 1]
        attributes.setdefault(name.lower(), _unescaped(value or ""))
    return attributes, 0, False


def _unescaped(text: str) -> str:
    return _REFERENCE.sub(lambda found: html.unescape(found[0]), text)
