"""What keeps copies of a site from submitting anything."""

from __future__ import annotations

from django.conf import settings as django_settings

from django_sitemaps_plus.engines.addresses import is_private
from django_sitemaps_plus.engines.base import CheckResult
from django_sitemaps_plus.protocol.robots import shut_out
from django_sitemaps_plus.serving.robots import rules
from django_sitemaps_plus.sitemaps.site import Site, address_advice

#: What the advice ends with where --force helps.
_OR_FORCE = ", or use --force."


def check_site(*, force: bool = False) -> list[CheckResult]:
    """
    Check whether this project may submit anything to engines.

    With ``force`` it may from everywhere whose address is known.
    """
    results = [_address(), _debug(), _robots()]
    return [forced(one) for one in results] if force else results


def forced(result: CheckResult) -> CheckResult:
    """Return what a check finds where somebody uses --force."""
    if result.is_good or not result.fix.endswith(_OR_FORCE):
        return result
    return CheckResult.good(f"{result.text} Ignored by --force.")


def why_refused() -> str:
    """Return why nothing may be submitted; empty if it may."""
    wrong = [result for result in check_site() if not result.is_good]
    return f"{wrong[0].text} {wrong[0].fix}" if wrong else ""


def _debug() -> CheckResult:
    if not django_settings.DEBUG:
        return CheckResult.good("DEBUG is off.")
    return CheckResult.bad(
        "DEBUG is on: this is not a public site.",
        f"Set DEBUG = False{_OR_FORCE}",
    )


def _address() -> CheckResult:
    site = Site.current().address()
    if site is None:
        return CheckResult.bad(
            "The site's address is not known.",
            address_advice(),
        )
    if is_private(site.origin.host):
        return CheckResult.bad(
            f"{site.origin} is not a public address: engines cannot reach it.",
            f"{address_advice().rstrip('.')}{_OR_FORCE}",
        )
    return CheckResult.good(f"The site's address is {site.origin}.")


def _robots() -> CheckResult:
    if not rules().are_closed:
        return CheckResult.good("robots.txt allows crawling.")
    return CheckResult.bad(
        f"robots.txt disallows everything for {shut_out(rules().groups)}.",
        f"Change SITEMAPS_PLUS['ROBOTS']{_OR_FORCE}",
    )
