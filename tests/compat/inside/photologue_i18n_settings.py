"""django-photologue in two languages, in a database that stays."""

from __future__ import annotations

from pathlib import Path

from photologue_settings import *  # noqa: F403 (as settings do)

ALLOWED_HOSTS = ["www.example.com"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": Path.cwd() / "photos.sqlite3",
    }
}
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
ROOT_URLCONF = "photologue_i18n_urls"
MIDDLEWARE += ["django.middleware.locale.LocaleMiddleware"]  # noqa: F405 (as settings do)
