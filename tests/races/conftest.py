from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.processes import quick_commits


@pytest.fixture(autouse=True)
def commits_do_not_wait(transactional_db: None) -> Iterator[None]:
    with quick_commits():
        yield
