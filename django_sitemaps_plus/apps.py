"""The app: it finds the project's ``sitemaps.py`` modules, as admin finds its own."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig, apps
from django.core.signals import request_started
from django.db import DatabaseError
from django.utils.module_loading import module_has_submodule

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
        from . import checks  # noqa: F401 (it registers them)
        from .changes import receivers
        from .delivery.thread import background_thread

        _discover()
        receivers.connect(at_startup=True)
        registry.subscribe(receivers.connect)
        changes_written.connect(background_thread.wake)
        request_started.connect(background_thread.request_started)


def _discover() -> None:
    """
    Import every app's ``sitemaps`` module, as ``autodiscover_modules`` does.

    One that asks a database without tables, as before the first ``migrate``, is
    imported when its sections are first needed.
    """
    for config in apps.get_app_configs():
        if module_has_submodule(config.module, "sitemaps"):
            try:
                import_module(f"{config.name}.sitemaps")
            except DatabaseError:
                registry.postpone(f"{config.name}.sitemaps")
