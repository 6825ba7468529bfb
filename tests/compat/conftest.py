"""
What this package promises to other people's: their tests, their crawlers.

Tests marked ``network`` fetch packages by pip. They run where the environment says
``SITEMAPS_PLUS_NETWORK_TESTS=1``, and are not selected anywhere else. Those marked
``browser`` need Chromium and npm, and ``SITEMAPS_PLUS_BROWSER_TESTS=1``; those marked
``nginx`` need nginx, and ``SITEMAPS_PLUS_NGINX_TESTS=1``; those marked ``varnish`` need
Varnish, and ``SITEMAPS_PLUS_VARNISH_TESTS=1``; those marked ``tenants`` need
PostgreSQL's programs, and ``SITEMAPS_PLUS_TENANTS_TESTS=1``; those marked ``published``
need nginx, django-storages and moto, and ``SITEMAPS_PLUS_PUBLISHED_TESTS=1``. Those
marked ``dist`` need the folder of an sdist and a wheel: ``SITEMAPS_PLUS_DIST``; those
marked ``site`` that of the built documentation: ``SITEMAPS_PLUS_SITE``.

Each file is found where all apps are there that it names, and those of the example
where all are that this installs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import django_sitemaps_plus
from tests.compat.environments import OWN, cache, made_once
from tests.support.further_apps import incomplete, lacks_apps

if TYPE_CHECKING:
    from tests.compat.stage import Stage

HERE = Path(__file__).parent
EXAMPLE = HERE.parent.parent / "example_project"
collect_ignore = incomplete(HERE)
if lacks_apps(EXAMPLE / "encyclopedia_site" / "settings.py"):
    collect_ignore += [path.name for path in HERE.glob("test_example*.py")]

AXE = "axe-core@4.14.1"

#: The marks of tests that need more than Python, and whether they run.
WITH = {
    mark: os.environ.get(f"SITEMAPS_PLUS_{mark.upper()}_TESTS") == "1"
    for mark in ("network", "browser", "nginx", "varnish", "tenants", "published")
}
DIST = os.environ.get("SITEMAPS_PLUS_DIST", "")
WITH |= {"dist": bool(DIST), "site": bool(os.environ.get("SITEMAPS_PLUS_SITE"))}


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    off = [mark for mark, is_on in WITH.items() if not is_on]
    unwanted = {
        item
        for item in items
        if "compat/" in item.nodeid and any(map(item.get_closest_marker, off))
    }
    if unwanted:
        config.hook.pytest_deselected(items=list(unwanted))
        items[:] = [item for item in items if item not in unwanted]


@pytest.fixture
def stage(db: None, register: Any, settings: Any, tmp_path: Path) -> Iterator[Stage]:
    """A site behind a real nginx: see ``tests.compat.stage``."""
    from tests.compat.stage import Stage
    from tests.support.factories import articles
    from tests.support.helpers import ArticleSitemap

    register("article", ArticleSitemap)
    articles(40)
    with Stage(tmp_path, settings) as running:
        running.build()
        yield running


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the package under test and nothing else."""
    folder = tmp_path_factory.mktemp("package")
    source = Path(django_sitemaps_plus.__file__).parent
    shutil.copytree(source, folder / source.name)
    return folder


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers have, for ``made_once``."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def few(package: Path, shared: Path) -> Path:
    """The file of the example's database, with few characters."""

    def make(folder: Path) -> None:
        folder.mkdir()
        OWN.run(
            *(str(EXAMPLE / "manage.py"), "load_unicode", "--last", "U+FF"),
            path=[package],
            variables={"EXAMPLE_DATABASE": str(folder / "few")},
            cwd=folder,
        )

    return made_once(shared / "few", make) / "few"


@pytest.fixture(scope="session")
def dist() -> Path:
    """The folder of the sdist and of the wheel that was built from it."""
    return Path(DIST)


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, fetched by npm."""

    def make(folder: Path) -> None:
        folder.mkdir()
        command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
        subprocess.run([*command, "--prefix", str(folder), AXE], check=True)

    folder = made_once(cache() / AXE, make)
    return (folder / "node_modules/axe-core/axe.min.js").read_text()
