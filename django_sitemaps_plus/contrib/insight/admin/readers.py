"""Who read which sitemap."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.contrib.insight.crawlers import CRAWLER_NAMES
from django_sitemaps_plus.contrib.insight.models import Read
from django_sitemaps_plus.contrib.insight.readers import reads

from . import base, display


class CrawlerFilter(base.FieldFilter):
    """By crawler."""

    title = _("crawler")
    parameter_name = field = "crawler"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return the crawlers that have read something."""
        known = set(reads().order_by().values_list("crawler", flat=True).distinct())
        found = [(name, name) for name in CRAWLER_NAMES if name in known]
        return [*found, (self.EMPTY, _("other clients"))] if "" in known else found


class LastReadFilter(base.TimeFilter):
    """By how long ago the last read was."""

    field = "last_at"


@admin.register(Read)
class ReadAdmin(base.ReadOnly):
    """Who read which sitemap, when last and how often."""

    rows = staticmethod(reads)
    list_display = (
        "crawler_shown",
        "address",
        "last_ago",
        "full_shown",
        "unchanged_shown",
    )
    list_display_links = None
    list_filter = (CrawlerFilter, LastReadFilter)
    search_fields = ("document__exact",)
    ordering = ("-last_at",)
    fields = (
        "crawler_shown",
        "address",
        "first",
        "last",
        "full_shown",
        "unchanged_shown",
    )

    first = display.column("first_at", _("first read"), display.when)
    last_ago, last = display.times("last_at", _("last read"))
    full_shown = display.column("full", _("whole file (200)"), display.number)
    unchanged_shown = display.column("unchanged", _("unchanged (304)"), display.number)

    @admin.display(description=_("crawler"))
    def crawler_shown(self, row: Read) -> str:
        """Return the crawler's name."""
        return row.crawler or gettext("other clients")

    @admin.display(description=_("sitemap"))
    def address(self, row: Read) -> str:
        """Return a link to the sitemap, below the site's index."""
        path = display.path_of("site")
        if not path:
            return row.document
        folder = path.rpartition("/")[0]
        return display.link(f"{folder}/{row.document}", row.document)
