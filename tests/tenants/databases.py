"""
The settings of a project with a database for each tenant, chosen by its host.

``GIVEN`` in the environment is JSON: ``folder``, where the SQLite files are, and
``settings``, which are ``SITEMAPS_PLUS``.
"""

from __future__ import annotations

import json
import os
from typing import Any

from tests.support.further_apps import APPS

GIVEN = json.loads(os.environ["GIVEN"])
SECRET_KEY = "tests only"
USE_TZ = True
ALLOWED_HOSTS = [".example.com"]
ROOT_URLCONF = "tests.tenants.urls"


def _database(name: str) -> dict[str, Any]:
    options = {"timeout": 120, "transaction_mode": "IMMEDIATE"}
    file = f"{GIVEN['folder']}/{name}.sqlite3"
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": file, "OPTIONS": options}


DATABASES = {name: _database(name) for name in ("default", "t1", "t2", "t3")}
DATABASE_ROUTERS = ["tests.tenants.routing.Router"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "tests.tenants.blog",
    "django_sitemaps_plus",
    *APPS,
]
MIDDLEWARE = ["tests.tenants.routing.by_host"]
TEMPLATES = [
    {"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}
]
SITEMAPS_PLUS = {
    "TENANTS": "tests.tenants.routing.Databases",
    **GIVEN.get("settings", {}),
}
