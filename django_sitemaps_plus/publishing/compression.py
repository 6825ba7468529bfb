"""Deflate whose output depends on its input only: isal's, or zlib's without it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
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


def deflater() -> Compressor:
    """Return a compressor that writes neither a header nor an end."""
    made: Compressor = _library.compressobj(_LEVEL, zlib.DEFLATED, _RAW)
    return made


def inflate(data: bytes, size: int) -> bytes:
    """Return the ``size`` bytes that a ``deflater`` made ``data`` of."""
    # With a byte to spare, nothing is copied from a buffer that was too small.
    text: bytes = _library.decompress(data, wbits=_RAW, bufsize=size + 1)
    return text


def crc32(data: bytes, crc: int = 0) -> int:
    """Return the CRC-32 of what ``crc`` is the one of, and of ``data`` behind it."""
    value: int = _library.crc32(data, crc)
    return value


def crc32_combine(first: int, second: int, length: int) -> int:
    """Return the CRC-32 of two texts; ``length`` is the second one's, in bytes."""
    value: int = _combine(first, second, length)
    return value


def combine_slowly(first: int, second: int, length: int) -> int:
    """Do what zlib's crc32_combine() does, which Python's zlib has not got."""
    for matrix in _zeros():
        if not length:
            break
        if length & 1:
            first = _times(matrix, first)
        length >>= 1
    return first ^ second


_combine = getattr(_library, "crc32_combine", combine_slowly)


@lru_cache(maxsize=1)
def _zeros() -> list[list[int]]:
    """Return what 2^n bytes of zeros do to a CRC-32, for lengths below 2^40."""
    bit = [_POLYNOMIAL, *(1 << place for place in range(31))]
    found = [_squared(_squared(_squared(bit)))]
    while len(found) < 40:
        found.append(_squared(found[-1]))
    return found


def _times(matrix: Sequence[int], vector: int) -> int:
    product = place = 0
    while vector:
        if vector & 1:
            product ^= matrix[place]
        vector >>= 1
        place += 1
    return product


def _squared(matrix: Sequence[int]) -> list[int]:
    return [_times(matrix, row) for row in matrix]
