"""The app."""

from __future__ import annotations

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """Configuration of ``django_sitemaps_plus.contrib.audit``."""

    name = "django_sitemaps_plus.contrib.audit"
    label = "sitemaps_plus_audit"
    verbose_name = "Sitemaps: audit"
    default_auto_field = "django.db.models.BigAutoField"
    default = True
    #: Where the core finds the hooks of this app: see ``django_sitemaps_plus.hooks``.
    sitemaps_plus = "django_sitemaps_plus.contrib.audit.hooks"
