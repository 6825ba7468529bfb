"""What keeps a site from submitting anything: copies must not speak for it."""

from __future__ import annotations

from django.conf import settings as django_settings

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.engines.addresses import is_private
from django_sitemaps_plus.engines.base import CheckResult
from django_sitemaps_plus.protocol.robots import closed
from django_sitemaps_plus.sitemaps.site import configured


def check() -> list[CheckResult]:
    """Check whether this project may submit anything to engines."""
    return [_address(), _debug(), _robots()]


def refusal() -> str:
    """Return why nothing may be submitted; empty if it may."""
    wrong = [found for found in check() if not found.is_good]
    return f"{wrong[0].text} {wrong[0].fix}" if wrong else ""


def _debug() -> CheckResult:
    if not django_settings.DEBUG:
        return CheckResult(is_good=True, text="DEBUG is off.")
    return CheckResult(
        is_good=False,
        text="DEBUG is on: this is not a public site.",
        fix="Set DEBUG = False, or use --force.",
    )


def _address() -> CheckResult:
    site = configured()
    if site is None:
        return CheckResult(
            is_good=False,
            text="The site's address is not known.",
            fix="Set SITEMAPS_PLUS['BASE_URL'], for example 'https://www.example.com'.",
        )
    if is_private(site.origin.host):
        return CheckResult(
            is_good=False,
            text=f"{site.origin} is not a public address: engines cannot reach it.",
            fix="Set SITEMAPS_PLUS['BASE_URL'] to the public address, or use --force.",
        )
    return CheckResult(is_good=True, text=f"The site's address is {site.origin}.")


def _robots() -> CheckResult:
    if not closed(get_settings().robots_groups()):
        return CheckResult(is_good=True, text="robots.txt allows crawling.")
    return CheckResult(
        is_good=False,
        text="robots.txt disallows everything.",
        fix="Change SITEMAPS_PLUS['ROBOTS'], or use --force.",
    )
