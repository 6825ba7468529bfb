"""The encyclopedia as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class UnicodeBookConfig(AppConfig):
    """Characters, blocks and notes."""

    name = "unicode_book"
    verbose_name = "Encyclopedia of Unicode"
    default_auto_field = "django.db.models.BigAutoField"
