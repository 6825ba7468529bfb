"""
The house: what a module may import, beside the floors of the architecture.

That imports between modules only go down is tested with the documentation, whose
table says which module is on which floor.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import django_sitemaps_plus

PACKAGE = Path(django_sitemaps_plus.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
#: What other modules must not build upon: each is a way in.
DOORS = {"admin", "apps", "checks", "management", "urls", "views"}
#: What may be imported that is neither Django nor the standard library, and where:
#: what is needed beside Django, and the extras.
ELSEWHERE = {
    "urllib3": {"engines/http.py"},
    "google": {"engines/tokens.py"},
    "isal": {"kept.py"},
    "rich": {
        "management/commands/check_sitemaps.py",
        "management/commands/ping_sitemaps.py",
    },
}


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def imports(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """Return every import statement of a module, wherever it stands."""
    tree = ast.walk(ast.parse(path.read_text()))
    return [node for node in tree if isinstance(node, ast.Import | ast.ImportFrom)]


def own(path: Path) -> set[str]:
    """Return the modules of this package that a module imports."""
    found = set()
    for node in imports(path):
        if not isinstance(node, ast.ImportFrom):
            continue
        module = node.module or ""
        if node.level == 0 and module.split(".")[0] != "django_sitemaps_plus":
            continue
        parts = module.split(".")[0 if node.level else 1 :]
        names = {parts[0]} if parts and parts[0] else {a.name for a in node.names}
        found |= names
    return found


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_each_package_from_elsewhere_has_its_one_place(path: Path) -> None:
    for node in imports(path):
        names = (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if node.level == 0
            else []
        )
        for name in names:
            top = name.partition(".")[0]
            assert (
                top in sys.stdlib_module_names
                or top in ("django", "django_sitemaps_plus")
                or name_of(path) in ELSEWHERE.get(top, set())
            ), name


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_no_door_is_built_upon(path: Path) -> None:
    """``urls`` shows what ``views`` answers, and ``apps`` registers ``checks``."""
    allowed = {"urls.py": {"views"}, "apps.py": {"checks"}}
    within = {path.relative_to(PACKAGE).parts[0]}
    assert own(path) & DOORS <= allowed.get(name_of(path), set()) | within


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_stand_at_the_top(path: Path) -> None:
    """An import inside a function hides a circle; apps.py must wait for models."""
    if name_of(path) == "apps.py":
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            inside = ast.walk(node)
            assert not any(isinstance(n, ast.Import | ast.ImportFrom) for n in inside)


@pytest.mark.parametrize(
    "statement",
    [
        "import django_sitemaps_plus",
        "from django_sitemaps_plus import *",
        "from django_sitemaps_plus.protocol import writers",
        "from django_sitemaps_plus import conf, exceptions, origin, registry, routes",
    ],
)
def test_the_public_names_can_be_imported_before_the_apps_are_ready(
    statement: str,
) -> None:
    """A settings module, or an app's ``__init__``, may do it."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", statement],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
