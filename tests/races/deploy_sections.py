"""A deploy's section, as old or as new code has it; importing this registers it."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.db.models import F

from django_sitemaps_plus import Route, Sitemap, register
from tests.testapp.models import Article

from . import site
from .truth import LIMIT

#: What new code has otherwise.
DEFINITIONS: dict[str, dict[str, Any]] = {
    "old": {},
    "priority": {"priority": 0.9},
    "lastmod": {"lastmod": F("updated") + dt.timedelta(days=1)},
}


class NewsSitemap(Sitemap):
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    priority = 0.5
    limit = LIMIT

    def items(self) -> Any:
        return Article.objects.filter(live=True)


for _name, _value in DEFINITIONS[site.GIVEN["definition"]].items():
    setattr(NewsSitemap, _name, _value)
register(name="news")(NewsSitemap)
