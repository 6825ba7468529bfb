"""What others send is read in linear time."""

from __future__ import annotations

from pathlib import Path

from django_sitemaps_plus import contrib
from tests.support.linear_time import readers_in


def test_it_is_known_of_each_pattern_whom_it_reads() -> None:
    #: The names of files that the project itself has put into its storage.
    own = "storages"
    assert readers_in(Path(contrib.__path__[0], "edge")) == {own}
