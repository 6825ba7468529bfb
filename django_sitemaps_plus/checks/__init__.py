"""
System checks: what is wrong with settings and sitemaps, and what to type instead.

The ids are listed in ``docs/checks.md``. Checks that ask a database run only with
``manage.py check --database default`` and on ``migrate``, as Django's own do.

A server never runs one: they are imported when somebody does. Those of an app beside
the core are in its module ``checks``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.core.checks import CheckMessage, Tags, register
from django.utils.module_loading import module_has_submodule

from django_sitemaps_plus import hooks


def _register(*tags: str, deploy: bool = False) -> None:
    """Register with Django what runs the checks that have these tags."""

    @register(*tags, "sitemaps_plus", deploy=deploy)
    def run(**kwargs: Any) -> list[CheckMessage]:
        # What they import registers its checks, too.
        from . import database, engines, settings, tenants, urls  # noqa: F401
        from .messages import CHECKS

        names = [__name__]
        for name, _ in hooks.modules():
            if module_has_submodule(import_module(name), "checks"):
                names.append(import_module(f"{name}.checks").__name__)
        return [
            message
            for check in CHECKS[tags, deploy]
            if check.__module__.startswith(tuple(names))
            for message in check(**kwargs)
        ]


_register()
_register(Tags.urls)
_register(Tags.database)
_register(deploy=True)
