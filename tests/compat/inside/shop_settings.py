"""The shop of django-oscar's apps, in a database that stays."""

from __future__ import annotations

import os
from pathlib import Path

from oscar_settings import *  # noqa: F403 (as settings do)

ALLOWED_HOSTS = ["www.example.com"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": Path.cwd() / "shop.sqlite3",
    }
}
INSTALLED_APPS += ["django.contrib.sitemaps"]  # noqa: F405 (as settings do)
ROOT_URLCONF = "shop_urls"
SITEMAPS_PLUS = {
    "BASE_URL": "https://www.example.com",
    "SITEMAPS": os.environ.get("SUITE_SITEMAPS"),
}
