from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.support.processes import quick_commits

#: They take minutes, and want Celery and a quiet machine: SITEMAPS_PLUS_RACES=1 runs
#: them.
collect_ignore_glob = [] if os.environ.get("SITEMAPS_PLUS_RACES") else ["test_*.py"]


@pytest.fixture(autouse=True)
def commits_do_not_wait(transactional_db: None) -> Iterator[None]:
    with quick_commits():
        yield
