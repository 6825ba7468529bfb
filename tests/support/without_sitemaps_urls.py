"""A URLconf with an admin and an article, that does not include the sitemaps."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import path


def article(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(slug)


urlpatterns = [
    path("admin/", admin.site.urls),
    path("articles/<slug:slug>/", article, name="article"),
]
