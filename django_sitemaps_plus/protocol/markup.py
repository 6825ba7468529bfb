"""Values as the text of XML: escaped, dated, addressed; and of a cell of CSV."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, tzinfo
from types import MappingProxyType
from typing import Final, NamedTuple

from .dates import w3c
from .errors import DateError, EntryError, LocationError
from .locations import ORIGIN_MARK, resolve

# XML 1.0, https://www.w3.org/TR/xml/#charsets, knows neither these ...
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
# ... nor, unescaped, these; a parser would read a bare carriage return as a newline.
_ESCAPES: Final = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&apos;",
    "\r": "&#13;",
}
_SPECIAL = re.compile("[&<>\"'\r\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

# The forms of W3C Datetime that xsd:date and xsd:dateTime, so the schemas, have too.
_DAY_OR_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:T[0-9]{2}:[0-9]{2}(:[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:[0-9]{2}))?"
)


def escape(text: str) -> str:
    """Escape the five entities of XML, and carriage returns; good in attributes too.

    Raises:
        EntryError: A character that XML 1.0 cannot hold, or no text.
    """
    try:
        if not _SPECIAL.search(text):
            return text
    except TypeError as error:
        raise EntryError.of("text", text, "not a text") from error
    if match := _NO_XML.search(text):
        raise EntryError.of(
            "text", text, f"U+{ord(match.group()):04X} is illegal in XML"
        )
    return _SPECIAL.sub(lambda match: _ESCAPES[match.group()], text)


def text_xml(value: object, field: str, most: int | None = None) -> str:
    """Check that there is a text and how long it is, and escape it."""
    if not isinstance(value, str):
        raise EntryError.of(field, value, "not a text")
    if not value.strip():
        raise EntryError.of(field, value, "empty")
    if most is not None and len(value) > most:
        raise EntryError.of(field, value, f"{len(value)} characters, over {most}")
    return _naming(field, escape, value)


def _naming(field: str, write: Callable[..., str], *given: object) -> str:
    """Return what a function writes; its errors name the field."""
    try:
        return write(*given)
    except EntryError as error:
        raise type(error)(f"{field}: {error}") from error


def escaped_address(uri: str) -> str:
    """Escape an address; the mark may stand before a path, nowhere else."""
    if uri.startswith(f"{ORIGIN_MARK}/"):
        return ORIGIN_MARK + escape(uri[1:])
    if not uri.startswith(("https://", "http://")):
        raise LocationError.of("location", uri, "not an absolute URL")
    return escape(uri)


def location_text(location: object, prefix: str | None, field: str) -> str:
    """Return what ``locations.resolve`` returns; its errors name the field."""
    return _naming(field, resolve, location, prefix)


def date_text(value: date | datetime | str, zone: tzinfo, field: str) -> str:
    """Return what ``dates.w3c`` returns, for the schemas; errors name the field."""
    return day_or_time(_naming(field, w3c, value, zone), field)


def day_or_time(text: str, field: str) -> str:
    """Return a W3C Datetime in a form that the schemas accept, or DateError.

    They want the day (a year or a month alone is refused) and seconds (":00" is added
    to a time without).
    """
    match = _DAY_OR_TIME.fullmatch(text)
    if match is None:
        raise DateError.of(field, text, "the schemas want YYYY-MM-DD at least")
    if "T" in text and match.group(1) is None:
        return f"{text[:16]}:00{text[16:]}"
    return text


#: Where a spreadsheet may take what follows for a formula: a cell begins there, or one
#: would if the semicolon separated cells, as it does where a comma is in numbers.
#: Full-width signs count as others in East Asian versions.
_FORMULA = re.compile(r'(^|[;\t\r\n]"*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20\t\r])')


def cell(value: object) -> str:
    """Return a text that no spreadsheet takes for a formula; empty for None."""
    return "" if value is None else _FORMULA.sub(r"\1'", str(value))


# The tags and texts of web pages that others write, read in linear time
#
# Python's own parser takes the square of the time for tags and comments that do not
# end, in versions that are in use. This one passes each character once, and leaves out
# what does not end: https://html.spec.whatwg.org/multipage/parsing.html#tokenization.

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
