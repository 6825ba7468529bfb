"""django-reversion's own test settings, on SQLite, and this app."""

from __future__ import annotations

from test_project.settings import *  # noqa: F403 (as settings do)

DATABASES = {
    alias: {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
    for alias in ("default", "postgres", "mysql")
}
INSTALLED_APPS += ["django_sitemaps_plus"]  # noqa: F405 (as settings do)
