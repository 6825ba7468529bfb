"""The tables of this app."""

from __future__ import annotations

import datetime as dt
from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.sitemaps.site_rows import Claimed, SiteRow


class SitemapReport(SiteRow):
    """What an engine said of the site's sitemaps when it was last asked."""

    engine = models.CharField(max_length=100)
    #: Seconds since the epoch, as all times here.
    asked_at = models.FloatField(default=0)
    #: When it is asked again. Whoever asks moves it first, so that nobody else does.
    due_at = models.FloatField(default=0)
    #: For each sitemap the fields of a ``SitemapStatus``.
    sitemaps = models.JSONField(default=list, blank=True)
    #: When pages with impressions are asked for again, if the engine knows them.
    unlisted_due_at = models.FloatField(default=0)
    #: Paths of those that no sitemap lists, by their route.
    unlisted = models.JSONField(default=dict, blank=True)

    class Meta:
        app_label = "sitemaps_plus_webmasters"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["site", "engine"], name="sitemaps_plus_webmasters_report"
            ),
        ]

    def __str__(self) -> str:
        return self.engine


class Inspection(SiteRow):
    """What Google said of a URL of a section when it was last asked."""

    section = models.CharField(max_length=100)
    url = models.TextField()
    #: Of the URL.
    digest = models.CharField(max_length=32)
    inspected_at = models.FloatField(default=0)
    #: Whether it was drawn for a sample; if not, its section was inspected whole.
    is_drawn = models.BooleanField(default=False)
    #: As Google words it, as all that follows; empty: it does not say, or says it in
    #: another way than it promises.
    verdict = models.CharField(max_length=40, blank=True, default="")
    #: What it said the time before.
    former_verdict = models.CharField(max_length=40, blank=True, default="")
    reason = models.CharField(max_length=300, blank=True, default="")
    #: What keeps Google from indexing it, whatever is requested.
    obstacle = models.CharField(max_length=60, blank=True, default="")
    #: Google's canonical, where it is another URL.
    canonical = models.TextField(blank=True, default="")
    crawled_at = models.FloatField(null=True, blank=True)
    bing_crawled_at = models.FloatField(null=True, blank=True)
    #: Of the entry, when it was inspected.
    lastmod = models.FloatField(null=True, blank=True)
    #: The page of Search Console that has the button "Request indexing".
    link = models.TextField(blank=True, default="")

    class Meta:
        app_label = "sitemaps_plus_webmasters"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["site", "section", "digest"],
                name="sitemaps_plus_webmasters_url",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["site", "inspected_at"], name="sitemaps_plus_wm_inspected"
            ),
        ]
        verbose_name = _("inspection")
        verbose_name_plural = _("inspections")

    def __str__(self) -> str:
        return self.url


class InspectionQuota(Claimed):
    """
    How many URLs of a property were inspected today, and who inspects: one process.

    Several sites may be of one property, whose quota they share.
    """

    #: As Search Console lists it.
    property = models.CharField(max_length=200, unique=True)
    #: A day of Google's, which begins at midnight in California.
    day = models.DateField(default=dt.date(1970, 1, 1))
    #: Requests of that day, each counted before it is sent.
    used = models.PositiveIntegerField(default=0)
    #: Until when nothing is asked, and why.
    closed_until = models.FloatField(default=0)
    problem = models.TextField(blank=True, default="")
    #: When Google last answered.
    answered_at = models.FloatField(default=0)

    class Meta:
        app_label = "sitemaps_plus_webmasters"

    def __str__(self) -> str:
        return self.property
