"""
The tenants of django-tenants: a schema of PostgreSQL for each.

They are found by themselves where ``TENANT_APPS`` (or the ``APPS`` of a type in
``TENANT_TYPES``) has this package. To change something, name a subclass of ``Schemas``
by ``SITEMAPS_PLUS["TENANTS"]``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connections
from django_tenants.routers import TenantSyncRouter
from django_tenants.utils import (
    get_public_schema_name,
    get_public_schema_urlconf,
    get_tenant_database_alias,
    get_tenant_domain_model,
    get_tenant_model,
    get_tenant_types,
    has_multi_type_tenants,
    tenant_context,
)

from django_sitemaps_plus import Tenants


class Schemas(Tenants):
    """Tenants by the name of their schema, at ``https://`` and their primary domain."""

    def current(self) -> str:
        """Return the schema of the connection."""
        return str(_connection().schema_name)

    def keys(self) -> list[str]:
        """Return the schemas of tenants that have the tables, in their order."""
        table = apps.get_model("sitemaps_plus.Section")._meta.db_table
        with _connection().cursor() as cursor:
            statement = "SELECT schemaname FROM pg_tables WHERE tablename = %s"
            cursor.execute(statement, [table])
            migrated = {schema for (schema,) in cursor.fetchall()}
        tenants = get_tenant_model().objects.order_by("pk")
        schemas = tenants.values_list("schema_name", flat=True)
        return [schema for schema in schemas if schema in migrated]

    @contextmanager
    def active(self, key: str) -> Iterator[None]:
        """Set the connection to a tenant; raises ``DoesNotExist`` if there is none."""
        with tenant_context(get_tenant_model().objects.get(schema_name=key)):
            yield

    def base_url(self, key: str) -> str | None:
        """Return the address at the tenant's primary domain, if it has one."""
        domains = get_tenant_domain_model().objects.filter(is_primary=True)
        domain = domains.filter(tenant__schema_name=key).first()
        return domain and f"https://{domain.domain}"

    def urlconf(self, key: str) -> Any:
        """Return what django-tenants sets for requests: by schema, or by type."""
        have_types = has_multi_type_tenants()
        if key == get_public_schema_name():
            named = have_types or hasattr(settings, "PUBLIC_SCHEMA_URLCONF")
            return get_public_schema_urlconf() if named else None
        if not have_types:
            return None
        kind = _connection().tenant.get_tenant_type()
        return get_tenant_types().get(kind, {}).get("URLCONF")


def _connection() -> Any:
    return connections[get_tenant_database_alias()]


def is_of_tenants(app_label: str) -> bool:
    """Return whether tenants have tables of an app, each its own."""
    lists = [getattr(settings, "TENANT_APPS", [])]
    if has_multi_type_tenants():
        public = get_public_schema_name()
        types = get_tenant_types().items()
        lists = [kind["APPS"] for name, kind in types if name != public]
    return any(TenantSyncRouter().app_in_list(app_label, some) for some in lists)


def schemas() -> Schemas | None:
    """Return the tenants, if each has tables of this package in its own schema."""
    return Schemas() if is_of_tenants("sitemaps_plus") else None
