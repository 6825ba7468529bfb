"""
The one settings file of the test suite.

``TEST_DATABASE_URL`` (``postgres://user@host:port/name`` or
``mysql://user@host:port/name``) chooses the database; without it the suite runs
on SQLite, with nothing else installed. ``TEST_DATABASE_OPTIONS`` is a JSON object of
further ``OPTIONS`` of the default database: ``{"server_side_binding": true}``,
``{"pool": true}``, ``{"isolation_level": 4}``.

Commits do not wait for the disk: tests kill processes, but not the computer.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.further_apps import APPS

ENGINES = {
    "postgres": "django.db.backends.postgresql",
    "mysql": "django.db.backends.mysql",
}


def database(name: str) -> dict[str, Any]:
    """Return the Django database settings of the database called ``name``."""
    url = urlsplit(os.environ.get("TEST_DATABASE_URL", ""))
    if not url.scheme:
        # A file, not memory: threads and processes of the tests share it.
        folder = Path(os.environ.get("TEST_SQLITE_DIR") or tempfile.gettempdir())
        suffix = os.environ.get("PYTEST_XDIST_WORKER", "main")
        file = folder / f"sitemaps-plus-{name}-{os.getpid()}-{suffix}.sqlite3"
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(file),
            "TEST": {"NAME": str(file)},
            "OPTIONS": {
                "timeout": 120,
                "transaction_mode": "IMMEDIATE",
                "init_command": "PRAGMA synchronous = OFF",
            },
        }
    options = (
        {"charset": "utf8mb4"}
        if url.scheme == "mysql"
        else {"connect_timeout": 10, "options": "-c synchronous_commit=off"}
    )
    return {
        "ENGINE": ENGINES[url.scheme],
        "NAME": f"{url.path.lstrip('/') or 'sitemaps_plus'}_{name}",
        "USER": url.username or "",
        "PASSWORD": url.password or "",
        "HOST": url.hostname or "",
        "PORT": str(url.port or ""),
        "OPTIONS": options,
    }


SECRET_KEY = "tests only"
DEBUG = False
USE_TZ = True
TIME_ZONE = "Europe/Berlin"
USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "German"), ("pt-br", "Brazilian Portuguese")]
ALLOWED_HOSTS = ["testserver", "www.example.com", "example.org"]
ROOT_URLCONF = "tests.urls"
DATABASES: dict[str, dict[str, Any]] = {
    "default": database("default"),
    "other": database("other"),
}
DATABASES["default"]["OPTIONS"].update(
    json.loads(os.environ.get("TEST_DATABASE_OPTIONS") or "{}")
)
DATABASE_ROUTERS = ["tests.testapp.routers.OtherRouter"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.sites",
    "django_sitemaps_plus",
    *APPS,
    "tests.testapp",
]
SITE_ID = 1
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]
STORAGES: dict[str, Any] = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# Nobody waits for the third of a second that a good hash takes.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
# For Django 6.1 and later; before, the test runner's EMAIL_BACKEND is the same.
MAILERS = {"default": {"BACKEND": "django.core.mail.backends.locmem.EmailBackend"}}
STATIC_URL = "static/"
SITEMAPS_PLUS: dict[str, Any] = {"BASE_URL": "https://www.example.com"}


def use_given(given: dict[str, Any]) -> None:
    """
    Take what a process was told by the test that started it: see ``processes.given``.

    To be called before Django reads these settings.
    """
    for alias, name in given["databases"].items():
        DATABASES[alias]["NAME"] = name
    SITEMAPS_PLUS.update(given.get("settings", {}))
