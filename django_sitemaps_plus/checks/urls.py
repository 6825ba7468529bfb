"""Checks of where the addresses are, and of templates that cost speed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Tags, register
from django.template import TemplateDoesNotExist, TemplateSyntaxError
from django.template.loader import get_template
from django.urls import NoReverseMatch, Resolver404, resolve, reverse

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps.contrib_templates import is_own
from django_sitemaps_plus.sitemaps.site import (
    PLACEHOLDER_SITE,
    named_site,
    rendering_context,
    urlconf,
)

from .messages import message, of_each_site, section_names

_INCLUDE = 'path("", include("django_sitemaps_plus.urls"))'


@register(Tags.urls, "sitemaps_plus")
def check_urls(**kwargs: Any) -> list[CheckMessage]:
    """W005 to W007 and E018: where the addresses are, and templates."""
    if not getattr(django_settings, "ROOT_URLCONF", None):
        return []
    return [*_check_addresses(), *_check_templates(), *_check_site_map()]


@of_each_site
def _check_addresses() -> list[CheckMessage]:
    return list(_check_address())


def _check_address() -> Iterator[CheckMessage]:
    site = named_site()
    try:
        with rendering_context(PLACEHOLDER_SITE):
            address = reverse("django_sitemaps_plus:site", current_app=site or None)
            kwargs = resolve(address, urlconf()).kwargs
    except (NoReverseMatch, Resolver404):
        address, kwargs = "", {}
    if not address or kwargs.get("site", "") != site:
        if section_names():
            include = _INCLUDE[:-1] + f', {{"site": "{site}"}})' if site else _INCLUDE
            yield message(
                "W005",
                "Sections are registered, but no URLconf includes their addresses.",
                f"Add {include} to urlpatterns.",
            )
        return
    if address != "/sitemap.xml":
        yield message(
            "W006",
            f"The sitemap's address is {address}: crawlers look for robots.txt only at "
            "the root, and accept a sitemap only for pages below its own folder unless "
            "robots.txt names it.",
            f"Include the URLs at the root: {_INCLUDE}.",
        )


def _check_templates() -> Iterator[CheckMessage]:
    for name in ("sitemap.xml", "sitemap_index.xml"):
        if is_own(name, name):
            yield message(
                "W007",
                f"The project's template {name!r} renders contrib-style sitemaps fifty "
                "times slower than this package does.",
                "Remove the template, or silence this check.",
            )


def _check_site_map() -> Iterator[CheckMessage]:
    try:
        name = get_settings().HTML_SITEMAP
    except ConfigurationError:
        return  # E001 says so
    if not name:
        return
    try:
        get_template(name)
    except (TemplateDoesNotExist, TemplateSyntaxError) as error:
        yield message(
            "E018",
            f"SITEMAPS_PLUS['HTML_SITEMAP'] is {name!r}, a template that cannot be "
            f"loaded: {error}",
            'Name the template that your pages extend, for example "base.html".',
        )
