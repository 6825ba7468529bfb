from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def post(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(slug)


urlpatterns = [
    path("", include("django_sitemaps_plus.urls")),
    path("posts/<slug:slug>/", post, name="post"),
]
