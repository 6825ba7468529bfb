"""Wagtail's own test settings, and this app."""

from __future__ import annotations

import os

from wagtail.test.settings import *  # noqa: F403

if not os.environ.get("WITHOUT_SITEMAPS_PLUS"):
    INSTALLED_APPS += ["django_sitemaps_plus"]  # noqa: F405
ROOT_URLCONF = os.environ.get("SUITE_URLCONF", "wagtail.test.urls")
