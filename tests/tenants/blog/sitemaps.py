from __future__ import annotations

from django.db.models import F

from django_sitemaps_plus import Route, Sitemap, register

from .models import Post


@register
class PostSitemap(Sitemap):
    model = Post
    location = Route("post", slug=F("slug"))
