"""The tag by which the admin's index of this app shows all of a site at a glance."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django import template
from django.apps import apps
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps.site import Site, working_for

register = template.Library()


@register.simple_tag(takes_context=True)
def sitemaps_overview(context: Any) -> SafeString:
    """Show the site that the request chooses, or that it is for."""
    # Django imports the tags of all apps, also where the admin is not installed.
    from django_sitemaps_plus.contrib.insight.admin.base import chosen_site
    from django_sitemaps_plus.contrib.insight.admin.overview import overview

    request: HttpRequest = context["request"]
    site = chosen_site(request)
    with working_for(site):
        address = Site.current().address_for(request)
        found = {
            "overview": overview(request),
            "sites": _sites(site),
            "sitemaps_example": f"{address.origin}{address.prefix}…",
        }
        template = "django_sitemaps_plus/admin/overview.html"
        return render_to_string(template, found, request)


@register.simple_tag(takes_context=True)
def sitemaps_lists(context: Any) -> list[Any]:
    """Return the lists of the core and of its apps, as the user may see them."""
    own = (one for one in apps.get_app_configs() if hasattr(one, "sitemaps_plus"))
    labels = {"sitemaps_plus", *(one.label for one in own)}
    return [one for one in context["available_apps"] if one["app_label"] in labels]


def _sites(shown: Site) -> list[tuple[str, bool]]:
    """Return the sites of the settings, where there are several."""
    with suppress(ConfigurationError):
        if get_settings().SITES:
            return [(site.key, site == shown) for site in Site.all()]
    return []
