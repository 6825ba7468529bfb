from __future__ import annotations

from django_tenants.models import DomainMixin, TenantMixin


class Customer(TenantMixin):
    """A tenant; its schema is created elsewhere."""

    auto_create_schema = False


class Domain(DomainMixin):
    """A domain of a tenant."""
