"""
The schemas of sitemaps, checked without any other program, as a stream.

A page of this package is proved to be valid by one regular expression, half a million
characters at a time. What that cannot prove, and documents of others, ``elements``
reads, which defines what is valid.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from django_sitemaps_plus.protocol.limits import CHANGEFREQS, MAX_IMAGES
from django_sitemaps_plus.protocol.writers import URLSET_FOOTER

from .elements import IMAGE, SITEMAP, XHTML, Block, Fault, read

#: Bytes that are proved at a time.
_BYTES = 500_000

_URL = r"(?:[!#-%(-;=?-~]++|&(?:amp|lt|gt|quot|apos);)++"
_DAY = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_TIME = (
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]++)?"
    r"(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))"
)
_LINK = rf'<xhtml:link rel="alternate" hreflang="[\w-]++" href="{_URL}"/>'

_PICTURE = rf"<image:image><image:loc>{_URL}</image:loc></image:image>"


def _entry(group: str) -> str:
    """Return the pattern of an entry, its three values in groups that begin so."""
    return (
        rf"<url><loc>{group}{_URL})</loc>"
        rf"(?:<lastmod>{group}{_DAY}(?:{_TIME})?)</lastmod>)?+"
        rf"(?:<changefreq>(?:{'|'.join(sorted(CHANGEFREQS))})</changefreq>)?+"
        r"(?:<priority>(?:0(?:\.[0-9]++)?|1(?:\.0++)?)</priority>)?+"
        rf"{group}(?:{_LINK})*+)(?:{_PICTURE}){{0,{MAX_IMAGES}}}+</url>\n"
    )


_ENTRIES_OF = re.compile(_entry("("), re.ASCII)
_ALL_LEGAL = re.compile(f"(?:{_entry('(?:')})*+", re.ASCII)
_START, _END = b"<url>", b"</url>\n"


def blocks(body: bytes, fault: Fault = lambda url, text: None) -> Iterator[Block]:
    """Yield the entries of a document, and say what is wrong with it."""
    start = body.find(_START)
    if start < 0 or not _is_plain(body, start, fault):
        yield from read(body, fault)
        return
    end = len(body) - len(URLSET_FOOTER)
    while start < end:
        stop = body.rfind(_END, start, min(end, start + _BYTES)) + len(_END)
        block = _proved(body[start:stop]) if stop > start else None
        if block is None:
            # What was yielded so far is legal: this reads only the rest.
            yield from read(body[: body.find(_START)] + body[start:], fault)
            return
        yield block
        start = stop


def _is_plain(body: bytes, start: int, fault: Fault) -> bool:
    """Tell whether a document begins and ends as this package's pages do."""
    if not body.endswith(_END + URLSET_FOOTER):
        return False
    head = body[:start]
    faults: list[str] = []
    if any(read(head + URLSET_FOOTER, lambda url, text: faults.append(text))):
        return False
    spaces = {"": SITEMAP, ":xhtml": XHTML}
    if b"<image:image>" in body:
        spaces[":image"] = IMAGE
    return not faults and all(
        f'xmlns{prefix}="{space}"'.encode() in head for prefix, space in spaces.items()
    )


def _proved(data: bytes) -> Block | None:
    """Return the entries of a part of a page; None if some may be illegal."""
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError:
        return None
    if not _ALL_LEGAL.fullmatch(text):
        return None
    columns = list(zip(*_ENTRIES_OF.findall(text), strict=True))
    locations, lastmods, links = map(list, columns)
    if "&" in text:
        locations = list(map(unescaped, locations))
    return Block(locations, lastmods, links, [""] * len(locations))


def unescaped(text: str) -> str:
    """Return what a text of XML means."""
    return html.unescape(text) if "&" in text else text
