"""
The house: which room may import which, and where what is not Django is imported.

The table is that of docs/ARCHITECTURE.md.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import django_sitemaps_plus
from tests.support.run_python import python

ROOT = Path(__file__).parent.parent
PACKAGE = Path(django_sitemaps_plus.__file__).parent
MODULES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if "migrations" not in path.relative_to(PACKAGE).parts
]
BASE = {"conf", "exceptions", "signals", "db", "hooks", "prepared"}
DOORS = {
    *("apps", "urls", "views", "converters", "contrib_views", "models", "checks"),
    *("management", "tasks", "django_tasks", "testing", "contrib"),
}
PREFIXES = ["django_sitemaps_plus", "contrib"], ["tests", "contrib"]
#: The apps beside the core, each a folder.
APPS = {path.parent.name for path in PACKAGE.glob("contrib/*/apps.py")}
#: What each room may import beside itself and, but for the first two, the base.
MAY_IMPORT: dict[str, set[str]] = {"protocol": set(), "engines": {"protocol"}}
# Each of these imports those before it; the last two engines, too.
_LINE = "sitemaps rendering pagination changes storing building serving delivery health"
for _room in _LINE.split():
    _before = _LINE.partition(_room)[0].split()
    _engines = ["engines"] if _room in ("delivery", "health") else []
    MAY_IMPORT[_room] = {"protocol", *_before, *_engines}
#: What may be imported that is neither Django nor the standard library, and where:
#: what is needed beside Django, and the extras. Also what opens connections.
ELSEWHERE = {
    "asgiref": {"__init__.py"},
    "typing_extensions": {"sitemaps/classes.py"},
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


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a statement: no expression has imports."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child


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
            waiting += statements(node)
    return found


def room_of(path: Path) -> str:
    """Return the room, the base module or the door; the root is ``__init__``."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def place_of(path: Path) -> tuple[str, ...]:
    """Return the folders and the name of a module of the package, or of a test."""
    # The package may be the installed one, which is not beside the tests.
    root = PACKAGE.parent if path.is_relative_to(PACKAGE) else ROOT
    return path.relative_to(root).parts


def named(node: ast.ImportFrom, path: Path) -> str:
    """Return the full name of the module that a statement imports from."""
    parts = place_of(path)
    start = parts[: len(parts) - node.level] if node.level else ()
    return ".".join(filter(None, [*start, node.module]))


def names_in(path: Path) -> set[str]:
    """Return what a module of the package or a test imports, by its full name."""
    found: set[str] = set()
    for node in imports(path):
        prefix = "" if isinstance(node, ast.Import) else f"{named(node, path)}."
        found |= {f"{prefix}{alias.name}" for alias in node.names}
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
    for path in MODULES:
        may = allowed(path)
        assert may is None or own(path) <= may, path


def apps_of(path: Path) -> set[str]:
    """Return the apps of ``contrib`` that a module imports, except its own."""
    split = [name.split(".") for name in names_in(path)]
    found = {some[2] for some in split if some[:2] in PREFIXES and len(some) > 2}
    return (found & APPS) - {app_of(path)}


def app_of(path: Path) -> str:
    """Return the app of which a module or a test is; "" for those of the core."""
    _, folder, name, *_ = [*place_of(path), "", ""]
    return name if folder == "contrib" and name in APPS else ""


def test_the_core_imports_no_app_and_an_app_no_other() -> None:
    for path in MODULES:
        assert apps_of(path) == set(), path


# The doors: what apps may use of the core


def reached(path: Path) -> set[tuple[str, str]]:
    """Return what a module of ``contrib`` uses of the core: modules and names."""
    found: set[tuple[str, str]] = set()
    modules: dict[str, str] = {}
    for node in imports(path):
        if isinstance(node, ast.Import):
            own = [one.name for one in node.names if one.name.startswith(PACKAGE.name)]
            assert not own, f"{path}: write 'from … import …' for {own}"
            continue
        module = named(node, path)
        if module.partition(".")[0] != PACKAGE.name:
            continue
        for alias in node.names:
            _, *inner = f"{module}.{alias.name}".split(".")
            if inner[0] == "contrib":
                continue
            file = PACKAGE.joinpath(*inner)
            if file.with_suffix(".py").is_file() or file.is_dir():
                modules[alias.asname or alias.name] = ".".join(inner)
            else:
                found.add((".".join(inner[:-1]), alias.name))
    for one in ast.walk(tree(path)):
        match one:
            case ast.Attribute(value=ast.Name(id=name)) if name in modules:
                found.add((modules[name], one.attr))
    return found


def reached_by_apps() -> dict[tuple[str, str], list[str]]:
    """Return what ``contrib`` uses of the core, and where."""
    found: dict[tuple[str, str], list[str]] = {}
    for path in MODULES:
        if room_of(path) == "contrib":
            for one in reached(path):
                found.setdefault(one, []).append(name_of(path))
    return found


def listed_for_projects() -> set[tuple[str, str]]:
    """Return the names of the core on docs/api.md; "*" for all of a module."""
    found: set[tuple[str, str]] = set()
    current = whole = ""
    for line in (ROOT / "docs" / "api.md").read_text().splitlines():
        if match := re.match(r"\.\. currentmodule:: (\S+)", line):
            current = match[1]
        elif match := re.match(r"\.\. automodule:: (\S+)", line):
            whole = match[1]
            found.add((whole, "*"))
        elif match := re.match(r"\.\. auto\w+:: (\S+)", line):
            whole = ""
            name = match[1] if "." in match[1] else f"{current}.{match[1]}"
            found.add((name.rpartition(".")[0], name.rpartition(".")[2]))
        elif whole and (match := re.match(r"   :members: (.+)", line)):
            found.remove((whole, "*"))
            found |= {(whole, name) for name in match[1].split(", ")}
    return {
        (module.removeprefix(PACKAGE.name).removeprefix("."), name)
        for module, name in found
        if ".contrib." not in module
    }


#: Where docs/extending.md begins to list what else our own apps use.
LISTED = "\n## What our own apps import\n"


def listed_for_apps() -> set[tuple[str, str]]:
    """Return the names of the core that docs/extending.md lists for our own apps."""
    page = (ROOT / "docs" / "extending.md").read_text()
    rows = re.findall(r"^\| `([\w.]+)` \| (`.*`) \|$", page.partition(LISTED)[2], re.M)
    return {
        (module, name)
        for module, names in rows
        for name in re.findall(r"`(\w+)`", names)
    }


#: What apps may use at most. Both numbers only go down.
MOST_NAMES, MOST_MODULES = 180, 40


def test_of_the_core_an_app_uses_what_the_documentation_lists() -> None:
    projects = listed_for_projects()
    wrong = {
        f"{module}.{name}": places
        for (module, name), places in reached_by_apps().items()
        if not {(module, name), (module, "*")} & projects
        and (module, name) not in listed_for_apps()
    }
    assert wrong == {}, (
        "These names of the core are on no list for apps. Use what is listed, let a "
        "function of the core do what several names are needed for, or add them to "
        f"the table of docs/extending.md below {LISTED.strip()!r}."
    )


def test_what_projects_may_use_is_not_listed_for_apps_once_more() -> None:
    assert sorted(listed_for_apps() & listed_for_projects()) == []


def test_the_doors_of_the_core_become_no_more() -> None:
    names = reached_by_apps().keys()
    modules = {module for module, _ in names}
    few = (len(names) <= MOST_NAMES, len(modules) <= MOST_MODULES)
    assert few == (True, True), (
        f"Apps use {len(names)} names of {len(modules)} modules of the core. One "
        "function in place of several names, or code that stands in the app, is less."
    )


#: Where Django and projects look for what others define.
GATHERED = {"", "models", "views"}


def test_an_app_takes_each_name_from_where_it_is_defined() -> None:
    wrong = set()
    for module, name in reached_by_apps():
        path = PACKAGE.joinpath(*module.split(".")).with_suffix(".py")
        if module not in GATHERED:
            imported = {
                alias.asname or alias.name
                for node in tree(path).body
                if isinstance(node, ast.Import | ast.ImportFrom)
                for alias in node.names
            }
            if name in imported:
                wrong.add(f"{module}.{name}")
    assert wrong == set()


#: The tests that may import apps: of several, and of what is said of all.
OF_ALL = ("tests/together/", "tests/compat/")


def test_a_test_imports_no_app_but_its_own() -> None:
    """Whoever deletes the folders of an app breaks no test of others."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        name = str(path.relative_to(ROOT))
        # Most neither lie there nor name it, and to read what they import takes long.
        if not name.startswith(OF_ALL) and "contrib" in f"{name}{path.read_text()}":
            assert apps_of(path) == set(), name


def test_every_module_stands_in_a_room_or_is_base_or_door() -> None:
    known = {*MAY_IMPORT, *BASE, *DOORS, "__init__"}
    assert {room_of(path) for path in MODULES} <= known


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


def first_names(path: Path) -> set[str]:
    """Return the first names of what a module imports."""
    return {name.partition(".")[0] for name in names_in(path)}


def test_each_package_from_elsewhere_has_its_one_place() -> None:
    free = {*sys.stdlib_module_names, "django_sitemaps_plus"} - set(ELSEWHERE)
    for path in MODULES:
        for top in first_names(path) - free:
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
    "sitemaps/classes.py": "what reads its methods has to know the class itself",
}


def test_imports_stand_at_the_top() -> None:
    """An import inside a function hides a circle; an app's hooks wait for models."""
    for path in MODULES:
        if name_of(path) in LATE or path.match("contrib/*/hooks.py"):
            continue
        assert not any(late_imports(tree(path))), path


def late_imports(node: ast.AST, *, is_late: bool = False) -> Iterator[ast.AST]:
    """Yield the imports inside of functions."""
    for child in statements(node):
        if is_late and isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        within = is_late or isinstance(child, ast.FunctionDef)
        yield from late_imports(child, is_late=within)


#: What a settings module, or an app's ``__init__``, may write.
EARLY = """
from django_sitemaps_plus import conf, db, exceptions, signals
from django_sitemaps_plus.protocol import writers
from django_sitemaps_plus.sitemaps import Sitemap
from django_sitemaps_plus.sitemaps import registry, routes, sections, site
from django_sitemaps_plus import *
"""


def test_the_public_names_can_be_imported_before_the_apps_are_ready() -> None:
    result = python("-W", "error", "-c", EARLY)
    assert (result.returncode, result.stderr) == (0, "")
