"""
The sections of the races, of the accidents and of a deploy.

Small pages, so that they split. ``news`` reads columns of its rows, ``filed`` one of a
related row too, and ``tags`` objects whose filter reads a related row.
"""

from __future__ import annotations

import datetime as dt
import os
import signal
import time
from pathlib import Path
from typing import Any

from django.db.models import F

from django_sitemaps_plus import Route, Sitemap
from tests.testapp.models import Article, Tag

from . import site
from .truth import LIMIT


class News(Sitemap):
    location: Any = Route("article", slug=F("slug"))
    lastmod: Any = F("updated")
    priority: Any = 0.5
    limit = LIMIT

    def items(self) -> Any:
        return Article.objects.filter(live=True)


class Filed(News):
    location = Route("pair", shop=F("pk"), code=F("category__slug"))

    def items(self) -> Any:
        return super().items().filter(category__isnull=False)


class Tags(Sitemap):
    limit = LIMIT

    def items(self) -> Any:
        return Tag.objects.filter(article__live=True)

    def location(self, item: Tag) -> str:
        return f"/things/{item.name}/"


class Slow(News):
    """Its builders wait or die in the middle of a page, while a file says so."""

    def location(self, item: Article) -> str:
        folder = Path(site.GIVEN["folder"])
        if (folder / "die").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        # Who only looks a saved row up is not among them.
        while item.pk % 6 == 0 and (folder / "wait").exists():
            time.sleep(0.02)
        return f"/articles/{item.slug}/"


class NewPriority(News):
    priority = 0.9


class NewLastmod(News):
    lastmod = F("updated") + dt.timedelta(days=1)


#: By what a process is told: its sections by their names.
SECTIONS: dict[str, dict[str, type[Sitemap]]] = {
    "race": {"news": News, "filed": Filed, "tags": Tags},
    "slow": {"slow": Slow},
    "old": {"news": News},
    "priority": {"news": NewPriority},
    "lastmod": {"news": NewLastmod},
}
