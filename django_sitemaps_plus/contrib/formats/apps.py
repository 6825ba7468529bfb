"""The app."""

from __future__ import annotations

from django_sitemaps_plus import hooks


class FormatsConfig(hooks.FurtherAppConfig):
    """Configuration of ``django_sitemaps_plus.contrib.formats``."""

    name = "django_sitemaps_plus.contrib.formats"
    label = "sitemaps_plus_formats"
    verbose_name = "Sitemaps: formats"
    #: Where the core finds the hooks of this app: see ``django_sitemaps_plus.hooks``.
    sitemaps_plus = "django_sitemaps_plus.contrib.formats.hooks"
