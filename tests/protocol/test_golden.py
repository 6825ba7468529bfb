"""The exact bytes of each writer and extension, as files to look at."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.protocol.samples import FILES, GOLDEN


@pytest.mark.parametrize(("name", "write"), FILES.items(), ids=FILES)
def test_the_bytes_are_those_of_the_golden_file(
    name: str, write: Callable[[], bytes]
) -> None:
    assert write() == (GOLDEN / name).read_bytes()


def test_every_golden_file_is_compared() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == set(FILES)
