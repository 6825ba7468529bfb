"""The shop in each language, and its sitemaps outside of them."""

from __future__ import annotations

from django.apps import apps
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import views
from django.urls import include, path
from shop_sitemaps import SITEMAPS

urlpatterns = [
    path("sitemap.xml", views.index, {"sitemaps": SITEMAPS}, name="sitemaps"),
    path(
        "sitemap-<section>.xml",
        views.sitemap,
        {"sitemaps": SITEMAPS},
        name="django.contrib.sitemaps.views.sitemap",
    ),
    path("new/", include("django_sitemaps_plus.urls")),
    *i18n_patterns(path("", include(apps.get_app_config("oscar").urls[0]))),
]
