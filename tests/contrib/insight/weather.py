"""An app that shows something on the page of ``contrib.insight``, or fails to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.apps import AppConfig
from django.utils.html import format_html

from django_sitemaps_plus.conf import AppSettings, app_settings
from django_sitemaps_plus.hooks import AdminPage


class Weather(AppConfig):
    """This module is its hooks."""

    name = "tests.contrib.insight"
    label = "weather"
    sitemaps_plus = "tests.contrib.insight.weather"


@dataclass(frozen=True, kw_only=True)
class Settings(AppSettings):
    """What it shows."""

    WEATHER: str = "rain"


def panels(page: AdminPage) -> Iterator[str]:
    """Say how the weather is."""
    yield format_html("<p>It rains, {}.</p>", page.request.user)
    if (weather := app_settings(Settings).WEATHER) != "rain":
        raise LookupError(f"<{weather}>")
