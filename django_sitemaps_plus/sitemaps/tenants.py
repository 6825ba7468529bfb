"""
The tenant that is worked for: one of many with tables of their own in one process.

It follows what the project itself has made current: the schema of a connection, or the
database that a router chooses. Whatever this package remembers beyond a request or a
transaction has the tenant's key beside it, and is used with that tenant active.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from django.apps import apps
from django.core.signals import setting_changed
from django.db import DEFAULT_DB_ALIAS
from django.utils.module_loading import import_string

from django_sitemaps_plus.conf import get_settings, imported
from django_sitemaps_plus.exceptions import ConfigurationError

#: What says it in a project of django-tenants that does not say otherwise.
_SCHEMAS = "django_sitemaps_plus.contrib.django_tenants.schemas"


class Tenants:
    """
    What the tenants of a project are: a subclass is named by ``TENANTS``.

    Each tenant has a key, a text that does not change as long as it exists.
    """

    def current(self) -> str:
        """Return the key of the current tenant, without a query: each save asks."""
        raise NotImplementedError

    def keys(self) -> Iterable[str]:
        """Return the keys of all tenants that have the tables of this package."""
        raise NotImplementedError

    def active(self, key: str) -> AbstractContextManager[object]:
        """
        Make a tenant the current one meanwhile, in this thread.

        Raises whatever it likes for a tenant that does not exist.
        """
        raise NotImplementedError

    def base_url(self, key: str) -> str | None:
        """
        Return the public address of the current tenant: ``https://one.example.com``.

        None if it has none: then its engines are not notified.
        """
        raise NotImplementedError

    def urlconf(self, key: str) -> Any:
        """Return the URLconf of the current tenant; None for ``ROOT_URLCONF``."""
        return None


@dataclass(frozen=True)
class Tenant:
    """A tenant, for as long as one site is worked for."""

    key: str
    #: Whether it has to say where it is: not at startup, when nothing is asked.
    is_asked: bool = True

    @cached_property
    def base_url(self) -> str | None:
        """Its address: asked for once."""
        tenants = configured() if self.is_asked else None
        return None if tenants is None else tenants.base_url(self.key)

    @cached_property
    def urlconf(self) -> Any:
        """Its URLconf, if it has one."""
        tenants = configured() if self.is_asked else None
        return None if tenants is None else tenants.urlconf(self.key)


@lru_cache(maxsize=1)
def configured() -> Tenants | None:
    """
    Return what says which tenants there are; None if all tables are there once.

    Raises ``ConfigurationError`` if ``TENANTS`` cannot be used.
    """
    path = get_settings().TENANTS
    if path is None:
        is_detected = apps.is_installed("django_tenants")
        return import_string(_SCHEMAS)() if is_detected else None
    return imported(path, Tenants, "django_sitemaps_plus.Tenants", "TENANTS")()


def current_tenant_key() -> str:
    """Return the key of the current tenant; empty in a project without tenants."""
    tenants = configured()
    return "" if tenants is None else tenants.current()


def current() -> Tenant | None:
    """Return the current tenant; None in a project without tenants."""
    try:
        tenants = configured()
    except ConfigurationError:
        # E001 says so, and whoever goes on to the settings or the tenant's key.
        return None
    return None if tenants is None else Tenant(tenants.current())


def all_keys() -> list[str]:
    """Return the keys of all tenants; an empty one in a project without tenants."""
    tenants = configured()
    return [""] if tenants is None else list(tenants.keys())


def existing(keys: Iterable[str]) -> list[str]:
    """Return those of some tenants that still exist, each once; no query if current."""
    asked = list(dict.fromkeys(keys))
    if not asked or asked == [current_tenant_key()]:
        return asked
    known = set(all_keys())
    return [key for key in asked if key in known]


def active(key: str) -> AbstractContextManager[object]:
    """Work for a tenant meanwhile; nothing to do if it is the current one."""
    tenants = configured()
    if tenants is None or tenants.current() == key:
        return nullcontext()
    return tenants.active(key)


def in_this_tenant(action: Callable[[], None]) -> Callable[[], None]:
    """Return what runs ``action`` for the tenant that is the current one now."""
    key = current_tenant_key()

    def run() -> None:
        with active(key):
            action()

    return run


def migration(using: str) -> str:
    """Return the command that creates the tables of this package in a database."""
    if configured() is not None and apps.is_installed("django_tenants"):
        return "manage.py migrate_schemas"
    named = "" if using == DEFAULT_DB_ALIAS else f" --database {using}"
    return f"manage.py migrate{named}"


def tables_missing(using: str) -> str:
    """Return what to say where the tables are missing, and for which tenant."""
    text, command = "The tables of django_sitemaps_plus are missing", migration(using)
    if configured() is None:
        return f"{text}: run '{command}'."
    return (
        f"{text} for the tenant {current_tenant_key()!r}: run '{command}'. If this "
        "tenant has no sitemap, leave django_sitemaps_plus.urls out of its URLconf."
    )


# Read the setting again after a test has overridden it.
setting_changed.connect(lambda **kwargs: configured.cache_clear(), weak=False)
