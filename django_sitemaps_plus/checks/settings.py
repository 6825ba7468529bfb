"""Checks of ``SITEMAPS_PLUS`` and of the site's address."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.conf import settings as django_settings
from django.core.checks import CheckMessage
from django.core.files.storage import FileSystemStorage, storages

from django_sitemaps_plus.conf import advice, get_settings
from django_sitemaps_plus.delivery import documents
from django_sitemaps_plus.delivery.storages import takes_headers
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.protocol.locations import resolve
from django_sitemaps_plus.publishing.extra import may_be_in_index
from django_sitemaps_plus.rendering.serializer import describe
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site, parse_base_url

from .messages import check, message, section_names

SET_BASE_URL = 'Set SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com"}.'


@check(of_each_site=True)
def check_settings(**kwargs: Any) -> Iterator[CheckMessage]:
    """E001, E002, W001 and W013: ``SITEMAPS_PLUS`` and the site's address."""
    try:
        tenants.configured()
        given = Site.current().base_url
    except ConfigurationError as error:
        hint = "Correct SITEMAPS_PLUS in the settings module."
        yield message("E001", str(error), hint)
        return
    if not has_address():
        text = (
            "The site's address is not set: links follow the request's Host header, "
            "and build_sitemaps cannot work."
        )
        yield message("W001", text, SET_BASE_URL)
    elif given:
        try:
            origin = parse_base_url(given).origin
        except ConfigurationError as error:
            yield message("E002", str(error), SET_BASE_URL)
            return
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
    sites = [parse_base_url(url) for url in given if url]
    for extra in get_settings().extra_sitemaps():
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
    """E040 and W040: sites that nobody serves, or that no process works for."""
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


@check(of_each_site=True)
def check_formats(**kwargs: Any) -> Iterator[CheckMessage]:
    """E050: a section at whose address another file is served."""
    taken = get_settings().formats.keys() & {"recent"}
    for name in taken.intersection(section_names()):
        yield message(
            "E050",
            f"/sitemap-{name}.xml is what SITEMAPS_PLUS['FORMATS'] serves, so the "
            f"section {name!r} has no address.",
            f'Rename the section, for example @register(name="{name}-pages").',
        )


@check()
def check_publish(**kwargs: Any) -> Iterator[CheckMessage]:
    """E080 to E084 and W081: files that cannot be published where ``PUBLISH`` says."""
    options = get_settings().publish
    if options is None:
        return
    given = "SITEMAPS_PLUS['PUBLISH']"
    if not has_address():
        text = f"{given} is set, and the site's address is not: files have whole URLs."
        yield message("E080", text, SET_BASE_URL)
    is_shared = len(get_settings().SITES) > 0 or Site.default().is_chosen_by_request
    if (is_shared or tenants.configured()) and "{host}" not in options.prefix:
        text = f"{given}: the files of several sites would have the same names."
        hint = 'Write "OPTIONS": {"prefix": "{host}/"}.'
        yield message("E081", text, hint)
    try:
        storage = storages[options.storage]
    except Exception as error:  # a backend raises whatever it likes
        known = django_settings.STORAGES
        is_unknown = options.storage not in known
        problem = "STORAGES has no such alias." if is_unknown else describe(error)
        yield message(
            "E082",
            f"{given}: the storage {options.storage!r} cannot be used: {problem}",
            advice(options.storage, known, "aliases of STORAGES")
            if is_unknown
            else f"Correct STORAGES[{options.storage!r}], or install what it needs.",
        )
        return
    if options.gzip == "encoding" and not takes_headers(storage):
        yield message(
            "E083",
            f"{given}: {type(storage).__name__} cannot store Content-Encoding with "
            "each file, so readers would take gzipped files for XML.",
            'Set "gzip" to "file" (.xml.gz), or leave it out.',
        )
    for option in ("file_overwrite", "overwrite_files"):
        if not getattr(storage, option, True):
            yield message(
                "E084",
                f"{given}: the storage {options.storage!r} does not replace files of "
                "the same name.",
                f"Add to its OPTIONS in STORAGES: {option!r}: True.",
            )
    media = os.path.abspath(django_settings.MEDIA_ROOT)
    if isinstance(storage, FileSystemStorage) and storage.path("") == media:
        yield message(
            "W081",
            f"{given}: the storage {options.storage!r} publishes into MEDIA_ROOT "
            f"({media}), among the files that people upload.",
            f"Write STORAGES[{options.storage!r}] with "
            '"OPTIONS": {"location": "/srv/sitemaps"}.',
        )


@check()
def check_cache_tags(**kwargs: Any) -> Iterator[CheckMessage]:
    """W080: answers have tags, and no cache is purged by them."""
    if get_settings().CACHE_TAGS and not documents.are_wanted():
        yield message(
            "W080",
            "SITEMAPS_PLUS['CACHE_TAGS'] is set, but nothing receives "
            "documents_changed, so no cache is purged when a sitemap changes.",
            "Import the module with your receiver in ready() of an AppConfig, or "
            "silence this check if something else purges the cache.",
        )


def has_address() -> bool:
    """Return whether ``BASE_URL``, Sites or tenants say where the site is."""
    site = Site.current()
    is_said = bool(site.tenant or site.base_url)
    return is_said or apps.is_installed("django.contrib.sites")
