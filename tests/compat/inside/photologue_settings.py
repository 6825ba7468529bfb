"""A project for django-photologue's tests, and this app."""

from __future__ import annotations

from pathlib import Path

from base_settings import *  # noqa: F403 (as settings do)
from base_settings import INSTALLED_APPS

MEDIA_ROOT = Path.cwd() / "media"
MEDIA_URL = "/media/"
ROOT_URLCONF = "photologue_urls"
INSTALLED_APPS += ["sortedm2m", "photologue"]
