"""What keeps a site from telling engines anything: copies must not speak for it."""

from __future__ import annotations

from django.conf import settings as django_settings

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.engines.addresses import is_private
from django_sitemaps_plus.engines.base import CheckResult
from django_sitemaps_plus.protocol.robots import closed
from django_sitemaps_plus.sitemaps.site import configured


def findings() -> list[CheckResult]:
    """Look whether this project may tell engines anything, a sentence for each."""
    return [_address(), _debug(), _robots()]


def refusal() -> str:
    """Return why nothing may be sent; empty if it may."""
    found = [finding for finding in findings() if not finding.is_good]
    return f"{found[0].text} {found[0].fix}" if found else ""


def _debug() -> CheckResult:
    if not django_settings.DEBUG:
        return CheckResult(is_good=True, text="DEBUG is off.")
    return CheckResult(
        is_good=False,
        text="DEBUG is on: this is no public site.",
        fix="Set DEBUG = False, or use --force.",
    )


def _address() -> CheckResult:
    place = configured()
    if place is None:
        return CheckResult(
            is_good=False,
            text="The site's address is not known.",
            fix="Set SITEMAPS_PLUS['BASE_URL'], for example 'https://www.example.com'.",
        )
    if is_private(place.origin.host):
        return CheckResult(
            is_good=False,
            text=f"{place.origin} is no public address: no engine can see it.",
            fix="Set SITEMAPS_PLUS['BASE_URL'] to the public one, or use --force.",
        )
    return CheckResult(is_good=True, text=f"The site's address is {place.origin}.")


def _robots() -> CheckResult:
    if not closed(get_settings().robots_groups()):
        return CheckResult(is_good=True, text="robots.txt lets crawlers in.")
    return CheckResult(
        is_good=False,
        text="robots.txt keeps all crawlers out.",
        fix="Change SITEMAPS_PLUS['ROBOTS'], or use --force.",
    )
