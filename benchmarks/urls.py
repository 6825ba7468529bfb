"""The addresses of the rows, of contrib's views and of this package's."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import views as contrib
from django.urls import include, path

from .shop.contrib import books, sitemaps
from .shop.views import anything, smallest

urlpatterns = [
    path("products/<slug:slug>/", anything, name="product"),
    path("menü/gerichte/<str:slug>/", anything, name="dish"),
    path("books/<slug:slug>/", anything, name="book"),
    path("tracks/<slug:slug>/", anything, name="track"),
    *i18n_patterns(path("guides/<slug:slug>/", anything, name="guide")),
    path("articles/<slug:slug>/", anything, name="article"),
    path("stories/<slug:slug>/", anything, name="story"),
    path("volumes/<slug:slug>/", anything, name="volume"),
    path("smallest/", smallest),
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
    path("", include("django_sitemaps_plus.urls")),
]
