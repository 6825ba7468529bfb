"""Whoever deletes this app, or another one, breaks nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import django_sitemaps_plus

PACKAGE = Path(django_sitemaps_plus.__file__).parent
OWN = PACKAGE / "contrib" / "insight"
_IMPORT = re.compile(r"^\s*(?:from|import) (?:\S*\.)?contrib\.(\w+)", re.MULTILINE)


def imported(path: Path) -> set[str]:
    """Return the apps that a module imports."""
    apps = {folder.parent.name for folder in PACKAGE.glob("contrib/*/apps.py")}
    return apps & set(_IMPORT.findall(path.read_text()))


def test_it_imports_no_other_app() -> None:
    found = {path.name: imported(path) - {"insight"} for path in OWN.rglob("*.py")}
    assert not any(found.values()), found


def test_nobody_else_imports_it() -> None:
    others = (path for path in PACKAGE.rglob("*.py") if OWN not in path.parents)
    assert [path for path in others if "insight" in imported(path)] == []
