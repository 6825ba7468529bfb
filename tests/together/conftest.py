"""Tests of several apps together; each is found where all that it names is there."""

from __future__ import annotations

from pathlib import Path

from tests.health.conftest import sound
from tests.support.further_apps import incomplete

__all__ = ["sound"]

collect_ignore = incomplete(Path(__file__).parent)
try:
    import google.auth  # noqa: F401 (an extra)
except ImportError:
    collect_ignore.append("test_shares_in_the_admin.py")
