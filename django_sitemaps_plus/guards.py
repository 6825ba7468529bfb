"""What keeps a site from telling engines anything: copies must not speak for it."""

from __future__ import annotations

import ipaddress

from django.conf import settings as django_settings

from .conf import get_settings
from .engines.base import Finding
from .origin import configured
from .protocol.robots import closed

#: Names that lead to nobody's public site: RFC 6761, RFC 6762, RFC 9476 and ICANN.
_PRIVATE = (".localhost", ".local", ".test", ".invalid", ".internal", ".alt", ".lan")


def findings() -> list[Finding]:
    """Look whether this project may tell engines anything, a sentence for each."""
    return [_address(), _debug(), _robots()]


def refusal() -> str:
    """Return why nothing may be sent; empty if it may."""
    found = [finding for finding in findings() if not finding.is_good]
    return f"{found[0].text} {found[0].fix}" if found else ""


def _debug() -> Finding:
    if not django_settings.DEBUG:
        return Finding(is_good=True, text="DEBUG is off.")
    return Finding(
        is_good=False,
        text="DEBUG is on: this is no public site.",
        fix="Set DEBUG = False, or use --force.",
    )


def _address() -> Finding:
    place = configured()
    if place is None:
        return Finding(
            is_good=False,
            text="The site's address is not known.",
            fix="Set SITEMAPS_PLUS['BASE_URL'], for example 'https://www.example.com'.",
        )
    if is_private(place.origin.host):
        return Finding(
            is_good=False,
            text=f"{place.origin} is no public address: no engine can see it.",
            fix="Set SITEMAPS_PLUS['BASE_URL'] to the public one, or use --force.",
        )
    return Finding(is_good=True, text=f"The site's address is {place.origin}.")


def _robots() -> Finding:
    if not closed(get_settings().robots_groups()):
        return Finding(is_good=True, text="robots.txt lets crawlers in.")
    return Finding(
        is_good=False,
        text="robots.txt keeps all crawlers out.",
        fix="Change SITEMAPS_PLUS['ROBOTS'], or use --force.",
    )


def is_private(host: str) -> bool:
    """Tell whether a host, perhaps with a port, is surely none of the Internet's."""
    name = host.rpartition("]")[0].lstrip("[") if "]" in host else host.split(":")[0]
    try:
        return not ipaddress.ip_address(name).is_global
    except ValueError:
        name = name.rstrip(".")
        return "." not in name or name.endswith(_PRIVATE)
