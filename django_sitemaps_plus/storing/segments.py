"""
Segments: compressed texts that, one after the other, are one gzip file.

A page's bytes are stored as the segment of its entries. What is sent begins with a
header, ends with a footer and has one segment or many between them, of one section or
of several; nothing is unpacked or packed again for it.

Each segment is raw deflate that ends with a full flush (RFC 1951): it refers to nothing
before it, and ends at a byte. So segments follow each other as blocks of one stream,
and the CRC-32 of the whole follows from theirs (RFC 1952, section 2.3.1).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from . import compression

#: A gzip header without time and file name, so that the same page gives the same file.
_START: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
#: An empty last block.
_END: Final = b"\x03\0"


@dataclass(frozen=True, slots=True)
class Segment:
    """A compressed text, with the length and the CRC-32 of the text."""

    data: bytes
    #: Bytes of the text.
    size: int
    crc: int

    def text(self) -> bytes:
        """Return the text."""
        return compression.inflate(self.data + _END, self.size)


class SegmentWriter:
    """Compresses a text that comes in blocks into one segment."""

    def __init__(self) -> None:
        self._packer = compression.deflater()
        self._packed: list[bytes] = []
        self._size = self._crc = 0

    def add(self, block: bytes) -> None:
        """Add a block of the text."""
        self._packed.append(self._packer.compress(block))
        self._size += len(block)
        self._crc = compression.crc32(block, self._crc)

    def segment(self) -> Segment:
        """Return the segment; nothing can be added afterwards."""
        if self._size:
            self._packed.append(self._packer.flush(zlib.Z_FULL_FLUSH))
        return Segment(b"".join(self._packed), self._size, self._crc)


def segment_of(text: bytes) -> Segment:
    """Return a text as a segment."""
    writer = SegmentWriter()
    if text:
        writer.add(text)
    return writer.segment()


#: Headers and footers: a few for each project.
_cached_segment = lru_cache(maxsize=64)(segment_of)


def gzipped(header: bytes, segments: Iterable[Segment], footer: bytes) -> bytes:
    """Return a header, the texts of segments and a footer as one gzip file."""
    packed, size, crc = [_START], 0, 0
    for segment in (_cached_segment(header), *segments, _cached_segment(footer)):
        packed.append(segment.data)
        crc = compression.crc32_combine(crc, segment.crc, segment.size)
        size += segment.size
    packed += [_END, struct.pack("<II", crc, size & 0xFFFFFFFF)]
    return b"".join(packed)
