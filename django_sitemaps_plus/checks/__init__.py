"""
System checks: what is wrong with settings and sitemaps, and what to type instead.

The ids are listed in ``docs/checks.md``. Checks that ask a database run only with
``manage.py check --database default`` and on ``migrate``, as Django's own do.

A server never runs one: they are imported when somebody does. Those of an app beside
the core are in its module ``checks``.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage, Tags, register
from django.utils.module_loading import module_has_submodule

from django_sitemaps_plus import hooks

if TYPE_CHECKING:
    from .messages import Found

_OWN = (
    *("attributes", "database", "engines", "recording", "registration"),
    *("sections", "settings", "tenants", "urls"),
)


def _register(*tags: str, deploy: bool = False) -> None:
    """Register with Django what runs the checks that have these tags."""

    @register(*tags, "sitemaps_plus", deploy=deploy)
    def run(**kwargs: Any) -> list[CheckMessage]:
        return [
            message
            for check in _checks()
            if (check.tags, check.deploy) == (tags, deploy)
            for message in check.run(**kwargs)
        ]


def _checks() -> Iterator[Found]:
    """Yield the checks of the core and of the installed apps."""
    for name in _OWN:
        import_module(f"{__name__}.{name}")
    names = [__name__]
    for name, _ in hooks.modules():
        if module_has_submodule(import_module(name), "checks"):
            import_module(f"{name}.checks")
            names.append(f"{name}.checks")
    from .messages import CHECKS

    for check in CHECKS:
        if check.run.__module__.startswith(tuple(names)):
            yield check


_register()
_register(Tags.urls)
_register(Tags.database)
_register(deploy=True)
