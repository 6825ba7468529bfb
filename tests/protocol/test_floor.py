"""The ground floor stands on the standard library alone, and touches nothing."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from django_sitemaps_plus.protocol import limits
from tests.support.imports import imported

MODULES = sorted(Path(limits.__file__).parent.glob("*.py"))
IO = {"asyncio", "http", "io", "os", "pathlib", "shutil", "socket", "subprocess"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_imports_the_standard_library_only_and_nothing_that_does_io(
    path: Path,
) -> None:
    names = imported(path)
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names - IO
    assert "urllib.request" not in names
    assert not re.search(r"\b(open|print|input)\(", path.read_text())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_module_imports_itself_in_a_circle(path: Path) -> None:
    """Imports inside the floor only go down, too."""
    order = [
        "errors limits entries",
        "values dates locations",
        "markup robots",
        "extensions",
        "writers",
        "__init__",
    ]
    floor = {name: n for n, names in enumerate(order) for name in names.split()}
    below = {
        node.module
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.level == 1
    }
    assert all(floor[str(name)] < floor[path.stem] for name in below)
