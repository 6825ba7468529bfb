"""
The tables of pages' bytes, apart from the rows that each request reads; of who read the
sitemaps; and of what was counted day by day.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.sitemaps.site_rows import SiteRow


class PageFile(models.Model):
    """
    The entries of one version of a page, compressed: a segment (``segments``).

    On MySQL and MariaDB in pieces of 1 MB, because they refuse packets that are larger
    than their setting ``max_allowed_packet``.
    """

    page = models.ForeignKey(Page, on_delete=models.CASCADE, related_name="files")
    #: Of the origin-neutral bytes: the version that these are.
    checksum = models.CharField(max_length=64)
    #: Scheme, host and script prefix that the locations have.
    origin = models.CharField(max_length=300)
    #: The kinds of media whose namespaces the entries need, with spaces between.
    media = models.CharField(max_length=20, blank=True, default="")
    #: How many entries these are.
    entries = models.PositiveIntegerField()
    #: Bytes of the entries' text, and its CRC-32, of which gzip's is made.
    size = models.PositiveBigIntegerField()
    text_crc = models.BigIntegerField()
    #: CRC-32 of all this and of the pieces in their order: by it damage is noticed.
    crc = models.BigIntegerField()
    part = models.PositiveSmallIntegerField(default=0)
    data = models.BinaryField()

    class Meta:
        app_label = "sitemaps_plus"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["page", "checksum", "part"], name="sitemaps_plus_page_file"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.page} {self.checksum} {self.part}"


class PublishedFile(SiteRow):
    """What was put into the storage of ``PUBLISH`` under one name."""

    name = models.CharField(max_length=300)
    #: Of the version and its headers. Empty: not known, since a put that may not have
    #: come to its end began.
    digest = models.CharField(max_length=32, blank=True, default="")
    #: When it was first and last put, in seconds since the epoch; 0: never.
    first_at = models.FloatField(default=0)
    put_at = models.FloatField(default=0)
    #: Since when no index that was put names it; 0 while one may.
    gone_since = models.FloatField(default=0)
    #: Why it could not be put; empty if it could.
    error = models.TextField(blank=True, default="")

    class Meta:
        app_label = "sitemaps_plus"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["site", "name"], name="sitemaps_plus_published"
            ),
        ]

    def __str__(self) -> str:
        return self.name


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
        app_label = "sitemaps_plus"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["site", "document", "crawler"], name="sitemaps_plus_reader"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["site", "last_at"], name="sitemaps_plus_read_last"),
            models.Index(
                fields=["site", "crawler", "last_at"], name="sitemaps_plus_read_crawler"
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
        #: Files put into the storage of ``PUBLISH``.
        PUTS = "puts"
        #: Answers to requests for sitemaps by crawler: "200", "304".
        READS = "reads"

    #: In ``TIME_ZONE``.
    day = models.DateField()
    topic = models.CharField(max_length=11, choices=Topic.choices)
    name = models.CharField(max_length=100, blank=True)
    outcome = models.CharField(max_length=8, blank=True, default="")
    number = models.BigIntegerField(default=0)

    class Meta:
        app_label = "sitemaps_plus"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["site", "day", "topic", "name", "outcome"],
                name="sitemaps_plus_daily_count",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.day} {self.topic} {self.name} {self.outcome}"
