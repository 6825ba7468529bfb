"""Segments follow each other as one gzip file that everybody can read."""

from __future__ import annotations

import gzip
import io
import shutil
import subprocess
import zlib

import pytest
from hypothesis import given
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
def test_the_crc_of_two_texts_follows_from_theirs(first: bytes, second: bytes) -> None:
    """Without isal too, whose function for it Python's zlib has not got."""
    expected = zlib.crc32(first + second)
    given = zlib.crc32(first), zlib.crc32(second), len(second)
    assert segments.combine_slowly(*given) == expected
    assert segments.crc32_combine(*given) == expected


def test_the_crc_follows_from_long_texts() -> None:
    first, second = b"a" * 70_001, b"b" * 5_000_003
    given = zlib.crc32(first), zlib.crc32(second), len(second)
    assert segments.combine_slowly(*given) == zlib.crc32(first + second)


def many() -> tuple[bytes, bytes]:
    """Return a file of six large segments, and what it says."""
    parts = [
        b"".join(b"<loc>https://e.com/%d/%d</loc>\n" % (part, n) for n in range(9_000))
        for part in range(6)
    ]
    segments = [*map(segment_of, parts[:3]), Segment(b"", 0, 0)]
    segments += map(segment_of, parts[3:])
    packed = gzipped(b"<urlset>\n", segments, b"</urlset>\n")
    return packed, b"<urlset>\n" + b"".join(parts) + b"</urlset>\n"


def test_readers_that_take_small_pieces_read_all_of_it() -> None:
    packed, whole = many()
    reader = zlib.decompressobj(31)
    pieces = [packed[at : at + 97] for at in range(0, len(packed), 97)]
    assert b"".join(map(reader.decompress, pieces)) + reader.flush() == whole
    assert gzip.GzipFile(fileobj=io.BytesIO(packed)).read() == whole


#: Unpackers of others; which of them there are depends on the machine.
UNPACKERS = [
    ["gzip", "-dc"],
    ["perl", "-MIO::Uncompress::Gunzip=:all", "-e", "gunzip '-' => '-' or die"],
    [
        "node",
        "-e",
        "process.stdin.pipe(require('zlib').createGunzip()).pipe(process.stdout)",
    ],
]


def _is_there(command: list[str]) -> bool:
    """Return whether the machine has a program; of Perl a part is enough for some."""
    if command[0] == "perl" and shutil.which("perl"):
        done = subprocess.run([*command[:2], "-e", "1"], capture_output=True)
        return done.returncode == 0
    return bool(shutil.which(command[0]))


@pytest.mark.parametrize(
    "command",
    [command for command in UNPACKERS if _is_there(command)],
    ids=lambda command: command[0],
)
@pytest.mark.costly
def test_other_programs_read_all_of_it(command: list[str]) -> None:
    packed, whole = many()
    done = subprocess.run(command, input=packed, capture_output=True, check=True)
    assert done.stdout == whole
