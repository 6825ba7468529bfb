"""One sitemap for each kind of page and each language, as Oscar's sandbox has them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.sitemaps import Sitemap
from django.db.models import F
from django.urls import reverse
from django.utils.translation import override
from oscar.core.loading import get_model

import django_sitemaps_plus as plus

Product = get_model("catalogue", "Product")
Category = get_model("catalogue", "Category")


class Localized(Sitemap):
    """URLs in one language."""

    def __init__(self, language: str) -> None:
        self.language = language

    def path(self, item: Any) -> str:
        return str(item.get_absolute_url())

    def location(self, item: Any) -> str:
        with override(self.language):
            return self.path(item)


class ProductSitemap(Localized):
    changefreq = "weekly"

    def items(self) -> Any:
        return Product.objects.browsable()

    def lastmod(self, item: Any) -> Any:
        return item.date_updated


class CategorySitemap(Localized):
    def items(self) -> Any:
        return Category.objects.all()


class StaticSitemap(Localized):
    priority = 0.5

    def items(self) -> Any:
        return ["catalogue:index", "basket:summary"]

    def path(self, item: Any) -> str:
        return reverse(item)


KINDS = {"product": ProductSitemap, "category": CategorySitemap, "page": StaticSitemap}
SITEMAPS = {
    f"{name}-{language}": kind(language)
    for name, kind in KINDS.items()
    for language, _ in settings.LANGUAGES
}

# As docs/languages.md says


class Products(plus.Sitemap):
    i18n = True
    location = plus.Route("catalogue:detail", product_slug=F("slug"), pk=F("pk"))

    def items(self) -> Any:
        return Product.objects.browsable()


class Categories(plus.Sitemap):
    i18n = True
    model = Category


class Pages(plus.StaticSitemap):
    i18n = True
    names = ("catalogue:index", "basket:summary")


OURS = {"product": Products, "category": Categories, "page": Pages}
#: What is right for one language only.
WRONG = {**OURS, "product": type("OneLanguage", (Products,), {"i18n": False})}
