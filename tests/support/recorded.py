"""What tests of recording share: sections, and a look at what was written down."""

from __future__ import annotations

import json
from typing import Any

from django.db.models import F

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.changes.assignment import former_paths
from django_sitemaps_plus.models import Change
from tests.testapp.models import Article


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


def changes(using: str = "default") -> list[tuple[Any, ...]]:
    """
    Return what was recorded, and forget it.

    Section, the parts of the key ("*" for the whole section), where it was.
    """
    found = Change.objects.using(using)
    rows = [
        (
            change.section,
            *json.loads(change.key or '["*"]'),
            former_paths(change.section, [change])[0],
        )
        for change in found.order_by("pk")
    ]
    found.all().delete()
    return rows


def keys() -> list[str]:
    """Return the keys that were recorded, and forget them."""
    return [key for _, key, _ in changes()]
