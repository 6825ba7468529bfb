"""
Settings of the example site, an encyclopedia of Unicode.

Environment variables change them: ``EXAMPLE_BASE_URL``, ``EXAMPLE_DATABASE`` (the path
of the SQLite file), ``EXAMPLE_DEBUG`` ("0" or "1") and ``EXAMPLE_ALLOWED_HOSTS`` (more
hosts, separated by commas).

These name who is notified of changes; without them, nobody: ``EXAMPLE_INDEXNOW`` and
``EXAMPLE_SEARCH_CONSOLE`` (addresses), ``EXAMPLE_CREDENTIALS`` (the path of Google's
JSON file) and ``EXAMPLE_SERVER`` (where this site listens). ``EXAMPLE_ENGINES`` is the
path of a JSON file with further ones, as ``ENGINES`` has them, and ``EXAMPLE_HUBS`` are
the WebSub hubs that feeds name, separated by commas. With ``EXAMPLE_FAULTS=1`` there is
a section of pages that are wrong, for ``check_sitemaps --fetch`` to find.

compose.yaml sets ``EXAMPLE_POSTGRES``, the name of a database on the server that
libpq's ``PGHOST`` names, and ``EXAMPLE_WORKER=1``: background work is done by a worker
of Django Tasks (``manage.py db_worker``).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

BASE_DIR = Path(__file__).resolve().parent.parent

BASE_URL = os.environ.get("EXAMPLE_BASE_URL", "http://127.0.0.1:8000")
DEBUG = os.environ.get("EXAMPLE_DEBUG", "1") == "1"

# A key for development only: it signs the sessions of those who use the admin.
SECRET_KEY = "example-project-development-key"  # noqa: S105 (not a secret)
ALLOWED_HOSTS = [
    "127.0.0.1",
    "localhost",
    "[::1]",
    urlsplit(BASE_URL).hostname or "127.0.0.1",
    *filter(None, os.environ.get("EXAMPLE_ALLOWED_HOSTS", "").split(",")),
]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_sitemaps_plus",
    "django_sitemaps_plus.contrib.audit",
    "django_sitemaps_plus.contrib.insight",
    "django_sitemaps_plus.contrib.webmasters",
    "django_sitemaps_plus.contrib.edge",
    "django_sitemaps_plus.contrib.formats",
    "unicode_book",
]

# The engines to notify. A real site names its own IndexNow class, its key and, for
# Google, nothing but property and credentials: see docs/engines.md.
ENGINES: dict[str, dict[str, Any]] = {}
if "EXAMPLE_INDEXNOW" in os.environ:
    ENGINES["indexnow"] = {
        "BACKEND": "encyclopedia_site.engines.LocalIndexNow",
        "OPTIONS": {
            # Whoever reads the site can read it: it is a file there.
            "key": "example-project-key",
            "endpoint": os.environ["EXAMPLE_INDEXNOW"],
            "server": os.environ.get("EXAMPLE_SERVER", "http://127.0.0.1:8000"),
        },
    }
if "EXAMPLE_SEARCH_CONSOLE" in os.environ:
    ENGINES["google"] = {
        "BACKEND": "django_sitemaps_plus.contrib.webmasters.google.SearchConsole",
        "OPTIONS": {
            "site": f"{BASE_URL}/",
            "endpoint": os.environ["EXAMPLE_SEARCH_CONSOLE"],
            "credentials": os.environ["EXAMPLE_CREDENTIALS"],
        },
    }

if "EXAMPLE_ENGINES" in os.environ:
    ENGINES |= json.loads(Path(os.environ["EXAMPLE_ENGINES"]).read_text())

HUBS = list(filter(None, os.environ.get("EXAMPLE_HUBS", "").split(",")))

# All that django_sitemaps_plus needs to know: the sections are in
# unicode_book/sitemaps.py, the addresses in encyclopedia_site/urls.py.
SITEMAPS_PLUS = {
    "BASE_URL": BASE_URL,
    "ENGINES": ENGINES,
    "ROBOTS": [{"user_agent": "*", "disallow": ["/search/?"]}],
    # Beside XML: /sitemap.txt, /sitemap.atom, /sitemap.rss and /sitemap-recent.xml
    "FORMATS": {"text": {}, "feeds": {"hubs": HUBS}, "recent": {}},
}

if os.environ.get("EXAMPLE_WORKER") == "1":
    INSTALLED_APPS += ["django_tasks_db"]
    TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
    SITEMAPS_PLUS["BACKGROUND"] = "tasks"

#: Whether there are pages that are wrong: see unicode_book/faults.py.
FAULTS = os.environ.get("EXAMPLE_FAULTS") == "1"
# All pages have the date at which they were loaded, which is true.
SILENCED_SYSTEM_CHECKS = ["sitemaps_plus.A032"]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",  # /en/notes/ and /de/notes/
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "encyclopedia_site.urls"
WSGI_APPLICATION = "encyclopedia_site.wsgi.application"
ASGI_APPLICATION = "encyclopedia_site.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "unicode_book.context_processors.site",
            ],
        },
    }
]

DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("EXAMPLE_DATABASE", str(BASE_DIR / "unicode.sqlite3")),
        # Take the write lock when a transaction begins, and wait for it: two
        # writers then queue up instead of failing with "database is locked".
        "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"},
    }
}
if "EXAMPLE_POSTGRES" in os.environ:
    DATABASES["default"] = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": os.environ["EXAMPLE_POSTGRES"],
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "static_root"
