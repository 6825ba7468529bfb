"""django-photologue in two languages, in a database that stays."""

from __future__ import annotations

from base_settings import on_disk
from photologue_settings import *  # noqa: F403 (as settings do)

DATABASES = on_disk("photos.sqlite3")
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
ROOT_URLCONF = "photologue_i18n_urls"
