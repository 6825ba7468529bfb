"""Tests of several apps together; each is found where all that it names is there."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from tests.health.conftest import sound

__all__ = ["sound"]

_APP = re.compile(r"\b(django_sitemaps_plus\.contrib\.\w+)")


def is_complete(path: Path) -> bool:
    """Return whether all apps are there that a test names."""
    return all(map(importlib.util.find_spec, set(_APP.findall(path.read_text()))))


collect_ignore = [
    path.name
    for path in Path(__file__).parent.glob("test_*.py")
    if not is_complete(path)
]
