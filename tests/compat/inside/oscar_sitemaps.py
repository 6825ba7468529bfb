"""The sitemaps of django-oscar's sandbox, and what takes their place."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import sitemaps as contrib
from django.db.models import F
from django.urls import reverse
from django.utils.translation import activate
from oscar.core.loading import get_model

from django_sitemaps_plus import Route, Sitemap, StaticSitemap

Product = get_model("catalogue", "Product")
Category = get_model("catalogue", "Category")

# As in sandbox/sitemaps.py


class I18nSitemap(contrib.Sitemap):
    def __init__(self, language: str) -> None:
        self.language = language
        self.original_language = settings.LANGUAGE_CODE

    def get_obj_location(self, obj: Any) -> str:
        return str(obj.get_absolute_url())

    def location(self, obj: Any) -> str:
        activate(self.language)
        location = self.get_obj_location(obj)
        activate(self.original_language)
        return location


class FormerStatic(I18nSitemap):
    def items(self) -> Any:
        return ["catalogue:index"]

    def get_obj_location(self, obj: Any) -> str:
        return reverse(obj)


class FormerProducts(I18nSitemap):
    def items(self) -> Any:
        return Product.objects.browsable()


class FormerCategories(I18nSitemap):
    def items(self) -> Any:
        return Category.objects.all()


former = {
    f"{name}-{language}": cls(language)
    for name, cls in {
        "static": FormerStatic,
        "products": FormerProducts,
        "categories": FormerCategories,
    }.items()
    for language, _ in settings.LANGUAGES
}

# As docs/languages.md says


class ProductSitemap(Sitemap):
    i18n = True
    location = Route("catalogue:detail", product_slug=F("slug"), pk=F("pk"))

    def items(self) -> Any:
        return Product.objects.browsable()


class CategorySitemap(Sitemap):
    i18n = True

    def items(self) -> Any:
        return Category.objects.all()


class CatalogueSitemap(StaticSitemap):
    i18n = True
    names = ("catalogue:index",)


ours = {
    "static": CatalogueSitemap,
    "products": ProductSitemap,
    "categories": CategorySitemap,
}
#: What is right for one language only.
wrong = {**ours, "products": type("OneLanguage", (ProductSitemap,), {"i18n": False})}
