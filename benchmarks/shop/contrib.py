"""The same sections in ``django.contrib.sitemaps``."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.contrib.sitemaps import Sitemap
from django.db.models import QuerySet

from .models import Book, Dish, Goods, Guide, Product


class Goodies(Sitemap):
    """All rows of one model, in the order of their keys."""

    limit = 50_000
    changefreq = "weekly"
    priority = 0.5
    model: type[Goods]

    def items(self) -> QuerySet[Any]:
        """Return the rows."""
        return self.model._default_manager.order_by("pk")

    def lastmod(self, item: Goods) -> dt.datetime:
        """Return when the row changed."""
        return item.updated


class ProductSitemap(Goodies):
    """ASCII slugs."""

    model = Product


class DishSitemap(Goodies):
    """Paths that are not ASCII."""

    model = Dish


class GuideSitemap(Goodies):
    """Three languages, each entry with the alternates of all three."""

    model = Guide
    i18n = True
    alternates = True


class BookSitemap(Goodies):
    """A million rows."""

    model = Book


class Rows(Goodies):
    """The rows of any queryset."""

    def __init__(self, rows: QuerySet[Any]) -> None:
        self._rows = rows

    def items(self) -> QuerySet[Any]:
        """Return the rows."""
        return self._rows.order_by("pk")


sitemaps: dict[str, type[Sitemap]] = {
    "product": ProductSitemap,
    "dish": DishSitemap,
    "guide": GuideSitemap,
}
books: dict[str, type[Sitemap]] = {"book": BookSitemap}
