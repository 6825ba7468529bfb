from __future__ import annotations

from typing import Any

from django.contrib.sitemaps import Sitemap, views
from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from .blog.models import Post


class Former(Sitemap):
    """What the posts were listed by before."""

    protocol = "https"

    def items(self) -> Any:
        return Post.objects.order_by("pk")

    def location(self, item: Post) -> str:
        return f"/posts/{item.slug}/"


def post(request: HttpRequest, slug: str) -> HttpResponse:
    return HttpResponse(slug)


urlpatterns = [
    path("", include("django_sitemaps_plus.urls")),
    path("posts/<slug:slug>/", post, name="post"),
    path("former.xml", views.sitemap, {"sitemaps": {"posts": Former}}, name="former"),
]
