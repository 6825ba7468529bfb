"""What others send is read in linear time."""

from __future__ import annotations

from tests.support.linear_time import PACKAGE, patterns_are_known


def test_it_is_known_of_each_pattern_whom_it_reads() -> None:
    """It reads the names of files that the project itself has put into its storage."""
    patterns_are_known(PACKAGE / "contrib/edge", measured="", own="storages")
