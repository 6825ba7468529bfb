"""What tests of changes share: sections, and a look at what was written down."""

from __future__ import annotations

import json
from typing import Any

from django.db.models import F

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.models import Change
from tests.testapp.models import Article, Elsewhere, Note, Spot


class Articles(Sitemap):
    """On the row path, with a filter."""

    location = Route("article", slug=F("slug"))
    lastmod = F("updated")

    def items(self) -> Any:
        """Return the live ones."""
        return Article.objects.filter(live=True)


class Methods(Sitemap):
    """On the object path."""

    model = Article

    def lastmod(self, item: Article) -> Any:
        """Return when it was changed."""
        return item.updated


class Notes(Sitemap):
    """Paged by another column than the primary key."""

    model = Note
    page_by = "number"
    location = Route("number", number=F("number"))


class There(Sitemap):
    """Of another database than the ledger's."""

    model = Elsewhere
    location = Route("article", slug=F("slug"))


class Spots(Sitemap):
    """With a filter that reads a many-to-many relation."""

    location = Route("article", slug=F("name"))

    def items(self) -> Any:
        """Return those with this label."""
        return Spot.objects.filter(labels__name="shown")


def changes() -> list[tuple[str, ...]]:
    """
    Return what was recorded, and forget it.

    Section, and the parts of the key: "*" for the whole section, the model before the
    primary key of a related object.
    """
    rows = []
    for change in Change.objects.order_by("pk"):
        if change.related:
            rows.append((change.section, change.related, change.key))
        else:
            rows.append((change.section, *json.loads(change.key or '["*"]')))
    Change.objects.all().delete()
    return rows


def keys() -> list[str]:
    """Return the keys that were recorded, and forget them."""
    return [row[-1] for row in changes()]
