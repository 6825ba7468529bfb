"""The app."""

from __future__ import annotations

from django_sitemaps_plus import hooks


class WebmastersConfig(hooks.FurtherAppConfig):
    """Configuration of ``django_sitemaps_plus.contrib.webmasters``."""

    name = "django_sitemaps_plus.contrib.webmasters"
    label = "sitemaps_plus_webmasters"
    verbose_name = "Sitemaps: webmaster tools"
    #: Where the core finds the hooks of this app: see ``django_sitemaps_plus.hooks``.
    sitemaps_plus = "django_sitemaps_plus.contrib.webmasters.hooks"
