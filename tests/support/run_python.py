"""A Python of its own for code that is imported or set up only once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.processes import ROOT


def python(
    *arguments: str, cwd: Path = ROOT, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run Python to its end, with the tests' settings unless a variable says others."""
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings", **variables},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
