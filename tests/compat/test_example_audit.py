"""The audit of the example site finds what was planted there, and nothing else."""

from __future__ import annotations

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.compat.environments import clean_environment

EXAMPLE = Path(__file__).parents[2] / "example_project"


@pytest.mark.parametrize("planted", ["1", "0"])
@pytest.mark.costly
def test_the_audit_finds_what_is_planted_and_nothing_else(
    package: Path, few: Path, tmp_path: Path, planted: str
) -> None:
    variables = {
        "EXAMPLE_DATABASE": str(tmp_path / "unicode.sqlite3"),
        "EXAMPLE_FAULTS": planted,
        "TMPDIR": str(tmp_path),
    }

    def manage(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(EXAMPLE / "manage.py"), *arguments],
            env=clean_environment([package], variables),
            capture_output=True,
            text=True,
            check=False,
        )

    shutil.copy(few, variables["EXAMPLE_DATABASE"])
    audit = manage("check_sitemaps", "--fetch", "--format", "json")
    assert audit.returncode == int(planted), audit.stderr
    found = {
        (path_of(finding), finding["id"].removeprefix("sitemaps_plus."))
        for finding in json.loads(audit.stdout)["audit"]["findings"]
    }
    assert found == (faults() if planted == "1" else set())


def path_of(finding: Any) -> str:
    """Return the path of the URL that a finding is of, with its query."""
    parts = urlsplit(finding["url"])
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def faults() -> set[tuple[str, str]]:
    """Return what is planted: paths, and ids of findings."""
    names = runpy.run_path(str(EXAMPLE / "unicode_book" / "faults.py"))
    return {(path, one) for path, ids in names["FAULTS"].items() for one in ids.split()}
