"""The addresses of the rows, of contrib's views and of this package's."""

from __future__ import annotations

from django.apps import apps
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.contrib.sitemaps import views as contrib
from django.urls import include, path

from django_sitemaps_plus import views as plus

from .shop import views
from .shop.contrib import books, sitemaps
from .shop.sitemaps import imported

urlpatterns = [
    path("menü/gerichte/<str:slug>/", views.anything, name="dish"),
    *i18n_patterns(path("guides/<slug:slug>/", views.anything, name="guide")),
    *(
        path(f"{name}s/<slug:slug>/", views.anything, name=name)
        for name in (
            *("product", "exhibit", "book", "track", "article", "volume"),
            *("poster", "postcard", "sticker", "stamp"),
        )
    ),
    path("smallest/", views.smallest),
    path("select/", views.select),
    path("show/<int:pk>/", views.show),
    path("save/<int:pk>/", views.save),
    path("create/<int:pk>/", views.create),
    path("rename/<int:pk>/", views.rename),
    path("delete/<int:pk>/", views.delete),
    path(
        "contrib/index.xml",
        contrib.index,
        {"sitemaps": books, "sitemap_url_name": "contrib-books"},
    ),
    path(
        "contrib/books-<section>.xml",
        contrib.sitemap,
        {"sitemaps": books},
        name="contrib-books",
    ),
    path("contrib/<section>.xml", contrib.sitemap, {"sitemaps": sitemaps}),
    path(
        "imported/index.xml",
        plus.index,
        {"sitemaps": {"book": imported["book"]}, "sitemap_url_name": "imported-books"},
    ),
    path(
        "imported/<section>.xml",
        plus.sitemap,
        {"sitemaps": imported},
        name="imported-books",
    ),
    path("", include("django_sitemaps_plus.urls")),
]
if apps.is_installed("django.contrib.admin"):
    urlpatterns.append(path("admin/", admin.site.urls))
