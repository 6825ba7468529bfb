"""
The settings of a project with a database for each tenant, chosen by its host.

``GIVEN`` in the environment is JSON: ``folder``, where the SQLite files are, and
``settings``, which are ``SITEMAPS_PLUS``.
"""

from __future__ import annotations

from typing import Any

from tests.tenants.common import *  # noqa: F403 (as settings do)
from tests.tenants.common import GIVEN, OURS


def _database(name: str) -> dict[str, Any]:
    options = {"timeout": 120, "transaction_mode": "IMMEDIATE"}
    file = f"{GIVEN['folder']}/{name}.sqlite3"
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": file, "OPTIONS": options}


DATABASES = {name: _database(name) for name in ("default", "t1", "t2", "t3")}
DATABASE_ROUTERS = ["tests.tenants.routing.Router"]
INSTALLED_APPS = ["django.contrib.contenttypes", "tests.tenants.blog", *OURS]
MIDDLEWARE = ["tests.tenants.routing.by_host"]
SITEMAPS_PLUS = {
    "TENANTS": "tests.tenants.routing.Databases",
    **GIVEN.get("settings", {}),
}
