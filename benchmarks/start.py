"""
What a process takes longer to start with the app: ``django.setup()`` and the URLconf.

In fresh processes that take turns: with the core and without it, alone and beside
Django's admin. Processor time, memory, and how many modules of the package are loaded.
All modules are compiled before, as those of an installed package are.
"""

from __future__ import annotations

import argparse
import compileall
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from . import bench, memory

APP = "django_sitemaps_plus"
ADMIN = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.staticfiles",
    "django.contrib.admin",
    "django.contrib.sessions",
    "django.contrib.messages",
]
TEMPLATES = {
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "APP_DIRS": True,
    "OPTIONS": {
        "context_processors": [
            "django.template.context_processors.request",
            "django.contrib.auth.context_processors.auth",
            "django.contrib.messages.context_processors.messages",
        ]
    },
}


def main() -> int:
    """Run it, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25, help="default: %(default)s")
    parser.add_argument("--once", nargs="*", help="start with these apps, and print it")
    options = parser.parse_args()
    if options.once is not None:
        return once(options.once)
    set_up([])
    compile_modules()
    report = bench.Report("A start")
    for what, apps, target in (
        ("core alone", [], 3.0),
        ("with the admin", ADMIN, 1.3),
    ):
        with_it, without = race([APP, *apps], apps, options.rounds)
        seconds = with_it["seconds"] / without["seconds"]
        shown = f"{with_it['seconds'] * 1000:.0f} / {without['seconds'] * 1000:.0f} ms"
        report.at_most(f"{what}: with the app / without", seconds, shown, target=target)
        bytes_more = (with_it["bytes"] - without["bytes"]) / 1e6
        report.at_most(f"{what}: memory, in MB", bytes_more, "more", target=5)
        report.at_most(f"{what}: modules", with_it["modules"], "of the app", target=90)
    return report.finish()


def compile_modules() -> None:
    """Compile the package: where Python is told to write no bytecode, none is there."""
    import django_sitemaps_plus

    [folder] = django_sitemaps_plus.__path__
    compileall.compile_dir(Path(folder), quiet=1)


def race(one: list[str], other: list[str], rounds: int) -> list[dict[str, float]]:
    """Start processes with some apps and with others in turns; return the medians."""
    taken: list[list[dict[str, float]]] = [[], []]
    for _ in range(rounds):
        for apps, found in zip((one, other), taken, strict=True):
            command = [sys.executable, "-m", "benchmarks.start", "--once", *apps]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found.append(json.loads(done.stdout))
    return [{key: median(x[key] for x in some) for key in some[0]} for some in taken]


def set_up(apps: list[str]) -> None:
    """Set Django up with some apps."""
    import django
    from django.conf import settings

    given: dict[str, Any] = {"INSTALLED_APPS": apps, "SECRET_KEY": "benchmarks only"}
    given["ROOT_URLCONF"] = __name__
    given["DATABASES"] = {"default": {"ENGINE": "django.db.backends.sqlite3"}}
    given["TEMPLATES"] = [TEMPLATES] if "django.contrib.admin" in apps else []
    settings.configure(**given)
    django.setup()


def once(apps: list[str]) -> int:
    """Start with some apps, and print what that took."""
    (before, _), began = memory.held(), time.process_time()
    set_up(apps)
    from django.urls import get_resolver

    get_resolver().url_patterns  # noqa: B018 (imports them)
    seconds, (after, _) = time.process_time() - began, memory.held()
    modules = sum(name.split(".")[0] == APP for name in sys.modules)
    print(json.dumps({"seconds": seconds, "bytes": after - before, "modules": modules}))
    return 0


def __getattr__(name: str) -> Any:
    """Return the URL patterns: what is installed has addresses."""
    if name != "urlpatterns":
        raise AttributeError(name)
    from django.apps import apps
    from django.urls import include, path

    found = [path("", include(f"{APP}.urls"))] if apps.is_installed(APP) else []
    if apps.is_installed("django.contrib.admin"):
        from django.contrib import admin

        found.append(path("admin/", admin.site.urls))
    return found


if __name__ == "__main__":
    sys.exit(main())
