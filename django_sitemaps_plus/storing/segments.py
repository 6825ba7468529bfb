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
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Protocol

#: isal, or zlib where the extra "fast" is not installed.
_library: Any
try:
    from isal import isal_zlib as _library

    #: isal's level 2 packs as tightly as zlib's 6 (within 4 %) in a tenth of the time.
    _LEVEL = 2
except ImportError:
    _library = zlib
    _LEVEL = 4

#: zlib's and isal's word for deflate without a header, with the largest window.
_RAW: Final = -15
#: Of the CRC-32 in gzip files (RFC 1952, section 8), its bits in reverse order.
_POLYNOMIAL: Final = 0xEDB88320


class Compressor(Protocol):
    """What zlib's and isal's compressors have in common."""

    def compress(self, data: bytes, /) -> bytes:
        """Take some bytes, and return those that are ready."""

    def flush(self, mode: int, /) -> bytes:
        """Return the rest."""


#: Returns the CRC-32 of bytes; with another's, of these behind the others.
crc32: Callable[..., int] = _library.crc32


def combine_slowly(first: int, second: int, length: int) -> int:
    """Do what zlib's crc32_combine() does, which Python's zlib has not got."""
    return _times(first, _power(8 * length)) ^ second


#: Returns the CRC-32 of two texts, by theirs and the length of the second in bytes. The
#: same files are asked for again and again.
crc32_combine = lru_cache(maxsize=1024)(
    getattr(_library, "crc32_combine", combine_slowly)
)


@lru_cache(maxsize=1024)
def _power(exponent: int) -> int:
    """Return x to a power: those of the pages that are stored are asked for again."""
    found, square = 1 << 31, 1 << 30
    while exponent:
        if exponent & 1:
            found = _times(found, square)
        square = _times(square, square)
        exponent >>= 1
    return found


def _times(first: int, second: int) -> int:
    """Return the product of two polynomials."""
    product = 0
    for place in range(31, -1, -1):
        if first >> place & 1:
            product ^= second
        second = (second >> 1) ^ (_POLYNOMIAL if second & 1 else 0)
    return product


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
        # With a byte to spare, nothing is copied from a buffer that was too small.
        spared = self.size + 1
        text: bytes = _library.decompress(self.data + _END, wbits=_RAW, bufsize=spared)
        return text


class SegmentWriter:
    """Compresses a text that comes in blocks into one segment."""

    def __init__(self) -> None:
        # It writes neither a header nor an end.
        self._packer: Compressor = _library.compressobj(_LEVEL, zlib.DEFLATED, _RAW)
        self._packed: list[bytes] = []
        self._size = self._crc = 0

    def add(self, block: bytes) -> None:
        """Add a block of the text."""
        self._packed.append(self._packer.compress(block))
        self._size += len(block)
        self._crc = crc32(block, self._crc)

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


@lru_cache(maxsize=8)
def converted(segment: Segment, convert: Callable[[bytes], bytes]) -> Segment:
    """
    Return what a function makes of a text, compressed.

    The last few are remembered: a full page takes 15 ms.
    """
    return segment_of(convert(segment.text()))


#: Headers and footers: a few for each project.
_cached_segment = lru_cache(maxsize=64)(segment_of)


def gzipped(header: bytes, segments: Iterable[Segment], footer: bytes) -> bytes:
    """Return a header, the texts of segments and a footer as one gzip file."""
    packed, size, crc = [_START], 0, 0
    for segment in (_cached_segment(header), *segments, _cached_segment(footer)):
        packed.append(segment.data)
        crc = crc32_combine(crc, segment.crc, segment.size)
        size += segment.size
    packed += [_END, struct.pack("<II", crc, size & 0xFFFFFFFF)]
    return b"".join(packed)
