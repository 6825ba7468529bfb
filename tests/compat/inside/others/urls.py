from __future__ import annotations

from django.contrib.sitemaps import views as contrib
from django.http import HttpResponse
from django.urls import include, path

from django_sitemaps_plus import views

from .sitemaps import of_contrib, of_one_import

NAME = "sitemap-<section>.xml"

urlpatterns = [
    path("", include("django_sitemaps_plus.urls")),
    path(f"contrib/{NAME}", contrib.sitemap, {"sitemaps": of_contrib}),
    path(f"import/{NAME}", views.sitemap, {"sitemaps": of_one_import}),
    path("<slug:kind>/<slug:slug>/", lambda request, **_: HttpResponse(), name="item"),
]
