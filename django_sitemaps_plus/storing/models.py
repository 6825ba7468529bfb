"""The tables of pages' bytes, apart from the rows that each request reads."""

from __future__ import annotations

from typing import ClassVar

from django.db import models

from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.sitemaps.site_rows import unique


class PageFile(models.Model):
    """
    The entries of one version of a page, compressed: a segment (``segments``).

    On MySQL and MariaDB in pieces of 1 MB, because they refuse packets that are larger
    than their setting ``max_allowed_packet``.
    """

    page = models.ForeignKey(
        Page,
        on_delete=models.CASCADE,
        related_name="files",
        # As the section of a page.
        db_index=False,
    )
    #: Of the origin-neutral bytes: the version that these are.
    checksum = models.CharField(max_length=64)
    #: Scheme, host and script prefix that the locations have.
    origin = models.CharField(max_length=300)
    #: The kinds of media whose namespaces the entries need, with spaces between.
    media = models.CharField(max_length=200, blank=True, default="")
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
            unique("sitemaps_plus_page_file", "page", "checksum", "part"),
        ]

    def __str__(self) -> str:
        return f"{self.page} {self.checksum} {self.part}"
