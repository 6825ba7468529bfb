"""The addresses of a shop of django-oscar's, as in its sandbox."""

from __future__ import annotations

from django.apps import apps
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import views
from django.urls import include, path
from oscar_sitemaps import former

urlpatterns = [
    path("i18n/", include("django.conf.urls.i18n")),
    path("sitemap.xml", views.index, {"sitemaps": former}, name="sitemaps"),
    path(
        "sitemap-<section>.xml",
        views.sitemap,
        {"sitemaps": former},
        name="django.contrib.sitemaps.views.sitemap",
    ),
    *i18n_patterns(path("", include(apps.get_app_config("oscar").urls[0]))),
]
