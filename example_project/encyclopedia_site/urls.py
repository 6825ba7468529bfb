"""Addresses of the example site."""

from __future__ import annotations

from django.conf import settings
from django.conf.urls.i18n import i18n_patterns
from django.contrib import admin
from django.urls import include, path
from unicode_book import views

urlpatterns = [
    # /sitemap.xml, /sitemap-<section>.xml, /robots.txt
    path("", include("django_sitemaps_plus.urls")),
    path("admin/", admin.site.urls),
    path("", views.home, name="home"),
    path("about/", views.about, name="about"),
    path("search/", views.search, name="search"),
    path("blocks/", views.block_list, name="block-list"),
    path("block/<slug:slug>/", views.block, name="block"),
    path("character/<str:slug>/", views.character, name="character"),
]

if settings.FAULTS:
    urlpatterns += [path("", include("unicode_book.faults"))]

urlpatterns += i18n_patterns(
    path("notes/", views.note_list, name="note-list"),
    path("notes/<str:slug>/", views.note, name="note"),
)
