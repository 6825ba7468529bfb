"""
What a page lists, read back from its bytes.

``serializer`` writes every entry as ``<url><loc>…</loc>…</url>`` and a line break; here
that is taken apart again. By ``split()``: a regular expression takes three times as
long, and most of what a build costs that changes one entry.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias

from django_sitemaps_plus.db import parts
from django_sitemaps_plus.protocol.markup import escape

#: By location, as it is written, the rest of each entry.
Listing: TypeAlias = dict[bytes, bytes]

#: What an entry begins and ends with.
START, _END = b"<url><loc>", b"</url>\n"
#: Locations that are looked for one by one.
_FEW = 20
_LASTMOD = re.compile(rb"<lastmod>([^<]*)</lastmod>")
_LOC = re.compile(rb"<url><loc>([^<]*)</loc>")


def listing_of(body: bytes) -> Listing:
    """Return what a page, or the text of some entries, lists."""
    start = body.find(START)
    if start < 0:
        return {}
    entries = body[start + len(START) : body.rindex(_END)].split(_END + START)
    # As pairs of a location and the rest; with all pairs at once the garbage collector
    # would go through what the project has in memory.
    return dict(entry.split(b"</loc>", 1) for entry in entries)


def entries_of(text: bytes, locations: Collection[bytes]) -> Listing:
    """Return what a text lists of some locations, given as they are written."""
    if len(locations) > _FEW:
        every = listing_of(text)
        return {item: every[item] for item in locations if item in every}
    found = Listing()
    for location in locations:
        start = START + location + b"</loc>"
        # The last one, as in a listing; most texts have none, which this way sees soon.
        if start in text:
            at = text.rindex(start) + len(start)
            found[location] = text[at : text.index(_END, at)]
    return found


def locations_of(body: bytes) -> list[bytes]:
    """Return the locations of a page as they are written, in its order."""
    return _LOC.findall(body)


def listed_of(body: bytes, locations: Collection[str], origin: str) -> dict[str, str]:
    """Return those of some locations that a page with an origin lists, with lastmod."""
    texts = {written(location, origin): location for location in locations}
    found = entries_of(body, texts)
    return {texts[text]: lastmod_of(rest) for text, rest in found.items()}


def written(location: str, origin: str) -> bytes:
    """Return a location, a path of the site or a whole URL, as a page writes it."""
    whole = f"{origin}{location}" if location.startswith("/") else location
    return escape(whole).encode()


def location_of(written: bytes, origin: str) -> str:
    """Return the location that ``written`` made the text of."""
    location = html.unescape(written.decode())
    path = location.removeprefix(origin)
    return path if path.startswith("/") else location


def lastmod_of(rest: bytes) -> str:
    """Return the lastmod of an entry; empty if it has none."""
    match = _LASTMOD.search(rest)
    return match[1].decode() if match else ""


def lastmods_of(body: bytes) -> dict[str, str]:
    """Return the lastmods of a page, or of the text of some entries, by URL."""
    return {
        html.unescape(url.decode()): lastmod_of(rest)
        for url, rest in listing_of(body).items()
    }


# Where two texts of entries differ
#
# Whoever wrote the new text knows it in blocks of some hundred entries. Each is held
# against the former text where that stands; where they part, the first entry of a
# later block is searched for. Only what lies between is taken apart into entries.

#: Entries of one block of those into which a block that differs is cut.
_BLOCK = 32
#: Blocks in a row of which the former text has none, after which all the rest differs.
_TRIES = 8


def differing(former: bytes, blocks: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """
    Yield the pairs of a former text and a new one that differ.

    What lies between two pairs is the same in both, to the byte.
    """
    position, pending = 0, list[bytes]()
    for block in blocks:
        found = -1 if len(pending) > _TRIES else position
        if 0 < len(pending) <= _TRIES:
            # Where this block's first entry is, the former text goes on as the new.
            found = former.find(block[: block.index(_END) + len(_END)], position)
        if found < 0 or not former.startswith(block, found):
            pending.append(block)
            continue
        if pending:
            yield former[position:found], b"".join(pending)
            pending.clear()
        position = found + len(block)
    if pending or position < len(former):
        yield former[position:], b"".join(pending)


def listings(former: bytes, blocks: Sequence[bytes]) -> tuple[Listing, Listing]:
    """Return what two texts list, without the entries that are the same in both."""
    wanted = set[bytes]()
    for part, changed in differing(former, blocks):
        for old, new in differing(part, _finer(changed)):
            unlike = listing_of(old).items() ^ listing_of(new).items()
            wanted |= {item for item, _ in unlike}
    return entries_of(former, wanted), entries_of(b"".join(blocks), wanted)


def _finer(text: bytes) -> list[bytes]:
    """Return a text in blocks of a few entries."""
    entries = text.split(_END)[:-1]
    return [_END.join([*some, b""]) for some in parts(entries, _BLOCK)]
