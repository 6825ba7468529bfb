"""
A ``manage.py`` of the site of the races, with a queue of django-tasks-db.

``SITEMAPS_PLUS_TEST_RACE`` is JSON: what the test has given. The queue is a database of
its own, a file in the test's folder.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from tests import settings
from tests.races import site


class TasksRouter:
    """The queue is in its own database, and nothing else is there."""

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return "tasks" if model._meta.app_label == "django_tasks_database" else None

    db_for_write = db_for_read

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool | None:
        is_queue = app_label == "django_tasks_database"
        return is_queue if is_queue or db == "tasks" else None


def main() -> None:
    """Run a command."""
    given = json.loads(os.environ["SITEMAPS_PLUS_TEST_RACE"])
    settings.DATABASES["tasks"] = {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(Path(given["folder"]) / "tasks.sqlite3"),
        "OPTIONS": {"timeout": 60, "transaction_mode": "IMMEDIATE"},
    }
    settings.INSTALLED_APPS.append("django_tasks_db")
    settings.DATABASE_ROUTERS.insert(0, "tests.races.tasks_manage.TasksRouter")
    settings.TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
    site.set_up(given)
    from django.core.management import execute_from_command_line

    # The site has no middleware, which the admin would miss.
    execute_from_command_line(["manage.py", *sys.argv[1:], "--skip-checks"])


if __name__ == "__main__":
    main()
