"""Sitemaps read back with lxml, and compared entry by entry."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest

from lxml import etree

_NS = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
_LINK = "{http://www.w3.org/1999/xhtml}link"
_ATOM = "{http://www.w3.org/2005/Atom}"
_TOMBSTONE = "{http://purl.org/atompub/tombstones/1.0}deleted-entry"


@dataclass(frozen=True, slots=True)
class Entry:
    """A ``<url>`` or a ``<sitemap>``, as a crawler reads it."""

    loc: str
    lastmod: str | None
    changefreq: str | None
    priority: str | None
    alternates: tuple[tuple[str, str], ...]


def entries(body: bytes) -> list[Entry]:
    """Return the entries of a urlset or of an index; raises if it is not XML."""
    found = []
    for _, element in etree.iterparse(
        io.BytesIO(body), tag=(f"{_NS}url", f"{_NS}sitemap")
    ):
        links = element.findall(_LINK)
        found.append(
            Entry(
                loc=element.findtext(f"{_NS}loc") or "",
                lastmod=element.findtext(f"{_NS}lastmod"),
                changefreq=element.findtext(f"{_NS}changefreq"),
                priority=element.findtext(f"{_NS}priority"),
                alternates=tuple(
                    (link.get("hreflang", ""), link.get("href", "")) for link in links
                ),
            )
        )
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]
    return found


def links(body: bytes) -> list[str]:
    """Return the URLs of a sitemap or of a feed, removed ones as well, in its order."""
    names = {f"{_NS}loc": None, f"{_ATOM}entry": f"{_ATOM}id", "item": "link"}
    found = []
    for element in etree.fromstring(body).iter(*names, _TOMBSTONE):
        child = names.get(element.tag)
        if element.tag == _TOMBSTONE:
            found.append(element.get("ref", ""))
        else:
            found.append((element.findtext(child) if child else element.text) or "")
    return found


def differences(
    ours: bytes, theirs: bytes, lastmods: Iterable[dt.datetime]
) -> list[str]:
    """
    Compare our page with contrib's, and our lastmods with those of the rows.

    Contrib cuts a lastmod off after the day; ours says all of it, so the time is
    compared with the database's.
    """
    found = []
    number = 0
    rows = zip_longest(entries(ours), entries(theirs), lastmods)
    for number, (our, their, lastmod) in enumerate(rows, 1):
        if our is None or their is None or lastmod is None:
            found.append(f"entry {number}: {our} / {their} / {lastmod}")
            continue
        expected = lastmod.isoformat(timespec="seconds")
        same = (
            our.loc == their.loc
            and our.lastmod == expected
            and their.lastmod == expected[:10]
            and our.changefreq == their.changefreq
            and our.priority == their.priority
            and our.alternates == their.alternates
        )
        if not same:
            found.append(f"entry {number}: {our} / {their} / {expected}")
    if number == 0:
        found.append("no entries at all")
    return found
