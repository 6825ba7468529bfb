"""
The settings of a project of django-tenants: a schema of PostgreSQL for each customer.

``GIVEN`` in the environment is JSON: ``database``, its URL, ``settings``, which are
``SITEMAPS_PLUS``, and ``shared`` if the app is among ``SHARED_APPS`` only.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from tests.tenants.common import *  # noqa: F403 (as settings do)
from tests.tenants.common import GIVEN, OURS

_url = urlsplit(GIVEN["database"])
DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django_tenants.postgresql_backend",
        "NAME": _url.path.lstrip("/"),
        "USER": _url.username or "",
        "PASSWORD": _url.password or "",
        "HOST": _url.hostname or "",
        "PORT": str(_url.port or ""),
        "OPTIONS": {"options": "-c synchronous_commit=off"},
    }
}
DATABASE_ROUTERS = ["django_tenants.routers.TenantSyncRouter"]
SHARED_APPS = [
    "django_tenants",
    "tests.tenants.customers",
    "django.contrib.contenttypes",
    *(OURS if GIVEN.get("shared") else []),
]
TENANT_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.sites",
    "tests.tenants.blog",
    *([] if GIVEN.get("shared") else OURS),
]
INSTALLED_APPS = list(dict.fromkeys([*SHARED_APPS, *TENANT_APPS]))
SITE_ID = 1
TENANT_MODEL = "customers.Customer"
TENANT_DOMAIN_MODEL = "customers.Domain"
# The schema is set when it changes, and not before each statement.
TENANT_LIMIT_SET_CALLS = True
MIDDLEWARE = ["django_tenants.middleware.main.TenantMainMiddleware"]
SITEMAPS_PLUS = GIVEN.get("settings", {})
