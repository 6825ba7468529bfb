"""The sections; each command registers those that it needs."""

from __future__ import annotations

import os
from typing import Any

from django.db.models import F, QuerySet

from django_sitemaps_plus import Related, Route, Sitemap

from .models import Article, Book, Dish, Exhibit, Goods, Guide, Product, Track, Volume


class RowPath(Sitemap):
    """Entries straight from the rows."""

    lastmod = F("updated")
    changefreq = "weekly"
    priority = 0.5


class ProductSitemap(RowPath):
    """ASCII slugs."""

    model = Product
    location = Route("product", slug=F("slug"))


class DishSitemap(RowPath):
    """Paths that are not ASCII."""

    model = Dish
    location = Route("dish", slug=F("slug"))


class GuideSitemap(RowPath):
    """Three languages, each entry with the alternates of all three."""

    model = Guide
    location = Route("guide", slug=F("slug"))
    i18n = True
    alternates = True


class ExhibitSitemap(RowPath):
    """Entries with images of related rows."""

    model = Exhibit
    location = Route("exhibit", slug=F("slug"))
    images = Related("pictures", F("file"))


class BookSitemap(RowPath):
    """A million rows."""

    model = Book
    location = Route("book", slug=F("slug"))


class ManyPagesSitemap(BookSitemap):
    """A million rows on as many pages as ten million have otherwise."""

    limit = 5_000


class TrackSitemap(RowPath):
    """Up to ten million rows."""

    model = Track
    location = Route("track", slug=F("slug"))


class ListedTrackSitemap(TrackSitemap):
    """Nine of ten rows."""

    def items(self) -> QuerySet[Track]:
        """Return what is listed."""
        return Track.objects.filter(listed=True)


class ArticleSitemap(RowPath):
    """Saved and deleted."""

    model = Article
    location = Route("article", slug=F("slug"))


class VolumeSitemap(RowPath):
    """Deleted with its shelf."""

    model = Volume
    location = Route("volume", slug=F("slug"))


class Objects(Sitemap):
    """Entries from instances: ``get_absolute_url()`` and a method for lastmod."""

    changefreq = "weekly"
    priority = 0.5

    def lastmod(self, item: Goods) -> Any:
        """Return when the item changed."""
        return item.updated


class ProductObjects(Objects):
    """ASCII slugs."""

    model = Product


class DishObjects(Objects):
    """Paths that are not ASCII."""

    model = Dish


known: dict[str, type[Sitemap]] = {
    "product": ProductSitemap,
    "dish": DishSitemap,
    "guide": GuideSitemap,
    "exhibit": ExhibitSitemap,
    "book": BookSitemap,
    "many": ManyPagesSitemap,
    "track": TrackSitemap,
    "listed": ListedTrackSitemap,
    "article": ArticleSitemap,
    "volume": VolumeSitemap,
    "product-objects": ProductObjects,
    "dish-objects": DishObjects,
}
#: What SITEMAPS_PLUS["SITEMAPS"] names.
registered = {
    name: known[name] for name in os.environ.get("BENCHMARK_SECTIONS", "").split()
}
