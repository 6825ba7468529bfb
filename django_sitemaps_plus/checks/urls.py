"""Checks of where the addresses are, and of templates that cost speed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings as django_settings
from django.core.checks import CheckMessage, Tags
from django.urls import NoReverseMatch, reverse

from django_sitemaps_plus.health.answering import APP, resolved
from django_sitemaps_plus.serving.index import INCLUDE
from django_sitemaps_plus.sitemaps.contrib_templates import is_own
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, Site, rendering_context

from .messages import check, message, section_names


@check(Tags.urls, of_each_site=True)
def check_addresses(**kwargs: Any) -> Iterator[CheckMessage]:
    """W005 and W006: where the addresses are."""
    if not getattr(django_settings, "ROOT_URLCONF", None):
        return
    site = Site.current().name
    try:
        with rendering_context(PLACEHOLDER_SITE):
            address = reverse(f"{APP}:site", current_app=site or None)
    except NoReverseMatch:
        address = ""
    match = resolved(address)
    # W015 says where another view answers.
    if match and APP in match.app_names and match.kwargs.get("site", "") != site:
        address = ""
    if not address:
        if section_names():
            include = INCLUDE[:-1] + f', {{"site": "{site}"}})' if site else INCLUDE
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
            f"Include the URLs at the root, outside of i18n_patterns(): {INCLUDE}.",
        )


@check(Tags.urls)
def check_templates(**kwargs: Any) -> Iterator[CheckMessage]:
    """W007: templates that cost speed."""
    for name in ("sitemap.xml", "sitemap_index.xml"):
        if is_own(name, name):
            yield message(
                "W007",
                f"The project's template {name!r} renders contrib-style sitemaps fifty "
                "times slower than this package does.",
                "Remove the template, or silence this check.",
            )
