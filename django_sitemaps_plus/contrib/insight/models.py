"""The tables of who read the sitemaps, and of what was counted day by day."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.sitemaps.site_rows import SiteRow


class Read(SiteRow):
    """How often one crawler has read one sitemap, and when last."""

    #: The file's name without ".gz": "sitemap.xml", "sitemap-article-2.xml".
    document = models.CharField(max_length=200)
    #: The name that it publishes; empty for all clients that have none.
    crawler = models.CharField(max_length=40, blank=True)
    #: How often it got the whole file (200).
    full = models.PositiveBigIntegerField(default=0)
    #: How often the answer was that nothing has changed (304).
    unchanged = models.PositiveBigIntegerField(default=0)
    #: Seconds since the epoch.
    first_at = models.FloatField()
    last_at = models.FloatField()

    class Meta:
        app_label = "sitemaps_plus_insight"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["site", "document", "crawler"],
                name="sitemaps_plus_insight_reader",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["site", "last_at"], name="sitemaps_plus_insight_last"),
            models.Index(
                fields=["site", "crawler", "last_at"],
                name="sitemaps_plus_insight_crawler",
            ),
        ]
        verbose_name = _("reader")
        verbose_name_plural = _("readers")

    def __str__(self) -> str:
        return f"{self.crawler or '–'}: {self.document}"


class DailyCount(SiteRow):
    """A number of one day, for the charts."""

    class Topic(models.TextChoices):
        """What is counted, by what; and with which outcomes."""

        #: What a section lists at the end of the day, by section.
        ENTRIES = "entries"
        #: Submissions by engine: "accepted", "rejected", "failed".
        SUBMISSIONS = "submissions"
        #: Answers to requests for sitemaps by crawler: "200", "304".
        READS = "reads"

    #: In ``TIME_ZONE``.
    day = models.DateField()
    topic = models.CharField(max_length=11, choices=Topic.choices)
    name = models.CharField(max_length=100, blank=True)
    outcome = models.CharField(max_length=8, blank=True, default="")
    number = models.BigIntegerField(default=0)

    class Meta:
        app_label = "sitemaps_plus_insight"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["site", "day", "topic", "name", "outcome"],
                name="sitemaps_plus_insight_count",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.topic} {self.name} {self.outcome}"
