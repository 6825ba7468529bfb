"""The app."""

from __future__ import annotations

from django_sitemaps_plus import hooks


class InsightConfig(hooks.FurtherAppConfig):
    """Configuration of ``django_sitemaps_plus.contrib.insight``."""

    name = "django_sitemaps_plus.contrib.insight"
    label = "sitemaps_plus_insight"
    verbose_name = "Sitemaps: insight"
    #: Where the core finds the hooks of this app: see ``django_sitemaps_plus.hooks``.
    sitemaps_plus = "django_sitemaps_plus.contrib.insight.hooks"
