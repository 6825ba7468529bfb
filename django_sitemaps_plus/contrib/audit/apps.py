"""The app."""

from __future__ import annotations

from django_sitemaps_plus import hooks


class AuditConfig(hooks.FurtherAppConfig):
    """Configuration of ``django_sitemaps_plus.contrib.audit``."""

    name = "django_sitemaps_plus.contrib.audit"
    label = "sitemaps_plus_audit"
    verbose_name = "Sitemaps: audit"
    #: Where the core finds the hooks of this app: see ``django_sitemaps_plus.hooks``.
    sitemaps_plus = "django_sitemaps_plus.contrib.audit.hooks"
