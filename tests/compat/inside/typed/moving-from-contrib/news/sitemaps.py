"""The sitemaps of somebody who moves over."""

from __future__ import annotations

from django.contrib.sitemaps import Sitemap
from django.urls import reverse

from .models import Article


class ArticleSitemap(Sitemap):
    def items(self):
        return Article.objects.order_by("pk")

    def location(self, item):
        return reverse("article", kwargs={"slug": item.slug})

    def lastmod(self, item):
        return item.updated


sitemaps = {"news": ArticleSitemap}
