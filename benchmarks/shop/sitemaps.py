"""The sections; each command registers those that it needs."""

from __future__ import annotations

import os
from typing import Any

from django.db.models import F, QuerySet
from django.urls import reverse

from django_sitemaps_plus import Related, Route, Sitemap

from .models import (
    Article,
    Book,
    Dish,
    Exhibit,
    Goods,
    Guide,
    Postcard,
    Poster,
    Product,
    Stamp,
    Sticker,
    Track,
    Volume,
)


class RowPath(Sitemap):
    """Entries straight from the rows."""

    lastmod = F("updated")
    changefreq = "weekly"
    priority = 0.5


class FullPage(RowPath):
    """As many entries on a page as contrib has."""

    limit = 50_000


class ProductSitemap(FullPage):
    """ASCII slugs."""

    model = Product
    location = Route("product", slug=F("slug"))


class DishSitemap(FullPage):
    """Paths that are not ASCII."""

    model = Dish
    location = Route("dish", slug=F("slug"))


class GuideSitemap(FullPage):
    """Three languages, each entry with the alternates of all three."""

    model = Guide
    location = Route("guide", slug=F("slug"))
    i18n = True
    alternates = True


class ExhibitSitemap(FullPage):
    """Entries with images of related rows."""

    model = Exhibit
    location = Route("exhibit", slug=F("slug"))
    images = Related("pictures", F("file"))


class BookSitemap(RowPath):
    """A million rows."""

    model = Book
    location = Route("book", slug=F("slug"))


class FullBookSitemap(BookSitemap):
    """A million rows on pages as full as contrib's."""

    limit = 50_000


class ManyPagesSitemap(BookSitemap):
    """A million rows on as many pages as a hundred million have otherwise."""

    limit = 100


class SmallPagesSitemap(BookSitemap):
    """Pages on which what does not depend on the entries is most of the work."""

    limit = 500


class TrackSitemap(RowPath):
    """Up to ten million rows."""

    model = Track
    location = Route("track", slug=F("slug"))


class FullTrackSitemap(TrackSitemap):
    """The same on pages as full as contrib's."""

    limit = 50_000


class ListedTrackSitemap(TrackSitemap):
    """Nine of ten rows."""

    def items(self) -> QuerySet[Track]:
        """Return what is listed."""
        return Track.objects.filter(listed=True)


class ArticleSitemap(RowPath):
    """Saved and deleted."""

    model = Article
    location = Route("article", slug=F("slug"))


class PosterSitemap(RowPath):
    """One of those that share a file."""

    model = Poster
    location = Route("poster", slug=F("slug"))


class PostcardSitemap(RowPath):
    """One of those that share a file."""

    model = Postcard
    location = Route("postcard", slug=F("slug"))


class StickerSitemap(RowPath):
    """One of those that share a file."""

    model = Sticker
    location = Route("sticker", slug=F("slug"))


class StampSitemap(RowPath):
    """One of those that share a file."""

    model = Stamp
    location = Route("stamp", slug=F("slug"))


class VolumeSitemap(RowPath):
    """Deleted with its shelf."""

    model = Volume
    location = Route("volume", slug=F("slug"))


class Objects(Sitemap):
    """Entries from instances: ``get_absolute_url()`` and a method for lastmod."""

    limit = 50_000
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


class ProductMethods(Objects):
    """ASCII slugs, by methods that only return columns."""

    model = Product

    def location(self, item: Product) -> str:
        """Return the address."""
        return reverse("product", kwargs={"slug": item.slug})


class DishMethods(Objects):
    """Paths that are not ASCII, by methods that only return columns."""

    model = Dish

    def location(self, item: Dish) -> str:
        """Return the address."""
        return reverse("dish", kwargs={"slug": item.slug})


class BookMethods(Objects):
    """A million rows, by methods that only return columns."""

    model = Book

    def location(self, item: Book) -> str:
        """Return the address."""
        return reverse("book", kwargs={"slug": item.slug})


#: What the drop-in views are given.
imported: dict[str, type[Sitemap]] = {
    "product": ProductMethods,
    "dish": DishMethods,
    "book": BookMethods,
}
known: dict[str, type[Sitemap]] = {
    "product": ProductSitemap,
    "dish": DishSitemap,
    "guide": GuideSitemap,
    "exhibit": ExhibitSitemap,
    "book": BookSitemap,
    "full-book": FullBookSitemap,
    "many": ManyPagesSitemap,
    "track": TrackSitemap,
    "full-track": FullTrackSitemap,
    "listed": ListedTrackSitemap,
    "small": SmallPagesSitemap,
    "article": ArticleSitemap,
    "poster": PosterSitemap,
    "postcard": PostcardSitemap,
    "sticker": StickerSitemap,
    "stamp": StampSitemap,
    "volume": VolumeSitemap,
    "product-objects": ProductObjects,
    "dish-objects": DishObjects,
    "product-methods": ProductMethods,
    "dish-methods": DishMethods,
}
#: What SITEMAPS_PLUS["SITEMAPS"] names.
registered = {
    name: known[name] for name in os.environ.get("BENCHMARK_SECTIONS", "").split()
}
