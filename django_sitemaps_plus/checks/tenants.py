"""Checks of projects with tenants: what all of them share must not be one tenant's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage
from django.db import DatabaseError
from django.utils.module_loading import import_string

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import no_queries
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.registry import load
from django_sitemaps_plus.sitemaps.sections import source

from .messages import check, message, section_names

_IS_OF_TENANTS = "django_sitemaps_plus.contrib.django_tenants.is_of_tenants"


@check()
def check_tenants(**kwargs: Any) -> Iterator[CheckMessage]:
    """E070 and E071: one address, or one tenant's sections, for all tenants."""
    settings = get_settings()
    if tenants.configured() is None:
        return
    for name in ("BASE_URL", "SITES"):
        if getattr(settings, name):
            yield message(
                "E070",
                f"SITEMAPS_PLUS[{name!r}] is set in a project with tenants, each of "
                "which has an address of its own.",
                f"Remove {name!r}: the address is the tenant's primary domain, or what "
                "base_url() of the class in SITEMAPS_PLUS['TENANTS'] returns.",
            )
    try:
        with no_queries():
            # Not from the registry: another check may have read them into it.
            load(settings.SITEMAPS, "SITEMAPS")
    except DatabaseError:
        yield message(
            "E071",
            "The sections are read from a database, but each process reads them once, "
            "for all tenants.",
            "Register the same classes for all tenants, and let their items() return "
            "what each tenant has.",
        )


@check()
def check_engines_of_one_site(**kwargs: Any) -> Iterator[CheckMessage]:
    """E073: engines that speak for one site."""
    if tenants.configured() is None:
        return
    for alias, engine in engines().items():
        for option in ("site", "host_id"):
            if getattr(engine, option, None):
                yield message(
                    "E073",
                    f"SITEMAPS_PLUS['ENGINES'][{alias!r}]: {option!r} names one site, "
                    "but each tenant has an address of its own.",
                    "Use an engine that serves every host, such as IndexNow.",
                )


@check()
def check_shared_tables(**kwargs: Any) -> Iterator[CheckMessage]:
    """E072: tenants whose objects are listed, but who share the tables of this app."""
    if not apps.is_installed("django_tenants") or tenants.configured() is not None:
        return
    is_of_tenants = import_string(_IS_OF_TENANTS)
    for name in section_names():
        key = source(name).key
        if key is not None and is_of_tenants(key.model._meta.app_label):
            yield message(
                "E072",
                f"Section {name!r} lists {key.model._meta.label}, of which each tenant "
                "has its own, but 'django_sitemaps_plus' is not in TENANT_APPS: all "
                "tenants would share one sitemap.",
                "Add 'django_sitemaps_plus' to TENANT_APPS, then run "
                "'manage.py migrate_schemas'.",
            )
