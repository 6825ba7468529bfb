"""The addresses that django-photologue's tests expect of a project."""

from __future__ import annotations

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("photologue/", include("photologue.urls", namespace="photologue")),
]
