"""
Where two texts of entries differ, at the cost of what differs.

Whoever wrote the new text knows it in blocks of some hundred entries. Each is held
against the former text where that stands; where they part, the first entry of a later
block is searched for. Only what lies between is taken apart into entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .listing import END, Listing, entries_of, listing_of

#: Entries of one block of those into which a block that differs is cut.
_FEW = 32
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
            found = former.find(block[: block.index(END) + len(END)], position)
        if found < 0 or not former.startswith(block, found):
            pending.append(block)
            continue
        if pending:
            yield former[position:found], b"".join(pending)
            pending.clear()
        position = found + len(block)
    if pending or position < len(former):
        yield former[position:], b"".join(pending)


def listings(
    former: bytes, blocks: Sequence[bytes], asked: Iterable[bytes] = ()
) -> tuple[Listing, Listing]:
    """
    Return what two texts list, as far as their entries differ.

    Entries that are the same in both are left out of both, but those of ``asked``,
    locations as they are written.
    """
    wanted = set(asked)
    for part, changed in differing(former, blocks):
        for old, new in differing(part, _finer(changed)):
            unlike = listing_of(old).items() ^ listing_of(new).items()
            wanted |= {item for item, _ in unlike}
    return entries_of(former, wanted), entries_of(b"".join(blocks), wanted)


def _finer(text: bytes) -> list[bytes]:
    """Return a text in blocks of a few entries."""
    entries = text.split(END)[:-1]
    return [
        END.join([*entries[start : start + _FEW], b""])
        for start in range(0, len(entries), _FEW)
    ]
