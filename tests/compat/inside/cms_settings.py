"""A small site of django CMS, with versions where ``SUITE_VERSIONS`` says so."""

from __future__ import annotations

import os
from pathlib import Path

SECRET_KEY = "tests only"
ALLOWED_HOSTS = ["www.example.com", "testserver"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("SUITE_DATABASE", ":memory:"),
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = True
SITE_ID = 1
STATIC_URL = "/static/"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch"), ("fr", "Français")]
ROOT_URLCONF = os.environ.get("SUITE_URLCONF", "cms_urls")
CMS_CONFIRM_VERSION4 = True
CMS_TEMPLATES = [("cms_page.html", "Page")]
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.sites",
    "django.contrib.sitemaps",
    "django.contrib.staticfiles",
    "cms",
    "menus",
    "treebeard",
    "sekizai",
    "django_sitemaps_plus",
]
if os.environ.get("SUITE_VERSIONS"):
    INSTALLED_APPS += ["djangocms_versioning"]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "cms.middleware.user.CurrentUserMiddleware",
    "cms.middleware.page.CurrentPageMiddleware",
    "cms.middleware.toolbar.ToolbarMiddleware",
    "cms.middleware.language.LanguageCookieMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [Path(__file__).parent / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "sekizai.context_processors.sekizai",
                "cms.context_processors.cms_settings",
            ]
        },
    }
]
SITEMAPS_PLUS = {
    "BASE_URL": "https://www.example.com",
    "SITEMAPS": os.environ.get("SUITE_SITEMAPS"),
    "ENGINES": {
        "memory": {
            "BACKEND": "django_sitemaps_plus.engines.memory.Memory",
            "OPTIONS": {"interval": 0},
        }
    },
}


class OursOnly(dict[str, None]):
    """django CMS has many migrations; its tables are made without them."""

    def __contains__(self, label: object) -> bool:
        return label != "sitemaps_plus"

    def __missing__(self, label: str) -> None:
        return None


MIGRATION_MODULES = OursOnly()
