"""
The house: which room may import which, and where what is not Django is imported.

The table is that of docs/ARCHITECTURE.md.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import django_sitemaps_plus

ROOT = Path(__file__).parent.parent
PACKAGE = Path(django_sitemaps_plus.__file__).parent
MODULES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if "migrations" not in path.relative_to(PACKAGE).parts
]
BASE = {"conf", "exceptions", "signals", "db", "hooks", "prepared"}
DOORS = {
    *(
        "apps",
        "urls",
        "views",
        "converters",
        "contrib_views",
        "models",
        "checks",
        "management",
    ),
    *("tasks", "django_tasks", "testing", "contrib"),
}
PREFIXES = ["django_sitemaps_plus", "contrib"], ["tests", "contrib"]
#: The apps beside the core, each a folder.
APPS = {path.parent.name for path in PACKAGE.glob("contrib/*/apps.py")}
#: What each room may import beside itself and, but for the first two, the base.
MAY_IMPORT: dict[str, set[str]] = {
    "protocol": set(),
    "engines": {"protocol"},
    "sitemaps": {"protocol"},
    "rendering": {"protocol", "sitemaps"},
    "pagination": {"protocol", "sitemaps", "rendering"},
    "changes": {"protocol", "sitemaps", "rendering", "pagination"},
    "storing": {"protocol", "sitemaps", "rendering", "pagination", "changes"},
    "building": {
        *("protocol", "sitemaps", "rendering", "pagination", "changes", "storing"),
    },
    "serving": {
        *("protocol", "sitemaps", "rendering", "pagination", "changes", "storing"),
        "building",
    },
    "delivery": {
        *("protocol", "engines", "sitemaps", "rendering", "pagination", "changes"),
        *("storing", "building", "serving"),
    },
    "health": {
        *("protocol", "engines", "sitemaps", "rendering", "pagination", "changes"),
        *("storing", "building", "serving", "delivery"),
    },
}
#: What may be imported that is neither Django nor the standard library, and where:
#: what is needed beside Django, and the extras. Also what opens connections.
ELSEWHERE = {
    "http": {"engines/http.py"},
    "socket": {"db.py", "engines/http.py"},
    "ssl": {"engines/http.py"},
    "urllib3": {"engines/http.py"},
    "google": {"contrib/webmasters/google_auth.py"},
    "isal": {"storing/segments.py"},
    "rich": {"contrib/audit/management/progress.py"},
    "wagtail": {"contrib/wagtail.py"},
    "cms": {"contrib/djangocms.py"},
    "django_tenants": {"contrib/django_tenants.py"},
}


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """Return every import statement of a module that is run, wherever it stands."""
    found: list[ast.Import | ast.ImportFrom] = []
    waiting: list[ast.AST] = [tree(path)]
    while waiting:
        node = waiting.pop()
        is_for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(
            node.test
        )
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        elif not is_for_types or path != PACKAGE / "hooks.py":
            waiting += ast.iter_child_nodes(node)
    return found


def room_of(path: Path) -> str:
    """Return the room, the base module or the door; the root is ``__init__``."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def names_in(path: Path) -> set[str]:
    """Return what a module of the package or a test imports, by its full name."""
    # The package may be the installed one, which is not beside the tests.
    root = PACKAGE.parent if path.is_relative_to(PACKAGE) else ROOT
    parts = path.relative_to(root).parts
    found: set[str] = set()
    for node in imports(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            start = parts[: len(parts) - node.level] if node.level else ()
            module = ".".join([*start, *([node.module] if node.module else [])])
            found |= {f"{module}.{alias.name}" for alias in node.names}
    return found


def own(path: Path) -> set[str]:
    """Return the rooms, base modules and doors that a module imports."""
    parts = [name.split(".") for name in names_in(path)]
    found = {some[1] for some in parts if some[0] == "django_sitemaps_plus"}
    return found - {room_of(path)}


def allowed(path: Path) -> set[str] | None:
    """Return what a module may import; None if that is anything."""
    room = room_of(path)
    if room in DOORS:
        return None
    if room in BASE:
        return {"protocol", *BASE}
    if room == "__init__":
        return {"protocol", "engines", "sitemaps", *BASE}
    return MAY_IMPORT[room] | (BASE if room not in ("protocol", "engines") else set())


def test_a_room_imports_only_what_the_table_allows() -> None:
    wrong = {}
    for path in MODULES:
        may = allowed(path)
        if may is not None and (more := own(path) - may):
            wrong[name_of(path)] = more
    assert wrong == {}


def apps_of(path: Path) -> set[str]:
    """Return the apps of ``contrib`` that a module imports, except its own."""
    split = [name.split(".") for name in names_in(path)]
    found = {some[2] for some in split if some[:2] in PREFIXES and len(some) > 2}
    return (found & APPS) - {app_of(path)}


def app_of(path: Path) -> str:
    """Return the app of which a module or a test is; "" for those of the core."""
    root = PACKAGE.parent if path.is_relative_to(PACKAGE) else ROOT
    _, folder, name, *_ = [*path.relative_to(root).parts, "", ""]
    return name if folder == "contrib" and name in APPS else ""


def test_the_core_imports_no_app_and_an_app_no_other() -> None:
    found = {name_of(path): apps_of(path) for path in MODULES}
    assert {name: apps for name, apps in found.items() if apps} == {}


def of_the_core(path: Path) -> set[str]:
    """Return the modules of the core that a module of an app imports."""
    found: set[str] = set()
    for name in names_in(path):
        start, *parts = name.split(".")
        if start == PACKAGE.name and parts[:1] != ["contrib"]:
            # A name of a module, or a module of a room.
            is_module = PACKAGE.joinpath(*parts).with_suffix(".py").is_file()
            found.add(".".join(parts if is_module else parts[:-1]))
            assert not any(part.startswith("_") for part in parts), f"{path}: {name}"
    return found


def imported_by_apps() -> set[str]:
    """Return the modules of the core that the apps import which are there."""
    return set().union(*(of_the_core(path) for path in MODULES if app_of(path)))


def listed_for_apps() -> set[str]:
    """Return the modules of the core that docs/extending.md lists for apps."""
    page = (ROOT / "docs" / "extending.md").read_text()
    rows = re.findall(
        r"^\| (?:`(\w+)/`)? ?\| (`.*) \|$", page.partition(LISTED)[2], re.M
    )
    return {
        f"{room}.{name}".removeprefix(".")
        for room, names in rows
        for name in re.findall(r"`(\w+)`", names)
    }


#: Where the table of these modules begins.
LISTED = "\n## What our own apps import\n"


def test_of_the_core_an_app_imports_what_the_documentation_lists() -> None:
    assert sorted(imported_by_apps() - listed_for_apps()) == []


#: The tests that may import apps: of several, and of what is said of all.
OF_ALL = ("tests/together/", "tests/compat/")


def test_a_test_imports_no_app_but_its_own() -> None:
    """Whoever deletes the folders of an app breaks no test of others."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        if not name.startswith(OF_ALL):
            found[name] = apps_of(path)
    assert {name: apps for name, apps in found.items() if apps} == {}


def test_every_module_stands_in_a_room_or_is_base_or_door() -> None:
    assert {room_of(path) for path in MODULES} <= {
        *MAY_IMPORT,
        *BASE,
        *DOORS,
        "__init__",
    }


def test_the_architecture_has_the_same_rooms() -> None:
    document = ROOT / "docs" / "ARCHITECTURE.md"
    table = document.read_text().partition("## Rooms")[2].partition("\n## ")[0]
    rooms = re.findall(r"^\| (\d+) \| `(\w+)/` \|", table, re.MULTILINE)
    assert [name for _, name in rooms] == list(MAY_IMPORT)


def test_the_architecture_names_modules_that_are_there() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
    named = re.findall(r"`(\w+)\.(\w+)[`.]", text)
    modules = [f"{room}/{name}.py" for room, name in named if room in MAY_IMPORT]
    assert len(modules) > 20
    assert [name for name in modules if not (PACKAGE / name).is_file()] == []


def test_a_room_says_what_it_knows() -> None:
    for room in MAY_IMPORT:
        said = ast.get_docstring(tree(PACKAGE / room / "__init__.py")) or ""
        assert len(said) > 40, room


def from_elsewhere(path: Path) -> set[str]:
    """Return what a module imports that needs a place, by its first name."""
    names: set[str] = set()
    for node in imports(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif node.level == 0:
            names.add(node.module or "")
    free = {*sys.stdlib_module_names, "django_sitemaps_plus"} - set(ELSEWHERE)
    return {name.partition(".")[0] for name in names} - free


def test_each_package_from_elsewhere_has_its_one_place() -> None:
    for path in MODULES:
        for top in from_elsewhere(path):
            if top == "django":
                assert room_of(path) not in ("protocol", "engines"), path
            else:
                assert name_of(path) in ELSEWHERE.get(top, ()), f"{path}: {top}"


#: Modules that import something only once it is used, and why.
LATE = {
    "apps.py": "it must wait for models",
    "contrib/insight/templatetags/sitemaps_plus_admin.py": (
        "imported where there is no admin, too"
    ),
    "checks/__init__.py": "a server runs none",
    **dict.fromkeys(
        ("contrib_views.py", "delivery/thread.py", "urls.py", "views.py"),
        "processes that answer no request start sooner",
    ),
    "health/check.py": "the admin imports it, and should not wait for urllib3",
}


def test_imports_stand_at_the_top() -> None:
    """An import inside a function hides a circle; an app's hooks wait for models."""
    for path in MODULES:
        if name_of(path) in LATE or path.match("contrib/*/hooks.py"):
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef):
                assert not any(
                    isinstance(one, ast.Import | ast.ImportFrom)
                    for one in ast.walk(node)
                ), path


#: What a settings module, or an app's ``__init__``, may write.
EARLY = """
from django_sitemaps_plus import conf, db, exceptions, signals
from django_sitemaps_plus.protocol import writers
from django_sitemaps_plus.sitemaps import Sitemap
from django_sitemaps_plus.sitemaps import registry, routes, sections, site
from django_sitemaps_plus import *
"""


def test_the_public_names_can_be_imported_before_the_apps_are_ready() -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", EARLY],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"},
        cwd=PACKAGE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
