"""The app."""

from __future__ import annotations

from django_sitemaps_plus import hooks


class EdgeConfig(hooks.FurtherAppConfig):
    """Configuration of ``django_sitemaps_plus.contrib.edge``."""

    name = "django_sitemaps_plus.contrib.edge"
    label = "sitemaps_plus_edge"
    verbose_name = "Sitemaps: edge"
    #: Where the core finds the hooks of this app: see ``django_sitemaps_plus.hooks``.
    sitemaps_plus = "django_sitemaps_plus.contrib.edge.hooks"
