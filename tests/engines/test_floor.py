"""Engines do not import Django, and only one module opens connections."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from django_sitemaps_plus import engines
from tests.support.imports import imported

MODULES = sorted(Path(engines.__file__).parent.glob("*.py"))
#: Modules that open connections.
NETWORK = {"http", "socket", "ssl", "urllib3", "asyncio", "smtplib", "ftplib"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_imports_neither_django_nor_the_rest_of_the_package(
    path: Path,
) -> None:
    names = {
        name.partition(".")[0]
        for name in imported(path)
        if not name.startswith("django_sitemaps_plus.protocol.")
    }
    allowed = {"http": {"urllib3"}, "google_auth": {"google"}}.get(path.stem, set())
    assert names - sys.stdlib_module_names <= allowed
    assert path.stem == "http" or not names & NETWORK
    assert "urllib.request" not in imported(path)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_imports_are_circular(path: Path) -> None:
    order = [
        "errors",
        "addresses base retired",
        "http memory console",
        "keyfile robots_check google_auth ping",
        "indexnow google",
        "__init__",
    ]
    floor = {name: n for n, names in enumerate(order) for name in names.split()}
    below: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            below |= {node.module} if node.module else {a.name for a in node.names}
    assert all(floor[name] < floor[path.stem] for name in below)
