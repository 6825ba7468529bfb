"""The table of pages' bytes, apart from the rows that each request reads."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from django_sitemaps_plus.pagination.models import Page


class PageFile(models.Model):
    """
    A piece of a page's gzipped bytes.

    In pieces of 1 MB: MariaDB refuses packets that are larger than its setting
    ``max_allowed_packet``.
    """

    page = models.ForeignKey(Page, on_delete=models.CASCADE, related_name="files")
    #: Of the origin-neutral bytes: the version that these are.
    checksum = models.CharField(max_length=64)
    #: Scheme, host and script prefix that the locations have.
    origin = models.CharField(max_length=300)
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
