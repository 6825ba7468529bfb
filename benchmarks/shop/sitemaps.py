"""The sections, as a project would write them."""

from __future__ import annotations

from typing import Any

from django.db.models import F, QuerySet

from django_sitemaps_plus import Route, Sitemap, register

from .models import (
    Article,
    Book,
    Dish,
    Goods,
    Guide,
    Product,
    Story,
    Track,
    Volume,
)


class RowPath(Sitemap):
    """Entries straight from the rows."""

    lastmod = F("updated")
    changefreq = "weekly"
    priority = 0.5


@register
class ProductSitemap(RowPath):
    """ASCII slugs."""

    model = Product
    location = Route("product", slug=F("slug"))


@register
class DishSitemap(RowPath):
    """Paths that are not ASCII."""

    model = Dish
    location = Route("dish", slug=F("slug"))


@register
class GuideSitemap(RowPath):
    """Three languages, each entry with the alternates of all three."""

    model = Guide
    location = Route("guide", slug=F("slug"))
    i18n = True
    alternates = True


@register
class BookSitemap(RowPath):
    """A million rows."""

    model = Book
    location = Route("book", slug=F("slug"))


@register
class TrackSitemap(RowPath):
    """Ten million rows."""

    model = Track
    location = Route("track", slug=F("slug"))


@register(name="listed")
class ListedTrackSitemap(TrackSitemap):
    """Nine of ten million rows."""

    def items(self) -> QuerySet[Track]:
        """Return what is listed."""
        return Track.objects.filter(listed=True)


@register
class ArticleSitemap(RowPath):
    """What is saved and deleted."""

    model = Article
    location = Route("article", slug=F("slug"))


@register
class VolumeSitemap(RowPath):
    """What is deleted with its shelf."""

    model = Volume
    location = Route("volume", slug=F("slug"))


class Objects(Sitemap):
    """Entries from instances: ``get_absolute_url()`` and a method for lastmod."""

    changefreq = "weekly"
    priority = 0.5

    def lastmod(self, item: Goods) -> Any:
        """Return when the item changed."""
        return item.updated


@register(name="product-objects")
class ProductObjects(Objects):
    """ASCII slugs."""

    model = Product


@register(name="dish-objects")
class DishObjects(Objects):
    """Paths that are not ASCII."""

    model = Dish


@register
class StorySitemap(Objects):
    """What is saved."""

    model = Story
