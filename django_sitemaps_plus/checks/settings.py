"""Checks of ``SITEMAPS_PLUS``, of the site's address and of robots.txt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage

from django_sitemaps_plus import conf
from django_sitemaps_plus.conf import advice, get_settings
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.protocol.locations import resolve
from django_sitemaps_plus.protocol.robots import not_repeated
from django_sitemaps_plus.serving.index import may_be_in_index
from django_sitemaps_plus.serving.robots import rules
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from .messages import SET_BASE_URL, check, message, without_address


@check(of_each_site=True)
def check_settings(**kwargs: Any) -> Iterator[CheckMessage]:
    """E001, E002, W001, W013, W028: ``SITEMAPS_PLUS`` and the site's address."""
    try:
        conf.refuse_wrong_settings()
        rules()
        tenants.configured()
        given = Site.current().base_url
    except ConfigurationError as error:
        hint = "Correct SITEMAPS_PLUS in the settings module."
        yield message("E001", str(error), hint)
        return
    text = (
        "The site's address is not set: links follow the request's Host header, and "
        "build_sitemaps cannot work."
    )
    yield from without_address("W001", text)
    if given:
        try:
            origin = SiteAddress.parse(given).origin
        except ConfigurationError as error:
            yield message("E002", str(error), SET_BASE_URL)
            return
        prefix = (django_settings.FORCE_SCRIPT_NAME or "").rstrip("/")
        if not f"{SiteAddress.parse(given).folder}/".startswith(f"{prefix}/"):
            yield message(
                "W028",
                f"FORCE_SCRIPT_NAME is {prefix!r}, but BASE_URL is {given!r}: sitemaps "
                "list addresses without that prefix.",
                f'Write "BASE_URL": "{origin}{prefix}/".',
            )
        if origin.scheme == "http" and django_settings.SECURE_SSL_REDIRECT:
            yield message(
                "W013",
                f"BASE_URL is {given!r}, but SECURE_SSL_REDIRECT redirects all that "
                "sitemaps list to https://.",
                f'Write "BASE_URL": "https://{origin.host}".',
            )


@check()
def check_extra_sitemaps(**kwargs: Any) -> Iterator[CheckMessage]:
    """W063: further sitemaps that no site's index may list."""
    given = [site.unasked().base_url for site in Site.all()]
    # Without an address only a request or the database knows a site's host.
    sites = [SiteAddress.parse(url) for url in given if url]
    for extra in get_settings().extra_sitemaps:
        if not extra.in_index or len(sites) < len(given):
            continue
        if not any(
            may_be_in_index(resolve(extra.url, str(site.origin)), site)
            for site in sites
        ):
            folders = " or ".join(f"{site.origin}{site.folder}" for site in sites)
            yield message(
                "W063",
                f"SITEMAPS_PLUS['EXTRA_SITEMAPS']: the index may list sitemaps in "
                f"{folders} only, so robots.txt lists {extra.url!r}.",
                'Remove "index", or serve that sitemap there.',
            )


@check()
def check_sites(**kwargs: Any) -> Iterator[CheckMessage]:
    """E040 and W040: sites that are not served, or that no process works for."""
    declared = get_settings().SITES
    for site in registry.sites():
        if site not in declared:
            close = advice(site, declared, "sites") if declared else ""
            yield message(
                "E040",
                f"Sitemaps are registered for the site {site!r}, which is not in "
                f"SITEMAPS_PLUS['SITES']. {close}",
                f'Set SITEMAPS_PLUS["SITES"] = {{"{site}": '
                '{"BASE_URL": "https://blog.example.com", "URLCONF": "…"}}.',
            )
    if Site.default().is_chosen_by_request:
        yield message(
            "W040",
            "django.contrib.sites is installed, and SITE_ID is not set: each request "
            "says which Site it is for. So no page is rebuilt in the background, no "
            "engine is notified, and commands need --site.",
            "Set SITE_ID = 1 in the settings of each site's processes; or have cron "
            "run 'manage.py ping_sitemaps --site www.example.com' for each, and "
            "silence this check.",
        )


@check()
def check_robots(**kwargs: Any) -> Iterator[CheckMessage]:
    """W050: crawlers that robots.txt names do not follow the rules for all."""
    crawlers: dict[str, list[str]] = {}
    for name, unsaid in not_repeated(rules().groups).items():
        crawlers.setdefault(", ".join(unsaid), []).append(name)
    for missing, names in crawlers.items():
        follows = "these do" if len(names) > 1 else "it does"
        yield message(
            "W050",
            f"robots.txt has a group for {', '.join(names)}, so {follows} not follow "
            f"these rules of '*': {missing}. A crawler follows only the groups that "
            "name it.",
            "Repeat them in that group of SITEMAPS_PLUS['ROBOTS'], or silence this "
            "check if the crawler may fetch these paths.",
        )
