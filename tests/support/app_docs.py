"""The documentation of an app beside the core: its tables list what the app adds."""

from __future__ import annotations

import dataclasses
import importlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def listed(app: str, page: str) -> list[str]:
    """Return what the table of an app on a page lists: settings, or checks."""
    text = (ROOT / "docs" / f"{page}.md").read_text()
    own = text.partition(f"\n## `contrib.{app}`\n")[2].partition("\n## ")[0]
    return re.findall(r'^\| <a id="(\w+)">', own, re.MULTILINE)


def tables_list_what_is_added(app: str) -> None:
    """Fail unless settings and checks are listed, and each check has its test."""
    package = f"django_sitemaps_plus.contrib.{app}"
    settings = importlib.import_module(f"{package}.conf").Settings
    names = [field.name for field in dataclasses.fields(settings)]
    assert listed(app, "settings") == sorted(names)
    checks = importlib.import_module(f"{package}.checks").__file__
    assert checks is not None
    ids = re.findall(r'"([EW]\d{3})"', Path(checks).read_text())
    assert ids
    assert listed(app, "checks") == sorted(ids)
    tests = (ROOT / "tests" / "contrib" / app).glob("test_*.py")
    tried = " ".join(path.read_text() for path in tests)
    assert [one for one in ids if one not in tried] == []
