"""The shop of django-oscar's apps, at another address and with other sitemaps."""

from __future__ import annotations

import os

from oscar_settings import *  # noqa: F403 (as settings do)

ROOT_URLCONF = "shop_urls"
SITEMAPS_PLUS = {
    "BASE_URL": "https://www.example.com",
    "SITEMAPS": os.environ.get("SUITE_SITEMAPS"),
}
