"""The apps beside the core: one whose folder is deleted is not missed."""

from __future__ import annotations

import re
from pathlib import Path

import django_sitemaps_plus

#: As ``INSTALLED_APPS`` has them.
APPS = [
    f"django_sitemaps_plus.contrib.{path.parent.name}"
    for path in sorted(
        Path(django_sitemaps_plus.__file__).parent.glob("contrib/*/apps.py")
    )
]
_NAMED = re.compile(r"\b(?:django_sitemaps_plus|tests)\.contrib\.(\w+)")
#: What ``contrib`` has for other packages: a module each, and no app.
_MODULES = {"wagtail", "djangocms", "django_tenants"}


def incomplete(tests: Path) -> list[str]:
    """Return the names of those test files of a folder that name an app not there."""
    return [path.name for path in tests.glob("test_*.py") if lacks_apps(path)]


def lacks_apps(path: Path) -> bool:
    """Return whether a file names an app of ``contrib`` whose folder is not there."""
    there = {name.rpartition(".")[2] for name in APPS} | _MODULES
    return bool(set(_NAMED.findall(path.read_text())) - there)
