"""What the pages have in Python and for the console runs, in the order of each page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.compat.environments import INSIDE, OWN
from tests.compat.test_quickstart import PAGE
from tests.support.documented import DOCS, README

# Where the documentation is built: each of its pages is a project of its own.
pytestmark = pytest.mark.site


def test_every_block_runs_or_says_why_not(tmp_path: Path, package: Path) -> None:
    pages = [PAGE, README, *(page for page in DOCS if page != PAGE)]
    told = OWN.run(
        *(str(INSIDE / "type_pages.py"), *map(str, pages)), path=[package], cwd=tmp_path
    )
    failed = {page: why for page, why in json.loads(told).items() if why}
    assert not failed, json.dumps(failed, indent=2)
