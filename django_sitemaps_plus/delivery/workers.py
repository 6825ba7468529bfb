"""How work is handed to the workers of a project: those of Celery or Django Tasks."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from django.utils.module_loading import import_string

#: The modules that enqueue work, by the value of ``BACKGROUND``. Imported when needed:
#: Celery may be missing, and Django's ``@task`` asks for the project's backend at once.
WORKERS = {
    "celery": "django_sitemaps_plus.tasks",
    "tasks": "django_sitemaps_plus.django_tasks",
}

#: Seconds between two looks for work that other processes have left.
LOOK = 60.0


def function(how: str, name: str = "enqueue") -> Any:
    """Return a function that enqueues work; raises whatever importing it raises."""
    return import_string(f"{WORKERS[how]}.{name}")


def missing_package(how: str) -> str:
    """Return the package that ``BACKGROUND`` needs; empty if it is installed."""
    packages = ["celery"] if how == "celery" else ["django.tasks", "django_tasks"]
    return "" if any(map(find_spec, packages)) else packages[-1].replace("_", "-")


def problem(how: str) -> str:
    """Return why work cannot be handed to a worker; empty if it can."""
    try:
        function(how)
    except Exception as error:  # a project's backend may raise whatever it likes
        return f"{type(error).__name__}: {error}"
    return ""


def without_workers(how: str) -> str:
    """Return the backend of Django Tasks that hands nothing over; empty if it does."""
    return str(function(how, "backend_without_workers")()) if how == "tasks" else ""
