"""A small site of django CMS, with versions where ``SUITE_VERSIONS`` says so."""

from __future__ import annotations

import os

from base_settings import *  # noqa: F403 (as settings do)
from base_settings import INSTALLED_APPS, MIDDLEWARE, PROCESSORS, OursOnly

LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("fr", "Français")]
ROOT_URLCONF = "cms_urls"
CMS_CONFIRM_VERSION4 = True
CMS_TEMPLATES = [("cms_page.html", "Page")]
# Ours comes after "cms", which gives contents the manager that asks for versions.
*CONTRIB, OURS = INSTALLED_APPS
INSTALLED_APPS = [*CONTRIB, "cms", "menus", "treebeard", "sekizai", OURS]
if os.environ.get("SUITE_VERSIONS"):
    INSTALLED_APPS += ["djangocms_versioning"]
MIDDLEWARE += [
    "cms.middleware.user.CurrentUserMiddleware",
    "cms.middleware.page.CurrentPageMiddleware",
    "cms.middleware.toolbar.ToolbarMiddleware",
    "cms.middleware.language.LanguageCookieMiddleware",
]
PROCESSORS += [
    "sekizai.context_processors.sekizai",
    "cms.context_processors.cms_settings",
]
MEMORY = {
    "BACKEND": "django_sitemaps_plus.engines.memory.Memory",
    "OPTIONS": {"interval": 0},
}
SITEMAPS_PLUS = {
    "BASE_URL": "https://www.example.com",
    "SITEMAPS": os.environ.get("SUITE_SITEMAPS"),
    "ENGINES": {"memory": MEMORY},
}
MIGRATION_MODULES = OursOnly()
