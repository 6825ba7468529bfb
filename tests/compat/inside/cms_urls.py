"""A site of django CMS: its pages in each language, and their sitemaps."""

from __future__ import annotations

from cms.sitemaps import CMSSitemap
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.contrib.sitemaps.views import sitemap
from django.urls import include, path

from django_sitemaps_plus.views import sitemap as our_sitemap

CONTRIB = {"sitemaps": {"pages": CMSSitemap}}

urlpatterns = [
    path("contrib.xml", sitemap, CONTRIB),
    path("ours.xml", our_sitemap, CONTRIB),
    path("", include("django_sitemaps_plus.urls")),
    *i18n_patterns(path("admin/", admin.site.urls), path("", include("cms.urls"))),
]
