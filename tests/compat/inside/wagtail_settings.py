"""Wagtail's own test settings, and this app."""

from __future__ import annotations

import os

from base_settings import OursOnly
from wagtail.test.settings import *  # noqa: F403 (as settings do)

INSTALLED_APPS += ["django_sitemaps_plus"]  # noqa: F405 (as settings do)
ROOT_URLCONF = os.environ.get("SUITE_URLCONF", "wagtail.test.urls")
MIGRATION_MODULES = OursOnly()
