"""A check of sitemap classes without a section."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.checks import CheckMessage, Tags
from django.urls import get_resolver

from django_sitemaps_plus.db import no_queries
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps.registry import instance, registry
from django_sitemaps_plus.sitemaps.site import Site

from .messages import check, message

#: Folders of packages that were installed: what they offer is not theirs to register.
_INSTALLED = {"site-packages", "dist-packages"}
#: What a URLconf names that serves sitemaps of Django's framework.
_SITEMAPS = re.compile(r"\bsitemaps\b")


@check(Tags.urls)
def check_registration(**kwargs: Any) -> Iterator[CheckMessage]:
    """W011: classes in a ``sitemaps.py`` that are not registered."""
    candidates = [cls for module in _modules() for cls in _declared_in(module)]
    if not candidates:
        return
    try:
        with no_queries():
            used = set(_used())
    except Exception:  # E001, E004 or E005 says so, Django of the URLconf, or nobody
        return
    unused = [cls for cls in candidates if cls not in used]
    if unused and _has_another_urlconf():
        return
    for cls in unused:
        yield message(
            "W011",
            f"{cls.__module__}.{cls.__qualname__} is not registered, and no URL "
            f"pattern of {' or '.join(map(name_of, _urlconfs()))} hands it to a "
            "view: no sitemap lists its items.",
            "Put @register (from django_sitemaps_plus) above the class, or name "
            "the dict that has it in SITEMAPS_PLUS['SITEMAPS']. If another URLconf "
            "has it, name that one in a setting such as BLOG_URLCONF.",
            cls,
        )


def check_modules() -> Iterator[CheckMessage]:
    """W022: modules ``sitemap``, which nothing imports."""
    for app in apps.get_app_configs():
        file = Path(app.path, "sitemap.py")
        if file.exists() and _INSTALLED.isdisjoint(file.parts):
            yield message(
                "W022",
                f"No section is registered, and {app.name}.sitemap is not looked at: "
                "sitemaps are found in modules called sitemaps.",
                f"Type: mv {file} {file.with_stem('sitemaps')}",
            )


def _has_another_urlconf() -> bool:
    """
    Return whether there is a URLconf with sitemaps that no setting names.

    A middleware may choose it by the host. It is looked for by name, beside the first
    one and in apps, and not imported: that may do anything.
    """
    known = {file for one in _urlconfs() for file in _files_of(get_resolver(one))}
    folders = {Path(app.path) for app in apps.get_app_configs()}
    folders |= {Path(file).parent for file in known}
    return any(
        str(file) not in known and _SITEMAPS.search(file.read_text(errors="replace"))
        for folder in folders
        if _INSTALLED.isdisjoint(folder.parts)
        for file in folder.glob("*url*.py")
    )


def _files_of(resolver: Any) -> Iterator[str]:
    """Yield the files of a URLconf and of those that it includes."""
    if file := getattr(resolver.urlconf_module, "__file__", None):
        yield file
    for pattern in resolver.url_patterns:
        if hasattr(pattern, "url_patterns"):
            yield from _files_of(pattern)


def _modules() -> Iterator[ModuleType]:
    """Yield the modules ``sitemaps`` of the project's own apps."""
    for app in apps.get_app_configs():
        module = sys.modules.get(f"{app.name}.sitemaps")
        if module is None or app.name.startswith("django."):
            continue
        parts = Path(getattr(module, "__file__", None) or "").parts
        if _INSTALLED.isdisjoint(parts):
            yield module


def _declared_in(module: ModuleType) -> Iterator[type]:
    """Yield the classes that a module defines, without those that are others' bases."""
    for cls in vars(module).values():
        if (
            issubclass(type(cls), type)  # isinstance() would ask what is lazy
            and issubclass(cls, ContribSitemap)
            and cls.__module__ == module.__name__
            and not cls.__subclasses__()
        ):
            yield cls


def _used() -> Iterator[type]:
    """Yield the classes of all sections, and those that are handed to views."""
    sources = [*registry.sources_of_all_sites()]
    for urlconf in _urlconfs():
        for given in _handed_to(get_resolver(urlconf)):
            if not isinstance(given, dict):
                problem = "What it contains is unknown until it is called."
                raise ConfigurationError(problem)
            sources += given.values()
    for given in sources:
        yield given if isinstance(given, type) else type(instance(given))


def _urlconfs() -> list[Any]:
    """
    Return the URLconfs of all sites, and those that the settings name.

    A middleware may choose the one of another host: as django-tenants does
    ``PUBLIC_SCHEMA_URLCONF``.
    """
    names = [name for name in dir(settings) if name.endswith("_URLCONF")]
    named = [getattr(settings, name) for name in names]
    given = [*(site.urlconf for site in Site.all()), *named]
    # A setting of such a name may be something else.
    urlconfs = (one for one in given if isinstance(one, str | ModuleType))
    return list(dict.fromkeys(urlconfs))


def name_of(urlconf: Any) -> str:
    """Return the name of a URLconf: a module, or its name."""
    return str(getattr(urlconf, "__name__", urlconf))


def _handed_to(resolver: Any) -> Iterator[Any]:
    """Yield what the patterns of a URLconf hand to views as ``sitemaps``."""
    for pattern in resolver.url_patterns:
        if hasattr(pattern, "url_patterns"):
            given = pattern.default_kwargs.get("sitemaps")
            yield from _handed_to(pattern)
        else:
            given = pattern.default_args.get("sitemaps")
        if given is not None:
            yield given
