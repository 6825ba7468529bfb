"""What is installed, what it needs, and what it is tested on."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import django_sitemaps_plus
from tests.test_rooms import first_names

ROOT = Path(__file__).parent.parent
PACKAGE = Path(django_sitemaps_plus.__file__).parent
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]

#: What the example and the package use where it is installed, and in which extra.
OPTIONAL = {
    "celery": "celery",
    "django_tasks": "tasks",
    "google": "google",
    "isal": "fast",
    "rich": "cli",
}
#: What only the modules in ``contrib`` use, which are for projects that have it.
HOSTS = {"cms", "django_tenants", "wagtail"}
#: Distributions that are not called like their modules.
NAMES = {"google": "google_auth"}


def modules(folder: Path) -> Iterator[Path]:
    """Yield the Python files of a folder, but for scripts of other Pythons."""
    return (path for path in folder.rglob("*.py") if "inside" not in path.parts)


def imported(paths: Iterator[Path], own: set[str]) -> set[str]:
    """Return what comes from elsewhere than the standard library and ``own``."""
    names: set[str] = set().union(*map(first_names, paths))
    return names - own - sys.stdlib_module_names


def distributions(requirements: list[str]) -> set[str]:
    """Return the names in requirements, as modules are named."""
    names = (re.split(r"[^\w.-]", text, maxsplit=1)[0] for text in requirements)
    return {name.lower().replace("-", "_") for name in names}


distributions_of_modules = cache(metadata.packages_distributions)


def providers(module: str) -> set[str]:
    """Return the distributions that a module is from, as modules are named."""
    found = distributions_of_modules().get(module, [module])
    return {name.lower().replace("-", "_") for name in found}


def test_the_tests_use_the_wheel_where_the_source_is_not_beside_them() -> None:
    tree = ROOT / "django_sitemaps_plus"
    if tree.exists():
        assert tree == PACKAGE
    else:
        assert PACKAGE.parent.name == "site-packages"
        assert metadata.version("django-sitemaps-plus") == PROJECT["version"]


def test_what_is_not_python_code_of_a_package_is_installed_too() -> None:
    for name in ("py.typed", "templates/django_sitemaps_plus/sitemap.css"):
        assert (PACKAGE / name).is_file(), name


def test_no_message_names_a_file_that_is_not_installed() -> None:
    """The documentation is no part of the wheel."""
    for path in modules(PACKAGE):
        text = path.read_text()
        tree = ast.parse(text if ".md" in text else "")
        documented = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                named = re.search(r"[\w{}-]+\.md\b", node.value)
                assert named is None or id(node) in documented, f"{path}: {named}"


def test_the_package_needs_django_and_urllib3_and_nothing_else() -> None:
    assert distributions(PROJECT["dependencies"]) == {"django", "urllib3"}
    # Django needs asgiref itself; typing_extensions is for whoever checks types.
    own = {"django_sitemaps_plus", "asgiref", "typing_extensions"}
    outside = imported(modules(PACKAGE), own)
    assert outside - set(OPTIONAL) - HOSTS == {"django", "urllib3"}
    rooms = (path for path in modules(PACKAGE) if path.parent.name != "contrib")
    assert not imported(rooms, set()) & HOSTS


def test_what_is_optional_is_an_extra() -> None:
    extras = PROJECT["optional-dependencies"]
    used = imported(modules(PACKAGE), set()) | imported(
        modules(ROOT / "example_project"), set()
    )
    for module in used & set(OPTIONAL):
        name = NAMES.get(module, module)
        assert name in distributions(extras[OPTIONAL[module]])
    assert set(extras) == {*OPTIONAL.values(), "test"}


def test_the_extra_for_tests_has_all_that_they_import() -> None:
    """Django and what it needs itself apart, and moto, which tox installs."""
    own = {"tests", "django_sitemaps_plus", "django", "asgiref", "moto", *OPTIONAL}
    own |= {path.name for path in ROOT.iterdir() if path.is_dir()}
    listed = distributions(PROJECT["optional-dependencies"]["test"])
    for module in imported(modules(ROOT / "tests"), own):
        assert providers(module) & listed, module


def test_what_needs_the_network_or_programs_stands_where_it_is_looked_for() -> None:
    """Such tests are selected by their marks, and nothing but this folder is read."""
    mark = re.compile(r"mark\.(network|browser|nginx|varnish|tenants|published|dist)\b")
    for path in (ROOT / "tests").rglob("test_*.py"):
        if path.parent.name != "compat":
            assert not mark.search(path.read_text()), path


def test_the_changelog_begins_with_this_version_or_the_next() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    if headings[0] == "Unreleased":
        del headings[0]
    assert headings[0] == PROJECT["version"]


def test_every_supported_version_is_tested() -> None:
    """Each pair that Django itself supports: 6.0 and later want Python 3.12."""
    tox = (ROOT / "tox.ini").read_text()
    pythons, djangos = versions("Python"), versions("Django")
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    assert PROJECT["dependencies"][0] == f"Django>={djangos[0]}"
    for python in pythons:
        for django in djangos:
            if python != "3.11" or django.startswith("5."):
                assert has_env(tox, python, django), f"{python} {django}"


def test_ci_runs_what_the_classifiers_name_and_nothing_else() -> None:
    runs = (ROOT / ".ci" / "run").read_text()
    found = set(re.findall(r"py(\d)(\d+)-dj(\d)(\d)\b", runs))
    assert {f"{run[0]}.{run[1]}" for run in found} == set(versions("Python"))
    assert {f"{run[2]}.{run[3]}" for run in found} == set(versions("Django"))


def test_the_page_of_upgrades_names_the_versions_of_the_classifiers() -> None:
    page = (ROOT / "docs" / "upgrading.md").read_text()
    table = re.findall(r"^\| (\d\.\d+) \| (.+) \| (.+) \|$", page, re.M)
    assert table[0][0] == PROJECT["version"].rpartition(".")[0]
    assert re.findall(r"\d\.\d+", table[0][1]) == versions("Django")
    assert re.findall(r"\d\.\d+", table[0][2]) == versions("Python")


def versions(kind: str) -> list[str]:
    """Return the versions that the classifiers name."""
    label = re.compile(rf"{kind} :: (\d+\.\d+)$")
    found = (label.search(text) for text in PROJECT["classifiers"])
    return [match[1] for match in found if match]


def has_env(tox: str, python: str, django: str) -> bool:
    """Tell whether tox lists an env of these versions."""
    python, django = python.replace(".", ""), django.replace(".", "")
    lines = re.findall(rf"^    py{python}-dj(\S+)$", tox, re.MULTILINE)
    return any(django in line.strip("{}").split(",") for line in lines)
