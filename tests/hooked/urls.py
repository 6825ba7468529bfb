"""An address of the app's own."""

from __future__ import annotations

from django.urls import path

from django_sitemaps_plus import views

own = [path("sitemap.hooked", views.gathered, {"ending": "hooked"}, name="hooked")]
