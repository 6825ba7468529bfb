"""Checks of ``SITEMAPS_PLUS`` and of the site's address."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, register

from django_sitemaps_plus.conf import advice, get_settings
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import (
    base_url,
    parse_base_url,
    request_decides,
)

from .messages import message, of_each_site, section_names

SET_BASE_URL = 'Set SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com"}.'


@register("sitemaps_plus")
@of_each_site
def check_settings(**kwargs: Any) -> list[CheckMessage]:
    """E001, E002 and W001: ``SITEMAPS_PLUS`` and the site's address."""
    try:
        given = base_url()
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
        if given:
            parse_base_url(given)
    except ConfigurationError as error:
        return [message("E002", str(error), SET_BASE_URL)]
    return []


@register("sitemaps_plus")
def check_sites(**kwargs: Any) -> list[CheckMessage]:
    """E040 and W040: sites that nobody serves, or of which no process takes care."""
    try:
        known = get_settings().SITES
    except ConfigurationError:
        return []  # E001 says so
    found = [
        message(
            "E040",
            f"Sitemaps are registered for the site {site!r}, which is not in "
            f"SITEMAPS_PLUS['SITES']. {advice(site, known, 'sites') if known else ''}",
            f'Set SITEMAPS_PLUS["SITES"] = {{"{site}": '
            '{"BASE_URL": "https://blog.example.com", "URLCONF": "…"}}.',
        )
        for site in registry.sites()
        if site not in known
    ]
    if request_decides():
        found.append(
            message(
                "W040",
                "django.contrib.sites is installed, and SITE_ID is not set: each "
                "request says which Site it is for. So no page is rebuilt in the "
                "background, no engine is notified, and commands need --site.",
                "Set SITE_ID = 1 in the settings of each site's processes; or have "
                "cron run 'manage.py ping_sitemaps --site www.example.com' for each, "
                "and silence this check.",
            )
        )
    return found


@register("sitemaps_plus")
@of_each_site
def check_formats(**kwargs: Any) -> list[CheckMessage]:
    """E050: a section at whose address another file is served."""
    try:
        taken = get_settings().formats.keys() & {"recent"}
    except ConfigurationError:
        return []  # E001 says so
    return [
        message(
            "E050",
            f"/sitemap-{name}.xml is what SITEMAPS_PLUS['FORMATS'] serves, so the "
            f"section {name!r} has no address.",
            f'Rename the section, for example @register(name="{name}-pages").',
        )
        for name in section_names()
        if name in taken
    ]


def has_address() -> bool:
    """Tell whether the project says where the site is: by ``BASE_URL`` or by Sites."""
    return bool(base_url()) or apps.is_installed("django.contrib.sites")
