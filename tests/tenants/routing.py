"""A router that a context variable tells which tenant is the current one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from django_sitemaps_plus import Tenants

alias: ContextVar[str] = ContextVar("alias", default="default")


class Router:
    """Everything is in the database of the current tenant."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return alias.get()

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return alias.get()


class Databases(Tenants):
    """The tenants by the alias of their database."""

    def current(self) -> str:
        return alias.get()

    def keys(self) -> list[str]:
        return [name for name in settings.DATABASES if name != "default"]

    @contextmanager
    def active(self, key: str) -> Iterator[None]:
        token = alias.set(key)
        try:
            yield
        finally:
            alias.reset(token)

    def base_url(self, key: str) -> str | None:
        is_known = key not in settings.GIVEN.get("without", [])
        return f"https://{key}.example.com" if is_known else None


def by_host(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Choose the tenant by the first part of the host."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with Databases().active(request.get_host().partition(".")[0]):
            return get_response(request)

    return middleware
