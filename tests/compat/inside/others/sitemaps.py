"""The same sitemaps for contrib, for one changed import, and registered."""

from __future__ import annotations

from django.contrib import sitemaps as contrib
from django.db.models import F
from django_cte import CTE, with_cte

from django_sitemaps_plus import Route, Sitemap

from . import models


def tree():
    """Return categories, joined with what a recursive query says of them."""

    def levels(cte):
        categories = models.Category.objects.order_by()
        below = cte.join(categories, parent=cte.col.id)
        return (
            categories.filter(parent=None)
            .values("id")
            .union(below.values("id"), all=True)
        )

    cte = CTE.recursive(levels)
    return with_cte(cte, select=cte.join(models.Category, id=cte.col.id))


MODELS = (
    *(models.Translated, models.Json, models.Parler, models.Versioned, models.Category),
    *(models.Medium, models.Node, models.Genre, models.Document, models.Imported),
)
NAMES = {model.__name__.lower(): model for model in MODELS}


def items(sitemap):
    """Return the rows of a class's model, without its own order."""
    if sitemap.of is models.Category:
        return tree().order_by("pk")
    return sitemap.of.objects.order_by("pk")


def lastmod(sitemap, item):
    return item.updated


def sitemaps(base):
    """Return what projects have: a class for each model, with methods."""
    methods = {"items": items, "lastmod": lastmod}
    return {
        name: type(name, (base,), {"of": model, **methods})
        for name, model in NAMES.items()
    }


def expressions():
    """Return the same from expressions, but where the slug is in another table."""
    return {
        f"{name}-row": type(
            name,
            (Sitemap,),
            {
                "of": model,
                "items": items,
                "location": Route("item", kind=name, slug=F("slug")),
                "lastmod": F("updated"),
            },
        )
        for name, model in NAMES.items()
        if model not in (models.Parler, models.Medium)
    }


of_contrib = sitemaps(contrib.Sitemap)
of_one_import = sitemaps(Sitemap)
registered = of_one_import | expressions()
