"""The app."""

from __future__ import annotations

from django.apps import AppConfig


class InsightConfig(AppConfig):
    """Configuration of ``django_sitemaps_plus.contrib.insight``."""

    name = "django_sitemaps_plus.contrib.insight"
    label = "sitemaps_plus_insight"
    verbose_name = "Sitemaps: insight"
    default_auto_field = "django.db.models.BigAutoField"
    default = True
    #: Where the core finds the hooks of this app: see ``django_sitemaps_plus.hooks``.
    sitemaps_plus = "django_sitemaps_plus.contrib.insight.hooks"
