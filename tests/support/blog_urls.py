"""The URLconf of a blog, which a host of its own serves."""

from __future__ import annotations

from django.contrib.sitemaps import Sitemap
from django.urls import include, path

from tests.testapp.models import Article
from tests.testapp.views import anything

urlpatterns = [
    path("posts/<slug:slug>/", anything, name="post"),
    path("", include("django_sitemaps_plus.urls"), {"site": "blog"}),
]


class ByHost:
    """A middleware that chooses the URLconf by the host, as django-hosts does."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        if request.get_host().startswith("blog."):
            request.urlconf = "tests.support.blog_urls"
        return self.get_response(request)


class Former(Sitemap):
    """The posts, as contrib has them."""

    def items(self):
        return Article.objects.filter(title="blog").order_by("pk")

    def location(self, item):
        return f"/posts/{item.slug}/"


FORMER = {"old": Former}
