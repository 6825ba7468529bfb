"""Wagtail's own test settings, and this app."""

from __future__ import annotations

import os

from wagtail.test.settings import *  # noqa: F403 (as settings do)

INSTALLED_APPS += ["django_sitemaps_plus"]  # noqa: F405 (as settings do)
ROOT_URLCONF = os.environ.get("SUITE_URLCONF", "wagtail.test.urls")


class OursOnly(dict[str, None]):
    """Wagtail has hundreds of migrations; its tables are made without them."""

    def __contains__(self, label: object) -> bool:
        return label != "sitemaps_plus"

    def __missing__(self, label: str) -> None:
        return None


MIGRATION_MODULES = OursOnly()
