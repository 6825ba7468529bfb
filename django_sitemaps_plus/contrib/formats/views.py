"""The views of feeds, recent changes and llms.txt."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponseBase

from django_sitemaps_plus.conf import app_settings
from django_sitemaps_plus.serving.responses import file_response, send_document
from django_sitemaps_plus.serving.robots import rules
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site
from django_sitemaps_plus.views import file_view, sitemap_view

from .conf import Settings
from .documents import feed_document, llms_text, recent_document


@sitemap_view
def feed(request: HttpRequest, *, ending: str, name: str = "") -> HttpResponseBase:
    """``/sitemap.atom``, ``/sitemap-<section>.rss``: what changed last, as a feed."""
    if name and name not in registry.sources():
        raise Http404(f"This site has no section {name!r}.")
    site = Site.current().address_for(request)
    return send_document(request, feed_document(ending, name, site))


@sitemap_view
def recent(request: HttpRequest, *, what: str, gz: bool = False) -> HttpResponseBase:
    """``/sitemap-recent.xml``: what changed within some days, the newest first."""
    found = recent_document(Site.current().address_for(request))
    return send_document(request, found, gz=gz)


@file_view
def llms(request: HttpRequest, name: str) -> HttpResponseBase:
    """``/llms.txt``: sections with a title, where the settings ask for it."""
    head = app_settings(Settings).LLMS
    if head is None or rules().are_closed:
        raise Http404("This site has no llms.txt.")
    text = llms_text(head, Site.current().address_for(request))
    return file_response(text, "text/markdown")
