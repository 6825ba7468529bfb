"""
The sections of the race; importing this registers them.

Small pages, so that they split. ``news`` reads columns of its rows, ``filed`` one of a
related row too, and ``tags`` objects whose filter reads a related row.
"""

from __future__ import annotations

from typing import Any

from django.db.models import F

from django_sitemaps_plus import Route, Sitemap, register
from tests.testapp.models import Article, Tag

from .truth import LIMIT


@register(name="news")
class NewsSitemap(Sitemap):
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    limit = LIMIT

    def items(self) -> Any:
        return Article.objects.filter(live=True)


@register(name="filed")
class FiledSitemap(Sitemap):
    location = Route("pair", shop=F("pk"), code=F("category__slug"))
    lastmod = F("updated")
    limit = LIMIT

    def items(self) -> Any:
        return Article.objects.filter(live=True, category__isnull=False)


@register(name="tags")
class TagSitemap(Sitemap):
    limit = LIMIT

    def items(self) -> Any:
        return Tag.objects.filter(article__live=True)

    def location(self, item: Tag) -> str:  # type: ignore[override]
        return f"/things/{item.name}/"
