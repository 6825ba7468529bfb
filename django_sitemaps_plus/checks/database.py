"""Checks that ask a database: the tables, and how many items there are."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from django.apps import apps
from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Tags
from django.db import DatabaseError, connections, router
from django.db.migrations.executor import MigrationExecutor

from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.pagination.queries import ledger
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource, source_of
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from .locations import check_same_urls
from .messages import check, message
from .sections import (
    check_section,
    is_legal_limit,
    model_of,
    unreadable,
    without_queries,
)

#: Those that a command names, as Django hands them to checks.
Databases: TypeAlias = Sequence[str] | None

_SHELL = 'Run: manage.py shell -c "from django.contrib.sites.models import Site; '


@check(Tags.database)
def check_tables(databases: Databases = None, **kwargs: Any) -> Iterator[CheckMessage]:
    """W008: the tables, unless they are just being created."""
    # They run no checks when code calls them.
    if sys.argv[1:2] in (["migrate"], ["migrate_schemas"]):
        return
    using = ledger()
    if using not in (databases or ()) or tables_exist(using, of_apps=True):
        return
    # Beside tenants that have them there are schemas that need none.
    with suppress(DatabaseError):  # the table of tenants is missing too
        if tenants.configured() is not None and tenants.all_keys():
            return
    text = "The tables of django_sitemaps_plus are missing."
    yield message("W008", text, f"'{tenants.migration(using)}' creates them.")


@check(Tags.database, of_each_site=True)
def check_rows(databases: Databases = None, **kwargs: Any) -> Iterator[CheckMessage]:
    """W009 and W014: long sections by position; and what else only the rows show."""
    using = ledger()
    if using not in (databases or ()) or not tables_exist(using):
        return
    executor = MigrationExecutor(connections[using])
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        return  # the tables of items are about to be those of the models
    try:
        names = list(registry.sources())
    except DatabaseError as error:
        text = f"SITEMAPS_PLUS['SITEMAPS'] cannot be read: {error}"
        yield message("W002", text, "Make it a dict of classes, or migrate first.")
        return
    for name in names:
        if without_queries(name) is None:
            yield from check_section(name)
    for source in filter(None, map(_sound_source, names)):
        if source.key is None:
            yield from _check_position(source)
        yield from check_same_urls(source)


@check(Tags.database)
def check_current_site(
    databases: Databases = None, **kwargs: Any
) -> Iterator[CheckMessage]:
    """E041 and W041 to W043: the Site that ``SITE_ID`` names."""
    number = getattr(django_settings, "SITE_ID", None)
    if not number or not apps.is_installed("django.contrib.sites"):
        return
    if tenants.configured():
        return  # they have addresses of their own
    sites = apps.get_model("sites.Site")
    using = router.db_for_read(sites)
    if using not in (databases or ()):
        return
    if sites._meta.db_table not in connections[using].introspection.table_names():
        return
    domains = dict(sites.objects.values_list("pk", "domain"))
    given = Site.current().base_url
    host = SiteAddress.parse(given).origin.host if given else ""
    others = [pk for pk, domain in domains.items() if domain == host and pk != number]
    if others:
        yield message(
            "W042",
            f"SITE_ID is {number}, but BASE_URL is {given!r}, the domain of the Site "
            f"{others[0]}: URLs of this site are submitted as those of the other.",
            "Set BASE_URL in the settings of each site, or leave it out: then the "
            "Site's domain counts.",
        )
    if given:
        domain = domains.get(number, host)
        # Of "example.com", with which Django created it, nobody makes use.
        if not others and domain.lower() not in (host, "example.com"):
            yield message(
                "W043",
                f"BASE_URL is {given!r}, but the domain of the Site {number} is "
                f"{domain!r}: sitemaps use BASE_URL, contrib's views and other apps "
                "the Site.",
                f"Correct BASE_URL, or the Site. {_SHELL}"
                f"Site.objects.filter(pk={number}).update(domain='{host}')\"",
            )
        return
    if number not in domains:
        yield message(
            "E041",
            f"SITE_ID is {number}, but there is no such Site, so the site's address "
            "is unknown.",
            f"{_SHELL}Site.objects.create(pk={number}, domain='www.example.com')\"",
        )
    elif domains[number] == "example.com":
        yield message(
            "W041",
            f"The domain of the Site {number} is 'example.com', with which Django "
            "created it: all links of the sitemaps begin with it.",
            f"{_SHELL}Site.objects.filter(pk={number})"
            ".update(domain='www.your-site.com')\"",
        )


def _sound_source(name: str) -> SectionSource | None:
    """Return a section; None if ``check_sections`` says what is wrong with it."""
    try:
        source = source_of(name, registry.get(name))
    except Exception:  # W002, or one of E005, E006 and E013, says so
        return None
    return source if is_legal_limit(source.sitemap.limit) else None  # E009


def _check_position(source: SectionSource) -> Iterator[CheckMessage]:
    cls = type(source.sitemap)
    try:
        if model_of(source) is not None:
            return  # the check of its class says so
        count = source.position_pages
    except ConfigurationError:
        return  # E008 says so
    except Exception as error:  # items may raise whatever they like
        yield unreadable(source.name, error, cls)
        return
    if count > 1:
        yield message(
            "W009",
            f"Section {source.name!r} has {count} pages, and is paged by position: "
            f"{source.by_position}. Late pages are slow, and entries move between "
            "pages.",
            "Let items() return a plain queryset, or shorten the list.",
            cls,
        )
