from __future__ import annotations

from django.apps import AppConfig


class HookedConfig(AppConfig):
    name = "tests.hooked"
    label = "hooked"
    sitemaps_plus = "tests.hooked.hooks"
