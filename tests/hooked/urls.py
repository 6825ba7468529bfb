"""An address of the app's own, and a URLconf that has it beside the core's."""

from __future__ import annotations

from django.urls import include, path

from django_sitemaps_plus import views

own = [path("sitemap.hooked", views.gathered, {"ending": "hooked"}, name="hooked")]
urlpatterns = [*own, path("", include("tests.urls"))]
