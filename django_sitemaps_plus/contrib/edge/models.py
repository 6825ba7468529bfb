"""The tables of what was published and announced, and of who publishes."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from django_sitemaps_plus.sitemaps.site_rows import SiteClaimed, SiteRow


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
        app_label = "sitemaps_plus_edge"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["site", "name"], name="sitemaps_plus_edge_file"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Publisher(SiteClaimed):
    """Who publishes a site's files: one process of all hosts."""

    class Meta:
        app_label = "sitemaps_plus_edge"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["site"], name="sitemaps_plus_edge_one_publisher"
            ),
        ]

    def __str__(self) -> str:
        return self.claimed_by or "–"


class AnnouncedDocument(SiteRow):
    """A document, and the version for which ``documents_changed`` was sent last."""

    #: The name of its file, without ".gz".
    document = models.CharField(max_length=200)
    #: Empty: the document is gone.
    version = models.CharField(max_length=64, blank=True)
    #: When it is sent again, unless the process that has claimed it sends it; null if
    #: it was sent.
    announce_at = models.FloatField(null=True, blank=True)

    class Meta:
        app_label = "sitemaps_plus_edge"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["site", "document"], name="sitemaps_plus_edge_announced"
            ),
        ]

    def __str__(self) -> str:
        return self.document
