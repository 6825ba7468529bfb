"""Segments follow each other as one gzip file that everybody can read."""

from __future__ import annotations

import gzip
import io
import zlib

from hypothesis import example, given
from hypothesis import strategies as st

from django_sitemaps_plus.storing import segments
from django_sitemaps_plus.storing.segments import (
    Segment,
    SegmentWriter,
    gzipped,
    segment_of,
)

texts = st.lists(st.binary(max_size=3_000), max_size=8)


@given(st.binary(max_size=50), texts, st.binary(max_size=50))
def test_a_file_says_what_its_parts_say(
    header: bytes, parts: list[bytes], footer: bytes
) -> None:
    packed = gzipped(header, map(segment_of, parts), footer)
    whole = header + b"".join(parts) + footer
    assert gzip.decompress(packed) == whole
    # One member, and nothing behind it: some clients stop at the first.
    reader = zlib.decompressobj(31)
    assert reader.decompress(packed) == whole
    assert (reader.eof, reader.unused_data) == (True, b"")


@given(texts)
def test_a_text_that_comes_in_blocks_is_one_segment(blocks: list[bytes]) -> None:
    writer = SegmentWriter()
    for block in blocks:
        writer.add(block)
    segment, text = writer.segment(), b"".join(blocks)
    assert (segment.text(), segment.size) == (text, len(text))
    assert segment.crc == zlib.crc32(text)
    assert gzipped(b"", [segment], b"") == gzipped(b"", [segment_of(text)], b"") or (
        gzip.decompress(gzipped(b"", [segment], b"")) == text
    )


@given(st.binary(max_size=200), st.binary(max_size=200))
@example(b"a" * 70_001, b"b" * 5_000_003)
def test_the_crc_of_two_texts_follows_from_theirs(first: bytes, second: bytes) -> None:
    """Without isal too, whose function for it Python's zlib has not got."""
    expected = zlib.crc32(first + second)
    given = zlib.crc32(first), zlib.crc32(second), len(second)
    assert segments.combine_slowly(*given) == expected
    assert segments.crc32_combine(*given) == expected


def test_readers_that_take_small_pieces_read_all_of_it() -> None:
    parts = [
        b"".join(b"<loc>https://e.com/%d/%d</loc>\n" % (part, n) for n in range(9_000))
        for part in range(6)
    ]
    found = [segment_of(part) for part in parts]
    packed = gzipped(b"<urlset>\n", [*found[:3], Segment(b"", 0, 0), *found[3:]], b"</")
    whole = b"".join([b"<urlset>\n", *parts, b"</"])
    reader = zlib.decompressobj(31)
    pieces = [packed[at : at + 97] for at in range(0, len(packed), 97)]
    assert b"".join(map(reader.decompress, pieces)) + reader.flush() == whole
    assert gzip.GzipFile(fileobj=io.BytesIO(packed)).read() == whole
