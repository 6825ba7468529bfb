"""The app: it finds the project's ``sitemaps.py`` modules, as admin finds its own."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.signals import request_started
from django.utils.module_loading import autodiscover_modules

from .signals import changes_written
from .sitemaps.registry import registry


class SitemapsPlusConfig(AppConfig):
    """Configuration of ``django_sitemaps_plus``."""

    name = "django_sitemaps_plus"
    label = "sitemaps_plus"
    verbose_name = "Sitemaps"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """
        Import every app's ``sitemaps`` module, and listen to what it lists.

        The system checks are registered, too.
        """
        from . import checks  # noqa: F401 (they register themselves)
        from .changes import receivers
        from .delivery.background import background

        autodiscover_modules("sitemaps")
        receivers.connect()
        registry.subscribe(receivers.connect)
        changes_written.connect(
            background.wake,
            dispatch_uid="django_sitemaps_plus.delivery.background",
        )
        request_started.connect(
            background.request_started,
            dispatch_uid="django_sitemaps_plus.delivery.background",
        )
