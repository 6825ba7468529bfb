"""The app: it finds the project's ``sitemaps.py`` modules, as admin finds its own."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class SitemapsPlusConfig(AppConfig):
    """Configuration of ``django_sitemaps_plus``."""

    name = "django_sitemaps_plus"
    label = "sitemaps_plus"
    verbose_name = "Sitemaps"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks and import every app's ``sitemaps`` module."""
        from . import checks  # noqa: F401 (registers the checks)

        autodiscover_modules("sitemaps")
