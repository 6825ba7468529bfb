"""Checks of ``SITEMAPS_PLUS`` and of the site's address."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, register

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps.site import parse_base_url

from .messages import message

SET_BASE_URL = 'Set SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com"}.'


@register("sitemaps_plus")
def check_settings(**kwargs: Any) -> list[CheckMessage]:
    """E001, E002 and W001: ``SITEMAPS_PLUS`` and the site's address."""
    try:
        base_url = get_settings().BASE_URL
    except ConfigurationError as error:
        return [
            message("E001", str(error), "Correct SITEMAPS_PLUS in the settings module.")
        ]
    if not has_address():
        text = (
            "The site's address is not set: links follow the request's Host header, "
            "and build_sitemaps cannot work."
        )
        return [message("W001", text, SET_BASE_URL)]
    try:
        if base_url:
            parse_base_url(base_url)
    except ConfigurationError as error:
        return [message("E002", str(error), SET_BASE_URL)]
    return []


def has_address() -> bool:
    """Tell whether the project says where the site is: by ``BASE_URL`` or by Sites."""
    return bool(get_settings().BASE_URL) or apps.is_installed("django.contrib.sites")
