"""A project that has all of its pages, and its sitemap, in each language."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import GenericSitemap
from django.contrib.sitemaps.views import sitemap
from django.urls import include, path
from photologue.models import Gallery
from photologue.sitemaps import PhotoSitemap

SITEMAPS = {
    "gallery": GenericSitemap(
        {"queryset": Gallery.objects.on_site().is_public(), "date_field": "date_added"}
    ),
    "photo": PhotoSitemap,
}

urlpatterns = i18n_patterns(
    path("sitemap.xml", sitemap, {"sitemaps": SITEMAPS}),
    path("photologue/", include("photologue.urls", namespace="photologue")),
)
